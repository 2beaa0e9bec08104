"""Programs with planted hot lines, for `benchmarks.lines_truth`: what is planted, and how it is run and timed."""
