"""Programs that measure; each is run by its file: `python benchmarks/NAME.py`."""
