"""The trace file: one clock, rows of all processes, the writer."""
