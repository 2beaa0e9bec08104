"""A file that is cut off lacks steps and the device: a comparison says so first, and decides nothing."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.limit import judge_limit
from tb_dataplugin.report.report_pb2 import Comparison, Device, Doubt
from tests.simulated_run import Simulation, runs

BASE = Simulation(steps=16, batch_size=2)


def sides(cut: tuple[int, ...], times: int = 3, device: bool = False) -> Comparison:
    """Three runs before; after them three that take `times` as long. `cut`: which sides have a file without its end."""
    slow = replace(BASE, stages={name: times * us for name, us in BASE.stages.items()})
    made = [copy.deepcopy(runs(each, np.random.default_rng(at), 3)) for at, each in enumerate((BASE, slow))]
    for number, side in enumerate(made):
        if number in cut:
            side[1].doubts.append(Doubt(code="cut_off"))
        for capture in side:
            if device and not capture.doubts:
                capture.devices.append(Device())
    return compare(*made)


@pytest.mark.parametrize("times", [1, 3])
def test_it_is_said_first_and_a_build_neither_fails_nor_passes(times: int) -> None:
    assert judge_limit(sides((), times), 0.5).outcome == ("fine" if times == 1 else "slower")
    said = sides((1,), times)
    first = "a file is cut off (after), so only what it still has is compared"
    assert said.sentence.startswith(f"Doubtful: {first}. {'Slower: ' if times > 1 else 'No significant difference'}")
    assert said.diagnostics[0].code == "cut_off_side" and said.diagnostics[0].message.startswith("A file is cut off")
    judged = judge_limit(said, 0.5)
    assert judged.outcome == "inconclusive" and first in judged.sentence


def test_what_is_left_of_a_run_without_a_whole_step_is_no_run() -> None:
    """A stranger's three equal runs were 25% faster and not significant for 20 kB of a fourth; they were 37% faster."""
    before, after = (copy.deepcopy(runs(BASE, np.random.default_rng(at), 3)) for at in (1, 2))
    fragment = copy.deepcopy(after[0])
    fragment.name, fragment.file = "broken_9.1", "broken_9.1.pt.trace.json"
    fragment.ClearField("steps")
    fragment.doubts.append(Doubt(code="cut_off"))
    said, good = compare(before, [*after, fragment]), compare(before, after)
    assert (said.sentence, len(said.after), said.time) == (good.sentence, 3, good.time)
    (note,) = [note.message for note in said.diagnostics if note.code == "fragments_left_aside"]
    assert note.startswith("broken_9.1 is left aside: its file is cut off and has no whole step")
    assert compare(before, [fragment]).sentence.startswith("Doubtful: ")


def test_a_device_that_the_cut_took_is_said() -> None:
    assert "compared, and nothing of the device. Slower" in sides((1,), device=True).sentence
    assert "files are cut off (before and after), so only what they still have is" in sides((0, 1)).sentence


def test_the_same_file_on_both_sides_is_identical_however_it_ends() -> None:
    capture = copy.deepcopy(runs(BASE, np.random.default_rng(1), 1)[0])
    capture.doubts.append(Doubt(code="cut_off"))
    said = compare([capture], [capture])
    assert said.sentence.startswith("Identical") and judge_limit(said, 0.05).outcome == "fine"
