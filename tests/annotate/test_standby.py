"""How long a window is that `tb-dataplugin attach` asks for, and what is said where it is shorter."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotate.capture.standing import Standing
from annotate.launch.notes import Notes
from annotate.launch.order import Order
from annotate.launch.standby import Standby, shorter_than_asked
from annotate.trace_format import StepSource


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("annotate.launch.standby.perf_counter", clock)
    return clock


def standby(tmp_path: Path, seconds: float) -> Standby:
    made = Standby(Order(logdir=tmp_path, is_standby=True, folder=tmp_path), Standing(), Notes(None))
    made._asked_s = seconds
    return made


def ends(recording: Standby, clock: Clock, source: StepSource, *times: float) -> float:
    """When it is enough, asked every 0.5 s from the first of `times` on, which are the boundaries."""
    clock.now = times[0]
    while not recording._is_enough(source, [round(1e9 * time) for time in times]):
        clock.now += 0.5
    return clock.now


@pytest.mark.parametrize(
    ("source", "times", "end"),
    [
        ("batch", (100.0, 101.0, 102.0), 105.0),
        ("optimizer", (100.0, 101.0, 102.0), 106.0),
        ("optimizer", (100.0, 104.0), 109.0),
        ("optimizer", (100.0, 160.0), 110.0),
    ],
    ids=["batches", "a step under way", "a long one", "one with an evaluation in it"],
)
def test_the_seconds_count_from_the_first_whole_step_on(
    source: StepSource, times: tuple[float, ...], end: float, tmp_path: Path, clock: Clock
) -> None:
    """A window of 5 s had 1.14 s of steps: the end of an epoch was in the step before them."""
    assert ends(standby(tmp_path, 5.0), clock, source, *times) == end


def test_a_window_that_is_much_shorter_says_why(tmp_path: Path, clock: Clock) -> None:
    recording = standby(tmp_path, 5.0)
    ends(recording, clock, "batch", 100.0)
    clock.now = 108.0
    assert recording._notes_of_window([101_000_000_000, 102_140_000_000]) == []
    assert "The window has 1.14 s of the 5 s" in recording.notes.shortened
    assert "more --seconds" in recording.notes.shortened
    assert recording._notes_of_window([101_000_000_000, 106_500_000_000]) == []
    assert recording.notes.shortened == "", "it is of the latest window"


def test_a_program_that_ended_is_why() -> None:
    assert shorter_than_asked(5.0, 1.0, 1.5).endswith("asked for: the program ended.")
    assert "has 0 s of the 5 s" in shorter_than_asked(5.0, 0.0, 7.0)
    assert shorter_than_asked(5.0, 4.1, 5.5) == ""
