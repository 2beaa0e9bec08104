"""The whole run, always on: a flight recorder of steps, data wait, stages, workers and memory, in a bounded file."""
