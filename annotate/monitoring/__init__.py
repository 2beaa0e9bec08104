"""`monitor`: lines of text about batches, without a profiler."""
