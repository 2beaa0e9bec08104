"""Evidence that names the line of the code."""

from __future__ import annotations

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.line_signals import HotLine
from tb_dataplugin.findings.signals import FEEDER, Signals
from tb_dataplugin.findings.thresholds import HOT_LINE
from tb_dataplugin.findings.whose_code import package_of
from tb_dataplugin.units import percent
from tb_dataplugin.words import cause_label


def stage_line(signals: Signals, stage: str) -> tuple[Evidence, ...]:
    """Where no line of the stage has much of its time, or too few samples were taken: that, and where it is defined."""
    line = signals.stage_lines.get(stage)
    whole = f"{_label(stage)}{for_loader(signals, stage)}"
    return line_evidence(line, whole, stage) or (*definition(signals, stage), *_no_line(signals, line, stage, whole))


def for_loader(signals: Signals, stage: str) -> str:
    """Ends the name of a stage, or the number of its calls, where the training step has calls of its own."""
    return " for the loader" if signals.in_step_us(stage) else ""


def _label(stage: str) -> str:
    parsed = parse_span_name(stage)
    return parsed.label if parsed else stage


def _no_line(signals: Signals, line: HotLine | None, stage: str, whole: str) -> tuple[Evidence, ...]:
    """Why none is named; empty where stacks were not sampled."""
    why = signals.stages_without_lines.get(stage, "")
    if line is not None:
        why = f"its time is spread over many lines; the hottest has {line.share_of(whole)}: {line.text}"
    return (Evidence("no_line", why, stage=stage),) if why else ()


def definition(signals: Signals, stage: str) -> tuple[Evidence, ...]:
    """Where a stage is defined; empty where that is not known, or in torch, where there is nothing to change."""
    file, _, line = signals.stage_places.get(stage, "").rpartition(":")
    if not file or not line.isdecimal():
        return ()
    label = _label(stage)
    place = Place(label, file, int(line)).short
    if place.startswith("torch/"):
        return ()
    package = package_of(signals, stage)  # a class of the user's may run a method that it inherits
    text = f"{label} runs code of {package}, at {place}" if package else f"{label} is defined at {place}"
    return (Evidence("defined_at", text, stage=stage),)


def training_line(signals: Signals, cause: str) -> tuple[Evidence, ...]:
    """Of the training thread's code, in a part of the idle time."""
    line = signals.training_lines.get(cause)
    if not signals.has_device:
        return line_evidence(line, "the time outside the data wait")
    return line_evidence(line, f"idle: {cause_label(cause)}", more=_of_idle(signals, cause, line))


def _of_idle(signals: Signals, cause: str, line: HotLine | None) -> str:
    """What a line of one cause has of all idle time; "" where that is the only cause."""
    idle = signals.idle.total_us
    part = next((time for name, time in signals.idle.by_cause_us.items() if name == cause), 0.0)
    if line is None or not idle or part >= idle:
        return ""
    return f", {percent(line.share * part / idle)} of the idle time"


def lock_line(signals: Signals) -> tuple[Evidence, ...]:
    """Where the training thread waits for Python's lock, which is not where it is held."""
    return line_evidence(signals.training_lines.get("gil"), "the waiting for the lock, which is held elsewhere")


def feeder_line(signals: Signals) -> tuple[Evidence, ...]:
    """What the thread that takes the batches runs besides, or why that is not named."""
    return _of_feeder(signals, "what the thread that takes the batches runs besides loading", "what that thread runs")


def beside_line(signals: Signals) -> tuple[Evidence, ...]:
    """The same of all threads beside the training thread, where several had the lock."""
    return _of_feeder(signals, "what other threads run besides loading", "what other threads run besides loading")


def _of_feeder(signals: Signals, whole: str, unknown: str) -> tuple[Evidence, ...]:
    why = signals.stages_without_lines.get(FEEDER, "")
    no_line = (Evidence("no_line", f"of {unknown}: {why}"),) if why else ()
    return line_evidence(signals.training_lines.get(FEEDER), whole) or no_line


def line_evidence(line: HotLine | None, whole: str, stage: str = "", more: str = "") -> tuple[Evidence, ...]:
    if line is None or line.share < HOT_LINE:
        return ()
    few = "; these steps alone have too few stack samples" if line.in_whole_capture else ""
    text = f"{line.text}: {line.share_of(whole)}{line.between}{more}{few}"
    second = (Evidence("second_line", f"then {line.second}", stage=stage),) if line.second and stage else ()
    of = f"{whole} without annotate's own code" if line.left_out else whole
    return (share("hot_line", line.share, of, text, stage), *second)
