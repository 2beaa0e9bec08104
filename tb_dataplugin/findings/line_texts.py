"""Lines of the code in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Final

from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.analyses.hot_lines import FEWEST_SAMPLES, LEAST_SAMPLES, HotLines, PartLines
from tb_dataplugin.analyses.line_rows import LineRow, is_written
from tb_dataplugin.analyses.line_waits import WaitedFor
from tb_dataplugin.analyses.share_check import LEAST_TO_CHECK
from tb_dataplugin.analyses.spread_lines import Together, call_of, error_of, first_and_last, share_of
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.units import count, duration, percent, plural

MOSTLY: Final = 0.5
"""Part of a line's time in one function that it calls, from which advice goes by that function."""

WHOLE: Final = 0.95
"""The same, from which the line is named by that function: what is said of the line is true of the call."""

SEVERAL: Final = 0.15
"""Part of a line's time that each of several calls has, from which all of them are named, with their parts."""

SOME: Final = 10
"""Samples from which it can be said how many steps would be enough."""

SPARE: Final = 1.25
"""More steps than the rate asks for: samples are taken at random."""


WAITS: Final[dict[WaitedFor, str]] = {
    "sleep": "sleeps",
    "network": "waits for the network",
    "lock": "waits for a lock",
    "queue": "waits for a queue",
    "process": "waits for another process",
}
"""What a line does that names what it waits for."""

BLIND: Final = " Code in C counts for the line of Python that calls it."
"""What no sampler of ours can see."""


def line_text(row: LineRow) -> str:
    """``scipy.signal.convolve2d, called in RandomMask.dilate_mask at train.py:41``; where the line itself is what runs,
    or calls no Python code, its text: ```total += loss.item()` in train at train.py:88``; where what it calls has only
    a part of its time, both, with that part. Where only library code runs, also the user's line that calls it.
    """
    where = f"{row.place.function} at {row.place.short}"
    source = row.place.source
    written = f"`{source}` in {where}" if source else where
    several = [callee for callee in row.callees if callee.share >= SEVERAL and not _is_internal(callee.name, source)]
    if len(several) == 1 and several[0].share >= WHOLE and (not source or is_written(several[0].name, source)):
        text = f"{several[0].name}, called in {where}"
    else:
        parts = ", ".join(f"{callee.name} {percent(callee.share)}" for callee in several)
        text = f"{written} ({parts})" if parts else written
    text += _below(row)
    return text if row.called_from is None else f"{text}, called from {place_text(row.called_from)}"


def _below(row: LineRow) -> str:
    """``, in libjpeg's `decode_mcu```: the compiled code that most of the line's time is in, where that was sampled."""
    if row.native is None or row.native_share < MOSTLY:
        return ""
    library, symbol = row.native
    return f", in {library}'s `{symbol}`" if symbol else f", in {library}"


def lines_text(lines: Together) -> str:
    """``mel at train.py:16 to 19, over 3 lines, the hottest `row[k] += x` in line 17``; of lines that call the same
    ``log.add, called in main at train.py:16, 19``; of one line as `line_text`. Of a library's also the user's line that
    calls them, where that is one.
    """
    if len(lines) == 1:
        return line_text(lines[0])
    hottest, call = lines[0].place, call_of(lines)
    if call:
        functions = {row.place.function for row in lines}
        within = f"called in {hottest.function}" if len(functions) == 1 else "called"
        return f"{call}, {within} at {lines_place(lines)}"
    written = f"`{hottest.source}` in line {hottest.line}" if hottest.source else f"line {hottest.line}"
    callers = {row.called_from for row in lines}
    caller = next(iter(callers)) if len(callers) == 1 else None
    called = "" if caller is None else f", called from {place_text(caller)}"
    return f"{hottest.function} at {lines_place(lines)}, over {len(lines)} lines, the hottest {written}{called}"


def lines_place(lines: Together) -> str:
    """``train.py:16 to 19``; of lines that call the same ``train.py:16, 19``."""
    first, last = first_and_last(lines)
    if len(lines) > 1 and call_of(lines):
        numbers = sorted(row.place.line for row in lines)
        return f"{replace(lines[0].place, line=first).short}, {', '.join(map(str, numbers[1:]))}"
    return lines[0].place.short if len(lines) == 1 else f"{replace(lines[0].place, line=first).short} to {last}"


def _is_internal(name: str, source: str) -> bool:
    """Torch's own way to what the line calls: the line says more."""
    return bool(source) and name.startswith("torch.") and not is_written(name, source)


def place_text(place: Place) -> str:
    """```con.commit()` in Store.get at store.py:41``."""
    where = f"{place.function} at {place.short}"
    return f"`{place.source}` in {where}" if place.source else where


def row_name(place: Place) -> str:
    """``augmented (train.py:15)``: a function, and where it begins."""
    name = "the generator expression" if place.function.startswith("<") else place.function
    return f"{name} ({place.short})"


def lines_sentence(lines: HotLines, window: Window, steps: int | None) -> str:
    """Who sampled, how often, at what cost, what cannot be seen; and whether samples and spans agree.

    Args:
        steps: in the window.
    """
    if not lines.samples:
        return "No stack was sampled in the window."
    who = "a separate process" if lines.is_outside else "a thread in each process"
    rate = f"every {duration(lines.interval_ns / 1e3)}" if lines.interval_ns else "once"
    more = _more_steps(lines, window, steps)
    sampled = f"{plural(lines.samples, 'stack')} of {plural(lines.threads, 'thread')}{_covered(lines)}"
    return f"Sampled by {who} {rate}: {sampled}{_cost(lines, window)}.{_check(lines)}{more}{BLIND}{_native(lines)}"


def _native(lines: HotLines) -> str:
    """How many samples have their native frames, at what cost, and why others have none."""
    native = lines.native
    if native is None:
        return ""
    why = f" Native frames are missing: {'; '.join(native.why_not)}." if native.why_not else ""
    if native.samples:
        part = f"{percent(native.joined / native.samples)} of {plural(native.samples, 'stack')}"
        cost = f"{duration(native.cost_ns / 1e3)} of CPU time"
        why = f" py-spy read the native frames of {part}, for {cost}; the program stood still meanwhile.{why}"
    beyond = f" {plural(native.left_out, 'process')} beyond its limit had none." if native.left_out else ""
    return why + beyond


def _covered(lines: HotLines) -> str:
    """Of the stages' time: processes that live briefly, or that the system does not show, may have no samples."""
    if lines.pipeline is None or not lines.stages_ns:
        return ""
    seen = min(1.0, (lines.pipeline.time_ns + lines.pipeline.recorder_ns) / lines.stages_ns)
    return f", {percent(seen)} of the stages' time"


def _cost(lines: HotLines, window: Window) -> str:
    if lines.cost_ns is None:
        return ""
    share = f" ({percent(lines.cost_ns / window.duration_ns)} of one CPU)" if window.duration_ns else ""
    return f", {duration(lines.cost_ns / 1e3)} of CPU time{share}"


def _check(lines: HotLines) -> str:
    check = lines.check
    if check is None:
        if not any(part.rows for part in lines.stages.values()):
            return ""  # it would be about no line
        unchecked = " Whether stages have the same shares by stack samples as by spans could not be checked"
        return f"{unchecked}: {LEAST_TO_CHECK} stack samples in stages are needed, it has {count(lines.stage_samples)}."
    points = f"{abs(check.difference) * 100:.1f} points"
    if check.agrees:
        return f" Shares of stages by stack samples and by spans agree to within {points}."
    return f" Shares of stages by stack samples and by spans differ by up to {points} ({check.stage})."


def left_out(part: PartLines, hottest: Together) -> float:
    """What the recorder's own code has of the part's time, which is no line's, where it matters: of all of the time the
    hottest lines have less than their interval says. 0 where it does not.
    """
    share = part.recorder_ns / max(1, part.time_ns + part.recorder_ns)
    return share if share * share_of(hottest) > error_of(hottest) else 0.0


def left_out_text(part: PartLines, hottest: Sequence[Together]) -> str:
    """``not counting 275 ms in annotate's own code, waiting for a CPU included``; "" where that makes no difference."""
    if not hottest or not left_out(part, hottest[0]):
        return ""
    return f"not counting {duration(part.recorder_ns / 1e3)} in annotate's own code, waiting for a CPU included"


def part_sentence(hottest: Sequence[Together], whole: str, part: PartLines) -> str:
    """``Of transform::Mask (1.05 s by stack samples), the hottest line has 84.0% (95% interval: 79.1% to 88.9%): dilate
    at train.py:41.`` Another whose interval overlaps its own is named beside it: which of them is hotter is not known.
    """
    if not hottest:
        return ""
    lines = hottest[0]
    share, error = share_of(lines), error_of(lines)
    low, high = percent(max(0.0, share - error)), percent(min(1.0, share + error))
    has = "line has" if len(lines) == 1 else "lines have"
    between = f" (95% interval: {low} to {high})" if low != high else ""
    without = left_out_text(part, hottest)
    sampled = f"{duration(part.time_ns / 1e3)} by stack samples{f', {without}' if without else ''}"
    rivals = [other for other in hottest[1:] if share_of(other) + error_of(other) >= share - error]
    if not rivals:
        return f"Of {whole} ({sampled}), the hottest {has} {percent(share)}{between}: {lines_text(lines)}."
    first = f"{lines_text(lines)} {'has' if len(lines) == 1 else 'have'} {percent(share)}{between}"
    others = f" and {plural(len(rivals) - 1, 'other')} are" if len(rivals) > 1 else " is"
    second = f"{lines_text(rivals[0])} ({percent(share_of(rivals[0]))}){others} about as hot"
    return f"Of {whole} ({sampled}), no single line is certainly the hottest: {first}; {second}."


COLLECTED_MUCH: Final = 0.1
"""Of a part's time, from which garbage collection in it is said beside its lines."""


def collected_sentence(collected_us: float, time_us: float) -> str:
    """With a space before it; "" where that is little. Python's collector has no frame of its own."""
    if collected_us < COLLECTED_MUCH * time_us:
        return ""
    return (
        f" Python's garbage collector took {duration(collected_us)} of it: in stacks that time is the functions' that "
        "it interrupted."
    )


def part_text(part: PartLines) -> str:
    """Why no line is named; "" where lines are."""
    if part.rows:
        return ""
    if part.samples < FEWEST_SAMPLES:
        return f"too few stack samples to name a line ({count(part.samples)} of {LEAST_SAMPLES} needed)"
    whole = f"{count(part.samples)} stack samples"
    return f"no line has most of its {whole} for certain; from {LEAST_SAMPLES} on, lines with less are named too"


def _more_steps(lines: HotLines, window: Window, steps: int | None) -> str:
    """How many would show lines of the stage with most time, where data are worth working on, else of the training
    thread; "" where there are lines, or too few samples to say. Said once: other parts would ask for other numbers.
    """
    if float(lines.hits.waited_ns.sum()) >= INPUT_BOUND * window.duration_ns:
        name, part = next(((stage.name, part) for stage, part in lines.stages.items()), ("", None))
    else:
        name, part = "the training thread", lines.training_thread
    if part is None or part.rows or part.samples < SOME or not steps:
        return ""
    if lines.of_some_steps:
        return f" These steps have too few stack samples for lines of {name}: choose more of them, or all."
    enough = ceil(SPARE * steps * LEAST_SAMPLES / part.samples)
    how = f"active={enough}; under run: --active {enough}"
    return f" To see lines of {name}, record about {count(enough)} steps ({how})."
