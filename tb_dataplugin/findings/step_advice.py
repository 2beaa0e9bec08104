"""What to do about a line of the training step, by what it spends its time on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.line_work import TAKES_BATCH, Work
from tb_dataplugin.findings import collecting
from tb_dataplugin.findings.copy_costs import copy_cost_us
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.line_signals import StepLineSignal
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import duration

_BY_WORK: Final[dict[Work, str]] = {
    "iterators": "An iterator of a DataLoader is made or dropped there, with the DataLoader workers that it has. Make "
    "it once and call next() on it; where it has workers and is iterated to its end, persistent_workers=True keeps "
    "them.",
    "readback": "Read values back less often, and all at once: .item(), and a loop over a tensor, convert one number "
    "at a time.",
    "saving": "Save less often, or hand a copy to a thread that saves it.",
    "output": "Write less often, or less at a time.",
    "copying": "Copy less often, or only what changes: deepcopy walks through every object in Python. Into "
    "a state that exists already, tensors are copied with copy_().",
    "freeing": "With the next batch Python frees the one before: many small objects take long{shared}.",
    "collecting": collecting.ADVICE,
    "sleep": "The step sleeps there: remove that, or sleep less.",
    "waiting": "The step waits there for another thread or process: check what that one does.",
    "python": "Do it less often, with array operations instead of Python, or in another thread.",
}

_PINNED_ELSEWHERE: Final = " With pin_memory=True the thread that pins frees them, beside the step."
PINNING: Final = "pinning_thread"
"""Evidence: microseconds per step that the thread that pins needs."""
_SHARED: Final = ", and so does much memory that a DataLoader worker shared"
_FEWER: Final = " Send fewer, larger tensors."
_OF_OWN_MAKING: Final = (
    "The next batch is taken there, of no DataLoader. Python then frees the one before, and where another thread of "
    "the program runs Python code, the line may wait for the lock that it holds: see what that thread does."
)


def advice_on(signals: Signals, line: StepLineSignal) -> str:
    """One or two sentences."""
    advice = _BY_WORK[line.work]
    if line.work == "python" and signals.num_workers is None and TAKES_BATCH.search(line.source):
        return _OF_OWN_MAKING
    if line.work != "freeing":
        return advice
    advice = advice.format(shared=_SHARED if signals.num_workers else "")
    return advice + (_PINNED_ELSEWHERE if _can_pin(signals) else _FEWER)


def freed_by_pinning(signals: Signals, line: StepLineSignal | None, pauses_us: float) -> Iterator[Evidence]:
    """What `pin_memory=True` cannot take from a step: one thread copies each batch to pinned memory, and frees it."""
    copied_us = copy_cost_us(signals)
    if line is None or line.work != "freeing" or not _can_pin(signals) or copied_us is None:
        return
    freed_us = min(pauses_us, (line.idle_share or 0.0) * (signals.idle.total_us or 0.0))
    least = signals.per_step(copied_us + freed_us)
    if least is not None:
        text = f"with pin_memory=True one thread copies and frees each batch: a step takes about {duration(least)} then"
        yield time(PINNING, least, f"{text}, at least", whole="step")


def _can_pin(signals: Signals) -> bool:
    return (
        signals.has_device
        and signals.builds_batches_in_workers
        and signals.copies is not None
        and signals.copies.pageable > 0
    )
