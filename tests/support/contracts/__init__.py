"""What every operator and every graph must fulfil."""
