"""What torch's profiler adds to one operator, here and now: a small one before the profiler records and while it does.

A training step with many small operators is slowed by the profiler, and lines that call them look too hot; the report
has to say by how much.
"""

from __future__ import annotations

from statistics import median
from time import thread_time_ns
from typing import Any, Final, NamedTuple

from annotate.saying import guard

_ROUNDS: Final = 11
_CALLS: Final = 20
_OPERATORS: Final = 2
"""That ``Tensor.item()`` is for the profiler: ``aten::item`` calls ``aten::_local_scalar_dense``."""
_NUMBERS: Final = tuple(range(400))
"""Their sum takes a few microseconds, whether a profiler records or not: a measure of how fast the CPU is just now."""


class _Probe(NamedTuple):
    """CPU times of this thread."""

    of_sum: float
    """What one ``item()`` takes, as a part of a sum: their ratio stays where something else slows the CPU."""
    sum_us: float
    """What a sum takes."""


class OperatorCost:
    """Of the windows of one session: `begin` before the profiler records, `open` as soon as it does."""

    def __init__(self) -> None:
        self._before: _Probe | None = None
        self.added_us: float | None = None
        """Microseconds of CPU time per recorded operator; None where that could not be measured."""

    def begin(self) -> None:
        with guard("annotate does not measure what the profiler costs"):
            self._before = _probe()

    def open(self) -> None:
        """The probes stand at the beginning of the window, before its first step."""
        self.added_us = None
        with guard("annotate does not measure what the profiler costs"):
            recorded, before = None if self._before is None else _probe(), self._before
            if recorded is not None and before is not None:
                more = max(0.0, recorded.of_sum - before.of_sum)
                self.added_us = more * min(recorded.sum_us, before.sum_us) / _OPERATORS


def _probe() -> _Probe | None:
    """Of ``item()`` of a number on the CPU: no device is asked, no random number drawn. None where the program looks at
    each operator (a mode of torch's), which would see this one too.
    """
    import torch

    if _is_looked_at(torch._C):
        return None
    number = torch.zeros((), device="cpu")
    number.item()
    parts, sums = [], []
    for _ in range(_ROUNDS):
        sums.append(_sum_us())
        begin = thread_time_ns()
        for _ in range(_CALLS):
            number.item()
        item_us = (thread_time_ns() - begin) / (_CALLS * 1000)
        parts.append(item_us / max(1e-3, sums[-1]))
    return _Probe(median(parts), median(sums))


def _sum_us() -> float:
    begin = thread_time_ns()
    sum(_NUMBERS)
    return (thread_time_ns() - begin) / 1000


def _is_looked_at(torch_c: Any) -> bool:
    """Unknown counts as yes."""
    counts = [getattr(torch_c, f"_len_torch_{kind}_stack", None) for kind in ("dispatch", "function")]
    return not all(count is not None and count() == 0 for count in counts)
