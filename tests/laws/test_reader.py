"""The streaming reader against a slow, obvious one: the standard library's `json` on the whole text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.reader import chrome, decoding, elements, kineto, recovery
from tb_dataplugin.reader.kineto import trace_from_json
from tests.trace_builder import training_run

NASTY = st.sampled_from(
    ["},{", '"},{"ph": "X"', "\\", 'a"b', "]}", "[{", "", "ü漢", "\u2028", "C:\\new\\trace", "}, {", '\\"},\n {']
)
NAMES = NASTY | st.text(max_size=8)
TIMES = st.integers(0, 10**15) | st.decimals(0, 10**12, places=3).map(float)
VALUES = st.recursive(NAMES | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=3), max_leaves=4)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {"ph": st.sampled_from(["X", "X", "X", "i", "s"]), "cat": st.just("cpu_op"), "name": NAMES, "ts": TIMES},
        optional={"dur": st.integers(0, 10**6), "args": st.dictionaries(NAMES, VALUES, max_size=3), "pid": NAMES},
    ),
    max_size=12,
)


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, list[dict[str, Any]]]:
    events = draw(EVENTS)
    indent = draw(st.sampled_from([None, 0, 2]))
    members = draw(st.dictionaries(st.sampled_from(["a", "deviceProperties", "b"]), VALUES, max_size=2))
    tail = draw(st.dictionaries(st.sampled_from(["baseTimeNanoseconds", "z"]), VALUES, max_size=2))
    text = json.dumps({**members, "traceEvents": events, **tail}, indent=indent, ensure_ascii=draw(st.booleans()))
    return text.encode("utf-8", "replace"), events


def pieces(text: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return (text[begin:end] for begin, end in pairwise(places))


def read(blocks: Iterator[bytes], window: int) -> tuple[list[decoding.RawEvent], list[str]]:
    found = DiagnosticsCollector()
    reader = chrome.ChromeReader(blocks, Path("x.json"), found)
    with patch.object(chrome, "WINDOW_BYTES", window), patch.object(recovery, "SMALL_BYTES", max(window // 4, 16)):
        events = [event for one in reader.windows() for event in one.events]
    return events, [one.code for one in found.result()]


@settings(max_examples=300, deadline=None)
@given(texts(), st.lists(st.integers(0, 5000), max_size=6), st.sampled_from([32, 100, 1000, 1 << 20]))
def test_wherever_the_text_is_split_the_events_are_those_of_json(
    text_and_events: tuple[bytes, list[dict[str, Any]]], cuts: list[int], window: int
) -> None:
    text, events = text_and_events
    expected = json.loads(text)["traceEvents"]
    assert len(expected) == len(events)
    seen, codes = read(pieces(text, cuts), window)
    assert [(event.ph, event.name) for event in seen] == [(event["ph"], event["name"]) for event in expected]
    assert [Decimal(bytes(event.ts).decode()) for event in seen] == [Decimal(repr(event["ts"])) for event in expected]
    assert codes == []


@settings(max_examples=150, deadline=None)
@given(texts(), st.integers(0, 5000), st.sampled_from([32, 1000, 1 << 20]))
def test_a_text_that_is_cut_off_gives_the_events_before_the_cut(
    text_and_events: tuple[bytes, list[dict[str, Any]]], cut: int, window: int
) -> None:
    text, _ = text_and_events
    begin = text.index(b'"traceEvents"') + len(b'"traceEvents": [')
    seen, codes = read(iter((text[: begin + cut % (len(text) - begin)],)), window)
    assert [event.name for event in seen] == [event["name"] for event in json.loads(text)["traceEvents"]][: len(seen)]
    assert "truncated" in codes


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_events_in_the_file_is_irrelevant(random: Any) -> None:
    builder = training_run()
    straight = analyse(builder.trace()).capture
    random.shuffle(builder.events)
    shuffled = analyse(builder.trace()).capture
    assert shuffled == straight


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 100000), max_size=8))
def test_how_the_file_comes_in_is_irrelevant(cuts: list[int]) -> None:
    text = training_run().json()
    whole = analyse(trace_from_json(text, Path("built.json"))).capture
    with patch.object(chrome, "WINDOW_BYTES", 300), patch.object(elements, "CUT_TRIES", 4):
        split = kineto._read(pieces(text, cuts), Path("built.json"), None, DiagnosticsCollector())
    assert analyse(split.trace).capture == whole
