"""Experiments on whole datasets, for people who want to see before they believe."""
