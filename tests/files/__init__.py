"""Tests of tables in files."""
