"""One stage has a large part of the data wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from annotate.trace_format import Stage, StageKind
from tb_dataplugin.analyses.occupancy import Occupancy, StageLimit
from tb_dataplugin.findings.finding import Finding, Severity
from tb_dataplugin.findings.rules import small_reads
from tb_dataplugin.findings.signals import BlamedStage, Signals
from tb_dataplugin.findings.thresholds import HIGHLY_INPUT_BOUND, INPUT_BOUND, LEADING_STAGE, ONE_CALL
from tb_dataplugin.units import duration, percent, plural

ADVICE: Final[dict[StageKind, str]] = {
    "read": "Read fewer, larger files (packed records), keep them on a local disk, or cache what is read again.",
    "decode": "Decode less: a smaller image, a faster decoder, or data decoded once and stored.",
    "transform": "Make it cheaper: apply it to a smaller input (crop first), replace it by array operations, do it "
    "once per batch after collate, or on the device.",
    "sample": "Time passes in the dataset's own __getitem__, outside all marked stages: mark its parts with "
    "annotate.stage to see which.",
    "user": "This is time inside a marker of your own: split it into finer markers to see which part is slow.",
}

OUTLIER_ADVICE: Final = (
    "One call dominates: the first call of a stage often pays for imports, compilation or a cold cache. Capture more "
    "steps before changing anything."
)

DECODER_CODE: Final = {
    "PIL": "image.draft('RGB', (width, height))  # JPEG: decodes at the next smaller scale",
    "cv2": "cv2.imread(path, cv2.IMREAD_REDUCED_COLOR_2)  # decodes at half the size",
}
"""By the first word of the decode stage's label."""


def check(signals: Signals) -> Finding | None:
    leader = next((one for one in signals.blamed or () if one.stage is not None), None)
    if leader is None or leader.stage is None or leader.share < LEADING_STAGE:
        return None
    if not signals.is_input_bound(INPUT_BOUND) or leader.stage.kind not in ADVICE:
        return None
    if leader.stage.kind == "read" and isinstance(small_reads.check(signals), Finding):
        return None
    calls = _Calls.of(signals, leader)
    limit = _limit(signals, leader)
    outlier = calls is not None and calls.longest_us >= ONE_CALL * calls.total_us and calls.count > 1
    return Finding(
        rule="leading_stage",
        severity=_severity(signals, outlier),
        title=_title(signals, leader, calls if outlier else None),
        advice=OUTLIER_ADVICE if outlier else ADVICE[leader.stage.kind] + LIMIT_ADVICE[limit],
        stage=leader.name,
        gain_us_per_step=None if signals.mode == "replay" or outlier else signals.per_step(_gain(signals, leader)),
        evidence=_evidence(signals, leader, calls),
        code="" if outlier else _code(leader.stage),
    )


LIMIT_ADVICE: Final[dict[StageLimit | None, str]] = {
    "cpu": "",
    "no_cpu": " Part of its time it only waits for a core, so its own cost is less than its time.",
    "blocked": " Part of its time it waits, for storage, a lock or another process, which more workers can do at the "
    "same time.",
    None: "",
}

LIMIT_WORDS: Final[dict[StageLimit, str]] = {
    "cpu": "of its time it computes",
    "no_cpu": "of its time it wants a core and has none (by its share of the CPU time)",
    "blocked": "of its time it waits for something else than a core",
}


def _gain(signals: Signals, leader: BlamedStage) -> float:
    return signals.felt_without((row for row in signals.rows if row.stage == leader.stage), leader.exposed_us)


def _spent(signals: Signals, leader: BlamedStage) -> Occupancy | None:
    """Of the row with most self time."""
    rows = [row for row in signals.rows if row.stage == leader.stage and row.path in signals.evidence.occupancy]
    most = max(rows, key=lambda row: row.self_ns, default=None)
    return None if most is None else signals.evidence.occupancy[most.path]


def _limit(signals: Signals, leader: BlamedStage) -> StageLimit | None:
    spent = _spent(signals, leader)
    return None if spent is None else spent.limited_by


def _limit_evidence(signals: Signals, leader: BlamedStage) -> str:
    spent = _spent(signals, leader)
    if spent is None or spent.limited_by is None:
        return ""
    parts = {"cpu": spent.cpu_ns, "no_cpu": spent.run_delay_ns or 0, "blocked": spent.blocked_ns or 0}
    whole = spent.cpu_ns + (spent.run_delay_ns or 0) + (spent.blocked_ns or 0)
    return f"{percent(parts[spent.limited_by] / whole)} {LIMIT_WORDS[spent.limited_by]}"


@dataclass(frozen=True, slots=True)
class _Calls:
    """All calls of a stage, wherever it stands in the tree."""

    count: int
    total_us: float  # of the calls, with nested stages
    self_us: float
    median_us: float  # of the row with most calls
    longest_us: float

    @staticmethod
    def of(signals: Signals, leader: BlamedStage) -> _Calls | None:
        rows = [row for row in signals.rows if row.stage == leader.stage]
        if not rows:
            return None
        return _Calls(
            count=sum(row.count for row in rows),
            total_us=sum(row.total_ns for row in rows) / 1e3,
            self_us=sum(row.self_ns for row in rows) / 1e3,
            median_us=max(rows, key=lambda row: row.count).p50_ns / 1e3,
            longest_us=max(row.max_ns for row in rows) / 1e3,
        )


def _severity(signals: Signals, outlier: bool) -> Severity:
    if outlier:
        return "low"
    return "high" if signals.is_input_bound(HIGHLY_INPUT_BOUND) and signals.mode != "replay" else "medium"


def _title(signals: Signals, leader: BlamedStage, outlier: _Calls | None) -> str:
    whole = "loading time in the replay" if signals.mode == "replay" else "data wait"
    share = f"{percent(leader.share)} of the {whole}"
    if outlier is not None:
        return f"One call of {leader.name} took {duration(outlier.longest_us)}; the stage has {share}"
    return f"{leader.name} takes {share}"


def _code(stage: Stage) -> str:
    return DECODER_CODE.get(stage.label.partition(".")[0], "") if stage.kind == "decode" else ""


def _evidence(signals: Signals, leader: BlamedStage, calls: _Calls | None) -> tuple[str, ...]:
    whole = "loading" if signals.mode == "replay" else "data wait"
    lines = [f"{duration(leader.blame_us)} of {duration(signals.wait_us)} of {whole}"]
    if calls is not None:
        spread = f"p50 {duration(calls.median_us)}, longest {duration(calls.longest_us)}"
        lines.append(f"{plural(calls.count, 'call')}, {spread}")
    rows = [row for row in signals.rows if row.stage == leader.stage]
    parents = sorted({row.path[-2].name for row in rows if len(row.path) > 1 and row.path[-2].kind == "transform"})
    if leader.stage is not None and leader.stage.kind == "decode" and parents:
        lines.append(f"it happens inside {', '.join(parents)}")
    lines.append(_limit_evidence(signals, leader))
    return tuple(lines)
