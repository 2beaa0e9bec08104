"""A plain capture records no settings, but torch's marks show whether there are DataLoader workers."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.waits_of_others import IN_PROCESS, OF_WORKERS
from tb_dataplugin.compare.followed import Followed, followed
from tb_dataplugin.compare.settings import compare_settings, setting_evidence
from tb_dataplugin.compare.sides import Run, group_runs
from tb_dataplugin.report.report_pb2 import Capture
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder


def plain_loop(waits: str) -> Capture:
    """24 steps of a plain capture. Waits of each: "S" without workers, "M" with, "?" of no mark."""
    builder, marks = TraceBuilder(), {"S": IN_PROCESS, "M": OF_WORKERS, "?": "#Prefetcher.__next__"}
    for step in range(24):
        builder.step(1000 * step, 1000).operator(1000 * step + 500, 400)
        for place, mark in enumerate(waits):
            builder.wait(1000 * step + 200 * place, 100, f"enumerate(DataLoader){marks[mark]}")
    return capture_of(builder)


def of_workers(count: int) -> Capture:
    capture = plain_loop("M")
    capture.loader.num_workers, capture.loader.in_workers = count, False
    return capture


def side(capture: Capture) -> tuple[Run, ...]:
    return group_runs([capture])[0]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (plain_loop("S"), plain_loop("M"), "0 before, at least 1 after (number not recorded)"),
        (plain_loop("M"), plain_loop("S"), "at least 1 before (number not recorded), 0 after"),
        (plain_loop("M"), of_workers(4), "at least 1 before (number not recorded), 4 after; it may have changed"),
        (of_workers(0), plain_loop("M?"), "0 before, not recorded after; it may have changed"),
        (plain_loop("M"), plain_loop("M"), None),
    ],
)
def test_plain_captures_show_whether_there_are_workers(before: Capture, after: Capture, text: str | None) -> None:
    changes = compare_settings(side(before), side(after))
    said = [fact.text for fact in setting_evidence(changes)]
    assert [one for one in said if "workers" in one] == ([f"DataLoader workers: {text}"] if text else [])
    is_certain = text is not None and "may" not in text
    assert [one.is_known for one in changes if one.name == "num_workers"] == ([is_certain] if text else [])


@pytest.mark.parametrize(
    ("was", "now", "advised", "state"),
    [
        ("S", "M", 2, Followed("yes", ("num_workers of at least 1",))),
        ("S", "M", 0, Followed("no")),
        ("M", "S", 0, Followed("yes", ("num_workers=0",))),
        ("M", "S", 2, Followed("unknown")),
        ("M", "M", 4, Followed("unknown")),
    ],
)
def test_advice_of_workers_was_followed_where_they_came(was: str, now: str, advised: int, state: Followed) -> None:
    sides = side(plain_loop(was)), side(plain_loop(now))
    assert followed(f"DataLoader(..., num_workers={advised})", *sides) == state
