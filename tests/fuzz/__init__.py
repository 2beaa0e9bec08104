"""Fuzzers of the reader: `python -m tests.fuzz --help`."""
