"""A side that was captured while other programs used the CPUs decides nothing about time."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.limit import judge_limit
from tb_dataplugin.report.report_pb2 import Capture, Comparison, Doubt
from tests.simulated_run import Simulation, runs

BASE = Simulation(steps=16, batch_size=2)
SENTENCE = "Other programs used 0.814 CPUs of 2, and none was free. Times are those of a crowded machine"


def sides(code: str = "") -> Comparison:
    """Three runs before; after them three that take three times as long, one of them doubtful for `code`."""
    slow = replace(BASE, stages={name: 3 * us for name, us in BASE.stages.items()})
    before, after = (runs(each, np.random.default_rng(seed), 3) for seed, each in ((1, BASE), (2, slow)))
    second: list[Capture] = [copy.deepcopy(capture) for capture in after]
    if code:
        second[1].doubts.append(Doubt(code=code, sentence=SENTENCE))
    return compare(before, second)


def test_a_build_does_not_fail_for_what_other_programs_took() -> None:
    assert judge_limit(sides(), 0.05).outcome == "slower"
    judged = judge_limit(sides("busy_machine"), 0.05)
    assert judged.outcome == "inconclusive" and "other programs used the CPUs meanwhile" in judged.sentence


def test_the_sentence_and_the_first_note_say_which_side_is_doubtful() -> None:
    said = sides("busy_machine")
    assert said.sentence.endswith("Doubtful: other programs used 0.814 CPUs of 2, and none was free (after).")
    assert said.diagnostics[0].code == "crowded_side"
    assert "(after). Compare captures of a quieter machine" in said.diagnostics[0].message


def test_other_doubts_are_no_matter_of_other_programs() -> None:
    assert "Doubtful" not in sides("short_window").sentence
    assert judge_limit(sides("short_window"), 0.05).outcome == "slower"
