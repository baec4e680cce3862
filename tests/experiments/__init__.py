"""Tests of whole experiments."""
