"""The checks of `benchmarks/on_device.py`: ours against the truth on a machine with an NVIDIA device.

`rows` what a check says · `table` all of it for people and programs · `catalogue` which checks there are · `runner`
each check in its own process · `child` that process · `setting` what a check is given · the rest: one check, or what
several of them need, per module.
"""
