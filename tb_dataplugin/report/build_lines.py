"""The part of the report about lines of the code: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from tb_dataplugin.analyses.code_places import Place, library_name, place_of, symbol
from tb_dataplugin.analyses.hot_lines import HotLines, PartLines
from tb_dataplugin.analyses.line_rows import Estimate, LineRow
from tb_dataplugin.analyses.line_trees import LineTree
from tb_dataplugin.analyses.share_check import ShareCheck
from tb_dataplugin.analyses.spread_lines import Together, error_of, share_of, spread, spread_in_step
from tb_dataplugin.analyses.step_lines import AroundLoader, StepLine, StepLines
from tb_dataplugin.findings.line_texts import (
    collected_sentence,
    left_out_text,
    line_text,
    lines_place,
    lines_sentence,
    lines_text,
    part_sentence,
    part_text,
)
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.line_samples import Frame
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import maybe_us, us
from tb_dataplugin.words import training_part

PIPELINE: Final = "the stages of the pipeline, all threads together"
TRAINING_THREAD: Final = "the training thread outside the data wait"


def lines_report(
    lines: HotLines, steps: int | None, window: Window, *, has_device: bool, collected_us: float = 0.0
) -> pb.Lines:
    """`steps`: in the window. `collected_us`: Python's collector in the training thread, outside the data wait."""

    def of_cause(cause: str, part: PartLines) -> pb.PartLines:
        return _part(cause, part, f"the {training_part(cause, has_device)}", spread_in_step)

    return pb.Lines(
        stages=(_part(stage.name, part, stage.name) for stage, part in lines.stages.items()),
        training=(of_cause(cause, part) for cause, part in lines.training.items()),
        step=_step(lines.step) if lines.step else None,
        check=_check(lines.check) if lines.check else None,
        samples=lines.samples,
        threads=lines.threads,
        interval_us=us(lines.interval_ns),
        sampler="outside" if lines.is_outside else "inside",
        clock_error_us=us(lines.clock_error_ns),
        cost_us=maybe_us(lines.cost_ns),
        unread=lines.unread,
        unseen=lines.unseen,
        sentence=lines_sentence(lines, window, steps),
        pipeline=_part("pipeline", lines.pipeline, PIPELINE) if lines.pipeline else None,
        training_thread=_training_thread(lines.training_thread, collected_us) if lines.training_thread else None,
    )


def _training_thread(part: PartLines, collected_us: float) -> pb.PartLines:
    found = _part("training thread", part, TRAINING_THREAD, spread_in_step)
    if found.sentence:
        found.sentence += collected_sentence(collected_us, found.time_us)
    return found


def _step(step: StepLines) -> pb.StepTime:
    return pb.StepTime(
        samples=step.samples,
        compute=_estimate(step.compute),
        around=map(_around, step.around),
        lines=map(_step_line, step.lines),
    )


def _estimate(part: Estimate) -> pb.Estimate:
    return pb.Estimate(share=part.share, low=part.low, high=part.high, samples=part.samples)


def _around(around: AroundLoader) -> pb.AroundLoader:
    return pb.AroundLoader(
        function=around.place.function,
        file=around.place.file,
        line=around.place.line,
        place=around.place.short,
        is_generator=around.is_generator,
        is_certain=around.is_certain,
        window=_estimate(around.part),
        idle=_estimate(around.idle) if around.idle else None,
        hottest=_line(around.row) if around.row else None,
    )


def _step_line(line: StepLine) -> pb.StepLine:
    return pb.StepLine(
        line=_line(line.rows[0]), work=line.work, window=_estimate(line.part), text=lines_text(line.rows)
    )


def _part(
    name: str,
    part: PartLines,
    whole: str,
    joined: Callable[[Iterable[LineRow]], tuple[Together, ...]] = spread,
) -> pb.PartLines:
    """`whole`: what its shares are of, in words."""
    hottest = joined(part.rows)
    return pb.PartLines(
        name=name,
        samples=part.samples,
        time_us=us(part.time_ns),
        lines=map(_line, part.rows),
        others=part.others,
        text=part_text(part),
        recorder_us=us(part.recorder_ns),
        sentence=part_sentence(hottest, whole, part),
        left_out_text=left_out_text(part, hottest),
        hottest=map(hot_place, hottest),
        tree=_tree(part.tree) if part.tree else None,
        in_order=_tree(part.in_order) if part.in_order else None,
    )


def hot_place(lines: Together) -> pb.HotPlace:
    return pb.HotPlace(
        text=lines_text(lines),
        place=lines_place(lines),
        share=share_of(lines),
        error=error_of(lines),
        lines=len(lines),
        function=lines[0].place.function,
    )


def _line(row: LineRow) -> pb.Line:
    return pb.Line(
        function=row.place.function,
        file=row.place.file,
        line=row.place.line,
        place=row.place.short,
        is_user=row.is_user,
        samples=row.samples,
        time_us=us(row.time_ns),
        share=row.share,
        error=row.error,
        waited_share=row.waited_share,
        idle_share=row.idle_share,
        for_others_us=us(row.for_others_ns),
        calls=row.calls,
        calls_share=row.calls_share,
        source=row.place.source,
        text=line_text(row),
        callees=(pb.Callee(name=callee.name, share=callee.share) for callee in row.callees),
        called_from=row.called_from.short if row.called_from else "",
        native_library=row.native.library if row.native else "",
        native_symbol=row.native.symbol if row.native else "",
        native_share=row.native_share,
    )


def _tree(tree: LineTree) -> pb.LineTree:
    names: dict[str, int] = {}

    def numbers(texts: Iterable[str]) -> list[int]:
        return [names.setdefault(text, len(names)) for text in texts]

    function, file = numbers(frame.function for frame in tree.frame), numbers(frame.file for frame in tree.frame)
    places = [_place_in_tree(frame) for frame in tree.frame]
    source = [numbers([frame.source])[0] if frame.source else -1 for frame in tree.frame]
    tree_report = pb.LineTree(
        function=function,
        file=file,
        line=(frame.line for frame in tree.frame),
        depth=tree.depth,
        total_us=map(us, tree.total_ns),
        self_us=map(us, tree.self_ns),
        waited_us=map(us, tree.waited_ns),
        idle_us=map(us, tree.idle_ns),
        origin=(frame.origin for frame in tree.frame),
        samples=tree.samples,
        source=source,
        left_out=tree.left_out,
        left_out_us=us(tree.left_out_ns),
        label=numbers(place.function for place in places),
        place=numbers(place.short if place.file else "" for place in places),
    )
    tree_report.names.extend(names)
    return tree_report


def _place_in_tree(frame: Frame) -> Place:
    if frame.origin == "stage":
        return Place(frame.function, "", 0)
    if frame.origin == "native":
        return Place(symbol(frame) or frame.function, library_name(frame.file), 0)
    return place_of(frame)


def _check(check: ShareCheck) -> pb.LineCheck:
    return pb.LineCheck(
        stage=check.stage,
        difference=check.difference,
        samples=check.samples,
        stages=check.checked,
        agrees=check.agrees,
    )
