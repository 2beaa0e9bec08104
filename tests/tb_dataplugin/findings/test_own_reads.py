"""Advice about read stages follows from what was measured of them: files, or anything else."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from annotate.hooks import readers
from annotate.hooks.readers.reader import Reader
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_signals import HotLine
from tb_dataplugin.findings.own_reads import LIBRARIES
from tb_dataplugin.findings.rules import leading_stage, small_reads
from tb_dataplugin.findings.signals import Signals
from tests.tb_dataplugin.findings.cases import finding_in, finding_of, input_bound, signals_of
from tests.trace_builder import TraceBuilder


def store(cpu: float = 0.01, name: str = "read::slow_store", from_storage: int = 0) -> TraceBuilder:
    """Most of each sample in a read stage of the user's, beside small files that are read at once."""
    stages = {
        "sample::Pets": (0.0, 1.0, cpu),
        name: (0.0, 0.8, 0.8 * cpu),
        "read::open": (0.8, 0.01, 0.0),
        "read::file": (0.81, 0.002, 0.0, 40_000),
    }
    return input_bound(stages=stages, costs={"read_chars": 40_000, "read_bytes": from_storage})


def with_line(builder: TraceBuilder, source: str, stage: str = "read::slow_store") -> Signals:
    line = HotLine(f"`{source}` in Pets.__getitem__ at train.py:17", "train.py:17", 0.8, source)
    return replace(signals_of(builder), stage_lines={stage: line})


def advice_of(signals: Signals) -> str:
    found = leading_stage.check(signals)
    assert isinstance(found, Finding) and not found.code
    return found.advice


def test_a_wait_in_the_users_own_read_stage_is_not_told_to_be_packed() -> None:
    assert finding_of(store(), "small_reads") is None
    said = finding_in(store(), "leading_stage")
    assert said.stage == "read::slow_store" and "all bytes read came from the page cache" in said.advice
    assert "larger" not in said.advice and "pack" not in said.advice


def test_bytes_from_storage_may_be_what_an_own_read_stage_waits_for() -> None:
    assert "If that is storage" in finding_in(store(from_storage=40_000), "leading_stage").advice


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("time.sleep(0.012)", "that line sleeps"),
        ("with self.lock:", "that line waits for a lock"),
        ("data = requests.get(url).content", "Fetch several samples by one request"),
    ],
)
def test_what_the_line_waits_for_is_said(source: str, words: str) -> None:
    signals = with_line(store(), source)
    said = advice_of(signals)
    assert words in said and said.startswith("80.0% of its time is `") and "storage" not in said
    assert small_reads.check(signals) is None


def test_a_line_of_a_database_is_where_to_begin() -> None:
    assert "is `cur.execute(query)` in Pets.__getitem__ at train.py:17: begin there" in advice_of(
        with_line(store(from_storage=40_000), "cur.execute(query)")
    )


def test_an_own_read_stage_that_computes_needs_no_other_storage() -> None:
    said = finding_in(store(cpu=1.0), "leading_stage").advice
    assert said.startswith("It runs on a CPU for 100% of its time: it computes") and "page cache" not in said
    assert "80.0% of it is `zlib.decompress(data)`" in advice_of(with_line(store(cpu=1.0), "zlib.decompress(data)"))


def test_slow_opens_of_small_files_are_said_as_measured() -> None:
    said = finding_in(store(name="read::PIL.Image.open", from_storage=40_000), "small_reads")
    assert said.advice.startswith("Opening the files takes 99.7% of that time: pack the samples")
    assert said.advice.endswith("on a local disk or in memory.")
    cached = finding_in(store(name="read::PIL.Image.open"), "small_reads").advice
    assert "local disk" not in cached and cached.endswith("in memory already (page cache).")


def test_what_a_library_computes_at_opening_is_no_small_read() -> None:
    assert finding_of(store(cpu=1.0, name="read::PIL.Image.open"), "small_reads") is None


def test_reads_that_a_library_makes_are_known_by_its_name() -> None:
    labels = {label for label in _labels() if label not in ("decode",)}
    assert "zipfile.ZipFile" in labels
    assert {label.partition(".")[0] for label in labels} <= LIBRARIES


def _labels() -> Iterator[str]:
    for module in pkgutil.iter_modules([str(Path(str(readers.__file__)).parent)]):
        for value in vars(importlib.import_module(f"{readers.__name__}.{module.name}")).values():
            for reader in value if isinstance(value, tuple) and not isinstance(value, Reader) else (value,):
                hooks = reader.hooks if isinstance(reader, Reader) else ()
                yield from (hook.label for hook in hooks if hook.kind == "read")
