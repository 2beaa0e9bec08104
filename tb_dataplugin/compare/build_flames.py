"""The part of the comparison about sampled stacks, as a message."""

from __future__ import annotations

from collections.abc import Iterable

from tb_dataplugin.compare.flames import FlameChange
from tb_dataplugin.report import report_pb2 as pb


def flame_report(flame: FlameChange, note: str) -> pb.FlameChange:
    """`note`: what that of the whole pipeline has, and no other time of the comparison has."""
    names: dict[str, int] = {}

    def numbers(texts: Iterable[str]) -> list[int]:
        return [names.setdefault(text, len(names)) for text in texts]

    nodes = [row.node for row in flame.rows]
    label, file = numbers(node.function.name for node in nodes), numbers(node.function.file for node in nodes)
    place, source, line_change = (numbers(texts) for texts in _lines(flame))
    return pb.FlameChange(
        scope=flame.scope,
        before_us=flame.before.time_us,
        after_us=flame.after.time_us,
        before_samples=flame.before.samples,
        after_samples=flame.after.samples,
        text=flame.text,
        names=names,
        label=label,
        file=file,
        place=place,
        depth=(row.depth for row in flame.rows),
        before=(node.before.total for node in nodes),
        after=(node.after.total for node in nodes),
        self_before=(node.before.own for node in nodes),
        self_after=(node.after.own for node in nodes),
        error=(row.error for row in flame.rows),
        origin=(node.function.origin for node in nodes),
        left_out=flame.left_out,
        changed=(row.is_changed for row in flame.rows),
        note=" ".join(filter(None, (flame.lacks, note if flame.scope == "pipeline" else ""))),
        source=source,
        line_change=line_change,
        whole_error=flame.error,
        whole_changed=flame.is_changed,
    )


def _lines(flame: FlameChange) -> tuple[list[str], list[str], list[str]]:
    lines = [row.line for row in flame.rows]
    return [line.place for line in lines], [line.source for line in lines], [line.change for line in lines]
