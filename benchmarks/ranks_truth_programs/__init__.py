"""Programs of `benchmarks/ranks_truth.py`."""
