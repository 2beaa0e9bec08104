"""A whole run as Markdown: its numbers, what stands out with the longest first, and its stages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.export.compare_markdown import literal
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import count, duration, percent, plural, significant

MOST_FINDINGS: Final = 5
MOST_STAGES: Final = 8
_MOST_SLOW: Final = 3


def run_name(run: str, rank: int | None) -> str:
    """``Whole run exp1, rank 3``, by its folder and rank."""
    folder = "" if run in ("", ".") else f" {run}"
    return f"Whole run{folder}{'' if rank is None else f', rank {rank}'}"


def run_section(run: pb.WholeRun) -> Iterator[str]:
    """`run`: its texts are harmless."""
    name = run_name(run.run, run.rank if run.HasField("rank") else None)
    yield f"### {literal(f'{name}: {_head(run)}')}"
    yield ""
    yield literal(run.sentence)
    yield ""
    yield literal("; ".join(_numbers(run))) + "."
    yield ""
    yield from _notes(run)
    yield from _marks(run)
    yield from _slow_samples(run)
    yield ""
    yield from _stages(run)


def _head(run: pb.WholeRun) -> str:
    outside = run.outside
    if outside.outside_us > max(outside.steps_us, outside.first_batches_us):
        return f"{percent(outside.share)} of it is outside of steps"
    if not run.HasField("data_wait_share"):
        return "data wait is unknown"
    return f"{percent(run.data_wait_share)} of the step time is data wait"


def by_data_wait(run: pb.WholeRun) -> float:
    """To sort by: the largest first, what is unknown last."""
    return -run.data_wait_share if run.HasField("data_wait_share") else 1.0


def _numbers(run: pb.WholeRun) -> Iterator[str]:
    """As in the terminal."""
    yield f"step {duration(run.step_us)} (p95 about {duration(run.p95_us)}, longest {duration(run.longest_us)})"
    yield f"{significant(run.samples_per_s)} samples/s {run.samples_per_s_of}".rstrip()
    if run.HasField("first_batch_us"):
        known = f", those of {count(run.first_batch_epochs)} are known" if run.first_batch_epochs < run.epochs else ""
        yield f"first batches took {duration(run.first_batch_us)} on average (epochs begun: {run.epochs}{known})"
    if run.HasField("busy_share"):
        ready = f", {run.ready_text}" if run.ready_text else ""
        yield f"DataLoader workers {run.busy_text} {run.busy_note}{ready}"
    if run.HasField("gil_share"):
        yield f"waiting for the GIL {percent(run.gil_share)} of the time"
    if run.HasField("gc_share"):
        yield f"garbage collector {percent(run.gc_share)} of the run"
    if run.processes > 1:
        killed = f", {run.killed} of them killed" if run.killed else ""
        yield f"{plural(run.processes, 'process')}{killed}"


def _notes(run: pb.WholeRun) -> Iterator[str]:
    """Of the whole time, with what to do."""
    if run.HasField("outside"):
        yield f"- Outside of steps: {literal(run.outside.text)}."
        if run.outside.made_text:
            yield f"- {literal(run.outside.made_text)}."
    for loader in run.loaders[:MOST_FINDINGS]:
        own = " (the steps above are its own)" if loader.is_main else ""
        yield f"- {literal(f'{loader.name}{own}: {loader.text}')}."
    for trouble in run.troubles[:MOST_FINDINGS]:
        yield f"- {literal(trouble.stage)} failed {literal(trouble.text)}."
    for growth in run.growth:
        yield f"- Memory grows. {literal(growth.text)}."
    if run.bad_lines:
        yield f"- {plural(run.bad_lines, 'line')} of its files could not be read."


def _marks(run: pb.WholeRun) -> Iterator[str]:
    longest = sorted(run.marks, key=lambda mark: (-mark.long_us, mark.at_s))[:MOST_FINDINGS]
    for mark in longest:
        yield f"- {literal(f'{mark.sentence}{_capture(mark)}')}"
    left = run.mark_count - len(longest)
    if left > 0:
        yield f"- and {plural(left, 'shorter event' if run.mark_count == len(run.marks) else 'more event')}"


def _capture(mark: pb.RunMark) -> str:
    if not mark.capture:
        return ""
    return f" {'The steps after it are' if mark.captured_after else 'Recorded'} in {mark.capture}."


def _slow_samples(run: pb.WholeRun) -> Iterator[str]:
    looked_at = count(run.measured_samples + run.other_samples)
    for sample in run.slow_samples[:_MOST_SLOW]:
        files = f": {', '.join(sample.files)}" if sample.files else ""
        took = f"index {sample.index:.0f}, {duration(sample.took_us)} ({sample.text}){files}"
        yield f"- Slow sample, of {looked_at} that were looked at: {literal(took)}"


def _stages(run: pb.WholeRun) -> Iterator[str]:
    if not run.stages:
        return
    yield "| stage | self time per batch |"
    yield "|---|---:|"
    for stage in run.stages[:MOST_STAGES]:
        yield f"| {literal(stage.name)} | {duration(stage.self_us)} |"
    yield from more(len(run.stages) - MOST_STAGES, "more stage")
    yield ""
    yield f"Stages: {run.stages_note}."
    yield ""


def more(left: int, noun: str) -> Iterator[str]:
    """What a table leaves out."""
    if left > 0:
        yield ""
        yield f"and {plural(left, noun)}"
