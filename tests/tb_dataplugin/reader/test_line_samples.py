"""Sampled stacks that are not as `annotate` writes them."""

from __future__ import annotations

from typing import Any

import pytest

from annotate.trace_format import LINES_VERSION_NATIVE, METADATA_KEY
from tb_dataplugin.model.line_samples import LineSamples
from tests.trace_builder import TraceBuilder

HOT = [("f", "/me/a.py", 3), ("g", "/lib/b.py", 4)]


def sampled(change: Any = None) -> tuple[LineSamples, set[str]]:
    builder = TraceBuilder().annotated().step(0, 100).stacks([10, 20], [HOT, HOT[:1]])
    if change is not None:
        change(builder.top_level[METADATA_KEY]["lines"])
    trace = builder.trace()
    assert trace.info.pipeline is not None
    assert trace.info.pipeline.lines is not None
    return trace.info.pipeline.lines, {note.code for note in trace.diagnostics}


def test_stacks_are_read_outermost_frame_first_and_know_whose_code_they_are() -> None:
    lines, codes = sampled()
    assert not codes
    (thread,) = lines.threads
    assert [[frame.function for frame in lines.stacks.inwards(stack)] for stack in thread.stack.tolist()] == [
        ["f", "g"],
        ["f"],
    ]
    assert [frame.origin for frame in lines.stacks.inwards(int(thread.stack[0]))] == ["user", "library"]
    assert (thread.time_ns[1] - thread.time_ns[0]) == 10_000


def circle(lines: dict[str, Any]) -> None:
    lines["stacks"]["parent"][0] = 1


def no_such_frame(lines: dict[str, Any]) -> None:
    lines["stacks"]["frame"][0] = 99


def no_such_name(lines: dict[str, Any]) -> None:
    lines["frames"]["file"][0] = 99


def no_such_source(lines: dict[str, Any]) -> None:
    lines["frames"]["source"] = [99] * len(lines["frames"]["file"])


def short_column(lines: dict[str, Any]) -> None:
    lines["frames"]["line"].pop()


@pytest.mark.parametrize("change", (circle, no_such_frame, no_such_name, no_such_source, short_column))
def test_a_tree_that_is_none_is_left_out_with_a_diagnostic(change: Any) -> None:
    lines, codes = sampled(change)
    assert "bad_line_samples" in codes
    assert not lines.threads


def no_such_stack(lines: dict[str, Any]) -> None:
    lines["threads"][0]["stack"][0] = 99


def samples_missing(lines: dict[str, Any]) -> None:
    lines["threads"][0]["since_us"].pop()


@pytest.mark.parametrize("change", (no_such_stack, samples_missing))
def test_a_thread_that_does_not_fit_is_left_out_with_a_diagnostic(change: Any) -> None:
    lines, codes = sampled(change)
    assert "bad_line_samples" in codes
    assert not lines.threads
    assert not lines.why_not


def test_a_later_version_is_left_out_and_says_what_to_do() -> None:
    lines, codes = sampled(lambda lines: lines.update(version=LINES_VERSION_NATIVE + 1))
    assert not codes
    assert "upgrade tb-dataplugin" in lines.why_not
