"""A validation pass over a DataLoader that is not annotated, between the epochs of one that is."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.analyses.unannotated import find_unannotated
from tb_dataplugin.analyses.waits_of_others import IN_PROCESS, OF_WORKERS
from tb_dataplugin.options import StepRange
from tb_dataplugin.report.report_pb2 import Capture
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder

TORCHS = f"enumerate(DataLoader){OF_WORKERS}"
HERE = f"enumerate(DataLoader){IN_PROCESS}"
TRAIN: dict[str, Any] = {"name": "DataLoader", "dataset": "Pets", "num_workers": 1, "batch_size": 8}
STEP, WAIT, VALIDATION, EPOCH = 10_000.0, 200.0, 15_000.0, 8
SENTENCE = (
    "Another DataLoader that is not annotated, iterated in steps 1, 9 and 17 (an evaluation?), has 96.5% of the data "
    "wait (135 ms of 140 ms)."
)


def trained(
    taken: str = "wait::DataLoader",
    validation: str = TORCHS,
    every: int = EPOCH,
    built: bool = False,
    loaders: list[dict[str, Any]] | None = None,
) -> TraceBuilder:
    """Three epochs of 8 steps, and before each a step asks for the end of the last epoch, and then for 3 other batches.

    `taken`: how the loop's waits are marked. `every`: steps of which one has a validation pass.
    """
    settings = loaders or [{**TRAIN, "stepped": taken.startswith("wait::")}]
    builder, at = TraceBuilder().annotated(host={"cores": 8}, loaders=settings).worker(0), 0.0
    for number in range(3 * EPOCH):
        begin = at
        if number % EPOCH == 0:
            builder.next_epoch().wait(at, 50, taken)
            at += 100
        for _ in range(3 if number % every == 0 else 0):
            builder.wait(at, VALIDATION, validation)
            if built:
                builder.stage("sample::Pets", at + 100, VALIDATION - 200)
            at += VALIDATION + 100
        done = at + WAIT - 10
        builder.batch(number % EPOCH, 0, begin - 400, begin - 300, done, done + 5, {"sample::Pets": (done - 100, 90)})
        builder.wait(at, WAIT, taken)
        at += STEP
        builder.step(begin, at - begin)
    return builder


def notes(capture: Capture) -> list[str]:
    return [note.message for note in capture.diagnostics if note.code == "unannotated_loader"]


@pytest.mark.parametrize("taken", ["wait::DataLoader", TORCHS])
def test_a_validation_between_epochs_is_told_apart(taken: str) -> None:
    """By what ``prof.steps`` takes, or by the records of the batches before and after it."""
    capture = capture_of(trained(taken))
    assert capture.loader.apart.sentence == SENTENCE
    (other,) = capture.loader.apart.others
    assert other.unannotated and (other.dataset, other.HasField("num_workers"), other.wait_us) == ("", False, 135_000)
    assert capture.loader.steady_state.wait_us < 250 < capture.loader.wait_us / 24
    assert capture.verdict.bound != "input" and "2.06% of the rest of the window" in capture.verdict.sentence
    assert not notes(capture), "what the report says of the loop has nothing of it"


def test_few_steps_that_are_chosen_know_of_it_by_all_of_the_capture() -> None:
    capture = capture_of(trained(), steps=StepRange(9, 10))
    assert [list(other.steps) for other in capture.loader.apart.others] == [[9]]


@pytest.mark.parametrize("built", [False, True])
def test_without_workers_it_is_none_of_those_that_have_workers(built: bool) -> None:
    """Though its samples are of a dataset that is recorded: it may be a part of the same."""
    for taken in ("wait::DataLoader", TORCHS):
        assert capture_of(trained(taken, HERE, built=built)).loader.apart.sentence == SENTENCE


def test_where_the_recorded_loader_has_no_workers_its_samples_are_its_own() -> None:
    """It may be the same loader, iterated once more."""
    settings = [{**TRAIN, "num_workers": 0, "stepped": True}]
    assert not results_of(trained(validation=HERE, built=True, loaders=settings)).use.certain.total_ns
    assert results_of(trained(validation=HERE, loaders=settings)).use.certain.total_ns


def test_in_most_steps_it_is_the_loops_and_a_note_says_so() -> None:
    capture = capture_of(trained(every=1))
    assert not capture.loader.apart.others
    assert "is drawn from in every step, has 1.08 s of the data wait in 72 waits" in notes(capture)[0]
    assert "evaluation" not in notes(capture)[0]


def test_an_annotated_loader_whose_batches_are_not_recorded_may_be_it() -> None:
    """As one whose persistent workers started before the capture."""
    loaders = [{**TRAIN, "stepped": True}, {**TRAIN, "dataset": "Other", "iterated_in_window": 1}]
    assert not len(find_unannotated(results_of(trained(loaders=loaders))))
    loaders[1]["iterated_in_window"] = 0
    assert capture_of(trained(loaders=loaders)).loader.apart.others[0].unannotated


def test_a_wait_that_is_for_the_end_of_an_epoch_is_not_for_another_loader() -> None:
    results = results_of(trained(TORCHS))
    starts = results.use.certain.start
    assert [int(start) // 100_000 for start in starts[:4]] == [1, 152, 303, 1255] and len(starts) == 9


@pytest.mark.parametrize("iterated", [(), (3, EPOCH - 1, 2 * EPOCH - 1)])
def test_an_epochs_end_is_asked_for_after_the_step_of_its_last_batch(iterated: tuple[int, ...]) -> None:
    """Which may end with an evaluation: the epoch's end has next to nothing of that, and no step of it is named."""
    builder, at = TraceBuilder().annotated(host={"cores": 8}, loaders=[TRAIN]).worker(0), 0.0
    for number in range(3 * EPOCH):
        begin = at
        if number % EPOCH == 0:
            builder.next_epoch().wait(at, 15, TORCHS)
            at += 100
        done = at + WAIT - 10
        builder.batch(number % EPOCH, 0, begin - 400, begin - 300, done, done + 5, {"sample::Pets": (done - 100, 90)})
        builder.wait(at, WAIT, TORCHS)
        at += STEP
        for _ in range(3 if number in iterated else 0):
            builder.wait(at, VALIDATION, TORCHS)
            at += VALIDATION + 100
        builder.step(begin, at - begin)
    capture = capture_of(builder)
    assert [list(other.steps) for other in capture.loader.apart.others] == (
        [[each + 1 for each in iterated]] if iterated else []
    )
    if iterated:
        assert capture.loader.apart.others[0].wait_us == 3 * 3 * VALIDATION


def test_batches_that_were_drawn_and_not_received_may_be_what_was_waited_for() -> None:
    builder = trained(TORCHS)
    epochs, numbers = builder.batches["epoch"], builder.batches["batch"]
    builder.batches["epoch"], builder.batches["batch"] = [*epochs], [*numbers]
    for epoch in (1, 2, 3):
        builder.epoch = epoch
        builder.batch(EPOCH, 0, 1.0, None, None, None)
    assert len(results_of(builder).use.certain) == 3, "those before the first epoch that is recorded"


def test_making_its_iterator_is_for_it_as_well() -> None:
    """``iter(loader)`` is a wait of its own outside of ``prof.steps``."""
    builder = trained(TORCHS)
    plain = results_of(builder).use.certain
    for start in plain.start[::3].tolist():
        builder.wait(start / 1000 - 45, 40, "wait::DataLoader (iter)")
    found = results_of(builder)
    assert found.use.certain.total_ns == plain.total_ns + 3 * 40_000
    assert found.loop.apart.not_mine.total_ns == found.use.certain.total_ns


def test_the_ends_of_a_recorded_loader_that_is_zipped_with_the_loops_are_its_own() -> None:
    """It is cycled, has no workers, and its `next()` finds it over in every third step."""
    labelled = {"name": "DataLoader", "dataset": "Labelled", "num_workers": 0, "batch_size": 4, "iterated_in_window": 5}
    builder = TraceBuilder().annotated(host={"cores": 8}, loaders=[{**TRAIN, "stepped": True}, labelled]).worker(0)
    for number in range(12):
        at = number * STEP
        builder.batch(number, 0, at - 400, at - 300, at + 190, at + 195).of_loader(0).wait(at, WAIT, "wait::DataLoader")
        if number % 3 == 2:
            builder.wait(at + 300, 200, HERE)
        builder.wait(at + 1_000, 400, HERE).stage("sample::Labelled", at + 1_050, 300).step(at, STEP)
    assert not find_unannotated(results_of(builder)) and not notes(capture_of(builder))


@pytest.mark.parametrize("ends", [(0, 6), (3, 9)])
def test_two_that_end_in_the_same_step_are_none_of_others(ends: tuple[int, ...]) -> None:
    """Their ends follow each other; with the first of these a window may begin."""
    names = ("Labelled", "Replayed")
    cycled = [{**TRAIN, "dataset": name, "num_workers": 0, "iterated_in_window": 2} for name in names]
    builder = TraceBuilder().annotated(host={"cores": 8}, loaders=[{**TRAIN, "stepped": True}, *cycled]).worker(0)
    for number in range(12):
        at = number * STEP
        builder.batch(number, 0, at - 400, at - 300, at + 190, at + 195).of_loader(0).wait(at, WAIT, "wait::DataLoader")
        for place, name in enumerate(names):
            if number in ends:
                builder.wait(at + 300 + 300 * place, 200, HERE)
            begin = at + 1_000 + 500 * place
            builder.wait(begin, 400, HERE).stage(f"sample::{name}", begin + 50, 300)
        builder.step(at, STEP)
    assert not len(find_unannotated(results_of(builder))) and not notes(capture_of(builder))
    for place in range(3):
        builder.wait(10 * STEP + 3_000 + 500 * place, 200, HERE)
    assert len(find_unannotated(results_of(builder))) == 1, "the first two of three may be their ends"


@pytest.mark.parametrize("goes_on", [True, False], ids=["within an epoch", "between two epochs"])
def test_waits_that_build_nothing_are_anothers_where_the_recorded_one_without_workers_goes_on(goes_on: bool) -> None:
    """Of 12 steps the seventh has three more waits of torch's mark, 4 ms each. Where an epoch begins after them, one of
    them may be the end of the one before.
    """
    builder = TraceBuilder().annotated(loaders=[{**TRAIN, "num_workers": 0, "iterated_in_window": 1 - goes_on}])
    at = 0.0
    for number in range(12):
        begin = at
        for _ in range(3 if number == 6 else 0):
            builder.wait(at, 4000, HERE)
            at += 4100
        first = " (first batch)" if number == 6 and not goes_on else ""
        builder.wait(at, 1000, f"wait::DataLoader{first}").wait(at + 1, 998, HERE).stage("sample::Pets", at + 10, 900)
        at += 5000
        builder.step(begin, at - begin)
    said = capture_of(builder).verdict.sentence
    assert "Another DataLoader that is not annotated, iterated in step 7 (an evaluation?), has" in said
    assert f"({'12.0' if goes_on else '8.00'} ms of 24.0 ms)" in said


@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize("made", [1, None])
def test_where_first_batches_are_not_marked_the_ends_of_epochs_are_the_recorded_ones_own(
    made: int | None, others: int
) -> None:
    """Under a profiler of the user's: 12 steps, an epoch's end before the seventh, in the tenth perhaps another two."""
    iterated = {} if made is None else {"iterated_in_window": made}
    loaders = [{**TRAIN, "num_workers": 0, **iterated}]
    builder, at = TraceBuilder().annotated(loaders=loaders), 0.0
    for number in range(12):
        begin = at
        for _ in range(1 if number == 6 else 2 * others if number == 9 else 0):
            builder.wait(at, 4000, HERE)
            at += 4100
        builder.wait(at, 1000, HERE).stage("sample::Pets", at + 10, 900)
        at += 5000
        builder.step(begin, at - begin)
    apart = capture_of(builder).loader.apart
    assert [list(other.steps) for other in apart.others] == ([[10]] if others else [])
