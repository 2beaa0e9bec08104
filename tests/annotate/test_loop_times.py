"""What is known of a loop's steps when its window opens, and how long that is."""

from __future__ import annotations

from typing import NamedTuple

from annotate.launch.loop_times import TimesOfLoops, chosen_length


class Of(NamedTuple):
    loader: int
    epoch: int


def test_a_loop_goes_on_after_a_validation_in_the_middle_of_its_epoch() -> None:
    loops = TimesOfLoops()
    loops.of(Of(0, 0)).taken.extend([1.0, 2.0])
    loops.of(Of(1, 0)).taken.append(2.5)
    loops.of(Of(0, 0)).taken.append(3.0)
    assert loops.of(Of(0, 0)).taken == [1.0, 2.0, 3.0]


def test_the_time_of_a_step_is_known_as_an_epoch_begins_without_what_was_between_two() -> None:
    loops = TimesOfLoops()
    loops.of(Of(0, 0)).taken.extend([1.0, 2.0, 3.0])
    second = loops.of(Of(0, 1))
    assert second.paced(0) == [1.0, 2.0, 3.0]
    second.taken.append(60.0)
    assert second.paced(1) == [58.0, 59.0, 60.0]
    third = loops.of(Of(0, 2))
    third.taken.extend([100.0, 101.0])
    assert third.paced(1) == [98.0, 99.0, 100.0]
    assert third.paced(2) == [98.0, 99.0, 100.0, 101.0]


def test_earlier_epochs_are_not_kept_for_ever() -> None:
    loops = TimesOfLoops()
    for epoch in range(100):
        loops.of(Of(0, epoch)).taken.extend([epoch * 10.0, epoch * 10.0 + 1])
    assert 20 < len(loops.of(Of(0, 99)).paced(2)) < 30


def test_loaders_that_are_made_for_one_validation_are_forgotten_and_the_loop_is_not() -> None:
    loops = TimesOfLoops()
    for number in range(1, 100):
        loops.of(Of(0, 0)).taken.append(float(number))
        loops.of(Of(number, 0)).taken.append(number + 0.5)
    assert len(loops.of(Of(0, 0)).taken) == 99
    assert loops.of(Of(1, 0)).taken == []


def test_a_window_that_its_epoch_makes_short_says_so() -> None:
    times = [0.05 * step for step in range(21)]
    assert chosen_length(times, None, None) == (30, "")
    assert chosen_length(times, 40, None) == (30, "")
    assert chosen_length(times, 12, None) == (
        12,
        "The window has 12 steps instead of 30, since few batches of its epoch were left: with "
        "`tb-dataplugin run --active 30` a window has 30, however few are left.",
    )
