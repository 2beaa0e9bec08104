"""Ordinary training programs with their own clocks, a delay planted in each: what does the report name first?

Written by somebody who had not read the code of `annotate` and `tb_dataplugin`; not to be tuned. The programs, their
delays, their seeds and what counts as named right are kept as they came: a program that the report gets wrong is a
finding about the report. Corrections here are for a program whose clocks are wrong, never for one whose verdict is.

`kit` has the clocks, the planted work and annotate on or off; `augmentations` a user's transforms and dataset; `shapes`
one program each, with what is planted in its docstring; `healthy` twenty pipelines without a delay. By hand, from the
checkout:

    python -m benchmarks.ordinary_loops_programs.shapes.slow_sampler --seed 3 [--logdir FOLDER] --steps 100

`runner` runs them and judges: `python benchmarks/ordinary_loops.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent
HEALTHY: Final = (
    "h01_tensors_0",
    "h02_dicts_0_op",
    "h03_map_1",
    "h04_map_2_persistent",
    "h05_large_2",
    "h06_iterable_0",
    "h07_iterable_1",
    "h08_iterable_2_dicts",
    "h09_batch_sampler_0",
    "h10_batch_sampler_2",
    "h11_generator_1",
    "h12_wrapper_0",
    "h13_train_val_0",
    "h14_train_val_2",
    "h15_whole_0",
    "h16_whole_iterable_2",
    "h17_epochs_1_persistent",
    "h18_short_epochs_0",
    "h19_thread_0",
    "h20_nested_2",
)
"""The variants of `healthy.py`."""


def shapes() -> list[str]:
    return sorted(path.stem for path in (FOLDER / "shapes").glob("*.py") if path.stem != "__init__")


def file_of(name: str) -> Path:
    return FOLDER / "healthy.py" if name in HEALTHY else FOLDER / "shapes" / f"{name}.py"
