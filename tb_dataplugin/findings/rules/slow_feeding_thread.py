"""The training thread waits for a queue that another thread fills from the DataLoader: what fills it is too slow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.queue_wait import OwnWork, QueueWait
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.fed import filling_stages, waits_for_queue, works_itself
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import stage_line
from tb_dataplugin.findings.line_signals import interval
from tb_dataplugin.findings.line_texts import place_text
from tb_dataplugin.findings.own_reads import is_own
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_finding import ADVICE, where_in
from tb_dataplugin.findings.whose_code import method_of
from tb_dataplugin.units import duration, percent, plural

SAMPLED: Final = (
    "Another thread takes the batches, so the data wait is not measured, only sampled. To measure it, record with "
    "annotate.profile: pass the DataLoader to annotate.loader(...) before it is iterated, and put prof.steps(...) "
    "around what the training thread iterates."
)


@rule(title="Slow thread that fills a queue", about="delivery")
def check(signals: Signals) -> Finding | None:
    queue, rows = signals.queue_wait, filling_stages(signals)
    if queue is None or not rows or not waits_for_queue(signals) or signals.lock_limits_host:
        return None
    if (own := works_itself(signals)) is not None:
        return _of_thread(signals, queue, own)
    stage = rows[0].stage
    kind = "user" if is_own(stage) else stage.kind
    advice = ADVICE.get(kind, "This is what takes most of the time to build a batch")
    advice = advice.format(method=method_of(signals, stage))
    advice += where_in(signals, stage) if kind in ("sample", "user") else ""
    return Finding(
        severity=severity(signals, None, otherwise_us=queue.part.share * signals.window_us),
        title=f"{_waits(queue)}; what fills it spends most of its time in {stage.name}",
        advice=advice,
        stage=stage.name,
        evidence=tuple(_evidence(signals)),
        confidence="likely",
        confidence_reason=SAMPLED,
    )


def _of_thread(signals: Signals, queue: QueueWait, own: OwnWork) -> Finding:
    """It works on the batches itself, for longer than it waits for them."""
    named = "" if own.place is None else f"Begin with {place_text(own.place)}. "
    return Finding(
        severity=severity(signals, None, otherwise_us=queue.part.share * signals.window_us),
        title=f"{_waits(queue)}; the thread that fills it works itself for {percent(own.part.share)} of that time",
        advice=f"{named}Do that in the dataset or the collate function, where DataLoader workers do it side by side, "
        "or on the device; or make it shorter. Faster DataLoader workers do not help while that thread is busy.",
        evidence=tuple(_facts(queue)),
        confidence="likely",
        confidence_reason=SAMPLED,
    )


def _waits(queue: QueueWait) -> str:
    return f"The training thread waits for a queue at {queue.place.short} for {percent(queue.part.share)} of the window"


def _facts(queue: QueueWait) -> Iterator[Evidence]:
    samples = plural(queue.part.samples, "stack sample")
    text = f"in queue.get, called at {queue.place.short}: {percent(queue.part.share)} of the window"
    yield share("queue_wait", queue.part.share, "window", f"{text}, {interval(queue.part)}, {samples}")
    if (own := queue.filler) is not None:
        part = f"{percent(own.part.share)} of that time ({interval(own.part)})"
        text = f"the thread that fills it is in code of its own, not in the DataLoader's, for {part}"
        yield share("filler_works", own.part.share, "queue wait", text)


def _evidence(signals: Signals) -> Iterator[Evidence]:
    queue, rows = signals.queue_wait, filling_stages(signals)
    assert queue is not None
    yield from _facts(queue)
    own = sum(row.self_us for row in rows)
    where = "in DataLoader workers" if signals.workers is not None else "in the thread that fills the queue"
    name = rows[0].stage.name
    yield time("self_time", own, f"{name}: self time {duration(own)} {where}", stage=name)
    yield from stage_line(signals, name)
    if signals.workers is not None:
        busy = signals.workers.busy
        said = f"the DataLoader workers are busy for {percent(busy)} {signals.workers.of_whole}"
        yield share("workers_busy", busy, signals.workers.whole, said)
