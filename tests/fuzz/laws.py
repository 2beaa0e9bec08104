"""What must hold whatever the bytes of a file are."""

from __future__ import annotations

import json
import math
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any
from unittest.mock import patch
from zlib import crc32

from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.export.as_json import as_compact_json, as_json
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.limits import ALL_GAPS
from tb_dataplugin.pipeline import AnalysedCapture, analyse, as_report
from tb_dataplugin.reader import chrome, decoding, elements, read_trace, recovery, source
from tb_dataplugin.report.build_timeline import slice_timeline
from tests.fuzz.seeds import Seed

LONGEST_S = 15
"""An input takes a few ms; one that takes longer than this counts as a hang."""

CLOSE = {"rel_tol": 1e-9, "abs_tol": 0.01}  # us: doubles of large times, summed
READABLE = {"X", "B", "E", "b", "e", "M", "C"}


class Hang(AssertionError):
    """It took more CPU time than `LONGEST_S`."""


@contextmanager
def limited(seconds: int = LONGEST_S) -> Iterator[None]:
    """Raises Hang in the block when it takes more CPU time."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Hang(f"took more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def sizes(random: Random) -> Iterator[None]:
    """Other sizes of blocks, windows and limits: some so small that every way through the reader is taken."""
    window = random.choice((1 << 20, 1 << 20, 4000, 600, 64))
    with (
        patch.object(source, "BLOCK_BYTES", random.choice((1 << 20, 1 << 20, 5000, 777, 50))),
        patch.object(source, "READ_BYTES", random.choice((1 << 16, 1000, 60))),
        patch.object(chrome, "WINDOW_BYTES", window),
        patch.object(recovery, "SMALL_BYTES", max(window // 8, 16)),
        patch.object(elements, "MOST_ELEMENT_BYTES", random.choice((1 << 26, 1 << 26, 1 << 14))),
        patch.object(elements, "CUT_TRIES", random.choice((64, 64, 1))),
    ):
        yield


class Checker:
    """Checks one input after the other; `folder` holds the file that is read."""

    def __init__(self) -> None:
        shared = Path("/dev/shm")
        self._folder = tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None)
        self._path = Path(self._folder.name) / f"input-{os.getpid()}.json"
        self.unreadable = 0

    def __enter__(self) -> Checker:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def check(self, data: bytes, everything: bool = True) -> None:
        """Raises on whatever must not happen. `everything`: also analyse and report."""
        self._path.write_bytes(data)
        with limited(), sizes(Random(crc32(data))):
            try:
                self._check_syntax(data)
                if everything:
                    check_report(analyse(read_trace(self._path)))
            except UnreadableTrace as error:
                self.unreadable += 1
                assert str(self._path) in str(error) and "\n" not in str(error), error

    def _check_syntax(self, data: bytes) -> None:
        events, codes, _ = self._read()
        expected = _by_json(data)
        if expected is not None:
            told = [(event.get("ph"), event.get("name")) for event in expected if isinstance(event, dict)]
            seen = [(event.ph, event.name) for event in events]
            assert codes or len(seen) == len(told), f"{len(seen)} of {len(told)} elements"
            pairs = zip(_flat(seen), _flat(told), strict=False)
            assert codes or all(one == two for one, two in pairs if isinstance(two, str)), "other events than by json"
            assert codes >= {"bad_event"} or len(told) == len(expected), "elements vanished"
            assert not codes & {"truncated"}, codes

    def _read(self) -> tuple[list[decoding.RawEvent], set[str], ChromeMembers]:
        found = DiagnosticsCollector()
        reader = chrome.ChromeReader(source.blocks(self._path, found), self._path, found)
        events = [event for window in reader.windows() for event in window.events]
        members = {key: reader.member(key) for key in reader.members}
        return events, {one.code for one in found.result()}, members

    def check_damage(self, seed: Seed, row: int, text: bytes) -> None:
        """`text` is that of `seed` with one damage to the element `row`: it takes at most itself along."""
        self._path.write_bytes(text)
        with limited(), sizes(Random(crc32(text))):
            events, codes, _ = self._read()
        names = [event.name for event in events]
        before, after = seed.names[:row], seed.names[row + 1 :]
        assert names[:row] == before, "events before the damaged one are lost"
        assert names[len(names) - len(after) :] == after, "events behind the damaged one are lost"
        assert len(names) >= len(seed.names) or codes, "an event vanished without a word"


ChromeMembers = dict[str, Any]


def _flat(pairs: list[tuple[Any, Any]]) -> list[Any]:
    return [value for pair in pairs for value in pair]


def _by_json(data: bytes) -> list[Any] | None:
    """The elements by the standard library; None where it cannot read them, or where texts may differ in detail."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    def no_constant(text: str) -> Any:
        raise ValueError(text)

    try:
        value = json.loads(data.decode(), object_pairs_hook=once, parse_constant=no_constant, parse_float=_no_rounding)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = value.get("traceEvents")
    return value if isinstance(value, list) and not _has_surrogates(data) else None


def _no_rounding(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _has_surrogates(data: bytes) -> bool:
    return b"\\ud" in data.lower()


def check_report(analysed: AnalysedCapture) -> None:
    """The report can be told, its sums are right, and nothing that was not recorded is told as 0."""
    report = as_report([analysed.capture])
    capture = json.loads(as_json(report), parse_constant=_fail)["captures"][0]
    as_text(report).encode()
    window, start = capture["window_us"], capture["window_start_us"]
    picture = slice_timeline(analysed.timeline, start, start + window, 300)
    json.loads(as_compact_json(picture), parse_constant=_fail)
    assert window >= 0
    for device in capture["devices"]:
        _check_device(device, window, min(1000, ALL_GAPS // len(capture["devices"])))
    _check_loader(capture)
    for step in capture.get("steps", {}).get("items", []):
        if "device_busy_us" in step:
            _close(step["device_busy_us"] + sum(step["idle_by_cause_us"].values()), step["duration_us"])
    for name, rate in capture.get("throughput", {}).items():
        assert isinstance(rate, str) or rate > 0, (name, rate)
    for stage in capture["stages"]:
        assert stage["count"] > 0 and 0 <= stage["self_us"] <= stage["total_us"], stage
        assert 0 <= stage["p50_us"] <= stage["p95_us"] <= stage["max_us"], stage
    for one in capture["diagnostics"]:
        assert one["count"] > 0 and one["message"] and one["code"], one


def _check_device(device: dict[str, Any], window: float, most_gaps: int) -> None:
    _close(device["busy_us"] + device["idle_us"], window)
    assert 0 <= device.get("kernel_busy_us", 0) <= device["busy_us"] * (1 + 1e-9)
    causes = device["idle_by_cause_us"]
    _close(sum(causes.values()), device["idle_us"])
    assert min(causes.values(), default=0) >= 0, causes
    if device["idle_by_stage_us"]:
        _close(sum(device["idle_by_stage_us"].values()), causes["data_wait"])
    for gap in device["gaps"]:
        _close(sum(gap["idle_by_cause_us"].values()), gap["duration_us"])
    assert len(device["gaps"]) == min(device["gap_count"], most_gaps)


def _check_loader(capture: dict[str, Any]) -> None:
    """A loader is told of only where waits were recorded, and its times only where it was seen to wait."""
    topics = {one["topic"] for one in capture["diagnostics"]}
    if "loader" not in capture:
        assert "loader" in topics, "no loader, and no reason"
        assert all("data_wait_us" not in step for step in capture.get("steps", {}).get("items", []))
        return
    loader = capture["loader"]
    assert loader["wait_count"] > 0
    if "exposed_wait_us" in loader:
        assert capture["devices"]
        _close(loader["exposed_wait_us"] + loader["hidden_wait_us"], loader["wait_us"])
    if loader["wait_by_stage_us"]:
        _close(sum(loader["wait_by_stage_us"].values()), loader["wait_us"])


def _close(value: float, expected: float) -> None:
    assert math.isclose(value, expected, **CLOSE), (value, expected)


def _fail(text: str) -> Any:
    raise AssertionError(f"{text} in the JSON")
