"""Reading has a large part of the wait, in many small pieces."""

from __future__ import annotations

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, LEADING_STAGE, SMALL_READ_BYTES
from tb_dataplugin.units import duration, percent, plural, significant

RULE = "small_reads"

CODE = """# once: pack the samples into a few large files
with wds.ShardWriter('train-%05d.tar', maxcount=10000) as shards:
    for key, image, label in samples:
        shards.write({'__key__': key, 'jpg': image, 'cls': label})"""


def check(signals: Signals) -> Finding | Abstention | None:
    reads = [one for one in signals.blamed or () if one.stage is not None and one.stage.kind == "read"]
    share, felt = sum(one.share for one in reads), sum(one.exposed_us for one in reads)
    if share < LEADING_STAGE or not signals.is_input_bound(INPUT_BOUND):
        return None
    rows = [row for row in signals.rows if row.stage.kind == "read"]
    sized = [row for row in rows if row.bytes is not None]
    if not sized:
        return Abstention(RULE, "how many bytes each read returned was not recorded")
    count, size = sum(row.count for row in sized), sum(row.bytes or 0.0 for row in sized)
    if size / count >= SMALL_READ_BYTES:
        return None
    gain = signals.per_step(signals.felt_without(rows, felt)) if signals.mode != "replay" else None
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=felt),
        title=f"Reading has {percent(share)} of the data wait, in pieces of {significant(size / count / 1024)} KiB",
        advice="Opening and seeking cost more than the bytes: pack the samples into a few large files that are read in "
        "order, or keep them on a local disk or in memory.",
        stage=reads[0].name,
        evidence=(
            f"{plural(count, 'read')} of {duration(sum(row.total_ns for row in sized) / count / 1e3)} on average",
            *_cached(signals),
        ),
        gain_us_per_step=gain,
        code=CODE,
        confidence="likely",
        confidence_reason="how long the same bytes take in large files was not measured",
    )


def _cached(signals: Signals) -> tuple[str, ...]:
    costs = signals.evidence.costs
    if isinstance(costs, Unavailable) or costs.cached is None:
        return ()
    return (f"{percent(costs.cached)} of the bytes came from the page cache, the rest from storage",)
