"""DLIO, the benchmark that MLPerf Storage runs, with `annotate` attached: six workloads and what both say of them.

`configurations` the workloads, scaled down; `attach` runs one in DLIO's environment; `runs` drives it and reads what
came out; `utilisation` and `table` are pure. `stand_ins` holds the empty module that DLIO's imports need.
"""
