"""The checks of `benchmarks/on_device.py`: ours against the truth on a machine with an NVIDIA device.

`rows` what a check says · `table` all of it for people and programs · `runner` each check in its own process · `catalogue`
which checks there are · `child` the process of one check · `setting` what a check is given · the rest: one check, or what
several of them need, per module.
"""
