"""A whole run in a few lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Final

from tb_dataplugin.export.terminal import PLAIN, Style
from tb_dataplugin.export.width import as_wide_as, columns
from tb_dataplugin.shown import shown
from tb_dataplugin.units import UNKNOWN, count, duration, percent, plural, significant
from tb_dataplugin.watchfile.by_loader import in_steps
from tb_dataplugin.watchfile.loader_texts import loader_name, loader_text, waits_text, worked_text
from tb_dataplugin.watchfile.outside import Outside
from tb_dataplugin.watchfile.reading import Run
from tb_dataplugin.watchfile.sentences import (
    COLLECT_LESS,
    NO_EVENT,
    collecting_text,
    drift_text,
    first_step_text,
    growth_text,
    keep_text,
    lasted_text,
    made_text,
    outside_text,
    recording_text,
    slow_text,
    stalls_text,
    times_text,
    trouble_text,
    untimed_text,
)
from tb_dataplugin.watchfile.stepless import NO_STEP, why_no_step
from tb_dataplugin.watchfile.summary import Happening, Summary, summary_of
from tb_dataplugin.watchfile.takers import wait_note
from tb_dataplugin.watchfile.workers import busy_note, busy_number, ready_text

_LOADERS: Final = 4
_STAGES: Final = 4
_HAPPENINGS: Final = 10
_TROUBLES: Final = 5
_SLOW: Final = 3
_WINDOWS: Final = 4


def runs_text(runs: list[Run], style: Style = PLAIN) -> str:
    """All runs, one below the other; empty for none."""
    with as_wide_as(style.width):
        lines = [line for run in runs for line in (*_run(run, style), "")]
        lines = [part for line in lines for part in _wrapped(line)]
    return style.legible("\n".join(lines))


def _wrapped(line: str) -> list[str]:
    """Under the notes of a line of numbers, or under an event."""
    indent = " " * (24 if line[2:3].isalpha() and line.startswith("  ") else 4)
    return textwrap.wrap(line, columns(), subsequent_indent=indent, break_on_hyphens=False) or [""]


def _run(run: Run, style: Style) -> Iterator[str]:
    rank = "" if run.rank is None else f" · rank {run.rank}"
    yield style.bold(shown(f"Whole run {run.folder}{rank}"))
    summary = summary_of(run)
    if summary is None:
        yield f"  {NO_STEP}: {why_no_step(run)}"
        return
    whole = f"{plural(summary.steps, 'step')}{untimed_text(summary)}", recording_text(summary), _processes(summary)
    yield _line("run", duration(summary.seconds * 1e6), *whole)
    longest = f"longest {duration(summary.longest_us)}"
    yield _line("step time", duration(summary.step_us), f"p95 about {duration(summary.p95_us)}, {longest}")
    if first := first_step_text(summary):
        yield f"  {'first step':<22}{first}"
    wait = UNKNOWN if summary.data_wait_share is None else percent(summary.data_wait_share)
    of_loaders, worked = shown(waits_text(summary.loaders)), shown(worked_text(summary.loaders))
    note = ", ".join(filter(None, (wait_note(summary.whose, summary.wait_share), of_loaders)))
    yield _line("data wait", wait, f"{note}{stalls_text(summary)}{_epochs(summary)}")
    yield from _outside(summary.outside)
    yield from _loaders(summary)
    yield _line("samples/s", significant(summary.rate.samples_per_s), summary.rate.of)
    if summary.busy is not None:
        ready = "" if summary.ready is None else ready_text(summary.ready)
        yield _line("DataLoader workers", busy_number(summary.busy), f"{busy_note(summary.busy)}{worked}", ready)
    if summary.stages:
        slowest = ", ".join(f"{shown(name)} {duration(time)}" for name, time in summary.stages[:_STAGES])
        yield f"  {'stages per batch':<22}{slowest} ({summary.stages_note}{worked})"
    yield from _troubles(summary)
    for drift in summary.drifts:
        name, text = shown(drift_text(drift)).split(" from ", 1)
        yield f"  {name:<22}from {text}"
    for growth in summary.growth:
        yield f"  {'memory grows':<22}{growth_text(growth)}"
    yield from _windows(summary)
    for happening in summary.happenings[:_HAPPENINGS]:
        yield f"  {_happening(happening)}"
    left = len(summary.happenings) - _HAPPENINGS
    if left > 0:
        yield f"  and {plural(left, 'later event')}"
    if summary.bad_lines:
        yield f"  {plural(summary.bad_lines, 'line')} of its files could not be read"


def _outside(outside: Outside | None) -> Iterator[str]:
    if outside is not None:
        yield _line("outside of steps", duration(outside.us), outside_text(outside))
        if outside.made:
            yield f"  {'DataLoader':<22}{made_text(outside).removeprefix('the DataLoader is ')}: {keep_text(outside)}"


def _loaders(summary: Summary) -> Iterator[str]:
    """Each of several, below the numbers that are of one of them."""
    own_waits = "" if in_steps(summary.loaders) else " and the data wait"
    for one in summary.loaders[:_LOADERS]:
        own = f" (the steps{own_waits} above are its own)" if one.is_main else ""
        yield f"  {'by DataLoader':<22}{shown(loader_name(one))}{own}: {loader_text(one, summary.outside)}"
    left = len(summary.loaders) - _LOADERS
    if left > 0:
        yield f"  {'':<22}and {plural(left, 'further DataLoader')}"


def _windows(summary: Summary) -> Iterator[str]:
    """Those of events stand beside these."""
    for window in summary.windows[:_WINDOWS]:
        after, lasted = duration(1e6 * window.after_s), duration(1e6 * window.lasted_s)
        yield f"  {'window recorded':<22}after {after}, for {lasted}: {shown(window.capture)}"
    left = len(summary.windows) - _WINDOWS
    if left > 0:
        yield f"  {'':<22}and {plural(left, 'later window')}"


def _troubles(summary: Summary) -> Iterator[str]:
    """What went wrong, and what was slow, beside the stages."""
    if summary.gil_share is not None or summary.gc_share is not None:
        gil = "" if summary.gil_share is None else f"waiting for the GIL {percent(summary.gil_share)} of the time"
        gc = "" if summary.gc_share is None else f"garbage collector {percent(summary.gc_share)} of the run"
        less = f": {COLLECT_LESS}" if collecting_text(summary) else ""
        yield f"  {'Python':<22}{', '.join(filter(None, (gil, gc)))}{less}"
    if summary.raised:
        yield f"  {'exceptions':<22}{count(summary.raised)} came to the loop in place of a batch"
    for trouble in summary.troubles[:_TROUBLES]:
        yield f"  {'failures':<22}{shown(trouble.stage)} {trouble_text(trouble, summary)}"
    for slow in summary.slow_samples[:_SLOW]:
        took = duration(slow.sample.took_us)
        files = f": {shown(', '.join(slow.sample.files))}" if slow.sample.files else ""
        yield f"  {'slow sample':<22}index {slow.sample.index}: {took} ({slow_text(slow)}){files}"
    if summary.slow_samples:
        looked_at = plural(summary.measured_samples + summary.other_samples, "sample")
        yield f"  {'':<22}of {looked_at} that were looked at"


def _line(name: str, value: str, *notes: str) -> str:
    return f"  {name:<22}{value:>10}   {', '.join(filter(None, notes))}".rstrip()


def _processes(summary: Summary) -> str:
    if summary.processes == 1:
        return ""
    killed = f", {summary.killed} of them killed" if summary.killed else ""
    return f"{plural(summary.processes, 'process')}{killed}"


def _epochs(summary: Summary) -> str:
    if not summary.epochs:
        return ""
    begun = f"epochs begun: {summary.epochs}"
    first = summary.first_batch_us
    known = f", those of {count(summary.first_waits)} are known" if summary.first_waits < summary.epochs else ""
    return f"; {begun}" if first is None else f"; first batches ({begun}{known}) took {duration(first)} on average"


def _happening(happening: Happening) -> str:
    event = happening.event
    when = datetime.fromtimestamp(happening.time, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    place = NO_EVENT if happening.by_intervals else f"epoch {event.epoch}, batch {event.batch}"
    usual = shown(times_text(happening))
    if event.change == "slow":
        lasted = lasted_text(happening)
        usual = f"slow{f' for {lasted}' if lasted else ''}: {usual}"
    after = f"{'ended ' if event.change == 'stall' else ''}after {duration(1e6 * happening.after_s)}"
    return f"{when} ({after}), {place}: {usual}{_capture(happening)}"


def _capture(happening: Happening) -> str:
    capture = happening.capture
    if capture is None:
        return ""
    if capture.capture:
        way = "the steps after it are" if happening.is_captured_after else "recorded"
        return f"; {way} in {shown(capture.capture)}"
    return f"; not recorded: {shown(capture.missed)}"
