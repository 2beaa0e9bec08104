"""Not data: lines of the training step that are not the model's work take much of it. Without a device; with one, its
idle time says what they cost (`sync_bound`, `python_pauses`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tb_dataplugin.analyses.line_work import Work
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_examples import example
from tb_dataplugin.findings.line_signals import StepLineSignal, interval
from tb_dataplugin.findings.lock import holder_line, holder_of, holder_words, is_known_to_feed
from tb_dataplugin.findings.of_profiler import of_profiler
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.step_advice import advice_on
from tb_dataplugin.findings.step_work import (
    SHOWN,
    in_step,
    line_cost_us,
    line_with_lock,
    of_step,
    outside_wait,
    slow_lines,
    with_lock,
)
from tb_dataplugin.units import count, percent, plural

OWN_THREAD: Final = (
    " What it is given, {holder} works through in Python, and holds the lock meanwhile: so the step waits for it "
    "nevertheless."
)

NO_OPERATORS: Final[frozenset[Work]] = frozenset(("iterators", "freeing", "collecting", "sleep", "waiting"))
"""Work in which torch's profiler has nothing to record."""

MOSTLY: Final = 0.5
"""Part of a line's time that loading has, from which it is what the line does."""


@rule(title="Slow lines in the training step", about="host")
def check(signals: Signals) -> Finding | None:
    fed = line_with_lock(signals)
    lines = slow_lines(signals)[:SHOWN]
    if signals.lock_limits_host:
        lines = () if fed is None else (fed,)
    if signals.has_device or not lines:
        return None
    first, costs = lines[0], [line_cost_us(signals, line) for line in lines]
    saving = until_workers_limit(signals, sum(costs))
    gain = signals.per_step(saving.us)
    is_known = fed is None or signals.lock is None or is_known_to_feed(signals.lock, fed)
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=_title(signals, lines, costs),
        advice=_loading_advice(signals, first) or advice_on(signals, first) + _own_thread(signals, first),
        evidence=(
            *(_evidence(signals, line) for line in lines),
            *_lock_evidence(signals, fed),
            *saving.why,
            *(() if NO_OPERATORS.issuperset(line.work for line in lines) else of_profiler(signals, gain)),
        ),
        gain_us_per_step=gain,
        code=example(first),
        confidence="measured" if is_known else "likely",
        confidence_reason=""
        if is_known
        else "Whose call gives the thread its work that holds Python's lock is inferred "
        "from where the training thread waits for it: the stacks of that thread were not recorded.",
    )


def _title(signals: Signals, lines: Sequence[StepLineSignal], costs: Sequence[float]) -> str:
    first = lines[0]
    name = f"{first.call} ({first.place})" if first.lines > 1 and first.call else first.place
    more = with_lock(signals, first) or outside_wait(signals)
    further = (
        "" if len(lines) == 1 else f"; with {plural(len(lines) - 1, 'further line')} {_share(signals, sum(costs))}"
    )
    return f"{name} takes {_share(signals, costs[0])}{more}{further}"


def _share(signals: Signals, cost_us: float) -> str:
    return of_step(signals, cost_us / signals.window_us)


def _own_thread(signals: Signals, line: StepLineSignal) -> str:
    if signals.lock is None or line is not line_with_lock(signals):
        return ""
    return OWN_THREAD.format(holder=holder_words(signals.lock))


def _lock_evidence(signals: Signals, fed: StepLineSignal | None) -> tuple[Evidence, ...]:
    lock = signals.lock
    if lock is None or fed is None:
        return ()
    part, name = lock.total_us / signals.window_us, holder_of(lock)
    text = f"waiting for Python's lock (GIL), which the thread {name!r} holds: {of_step(signals, part)}"
    return (share("lock", part, "window", text), *holder_line(lock))


def _loading_advice(signals: Signals, line: StepLineSignal) -> str:
    """Where what the dataset handed out is only read in the step, as lazy files are; "" elsewhere."""
    times: dict[str, float] = {}
    for row in signals.stages_in_step:
        if all(stage.kind in ("read", "decode") for stage in row.path):  # within no sample
            times[row.stage.name] = times.get(row.stage.name, 0.0) + row.self_us
    if line.work != "python" or sum(times.values()) < MOSTLY * line.part.share * signals.window_us:
        return ""
    stage = max(times, key=times.__getitem__)
    advice = f"The step loads data there ({stage}): do that in the dataset's __getitem__"
    if signals.workers is None or not signals.builds_batches_in_workers:
        return f"{advice}, and have DataLoader workers do it in advance."
    return (
        f"{advice}, which DataLoader workers run in advance; they are without work for "
        f"{percent(signals.workers.starved)} {signals.workers.of_whole}."
    )


def _evidence(signals: Signals, line: StepLineSignal) -> Evidence:
    known = line.own if line is line_with_lock(signals) else line.part
    part = in_step(signals, known)
    samples = plural(part.samples, "stack sample")
    some = f", all of it in {count(line.in_steps or 0)} of {count(signals.step_count or 0)} steps" * bool(line.in_steps)
    text = f"{line.text}: {of_step(signals, known.share)}, {interval(part)}, {samples}{some}"
    return share("step_line", known.share, "step", text)
