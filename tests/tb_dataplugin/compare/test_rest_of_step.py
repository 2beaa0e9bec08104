"""What the training thread does outside the data wait explains a change that no stage does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.quantity import Outcome, Quantity
from tb_dataplugin.compare.verdict import _doubt_of_lines
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.report.report_pb2 import Capture, Comparison
from tb_dataplugin.units import TOO_WIDE
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

FILE = "/home/me/boards.py"
SOURCES = {(FILE, 36): "loss.backward()", (FILE, 41): 'board.add_images("out", out, n)'}
LOG, STEP = ("step", FILE, 41), ("step", FILE, 36)
STEPS = 20
RUNNING, BLOCKED, LOCK = 0, 1, 2


def capture(step_us: int, stacks: Sequence[tuple[str, str, int]], states: Sequence[int], name: str) -> Capture:
    """Steps that wait for 100 us; samples are spread over them all, outside the data wait."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}])
    for number in range(STEPS):
        builder.step(step_us * number, step_us).wait(step_us * number, 100, "wait::DataLoader")
    each = len(stacks) // STEPS
    places = [(number + 0.5) / each for number in range(each)]
    times = [step_us * number + 120 + (step_us - 140) * place for number in range(STEPS) for place in places]
    builder.sampled(times, states).stacks(times, [(one,) for one in stacks], states=states, sources=SOURCES)
    found = capture_of(builder)
    found.name = found.file = name
    return found


def images_are_logged() -> Capture:
    """8 of 10 samples are in line 41, 6 of them waiting for the lock."""
    found = capture(5000, [*[LOG] * 8, *[STEP] * 2] * STEPS, [*[LOCK] * 6, *[RUNNING] * 4] * STEPS, "run_1.1")
    found.findings.add(rule="no_such_rule", title="A lock", gain_us_per_step=2900)
    return found


def nothing_is_logged() -> Capture:
    return capture(1000, [STEP, STEP] * STEPS, [RUNNING, RUNNING] * STEPS, "run_2.1")


def said(comparison: Comparison, kind: str) -> list[str]:
    return [fact.text for fact in comparison.evidence if fact.kind == kind]


def test_waiting_for_pythons_lock_explains_a_change() -> None:
    found = compare([images_are_logged()], [nothing_is_logged()])
    assert found.outcome == "faster"
    lock = next(part for part in found.parts if part.name == "rest:gil")
    assert (lock.outcome, lock.after_us) == ("less", 0)
    assert lock.before_us == pytest.approx(0.6 * 4900, rel=0.05)
    assert " ms less waiting for Python's lock (GIL)" in found.sentence
    assert "no stage" not in found.sentence
    assert "Rest of the step: what held the training thread up, by stack samples" in compare_text(found)


def test_a_line_that_is_gone_is_said_beside_too_few_samples_too() -> None:
    """The 40 samples after it name no line, but all of their time is less than the line took."""
    found = compare([images_are_logged()], [nothing_is_logged()])
    (text,) = said(found, "own_line")
    assert text.startswith("training thread outside the data wait, ") and "add_images" in text
    assert " ms → " in text and text.endswith(" per step")
    back = compare([nothing_is_logged()], [images_are_logged()])
    assert back.outcome == "slower" and len(said(back, "own_line")) >= 1


def test_a_line_that_runs_may_differ_by_as_much_is_doubted() -> None:
    def run(step_us: int, logged: int, name: str) -> Capture:
        stacks = [*[LOG] * logged, *[STEP] * (10 - logged)] * STEPS
        return capture(step_us, stacks, [RUNNING] * len(stacks), name)

    before = [run(step_us, 8, f"before_{step_us}.1") for step_us in (3000, 4000, 5000, 6000)]
    after = [run(step_us, 3, f"after_{step_us}.1") for step_us in (2500, 3500, 4500, 5500)]
    found = compare(before, after)
    assert next(part for part in found.parts if part.name == "rest").outcome == "not_significant"
    texts = said(found, "own_line")
    assert texts and all(" per step, but the rest of the step as a whole did not change" in text for text in texts)


def test_a_line_is_doubted_where_its_part_is_too_uncertain_to_compare() -> None:
    parts = (quantity("rest", "too_short"),)
    assert "did not change significantly (too uncertain to compare)" in _doubt_of_lines(parts)
    assert _doubt_of_lines((quantity("rest", "less"),)) == ""


def quantity(name: str, outcome: Outcome) -> Quantity:
    return Quantity("part", name, "rest of the step", 25_400.0, 8290.0, -0.67, None, TOO_WIDE, outcome)


def test_the_same_program_has_no_line_that_changed() -> None:
    again = images_are_logged()
    again.name = again.file = "run_2.1"
    again.window_us += 1
    found = compare([images_are_logged()], [again])
    assert not said(found, "own_line") and not said(found, "promise")


def test_what_came_of_a_promise_about_no_stage_is_said() -> None:
    after = nothing_is_logged()
    texts = said(compare([images_are_logged()], [after]), "promise")
    text = next(one for one in texts if "(A lock)" in one)
    assert text.endswith(
        "saves up to 2.90 ms per step; after, it is gone; whether its advice was followed is not recorded. "
        "With all that changed, steps now take 4.00 ms less"
    )
    after.findings.add(rule="no_such_rule", title="A lock", gain_us_per_step=500)
    texts = said(compare([images_are_logged()], [after]), "promise")
    assert next(one for one in texts if "(A lock)" in one).endswith("; after, it is still there, up to 500 µs")


def test_where_steps_take_longer_no_promise_about_no_stage_came_of_it() -> None:
    before = nothing_is_logged()
    before.findings.add(rule="no_such_rule", title="A lock", gain_us_per_step=500)
    assert not [one for one in said(compare([before], [images_are_logged()]), "promise") if "(A lock)" in one]


def test_a_thread_that_a_device_blocks_is_no_part_of_the_rest() -> None:
    """Its waiting for the device is there twice else."""
    found, beside = capture(5000, [STEP] * 200, [BLOCKED] * 200, "run_1.1"), nothing_is_logged()
    assert "rest:blocked" in {part.name for part in compare([found], [beside]).parts}
    for one in (found, beside):
        one.devices.add()
    assert "rest:blocked" not in {part.name for part in compare([found], [beside]).parts}


def test_parts_of_the_training_thread_are_named_in_words() -> None:
    names = [part.name for part in compare([images_are_logged()], [images_are_logged()]).lines]
    assert "training thread outside the data wait" in names
    assert "training thread waiting for Python's lock (GIL)" in names


def test_a_part_that_one_of_several_runs_lacks_is_not_called_unrecorded() -> None:
    """It has a number on each side."""
    before, after = [images_are_logged(), images_are_logged()], [nothing_is_logged(), nothing_is_logged()]
    for number, one in enumerate((*before, *after)):
        one.name = one.file = f"run_{number}.1"
    after[1].ClearField("thread_samples")
    (part,) = (one for one in compare(before, after).parts if one.name == "rest:gil")
    assert part.HasField("before_us") and part.HasField("after_us")
    assert part.interval_text == "not recorded in every run"
    after[0].ClearField("thread_samples")
    (part,) = (one for one in compare(before, after).parts if one.name == "rest:gil")
    assert part.interval_text == "not recorded"


def test_a_part_of_which_a_side_has_too_few_samples_is_not_called_unrecorded() -> None:
    before, after = images_are_logged(), nothing_is_logged()
    after.thread_samples.ClearField("host_limited_by_us")
    (part,) = (one for one in compare([before], [after]).parts if one.name == "rest:gil")
    assert not part.HasField("after_us")
    assert part.interval_text == "too few samples"
