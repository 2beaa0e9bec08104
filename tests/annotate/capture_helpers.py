"""Records a piece of code and gives its spans back as a tree."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import annotate
from annotate.trace_format import MARKER_CATEGORY, parse_span_name


@dataclass
class Span:
    name: str
    start: float
    end: float
    children: list[Span] = field(default_factory=list)

    def walk(self) -> list[Span]:
        return [self, *(inner for child in self.children for inner in child.walk())]

    def tree(self) -> Any:
        """The name, or (name, [children])."""
        return (self.name, [child.tree() for child in self.children]) if self.children else self.name


def load(path: str | Path) -> dict[str, Any]:
    with gzip.open(path) as file:
        found: dict[str, Any] = json.load(file)
        return found


def spans_of(trace: dict[str, Any]) -> list[Span]:
    """The roots of our spans, by thread and time; nesting must be strict."""
    threads: dict[object, list[Span]] = {}
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") == MARKER_CATEGORY and parse_span_name(event["name"]):
            begin = float(event["ts"])
            threads.setdefault(event["tid"], []).append(Span(event["name"], begin, begin + float(event["dur"])))
    return [root for found in threads.values() for root in _nested(found)]


def _nested(found: list[Span]) -> list[Span]:
    found.sort(key=lambda span: (span.start, -span.end))
    roots: list[Span] = []
    open_spans: list[Span] = []
    for span in found:
        while open_spans and open_spans[-1].end <= span.start:
            open_spans.pop()
        if open_spans:
            assert span.end <= open_spans[-1].end + 0.002, f"{span} overlaps {open_spans[-1]}"
        (open_spans[-1].children if open_spans else roots).append(span)
        open_spans.append(span)
    return roots


def record(folder: Path, code: Callable[[], object]) -> list[Span]:
    """The spans of one call of `code`."""
    with annotate.profile(folder, schedule=record_all) as prof:
        code()
    return spans_of(load(prof.trace_files[-1]))


def record_all(step: int) -> Any:
    from torch.profiler import ProfilerAction

    return ProfilerAction.RECORD


def names(roots: list[Span]) -> Counter[str]:
    return Counter(span.name for root in roots for span in root.walk())


def trees(roots: list[Span]) -> list[Any]:
    return [root.tree() for root in roots]


def tree_of_one(folder: Path, ds: Any) -> Any:
    """The tree of one sample of a dataset, which is the same recorded and not."""
    torch.manual_seed(0)
    plain = ds[0]
    annotate.dataset(ds)
    results: list[Any] = []
    torch.manual_seed(0)
    (tree,) = trees(record(folder / "run", lambda: results.append(ds[0])))
    assert torch.equal(results[0], plain)
    return tree
