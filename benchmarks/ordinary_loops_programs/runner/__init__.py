"""Runs the ordinary loops, takes the truth from their clocks, reads the report and judges what it names."""
