"""What torch's profiler adds to one operator, here and now: a small one before the profiler records and while it does.

A training step with many small operators is slowed by the profiler, and lines that call them look too hot; the report
has to say by how much.
"""

from __future__ import annotations

from statistics import median
from time import thread_time_ns
from typing import Any, Final

from annotate.saying import guard

_ROUNDS: Final = 7
_CALLS: Final = 20
_OPERATORS: Final = 2
"""That ``Tensor.item()`` is for the profiler: ``aten::item`` calls ``aten::_local_scalar_dense``."""


class OperatorCost:
    """Of the windows of one session: `begin` before the profiler records, `open` as soon as it does."""

    def __init__(self) -> None:
        self._before_us: float | None = None
        self.added_us: float | None = None
        """Microseconds of CPU time per recorded operator; None where that could not be measured."""

    def begin(self) -> None:
        with guard("annotate does not measure what the profiler costs"):
            self._before_us = _cpu_us()

    def open(self) -> None:
        """The probes stand at the beginning of the window, before its first step."""
        self.added_us = None
        with guard("annotate does not measure what the profiler costs"):
            recorded_us = None if self._before_us is None else _cpu_us()
            if recorded_us is not None and self._before_us is not None:
                self.added_us = max(0.0, recorded_us - self._before_us) / _OPERATORS


def _cpu_us() -> float | None:
    """Microseconds of this thread's CPU time for one ``item()`` of a number on the CPU: no device is asked, no random
    number drawn. None where the program looks at each operator (a mode of torch's), which would see this one too.
    """
    import torch

    if _is_looked_at(torch._C):
        return None
    number = torch.zeros((), device="cpu")
    number.item()
    costs = []
    for _ in range(_ROUNDS):
        begin = thread_time_ns()
        for _ in range(_CALLS):
            number.item()
        costs.append((thread_time_ns() - begin) / (_CALLS * 1000))
    return median(costs)


def _is_looked_at(torch_c: Any) -> bool:
    """Unknown counts as yes."""
    counts = [getattr(torch_c, f"_len_torch_{kind}_stack", None) for kind in ("dispatch", "function")]
    return not all(count is not None and count() == 0 for count in counts)
