"""Runs of several ranks: one of them is compared, and the sentence says so."""

from __future__ import annotations

import copy

import numpy as np

from tb_dataplugin.compare import compare
from tb_dataplugin.export.compare_text import OF_WINDOW, compare_text
from tb_dataplugin.report.report_pb2 import Capture, Comparison
from tests.simulated_run import Simulation, runs

BASE = Simulation(steps=16, batch_size=2)


def ranks(seed: int, count: int) -> list[Capture]:
    found = copy.deepcopy(runs(BASE, np.random.default_rng(seed), count))
    for number, capture in enumerate(found):
        capture.rank = number
    return found


def test_the_sentence_says_that_only_one_is_compared() -> None:
    said = compare(ranks(1, 2), ranks(2, 2))
    assert said.sentence.endswith(
        " Only rank 0 is compared, of several: what another one loads may have changed, and holds up all. Compare "
        "captures of that rank, too."
    )
    (note,) = (note for note in said.diagnostics if note.code == "ranks_left_aside")
    assert note.message.startswith("Of several ranks only rank 0 is compared"), "once for both sides"
    assert "Only rank" not in compare(ranks(1, 1), ranks(2, 1)).sentence


def test_a_rank_beside_a_process_of_its_own_is_a_setting_that_changed() -> None:
    of_two = ranks(2, 1)
    of_two[0].world_size = 2
    said = compare(ranks(1, 1), of_two)
    (setting,) = (one for one in said.settings if one.name == "world_size")
    assert (setting.before, setting.after) == ("1", "2")
    assert said.sentence.endswith(" After is one of 2 ranks, which waits for the others, too.")


def without_samples(*, has_steps: bool) -> list[Capture]:
    found = ranks(3, 1)
    found[0].ClearField("throughput")
    if not has_steps:
        found[0].ClearField("steps")
    return found


def test_a_side_without_steps_and_samples_is_said_to_have_no_times() -> None:
    said = compare(without_samples(has_steps=False), ranks(2, 1))
    assert not said.unit and not said.HasField("time")
    (note,) = said.diagnostics
    assert note.message.startswith("One side has neither steps nor samples")
    assert "intervals" not in compare_text(said, anyway=True)


def test_a_time_per_step_says_what_it_is_of() -> None:
    def text(said: Comparison) -> str:
        return compare_text(said)

    assert OF_WINDOW in text(compare(without_samples(has_steps=True), ranks(2, 1)))
    assert OF_WINDOW not in text(compare(ranks(1, 1), ranks(2, 1)))
