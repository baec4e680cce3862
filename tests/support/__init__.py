"""Helpers of the tests: oracles, cases, contracts and stored results."""
