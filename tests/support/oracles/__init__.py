"""Dense transcriptions of the paper, which import nothing of the package."""
