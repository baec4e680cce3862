"""Results and model files of earlier states."""
