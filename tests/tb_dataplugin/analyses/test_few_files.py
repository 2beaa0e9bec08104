"""A window that lies in few files (shards) of an iterable dataset says so beside its steady state."""

from __future__ import annotations

import pytest

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Capture
from tests.tb_dataplugin.analyses.test_steady_state import Loop


def captured(opens: int, reads: str = "read::file", iterable: bool = True) -> Capture:
    """`opens`: of each worker in the window, which lasts from 0 on."""
    builder = Loop(build=40_000, own=10_000).trace()
    if iterable:
        builder.top_level[METADATA_KEY]["loaders"][0]["iterable"] = True
    for event in builder.events:
        if event.get("name") == "transform::Slow":
            event["name"] = "sample::Shards"
    for worker in (0, 1):
        starts = sorted(event["ts"] for event in builder.events if event.get("pid") == 100 + worker and "dur" in event)
        inside = [start for start in starts if start > 0]
        for place, start in enumerate(inside):
            name = "read::open" if place < opens else reads
            builder.add("user_annotation", name, start + 5, 10, pid=100 + worker, tid=100 + worker)
    return analyse(builder.trace()).capture


def note_of(capture: Capture) -> str:
    return next((note.message for note in capture.diagnostics if note.code == "few_files"), "")


@pytest.mark.parametrize(("opens", "words"), [(0, "opened no file"), (1, "opened 1 file,"), (2, "opened 2 files,")])
def test_few_files_are_told(opens: int, words: str) -> None:
    note = note_of(captured(opens))
    assert note.startswith(f"In the window each of the DataLoader workers {words}")
    assert "the steady state and its interval are those of the few files (shards)" in note


def test_of_archives_that_is_how_many_of_them_were_opened() -> None:
    assert "opened no file" in note_of(captured(2, reads="read::tarfile.next")), "what else was open()ed is no shard"


def test_nothing_is_said_of_many_files_or_of_what_is_not_seen() -> None:
    assert not note_of(captured(3))
    assert not note_of(captured(0, reads="read::h5py.Dataset")), "which opens its files unseen"
    assert not note_of(captured(0, reads="decode::own")), "no file is read at all"
    assert not note_of(captured(1, iterable=False)), "samples are drawn from all of the data"
