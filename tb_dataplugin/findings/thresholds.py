"""Every threshold, its unit, and why it has this value."""

from __future__ import annotations

from typing import Final

INPUT_BOUND: Final = 0.05
"""Share of the window that waits for data, from which data are worth working on. xprof calls 5 % of the step
moderately, 20 % highly input-bound; torch_tb_profiler advises from 5 %."""

HIGHLY_INPUT_BOUND: Final = 0.20
"""Share of the window; xprof's second threshold."""

DEVICE_BUSY: Final = 0.95
"""Share of the window. Above it, no change around the device can gain more than 5 %: below what runs differ by."""

LEADING_STAGE: Final = 0.25
"""Share of the data wait. A stage below it cannot gain a third even if it took no time at all (Amdahl: 1 / 0.75)."""

ONE_CALL: Final = 0.5
"""Share of a stage's time that one call of several has, from which the stage is an outlier and not a habit."""

HIDDEN_DECODE: Final = 0.20
"""Share of a transform's time that is decoding in disguise, from which its name misleads."""
