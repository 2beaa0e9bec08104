"""What is said to help, from made-up rates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.export.terminal import PLAIN, Style
from tb_dataplugin.storage.as_text import as_text
from tb_dataplugin.storage.judging import judge, need_sentences
from tb_dataplugin.storage.layouts import ARRAY, FILES, TAR
from tb_dataplugin.storage.page_cache import Cold
from tb_dataplugin.storage.probing import Probed, Series
from tb_dataplugin.storage.reading import Reads
from tb_dataplugin.storage.samples import Sample, Samples

SAMPLES = Samples((Sample(Path("a"), 1000),), 5, 5000)


def series(layout: str, *rates: float, order: str = "random", cold: bool = True, readers: int = 1) -> Series:
    return Series(layout, order, cold, readers, [Reads((1 / rate,), 1000, 1 / rate) for rate in rates])


def probed(*measured: Series, cold: Cold = "yes") -> Probed:
    return Probed(SAMPLES, list(measured), cold)


def test_every_remedy_is_judged_by_its_own_pair() -> None:
    made = probed(
        series(FILES, 100, 110, 105),
        series(FILES, 1000, 1000, 1000, cold=False),
        series(FILES, 210, 200, 205, readers=2),
        series(FILES, 204, 206, 212, readers=4),
        series(TAR, 300, 310, 305),
        series(ARRAY, 50, 50, 50),
        series(TAR, 310, 320, 330, order="sequential"),
    )
    packing, shards, readers, cache = judge(made, 1e6)
    assert (packing.helps, shards.helps, readers.helps, cache.helps) == (True, False, True, True)
    assert "archive (tar)" in packing.sentence
    assert "2.9x as many" in packing.sentence
    assert "2 of them" in readers.sentence
    assert "5.00 kB, fits into" in cache.sentence
    assert "does not fit into" in judge(made, 100)[3].sentence
    for columns in (80, 60):
        narrow = as_text(made, [packing, shards, readers, cache], [], Style(width=columns)).splitlines()
        assert max(map(len, narrow)) <= columns
    text = as_text(made, [packing, shards, readers, cache], [], PLAIN)
    assert max(map(len, text.splitlines())) <= 100


def test_rounds_that_disagree_promise_nothing() -> None:
    made = probed(series(FILES, 100, 100, 300), series(TAR, 250, 200, 220))
    assert judge(made, None)[0].helps is False


def test_what_was_not_measured_is_not_judged() -> None:
    assert [one.helps for one in judge(probed(), None)] == [None] * 4


def test_without_a_cold_read_nothing_is_known() -> None:
    made = probed(series(FILES, 100), series(FILES, 1000, cold=False), cold="no")
    assert [one.helps for one in judge(made, None)] == [None] * 4
    assert "could not be emptied" in judge(made, None)[3].sentence


@pytest.mark.parametrize(
    ("need", "words"),
    [
        (90, "with 1 reader in every round (at least 100 samples/s). Reading (F) need not"),
        (
            103,
            "105 samples/s with 1 reader, but 100 in the slowest round; 2 readers give enough in every round",
        ),
        (150, "2 readers"),
        (203, "205 samples/s with 2 readers, but 200 in the slowest round; no number of readers gives it in every"),
        (900, "(F) is the limit until"),
    ],
)
def test_a_need_is_held_against_cold_files(need: float, words: str) -> None:
    made = probed(series(FILES, 100, 110, 105), series(FILES, 210, 200, 205, readers=2))
    (sentence,) = need_sentences(made, need)
    assert words in sentence
    assert list(need_sentences(made, None)) == []
    made.cold = "no"
    assert "unknown" in next(need_sentences(made, need))
