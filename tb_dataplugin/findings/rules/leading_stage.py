"""One stage caused a large part of the data wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from annotate.trace_format import Stage, StageKind
from tb_dataplugin.analyses.occupancy import StageLimit
from tb_dataplugin.findings.evidence import Evidence, number, share, time
from tb_dataplugin.findings.finding import Finding, Severity
from tb_dataplugin.findings.hot import stage_line
from tb_dataplugin.findings.leading import leading_place
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.rules import small_reads
from tb_dataplugin.findings.sequence import containers, sequences
from tb_dataplugin.findings.signals import CpuUse, Signals, StageCalls, StageWait
from tb_dataplugin.findings.thresholds import HIGHLY_INPUT_BOUND, MOSTLY, ONE_CALL
from tb_dataplugin.units import duration, percent, plural

ADVICE: Final[dict[StageKind, str]] = {
    "read": "Read fewer, larger files (packed records), keep them on a local disk, or cache what is read again.",
    "decode": "Decode less: a smaller image, a faster decoder, or data decoded once and stored.",
    "transform": "Replace it with array operations, or apply it once per batch, after collate or on the device.",
    "sample": "This is time in the dataset's own __getitem__, outside all marked stages: mark its parts with "
    "annotate.stage to see which part is slow.",
    "sampler": "Indices are drawn in the training thread, so more DataLoader workers do not help. Draw the order of an "
    "epoch at once with numpy or torch, and only step through it.",
    "wrapper": "This code around the DataLoader runs in the training thread, so more DataLoader workers do not help. "
    "Let the workers do it, in the dataset or in collate_fn, or run it ahead in a separate thread.",
    "user": "This is time inside a marker of your own: split it into finer markers to see which part is slow.",
}

ELSEWHERE: Final[frozenset[StageKind]] = frozenset(("collate", "transfer", "h2d", "wait"))
"""Kinds with rules of their own, or that no data wait is passed on to. A new kind is here or in `ADVICE`."""

OUTLIER_ADVICE: Final = (
    "One call dominates: the first call of a stage often pays for imports, compilation or a cold cache. Capture more "
    "steps before changing anything."
)

LIMIT_ADVICE: Final[dict[StageLimit | None, str]] = {
    "cpu": "",
    "no_cpu": " For part of its time it only waits for a CPU, so the stage itself costs less than its time suggests.",
    "blocked": " For part of its time it is blocked by storage, a lock or another process; more DataLoader workers can "
    "wait for those at the same time.",
    None: "",
}

LIMIT_WORDS: Final[dict[StageLimit, str]] = {
    "cpu": "running on a CPU",
    "no_cpu": "waiting for a CPU (estimated)",
    "blocked": "blocked by storage, a lock or another process",
}

LOADED: Final = (
    "If it is the same file for each sample, load it once, in __init__ or in a worker's first sample, and keep it. "
    "Else store each sample in a file of its own, or in one that is read by parts."
)

DECODER_ADVICE: Final = {
    "numpy.NpzFile": "Store the arrays as .npy files, which np.load reads in one piece: an .npz is unpacked piece by "
    "piece, with a checksum over all of it, even where it is not compressed.",
    **dict.fromkeys(("json.load", "pickle.load", "torch.load", "pandas.read_csv"), LOADED),
}
"""By the decode stage's label; of an array there is no smaller image."""

DECODER_CODE: Final = {
    "PIL": "image.draft('RGB', (width, height))  # JPEG: decodes at the next smaller scale",
    "cv2": "cv2.imread(path, cv2.IMREAD_REDUCED_COLOR_2)  # decodes at half the size",
    "numpy.NpzFile": "np.save(path, array)  # once; np.load(path) for each sample",
}
"""By the decode stage's label, or its first word."""


@rule(title="Leading stage", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    leader = leading_place(signals)
    if leader is None or leader.stage is None or leader.stage.kind not in ADVICE:
        return None
    if leader.stage.kind == "wrapper" and signals.lock_limits_wait:  # a separate thread would wait as well
        return None
    if leader.stage.kind == "read" and isinstance(small_reads.check(signals), Finding):
        return None
    rows = [calls for calls in signals.stages if calls.stage == leader.stage]
    calls, cpu_use = _AllCalls.of(rows), _cpu_use(rows)
    limit = None if cpu_use is None else cpu_use.limited_by
    hint = "" if signals.lock_limits_wait else LIMIT_ADVICE[limit]
    outlier = calls is not None and calls.longest_us >= ONE_CALL * calls.total_us and calls.count > 1
    gain = signals.saved_without(rows, leader.cost_us)
    return Finding(
        severity=_severity(signals, outlier),
        title=_title(signals, leader, calls if outlier else None),
        advice=OUTLIER_ADVICE if outlier else _advice(signals, leader.stage) + hint,
        stage=leader.name,
        gain_us_per_step=None if signals.mode == "replay" or outlier else signals.per_step(gain),
        evidence=(
            _waited(signals, leader),
            *_calls_evidence(calls, leader),
            *stage_line(signals, leader.name),
            *_parents(leader.stage, rows),
            *_limit_evidence(cpu_use, leader),
        ),
        code="" if outlier else _code(leader.stage),
    )


@dataclass(frozen=True, slots=True)
class _AllCalls:
    """All calls of a stage, anywhere in the tree."""

    count: int
    total_us: float  # of the calls, with nested stages
    median_us: float  # of the row with most calls
    longest_us: float

    @staticmethod
    def of(rows: list[StageCalls]) -> _AllCalls | None:
        if not rows:
            return None
        return _AllCalls(
            count=sum(calls.count for calls in rows),
            total_us=sum(calls.total_us for calls in rows),
            median_us=max(rows, key=lambda calls: calls.count).p50_us,
            longest_us=max(calls.max_us for calls in rows),
        )


def _cpu_use(rows: list[StageCalls]) -> CpuUse | None:
    """Of the row with most self time."""
    known = [calls for calls in rows if calls.cpu_use is not None]
    most = max(known, key=lambda calls: calls.self_us, default=None)
    return None if most is None else most.cpu_use


def _advice(signals: Signals, stage: Stage) -> str:
    """What the order and the sizes of the transforms, as recorded, allow to say."""
    advice = ADVICE[stage.kind]
    line = signals.stage_lines.get(stage.name)
    if stage.kind == "sample" and line is not None and line.share >= MOSTLY:
        return f"This is time in the dataset's own __getitem__, outside all marked stages, most of it at {line.place}."
    if stage.kind == "decode":
        return DECODER_ADVICE.get(stage.label, advice)
    if stage.kind != "transform":
        return advice
    if any(path[-1] == stage for path in containers(signals.stages)):
        return (
            f"This is time in {stage.label} itself, outside the transforms inside it: mark its parts with "
            "annotate.stage to see which part is slow."
        )
    steps = [step for sequence in sequences(signals.stages) for step in sequence]
    own = next((step for step in steps if step.calls.stage == stage), None)
    if own is None:
        return advice
    if own.shrinks:
        return (
            f"It keeps {percent(own.ratio)} of its input: decode only that part, with a decoder that crops or scales "
            "while it decodes, or use a faster implementation."
        )
    later = next((step for step in steps if step.shrinks and own.calls in step.before), None)
    if later is None:
        return advice
    return f"Apply it after {later.calls.stage.label}, which keeps {percent(later.ratio)} of its input. {advice}"


def _severity(signals: Signals, outlier: bool) -> Severity:
    if outlier:
        return "low"
    return "high" if signals.is_input_bound(HIGHLY_INPUT_BOUND) and signals.mode != "replay" else "medium"


def _title(signals: Signals, leader: StageWait, outlier: _AllCalls | None) -> str:
    part = f"{percent(leader.share)} of the {_whole(signals)}"
    if outlier is not None:
        return f"One call of {leader.name} took {duration(outlier.longest_us)}; the stage caused {part}"
    return f"{leader.name} takes {part}" if signals.mode == "replay" else f"{leader.name} caused {part}"


def _whole(signals: Signals) -> str:
    return "loading time in the replay" if signals.mode == "replay" else "data wait"


def _code(stage: Stage) -> str:
    if stage.kind != "decode":
        return ""
    return DECODER_CODE.get(stage.label, "") or DECODER_CODE.get(stage.label.partition(".")[0], "")


def _waited(signals: Signals, leader: StageWait) -> Evidence:
    whole = "loading time" if signals.mode == "replay" else "data wait"
    text = f"{duration(leader.data_wait_us)} of {duration(signals.data_wait_us)} of {whole}"
    return time("wait_by_stage", leader.data_wait_us, text, stage=leader.name)


def _calls_evidence(calls: _AllCalls | None, leader: StageWait) -> tuple[Evidence, ...]:
    if calls is None:
        return ()
    spread = f"p50 {duration(calls.median_us)}, longest {duration(calls.longest_us)}"
    return (number("calls", calls.count, "count", f"{plural(calls.count, 'call')}, {spread}", stage=leader.name),)


def _parents(stage: Stage, rows: list[StageCalls]) -> tuple[Evidence, ...]:
    parents = {calls.path[-2].name for calls in rows if len(calls.path) > 1 and calls.path[-2].kind == "transform"}
    if stage.kind != "decode" or not parents:
        return ()
    return (Evidence("inside", f"called inside {', '.join(sorted(parents))}", stage=stage.name),)


def _limit_evidence(use: CpuUse | None, leader: StageWait) -> tuple[Evidence, ...]:
    if use is None or use.limited_by is None:
        return ()
    parts = {"cpu": use.cpu_us, "no_cpu": use.run_delay_us, "blocked": use.blocked_us}
    part = parts[use.limited_by] / sum(parts.values())
    text = f"{LIMIT_WORDS[use.limited_by]} for {percent(part)} of its self time"
    return (share(f"limited_by_{use.limited_by}", part, "self time", text, leader.name),)
