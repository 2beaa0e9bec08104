"""Opening and reading files caused a large part of the data wait, in many small pieces."""

from __future__ import annotations

from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.findings.calls import AllCalls
from tb_dataplugin.findings.evidence import Evidence, number, share, time
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.hot import stage_line
from tb_dataplugin.findings.own_reads import reads_files
from tb_dataplugin.findings.reader_advice import are_packed
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls, StageWait
from tb_dataplugin.findings.thresholds import ALL_CACHED, LEADING_STAGE, SMALL_READ_BYTES
from tb_dataplugin.units import data_size, duration, percent, plural

CODE = """# once: pack the samples into a few large files
with wds.ShardWriter('train-%05d.tar', maxcount=10000) as shards:
    for key, image, label in samples:
        shards.write({'__key__': key, 'jpg': image, 'cls': label})"""


PLAIN: Final = ("open", "file", "pathlib.read_bytes", "pathlib.read_text")
"""Labels of stages that only open and read: in all others a library's code has a part."""


@rule(title="Many small reads", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | Abstention | None:
    reads = [wait for wait in signals.waits_by_stage or () if _is_of_reads(signals, wait)]
    read_share, cost = sum(wait.share for wait in reads), sum(wait.cost_us for wait in reads)
    if read_share < LEADING_STAGE or _are_packed(signals, reads):
        return None
    names = {wait.name for wait in reads}
    rows = [calls for calls in signals.stages if calls.stage.name in names]
    sized = [calls for calls in rows if calls.bytes is not None]
    if not sized:
        return Abstention("How many bytes each read returned was not recorded.")
    count, size = sum(calls.count for calls in sized), sum(calls.bytes or 0.0 for calls in sized)
    if size / count >= SMALL_READ_BYTES:
        return None
    saving = saved_without(signals, rows, cost)
    gain = signals.per_step(saving.us) if signals.mode != "replay" else None
    each = sum(calls.total_us for calls in sized) / count
    return Finding(
        severity=severity(signals, gain, otherwise_us=cost),
        title=f"Reading caused {percent(read_share)} of the {signals.own_wait}, in reads of {data_size(size / count)}",
        advice=_advice(signals, rows, sized),
        stage=reads[0].name,
        evidence=(
            time("read_time", each, f"{plural(count, 'read')} of {duration(each)} on average", whole="read"),
            *_leading(signals, reads[0], sized),
            *_cached(signals),
            *(saving.why if gain else ()),
        ),
        gain_us_per_step=gain,
        code=CODE,
        confidence="likely",
        confidence_reason="How long it takes to read the same bytes from large files was not measured.",
    )


def _advice(signals: Signals, rows: list[StageCalls], sized: list[StageCalls]) -> str:
    """What was measured: whether opening files takes longer than reading them."""
    whole = sum(calls.self_us for calls in rows)
    opening = sum(calls.self_us for calls in rows if calls not in sized and "open" in calls.stage.label)
    is_opening = whole > 0 and opening > whole / 2
    begin = f"Opening the files takes {percent(opening / whole)} of that time: pack" if is_opening else "Pack"
    advice = f"{begin} the samples into a few large files that are read in order"
    cached = signals.costs.cached if signals.costs else None
    if cached is not None and cached >= ALL_CACHED:
        return f"{advice}. What is read is in memory already (page cache)."
    return f"{advice}, or keep them on a local disk or in memory."


def _are_packed(signals: Signals, reads: list[StageWait]) -> bool:
    """The samples are in large files already: what most of the reading is for."""
    return any(wait.stage is not None and are_packed(signals, wait.stage) for wait in reads[:1])


def covers(signals: Signals, stage: Stage) -> bool:
    """Whether the finding is about this stage, too."""
    wait = next((wait for wait in signals.waits_by_stage or () if wait.stage == stage), None)
    return wait is not None and _is_of_reads(signals, wait) and isinstance(check(signals), Finding)


def _is_of_reads(signals: Signals, wait: StageWait) -> bool:
    """Whether opening and reading files caused it (`reads_files`): not a few calls that import or fill a cache, nor
    waiting for a lock, nor what a library computes when it opens a file.
    """
    lock = signals.shared_lock
    if wait.stage is None or not reads_files(signals, wait.stage) or (lock is not None and lock.stage == wait.stage):
        return False
    rows = [calls for calls in signals.stages if calls.stage == wait.stage]
    limits = {calls.cpu_use.limited_by for calls in rows if calls.cpu_use is not None}
    if limits == {"cpu"} and wait.stage.label not in PLAIN:
        return False
    calls = AllCalls.of(rows)
    return calls is None or not calls.are_few(signals)


def _leading(signals: Signals, leader: StageWait, sized: list[StageCalls]) -> tuple[Evidence, ...]:
    """Where most of the time is: the stage, where that is none of `sized`, and its line."""
    line = stage_line(signals, leader.name)
    calls = AllCalls.of(row for row in signals.stages if row.stage == leader.stage)
    if calls is None or any(row.stage == leader.stage for row in sized):
        return line
    each = duration(calls.total_us / calls.count)
    text = f"most of it in {leader.name}, {plural(calls.count, 'call')} of {each} on average"
    return (number("calls", calls.count, "count", text, stage=leader.name), *line)


def _cached(signals: Signals) -> tuple[Evidence, ...]:
    cached = signals.costs.cached if signals.costs else None
    if cached is None:
        return ()
    rest = "" if cached >= ALL_CACHED else ", the rest from storage"
    text = f"{percent(cached)} of the bytes came from the page cache{rest}"
    return (share("cached", cached, "bytes read", text),)
