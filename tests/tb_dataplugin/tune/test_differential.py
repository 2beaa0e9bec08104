"""Differences of loops whose parts take what they are told to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from tb_dataplugin.export.terminal import PLAIN, Style
from tb_dataplugin.export.width import WIDEST
from tb_dataplugin.tune.differential import Differential, between, measure
from tb_dataplugin.tune.differential_text import as_json, as_text
from tb_dataplugin.tune.running import CannotRun, Window
from tb_dataplugin.tune.server import Program

PROGRAM = Program("train:make_loader", step_ms=4.0)


@dataclass
class MadeUpLoops:
    """A step takes 4 ms, loading 6 ms more, and what is not in the page cache 10 ms more."""

    in_cache: bool = False
    asked: list[str] = field(default_factory=list)

    def empty(self) -> None:
        self.in_cache = False

    def same(self, count: int = 0) -> Window:
        step = 0.010 if self.in_cache else 0.020
        self.in_cache = True
        self.asked.append(f"same {count}")
        return self._window(count or round(2.0 / step), step)

    def loaderless(self, count: int) -> Window:
        self.asked.append(f"loaderless {count}")
        return self._window(count, 0.004)

    def _window(self, count: int, step: float) -> Window:
        jitter = 1 + 0.001 * (len(self.asked) % 3)
        return Window(count, count * step * jitter, 0.0)


def test_reading_is_what_a_cold_cache_adds_and_loading_the_rest() -> None:
    loops = MadeUpLoops()
    made = measure(loops, 4, loops.empty, lambda line: None)
    assert made.loading_s.value == pytest.approx(0.006, rel=0.02)
    assert made.reading_s is not None and made.reading_s.value == pytest.approx(0.010, rel=0.02)
    assert made.reading_s.low <= made.reading_s.value <= made.reading_s.high
    assert made.reading_s.is_more


def test_a_warm_window_has_the_batches_that_the_cold_one_had() -> None:
    loops = MadeUpLoops()
    measure(loops, 2, loops.empty, lambda line: None)
    assert loops.asked == ["same 0", *["same 0", "same 100", "loaderless 100"] * 2]


def test_how_long_the_rest_takes_is_said_from_the_second_round_on(monkeypatch: pytest.MonkeyPatch) -> None:
    loops, said = MadeUpLoops(), list[str]()
    monkeypatch.setattr("tb_dataplugin.tune.differential.monotonic", lambda: 10.0 * len(loops.asked))
    measure(loops, 4, loops.empty, said.append)
    assert said == [
        "round 1 of 4",
        "round 2 of 4, about 90.0 s left",
        "round 3 of 4, about 60.0 s left",
        "round 4 of 4, about 30.0 s left",
    ]


@dataclass
class Interrupted(MadeUpLoops):
    """Ctrl-C comes in the middle of a round."""

    at: int = 0

    def same(self, count: int = 0) -> Window:
        if len(self.asked) == self.at:
            raise KeyboardInterrupt
        return super().same(count)


def test_rounds_that_ended_are_kept_where_ctrl_c_comes() -> None:
    loops = Interrupted(at=1 + 2 * 3 + 1)  # the third round has its cold window
    made = measure(loops, 5, loops.empty, lambda line: None)
    assert made.is_interrupted and (len(made.cold), len(made.warm), len(made.memory)) == (2, 2, 2)
    assert "the same samples, 2 rounds" in as_text(made, PROGRAM, 8, [], PLAIN)
    assert not measure(MadeUpLoops(), 2, None, lambda line: None).is_interrupted


@pytest.mark.parametrize(("at", "said"), [(0, "after 0 rounds"), (4, "after 1 round;")])
def test_one_round_has_no_interval(at: int, said: str) -> None:
    loops = Interrupted(at=at)
    with pytest.raises(CannotRun, match=f"interrupted {said}"):
        measure(loops, 5, loops.empty, lambda line: None)


def test_without_files_nothing_is_said_of_reading() -> None:
    made = measure(MadeUpLoops(in_cache=True), 3, None, lambda line: None)
    assert made.reading_s is None
    text = as_text(made, PROGRAM, 8, ["Without --files, reading is not measured."], PLAIN)
    narrow = as_text(made, PROGRAM, 8, [], Style(width=50)).splitlines()
    assert max(map(len, narrow)) <= 50 and narrow[2].split()[-2:] == ["step,", "ms"]
    assert "storage" not in text and "Without --files" in text
    assert set(json.loads(as_json(made, PROGRAM, None, []))["steps"]) == {"memory", "warm"}


def test_differences_within_the_scatter_are_not_significant() -> None:
    made = Differential((0.004, 0.0041, 0.0042), (0.0042, 0.004, 0.0041), (0.008, 0.0081, 0.0083))
    text = as_text(made, PROGRAM, 8, [], PLAIN)
    assert "no significant difference to the step alone (95% interval 430 µs less to 430 µs more)" in " ".join(
        text.split()
    )
    assert "Reading from storage adds 4.03 ms per step" in text
    assert max(map(len, text.splitlines())) <= WIDEST


def test_json_has_every_step_and_difference() -> None:
    made = Differential((0.004, 0.0041), (0.010, 0.0101), (0.020, 0.0201))
    answer = json.loads(as_json(made, PROGRAM, 8, ["a note"]))
    assert answer["schema_version"] == 1 and answer["rounds"] == 2 and answer["notes"] == ["a note"]
    assert answer["steps"]["cold"]["samples_per_s"] == pytest.approx(8 / 0.02005)
    assert answer["loading_us"]["value"] == pytest.approx(6000) and answer["reading_us"]["value"] == pytest.approx(1e4)


def test_rounds_are_compared_one_by_one() -> None:
    more = between((1.0, 5.0, 9.0), (2.0, 6.01, 9.99))
    assert more.value == pytest.approx(1.0) and more.low > 0.9
