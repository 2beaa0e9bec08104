"""The finding about one stage that caused a part of the data wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from annotate.trace_format import Stage, StageKind
from tb_dataplugin.analyses.line_waits import WaitedFor
from tb_dataplugin.analyses.occupancy import TOO_SHORT_NS, StageLimit
from tb_dataplugin.analyses.shared_lock import SharedLock
from tb_dataplugin.analyses.undivided import find_undivided
from tb_dataplugin.findings import collecting
from tb_dataplugin.findings.begun_texts import begun_before_evidence
from tb_dataplugin.findings.by_size import by_size
from tb_dataplugin.findings.callee_advice import callee_advice
from tb_dataplugin.findings.calls import AllCalls
from tb_dataplugin.findings.capacity import share_what_is_full
from tb_dataplugin.findings.decoder_advice import decode_less, decoder_advice, decoder_code, decodes_pictures, is_crop
from tb_dataplugin.findings.evidence import Evidence, number, share, time
from tb_dataplugin.findings.fed import another_makes
from tb_dataplugin.findings.few_calls import few_calls_advice, few_calls_line
from tb_dataplugin.findings.finding import Finding, Severity
from tb_dataplugin.findings.hot import for_loader, stage_line
from tb_dataplugin.findings.in_memory import advice_for, code_for, is_advised, saved_at_once, takes_batches
from tb_dataplugin.findings.kept_parts import is_certain
from tb_dataplugin.findings.limit_texts import DELAY_ESTIMATED
from tb_dataplugin.findings.line_texts import WAITS, line_text
from tb_dataplugin.findings.own_reads import blocked_advice, is_own, own_read_advice, wait_of_line
from tb_dataplugin.findings.reader_advice import (
    READ_ADVICE,
    are_packed,
    read_advice,
    read_code,
    same_file,
    samples_built,
)
from tb_dataplugin.findings.saving import Saving, saved_without
from tb_dataplugin.findings.sequence import Step, containers, sequences
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_collecting import collecting_evidence
from tb_dataplugin.findings.stage_signals import StageCalls, StageWait
from tb_dataplugin.findings.thresholds import (
    HIGHLY_INPUT_BOUND,
    HOT_LINE,
    LIMIT_WORTH_A_WORD,
    NO_CPU,
    ONE_LINE,
)
from tb_dataplugin.findings.who_builds import AROUND, DRAWN, around_advice, once, sampler_advice
from tb_dataplugin.findings.whose_code import mark, method_of
from tb_dataplugin.findings.worker_cpus import has_hidden_threads
from tb_dataplugin.units import duration, percent, plural, significant
from tb_dataplugin.words import BLOCKED_BY

ADVICE: Final[dict[StageKind, str]] = {
    "read": READ_ADVICE,
    "decode": "Decode less of it, with a faster decoder, or store the data decoded.",
    "transform": "Replace it with array operations, or apply it once per batch, after collate or on the device.",
    "sample": "This is time in the dataset's own {method}, outside all marked stages",
    "sampler": DRAWN,
    "wrapper": AROUND,
    "user": "This is time inside a marker of your own",
}

ELSEWHERE: Final[frozenset[StageKind]] = frozenset(("collate", "transfer", "h2d", "wait"))
"""Kinds with rules of their own, or that no data wait is passed on to. A new kind is here or in `ADVICE`."""

OF_PYTHON: Final = (
    "Do that less often, keep what does not change between calls, use array operations, or apply the transform once "
    "per batch, after collate or on the device."
)


OFTEN: Final = 1.9
"""Calls of a stage per sample, from which some of them may be made for nothing."""

LIMIT_ADVICE: Final[dict[StageLimit, str]] = {
    "cpu": "",
    "no_cpu": " For {part} of its time it only waits for a CPU, so the stage itself costs less than its time "
    "suggests{threads}.",
    "blocked": " For {part} of its time it is blocked{by}.{more}",
}
MORE_CAN_WAIT: Final = (
    " DataLoader workers, or more of them, can wait at the same time, but not for a lock that they share{unless}."
)
UNDIVIDED: Final = ", and only where each goes through its own part of the dataset"

THREADS_FIRST: Final = ": first limit the hidden threads of libraries (see that finding), and measure again"

READING: Final[frozenset[StageKind]] = frozenset(("read", "decode"))
MOSTLY_BLOCKED: Final = 0.5
"""Share of a reader's or decoder's own time, from which what it is blocked by comes before how it decodes."""

LOCK_ADVICE: Final = (
    " DataLoader workers wait for one another at {line}, so more of them would only wait longer: do less while the "
    "lock is held (only what has to be alone, such as one seek and read), or need no lock, with a handle that each "
    "worker opens for itself."
)
DATABASE_ADVICE: Final = (
    " DataLoader workers wait for one another at {line}, so more of them would only wait longer: one that writes to "
    "the database keeps the others out until it commits. Commit before the sample is computed, write for many samples "
    "at once, or do not write in DataLoader workers at all."
)

LIMIT_WORDS: Final[dict[StageLimit, str]] = {
    "cpu": "running on a CPU",
    "no_cpu": "waiting for a CPU",
    "blocked": f"blocked ({', '.join(BLOCKED_BY)})",
}


def has_advice(signals: Signals, place: StageWait | None) -> bool:
    """False for what other rules are about."""
    if place is None or place.stage is None or place.stage.kind not in ADVICE:
        return False
    return place.stage.kind != "wrapper" or not signals.lock_limits_wait  # a separate thread would wait as well


def stage_finding(signals: Signals, place: StageWait, later: Step | None = None, *, leads: bool) -> Finding:
    """About a stage for which `has_advice` is true. `leads`: it is the one that the verdict names. `later`: the step
    that it should come after.
    """
    stage = place.stage
    assert stage is not None
    rows = [calls for calls in signals.stages if calls.stage == stage]
    calls, most = AllCalls.of(rows), _most_known(rows)
    hint = "" if signals.lock_limits_wait or most is None else _hint(signals, most)
    few = calls if calls is not None and calls.are_few(signals) else None
    outlier = few is not None and (few.may_be_first or few.is_one)  # one call is no habit
    at_once = stage.kind == "sample" and is_advised(signals)
    saving = (saved_at_once if at_once else saved_without)(signals, rows, place.cost_us)
    if later is not None and later.ratio is not None:
        saving = saved_without(signals, by_size(signals, rows), part=1 - later.ratio)
    gain = None if signals.mode == "replay" or outlier else signals.per_step(saving.us)
    return Finding(
        severity=_severity(signals, outlier)
        if leads and not (at_once and takes_batches(signals))  # little is left to do there
        else severity(signals, _per_step(signals, gain, saving), otherwise_us=0.0),
        title=_title(signals, place, few),
        advice=few_calls_advice(signals, stage, few) if few else _with_hint(signals, stage, most, hint, later),
        stage=place.name,
        gain_us_per_step=gain,
        evidence=(
            _waited(signals, place),
            *_calls_evidence(signals, rows, calls, place),
            *begun_before_evidence(rows),
            *(few_calls_line(signals, stage, few) if few else stage_line(signals, place.name)),
            *_parents(stage, rows),
            *same_file(signals, stage),
            *(_use_of_time(most) if most is not None else ()),
            *collecting_evidence(signals, place, rows),
            *_order(later, gain),
            *(() if gain is None else saving.why),
            *_lock_alone(signals, stage, gain),
        ),
        code="" if few else _code(signals, stage),
    )


def _code(signals: Signals, stage: Stage) -> str:
    if stage.kind == "sample" and is_advised(signals):
        return code_for(signals)
    if stage.kind == "read":
        return read_code(signals, stage)
    line = signals.stage_lines.get(stage.name)
    source = line.source or line.text if line is not None else ""
    return decoder_code(stage.label, signals.slow_files, source) if stage.kind == "decode" else ""


def _most_known(rows: list[StageCalls]) -> StageCalls | None:
    """Of those whose CPU time is known, the row with most self time."""
    known = [calls for calls in rows if calls.cpu_use is not None]
    return max(known, key=lambda calls: calls.self_us, default=None)


def _parts_of_time(row: StageCalls) -> dict[StageLimit, float]:
    """Shares of the row's self time, the largest first; without those that are 0 or not known, as all are of calls that
    are too short to tell.
    """
    use = row.cpu_use
    if use is None or row.self_us * 1e3 < TOO_SHORT_NS * row.count:
        return {}
    parts: dict[StageLimit, float] = {"cpu": use.cpu_us, "no_cpu": use.run_delay_us, "blocked": use.blocked_us}
    shares = {limit: time / row.self_us for limit, time in parts.items() if time and row.self_us}
    return dict(sorted(shares.items(), key=lambda part: -part[1]))


def _hint(signals: Signals, row: StageCalls) -> str:
    """What it means that the stage does not only compute."""
    lock = signals.shared_lock
    if lock is not None and lock.stage == row.stage:
        return (DATABASE_ADVICE if lock.is_of_database else LOCK_ADVICE).format(line=_name_of(signals, lock))
    parts, unless = _parts_of_time(row), "" if find_undivided(signals.loader) is None else UNDIVIDED
    limit = next((limit for limit, part in parts.items() if limit != "cpu" and part >= NO_CPU), None)
    return (
        ""
        if limit is None
        else LIMIT_ADVICE[limit].format(
            part=percent(parts[limit]),
            threads=THREADS_FIRST if has_hidden_threads(signals) else "",
            by=_blocked_by(signals, row),
            more="" if signals.num_workers and share_what_is_full(signals) else MORE_CAN_WAIT.format(unless=unless),
        )
    )


def _blocked_by(signals: Signals, row: StageCalls) -> str:
    """What the line says that the advice has just named; else what it may be."""
    named = _named_wait(signals, row)
    return f", and that line {WAITS[named]}" if named else f": {', '.join(BLOCKED_BY)}"


def _named_wait(signals: Signals, row: StageCalls) -> WaitedFor | None:
    """By the line that the advice names: of readers and decoders it is named where they are mostly blocked."""
    names_line = row.stage.kind not in READING or is_own(row.stage) or _is_blocked(row)
    return wait_of_line(signals, row.stage) if names_line else None


def _is_blocked(row: StageCalls) -> bool:
    return _parts_of_time(row).get("blocked", 0.0) >= MOSTLY_BLOCKED


def _with_hint(signals: Signals, stage: Stage, row: StageCalls | None, hint: str, later: Step | None) -> str:
    is_locked = signals.shared_lock is not None and signals.shared_lock.stage == stage
    reads = stage.kind in READING
    if hint and reads and is_locked:
        return hint.strip()  # how it reads matters little
    advice = (
        own_read_advice(signals, stage, row, mark(signals, stage)) if is_own(stage) else _advice(signals, stage, later)
    )
    if not hint or not reads or row is None or not _is_blocked(row):
        return advice + hint
    named, line = _named_wait(signals, row), signals.stage_lines.get(stage.name)
    if named is None and are_packed(signals, stage) and not is_own(stage):
        return advice + hint
    text = "" if line is None or line.share < HOT_LINE else f"{line.share_of('its time')} is {line.text}: begin there."
    words = (text, hint.strip()) if named else (hint.strip(), text)
    return " ".join(filter(None, words)) + blocked_advice(signals, named)


def _lock_alone(signals: Signals, stage: Stage, gain_us: float | None) -> Iterator[Evidence]:
    """What the advice about the lock may save, of the bound for all of the stage."""
    lock = signals.shared_lock
    if lock is not None and lock.stage == stage and gain_us is not None:
        text = (
            f"of these gains the waits of DataLoader workers for one another have up to {duration(gain_us * lock.part)}"
        )
        yield time("lock_wait", gain_us * lock.part, f"{text} per step", "step")


def _name_of(signals: Signals, lock: SharedLock) -> str:
    """The line that waits: "this line" where the advice has just named it."""
    hottest, text = signals.stage_lines.get(lock.stage.name), line_text(lock.row)
    if lock.stage.kind not in READING and hottest is not None and hottest.share >= HOT_LINE and hottest.text == text:
        return "this line"
    return f"{text} ({percent(lock.part)} of its time)"


def _advice(signals: Signals, stage: Stage, later: Step | None) -> str:
    """What the order and the sizes of the transforms, as recorded, allow to say."""
    advice, line = ADVICE[stage.kind], signals.stage_lines.get(stage.name)
    if line is not None and collecting.is_collecting(line):
        return f"{line.share_of('it')} is {line.text}. {collecting.ADVICE}"
    if stage.kind == "wrapper":
        is_known = line is not None and line.share >= HOT_LINE
        waits = another_makes(signals, line.calls) if line is not None and is_known else ""
        return waits or around_advice(signals)
    if stage.kind == "sampler":
        return sampler_advice(signals)
    if stage.kind == "decode":
        return decoder_advice(stage.label, once(signals)) or advice
    if stage.kind == "sample" and is_advised(signals):
        return advice_for(signals)
    if stage.kind == "read":
        return read_advice(signals, stage)
    if stage.kind == "sample":
        advice = advice.format(method=method_of(signals, stage))
    if stage.kind in ("sample", "user"):
        return advice + where_in(signals, stage)
    if stage.kind != "transform":
        return advice
    if any(path[-1] == stage for path in containers(signals.stages)):
        return f"This is time in {stage.label} itself, outside the transforms inside it{where_in(signals, stage)}"
    steps = [step for sequence in sequences(signals.stages) for step in sequence]
    everywhere = [step for step in steps if step.calls.stage == stage]
    own = max(everywhere, key=lambda step: step.ratio or 0.0, default=None)
    if own is not None and all(step.shrinks for step in everywhere) and has_pictures(signals):
        called = f"{line.source} {line.calls} {line.text}" if line is not None else ""
        less = decode_less(stage.label, called)
        keeps = "keeps" if is_crop(stage.label) and is_certain(signals, own) else "returns"
        return f"It {keeps} {percent(own.ratio)} of its input: {less}, or use a faster implementation."
    if later is None:
        return line_advice(signals, stage) or advice
    return f"Apply it after {later.calls.stage.label}, which keeps {percent(later.ratio)} of its input."


def line_advice(signals: Signals, stage: Stage) -> str:
    """What to do about its hottest line; "" where none has much of it."""
    line = signals.stage_lines.get(stage.name)
    if line is None or line.share < HOT_LINE:
        return ""
    known = callee_advice(line.calls)
    if line.share < ONE_LINE:
        return f"{known} Then see {line.second} of it." if known and line.second else known
    of_line = known or ("" if line.waits else OF_PYTHON)  # what it waits for, `_hint` says
    return f"{line.share_of('it')} is {line.text}: begin there. {of_line}".rstrip()


def has_pictures(signals: Signals) -> bool:
    """Only of those can a decoder leave out parts."""
    return any(row.stage.kind == "decode" and decodes_pictures(row.stage.label) for row in signals.stages)


def where_in(signals: Signals, stage: Stage) -> str:
    """The line that has most of it; else how to find the part."""
    line = signals.stage_lines.get(stage.name)
    if line is None or line.share < HOT_LINE:
        return mark(signals, stage)
    return f". {line.share_of('it')} is {line.text}: begin there."


def _per_step(signals: Signals, gain: float | None, saving: Saving) -> float | None:
    """What a finding's severity goes by: the data wait that can go."""
    return None if gain is None else signals.per_step(saving.of_wait_us)


def _severity(signals: Signals, outlier: bool) -> Severity:
    if outlier:
        return "low"
    return "high" if signals.is_input_bound(HIGHLY_INPUT_BOUND) and signals.mode != "replay" else "medium"


def _order(later: Step | None, gain_us: float | None) -> Iterator[Evidence]:
    """What a gain is of that another order brings."""
    if later is not None and later.ratio is not None and gain_us is not None:
        kept, name = percent(later.ratio), later.calls.stage.name
        text = f"after {later.calls.stage.label} {kept} of its work is left: the bound is without the other part alone"
        yield share("bytes_kept", later.ratio, "bytes", text, name)


def _title(signals: Signals, place: StageWait, few: AllCalls | None) -> str:
    part = f"{percent(place.share)} of the {_whole(signals)}"
    if few is not None:
        how_many = "One call" if few.is_one else "A few calls"
        up_to = "" if few.is_one else "up to "
        return f"{how_many} of {place.name} took {up_to}{duration(few.longest_us)}; the stage caused {part}"
    if signals.mode == "replay":
        return f"{place.name} takes {part}"
    return f"{place.name} caused {part}"


def _whole(signals: Signals) -> str:
    return "loading time in the replay" if signals.mode == "replay" else signals.own_wait


def _waited(signals: Signals, place: StageWait) -> Evidence:
    whole = "loading time" if signals.mode == "replay" else signals.own_wait
    text = f"{duration(place.data_wait_us)} of {duration(signals.data_wait_us)} of {whole}"
    return time("wait_by_stage", place.data_wait_us, text, stage=place.name)


def _calls_evidence(
    signals: Signals, rows: list[StageCalls], calls: AllCalls | None, place: StageWait
) -> tuple[Evidence, ...]:
    if calls is None:
        return ()
    samples = samples_built(signals)
    often = sum(row.count for row in rows) / samples if samples else 0.0
    each = f" ({significant(often)} per sample: are all of them needed?)" if often >= OFTEN else ""
    spread = f"p50 {duration(calls.median_us)}, longest {duration(calls.longest_us)}"
    spread += " without long collections of garbage" if any(row.collected_us for row in rows) else ""
    counted = f"{plural(calls.count, 'call')}{for_loader(signals, place.name)}"
    every = number("calls", calls.count, "count", f"{counted}{each}, {spread}", stage=place.name)
    kind = signals.slow_kinds.get(place.name)
    return (every,) if kind is None else (every, Evidence("slow_kind", kind, stage=place.name))


def _parents(stage: Stage, rows: list[StageCalls]) -> tuple[Evidence, ...]:
    parents = {calls.path[-2].name for calls in rows if len(calls.path) > 1 and calls.path[-2].kind == "transform"}
    if stage.kind != "decode" or not parents:
        return ()
    return (Evidence("inside", f"called inside {', '.join(sorted(parents))}", stage=stage.name),)


def _use_of_time(row: StageCalls) -> tuple[Evidence, ...]:
    """How its self time divides, where that is known."""
    parts, use = _parts_of_time(row), row.cpu_use
    if use is None or not parts or (use.limited_by is None and "no_cpu" not in parts and "blocked" not in parts):
        return ()
    words = [f"{LIMIT_WORDS[limit]} for {percent(part)}" for limit, part in parts.items() if part >= LIMIT_WORTH_A_WORD]
    words[0] += " of its self time"
    text = f"{', '.join(words)}{f' ({DELAY_ESTIMATED})' if parts.get('no_cpu', 0.0) >= LIMIT_WORTH_A_WORD else ''}"
    limit = next(iter(parts)) if use.limited_by is None else use.limited_by
    return (share(f"limited_by_{limit}", parts[limit], "self time", text, row.stage.name),)
