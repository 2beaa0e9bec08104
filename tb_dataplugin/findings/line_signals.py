"""The facts about lines of the code that rules use. Shares are fractions, of samples that stand for time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from annotate.trace_format import span_name
from tb_dataplugin.analyses.hot_lines import LEAST_SAMPLES, HotLines, PartLines
from tb_dataplugin.analyses.line_patterns import Pattern
from tb_dataplugin.analyses.line_rows import Estimate
from tb_dataplugin.analyses.line_waits import waits_there
from tb_dataplugin.analyses.line_work import Work
from tb_dataplugin.analyses.spread_lines import Together, call_of, error_of, share_of, spread, spread_in_step
from tb_dataplugin.analyses.step_lines import AroundLoader, StepLine, StepLines
from tb_dataplugin.findings.line_texts import left_out, line_text, lines_place, lines_text, place_text, row_name
from tb_dataplugin.findings.thresholds import HOT_LINE
from tb_dataplugin.units import percent


@dataclass(frozen=True, slots=True)
class HotLine:
    """The line of the user's code that takes most of a stage, or of a part of the training thread's time; or several of
    one function, where none of them has most of its time.
    """

    text: str
    """``scipy.signal.convolve2d, called in RandomMask.dilate_mask at train.py:41``."""
    place: str
    """``train.py:41``, ``train.py:41 to 44``."""
    share: float
    """Of the stage's time without the recorder's own code."""
    source: str = ""
    """The hottest line as it is written; "" where that was not recorded."""
    calls: str = ""
    """``scipy.signal.convolve2d``, where most of the line's time is in it; else ""."""
    between: str = ""
    """`` (95% interval 90.1% to 99.1%)``, where few samples say so; else ""."""
    second: str = ""
    """``mel at train.py:36, 36.0%``: the next one, where this one calls a library and that has much of the time too."""
    in_whole_capture: bool = False
    """The share is that of the whole capture: the steps that somebody chose have too few stack samples of the stage."""
    left_out: float = 0.0
    """What the recorder's own code has of all of the stage's time, where that is more than the share's interval."""
    blocked: float | None = None
    """Part of its time in which the thread was blocked; None: not known."""

    @property
    def waits(self) -> bool:
        """It mostly waits, whatever else it does: by samples, else by its text."""
        return waits_there(self.source, self.blocked)

    def share_of(self, whole: str) -> str:
        """``84.0% of RandomMask``, ``84.0% of RandomMask in the whole capture``."""
        less = (
            f" (not counting {percent(self.left_out)} in annotate's own code, waiting for a CPU included)"
            if self.left_out
            else ""
        )
        return f"{percent(self.share)} of {whole}{' in the whole capture' if self.in_whole_capture else ''}{less}"


@dataclass(frozen=True, slots=True)
class AroundSignal:
    """Own code of a generator or iterator around the loader. `part`: of the window; with a device, while it idles."""

    name: str
    """``wrapper::augmented``."""
    words: str
    """``augmented (train.py:15), a generator around the DataLoader``."""
    part: Estimate
    line: HotLine | None
    """Its hottest line, as a share of its time."""


@dataclass(frozen=True, slots=True)
class HolderSignal:
    """What a thread runs that has Python's lock. `runs`: what it was started with. `package`: a library; "" where the
    thread is the user's own. `line`: its hottest one.
    """

    runs: str
    """``tensorboard.summary.writer.event_file_writer``, ``Logger.run at train.py:12``."""
    package: str
    line: HotLine


@dataclass(frozen=True, slots=True)
class StepLineSignal:
    """A line of the training step that is not the model's work, or several as one. `part`: of the window; `own`: the
    same without waiting for Python's lock. `call`: what all of them call; "" where that is not one function.
    """

    text: str
    place: str
    source: str
    work: Work
    own: Estimate
    part: Estimate
    idle_share: float | None
    """Of the device's idle time; None without a device."""
    call: str = ""
    lines: int = 1
    libraries: frozenset[str] = frozenset()
    """Whose code they call, by name."""
    in_steps: int | None = None
    """In so few of the window's steps all of it lies; None where that may be chance."""

    @property
    def is_one_off(self) -> bool:
        return self.in_steps == 1


@dataclass(frozen=True, slots=True)
class StepSignals:
    """What the training thread does outside the data wait. `compute`: the model's work, of the window; `ranks`: waiting
    for other ranks in collectives, None where that was not seen.

    `around` has only what is certain not to be the training loop itself.
    """

    samples: int
    compute: Estimate
    ranks: Estimate | None
    around: tuple[AroundSignal, ...]
    lines: tuple[StepLineSignal, ...]


@dataclass(frozen=True, slots=True)
class PatternSignal:
    """What lines of a stage are about. `part`: of the stage's time; with `stage` "" of the time in all stages.

    `text`, `place`, `source`: of the hottest of `lines` such lines, which has `share` of that time by itself.
    """

    pattern: Pattern
    stage: str
    part: Estimate
    text: str
    place: str
    source: str
    share: float
    lines: int


def interval(part: Estimate) -> str:
    return f"95% interval {percent(part.low)} to {percent(part.high)}"


def hottest(parts: Iterable[tuple[str, PartLines]], *, in_step: bool = False) -> Iterator[tuple[str, HotLine]]:
    """By the part's name; without those of which too few samples were taken. What happened once is no evidence.

    Args:
        in_step: they are parts of the training thread's time outside the data wait.
    """
    joined = spread_in_step if in_step else spread
    for name, part in parts:
        found = joined(row for row in part.rows if row.place not in part.one_off)
        if found:
            line = replace(
                _hot_line(found[0], is_of_few=part.samples < LEAST_SAMPLES), left_out=left_out(part, found[0])
            )
            yield name, replace(line, second=_second(found[1])) if line.calls and len(found) > 1 else line


def _second(lines: Together) -> str:
    return f"{lines_text(lines)}, {percent(share_of(lines))}" if share_of(lines) >= HOT_LINE else ""


def _hot_line(lines: Together, *, is_of_few: bool) -> HotLine:
    low, high = max(0.0, share_of(lines) - error_of(lines)), min(1.0, share_of(lines) + error_of(lines))
    return HotLine(
        text=lines_text(lines),
        place=lines_place(lines),
        share=share_of(lines),
        source=lines[0].place.source,
        calls=call_of(lines),
        between=f" (95% interval {percent(low)} to {percent(high)})" if is_of_few else "",
        blocked=_blocked(lines),
    )


def _blocked(lines: Together) -> float | None:
    parts = [(row.blocked, row.time_ns) for row in lines if row.blocked is not None]
    time_ns = sum(time for _, time in parts)
    return sum(part * time for part, time in parts) / time_ns if time_ns else None


def read_step(lines: HotLines | None) -> StepSignals | None:
    step = lines.step if lines else None
    if step is None:
        return None
    return StepSignals(
        samples=step.samples,
        compute=step.compute,
        ranks=step.ranks,
        around=tuple(_around(each) for each in step.around if each.is_certain),
        lines=tuple(map(_line, _by_cost(step))),
    )


def read_patterns(lines: HotLines | None) -> tuple[PatternSignal, ...]:
    found = lines.patterns if lines else ()
    return tuple(
        PatternSignal(
            pattern=each.pattern,
            stage=each.stage.name if each.stage else "",
            part=each.part,
            text=line_text(each.row),
            place=each.row.place.short,
            source=each.row.place.source,
            share=each.row.share,
            lines=each.lines,
        )
        for each in found
    )


def read_holders(lines: HotLines | None) -> dict[str, HolderSignal]:
    found = lines.lock_holders.items() if lines else ()
    return {
        name: HolderSignal(
            runs=holder.module or place_text(replace(holder.runs, source="")),
            package=holder.package,
            line=_hot_line((holder.row,), is_of_few=False),
        )
        for name, holder in found
    }


def _by_cost(step: StepLines) -> list[StepLine]:
    """What keeps the device idle first, where there is one."""
    return sorted(step.lines, key=lambda line: -(line.idle_share or 0.0))


def _around(found: AroundLoader) -> AroundSignal:
    label, kind = found.place.function.removesuffix(".__iter__").removesuffix(".__next__"), "a generator"
    row = found.row
    return AroundSignal(
        name=span_name("wrapper", "generator expression" if label.startswith("<") else label),
        words=f"{row_name(found.place)}, {kind if found.is_generator else 'an iterator'} around the DataLoader",
        part=found.idle or found.part,
        line=HotLine(line_text(row), row.place.short, row.share, row.place.source, call_of((row,))) if row else None,
    )


def _line(found: StepLine) -> StepLineSignal:
    return StepLineSignal(
        text=lines_text(found.rows),
        place=lines_place(found.rows),
        source=found.rows[0].place.source,
        work=found.work,
        own=found.own,
        part=found.part,
        idle_share=found.idle_share,
        call=call_of(found.rows),
        lines=len(found.rows),
        libraries=found.libraries,
        in_steps=found.in_steps,
    )
