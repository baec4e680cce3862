"""Cross-affinities: normalised weights between new rows and the nodes of a fitted graph."""
