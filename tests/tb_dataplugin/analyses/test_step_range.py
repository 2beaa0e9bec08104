"""Every number for some of the steps only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tb_dataplugin.errors import NoSuchSteps
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.options import AnalysisOptions, StepRange
from tb_dataplugin.pipeline import analyse_file, as_report
from tb_dataplugin.report.report_pb2 import Capture
from tests.conftest import GOLDEN
from tests.trace_builder import TraceBuilder, training_run

STEPS = 6


def capture_of(path: Path, steps: StepRange | None = None) -> Capture:
    return analyse_file(path, "run", AnalysisOptions(steps=steps)).capture


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return training_run(STEPS).write(tmp_path_factory.mktemp("steps") / "run.json")


def test_the_window_is_that_of_the_chosen_steps(run: Path) -> None:
    whole, some = capture_of(run), capture_of(run, StepRange(2, 4))
    assert [step.number for step in some.steps.items] == [2, 3, 4]
    assert some.window_start_us == whole.steps.items[1].start_us
    assert some.window_us == sum(step.duration_us for step in whole.steps.items[1:4])
    assert [timed.start_us for timed in some.devices[0].gaps if timed.start_us < some.window_start_us] == []


def test_the_report_says_which_steps_it_is_about(run: Path) -> None:
    selection = capture_of(run, StepRange(2, 4)).selection
    assert (selection.first, selection.last, selection.count) == (2, 4, 3)
    assert (selection.recorded_first, selection.recorded_last, selection.recorded_count) == (1, STEPS, STEPS)
    assert selection.sentence == "Steps 2 to 4 only: 3 of 6 recorded steps, 300 µs of the 600 µs window."
    assert not capture_of(run).HasField("selection")


def test_all_steps_are_the_whole_capture(run: Path) -> None:
    chosen, whole = capture_of(run, StepRange(1, STEPS)), capture_of(run)
    chosen.ClearField("selection")
    assert as_dict(as_report([chosen])) == as_dict(as_report([whole]))


READ: dict[str, Callable[[Capture], float]] = {
    "data wait": lambda capture: capture.loader.wait_us,
    "busy": lambda capture: capture.devices[0].busy_us,
    "idle": lambda capture: capture.devices[0].idle_us,
    "idle: data wait": lambda capture: capture.devices[0].idle_by_cause_us.data_wait,
    "window": lambda capture: capture.window_us,
}


@pytest.mark.parametrize("cut", range(1, STEPS))
@pytest.mark.parametrize("number", READ)
def test_two_parts_sum_to_the_whole(run: Path, cut: int, number: str) -> None:
    parts = (StepRange(1, cut), StepRange(cut + 1, STEPS))
    sums = sum(READ[number](capture_of(run, part)) for part in parts)
    assert sums == pytest.approx(READ[number](capture_of(run)), abs=0.002)


def test_the_parts_of_a_real_capture_sum_to_the_whole() -> None:
    path = GOLDEN / "v100_resnet50_workers0.pt.trace.json.gz"
    whole = capture_of(path)
    numbers = [step.number for step in whole.steps.items]
    middle = numbers[len(numbers) // 2]
    parts = [capture_of(path, part) for part in (StepRange(numbers[0], middle - 1), StepRange(middle, numbers[-1]))]
    between = whole.steps.items[len(numbers) // 2].start_us - parts[0].window_start_us - parts[0].window_us
    assert between < 1000  # the profiler leaves some microseconds between two steps
    for read in READ.values():
        assert sum(map(read, parts)) == pytest.approx(read(whole), abs=between + 0.01)


def test_steps_without_spans_of_the_profiler_keep_their_numbers(tmp_path: Path) -> None:
    boundaries = {"source": "batch", "boundaries_us": [100, 180, 300, 330]}
    builder = TraceBuilder().wait(100, 10).operator(120, 50).wait(200, 10).operator(230, 100)
    capture = capture_of(builder.annotated(steps=boundaries).write(tmp_path / "run.json"), StepRange(1, 2))
    assert [(step.number, step.duration_us) for step in capture.steps.items] == [(1, 120), (2, 30)]


@pytest.mark.parametrize("steps", [StepRange(7, 9), StepRange(0, 2), StepRange(5, 7)])
def test_steps_that_are_not_there_are_one_line(run: Path, steps: StepRange) -> None:
    with pytest.raises(NoSuchSteps) as raised:
        capture_of(run, steps)
    assert str(raised.value) == f"cannot select steps {steps} of {run}: it has steps 1..6; choose among those"


def test_a_trace_without_steps_has_none_to_choose_from(tmp_path: Path) -> None:
    path = TraceBuilder().wait(0, 40).kernel(40, 60).write(tmp_path / "run.json")
    with pytest.raises(NoSuchSteps, match="it has no steps to choose from"):
        capture_of(path, StepRange(1, 2))


@pytest.mark.parametrize(("text", "steps"), [("3..7", (3, 7)), (" 3 .. 7 ", (3, 7)), ("5", (5, 5))])
def test_a_range_is_written_with_two_dots(text: str, steps: tuple[int, int]) -> None:
    assert StepRange.parse(text) == StepRange(*steps)


@pytest.mark.parametrize("text", ["", "a..b", "3-7", "7..3", "-1..2", "3..", "1..99999999999", "٣..٧"])
def test_what_is_no_range_is_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^steps .*write") as raised:
        StepRange.parse(text)
    assert "\n" not in str(raised.value)


def test_too_few_chosen_steps_are_a_reason_to_choose_more(tmp_path: Path) -> None:
    path = training_run(12).write(tmp_path / "run.json")
    [doubt] = capture_of(path, StepRange(2, 4)).doubts
    assert doubt.code == "short_window" and doubt.sentence.endswith("Choose 8 or more.")


def test_a_batch_was_held_back_for_as_long_as_it_was_in_the_queue_whichever_steps_are_chosen(tmp_path: Path) -> None:
    """Batch 1 is finished at 20, while the step before waits for batch 0 until 58."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}])
    builder.step(0, 65).step(65, 35).wait(10, 50, "wait::DataLoader").wait(70, 1, "wait::DataLoader")
    builder.worker(0).worker(1).batch(0, 0, 0, 0, 58, 59).batch(1, 1, 0, 0, 20, 70.5)
    path = builder.write(tmp_path / "run.json")
    times = [
        [(one.in_queue_us, one.head_of_line_us) for one in capture_of(path, steps).batches if one.number == 1]
        for steps in (None, StepRange(2, 2))
    ]
    assert times == [[(50, 38)], [(50, 38)]]


def test_a_call_that_takes_most_of_its_time_behind_the_chosen_steps_is_none_of_theirs(tmp_path: Path) -> None:
    """One that begins in the second of four steps of 100 us, and takes 250; another one ends 10 us behind that step."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    for number in range(4):
        builder.step(100 * number, 100).wait(100 * number, 1, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 90, 101, {"sample::Pets": (0, 90)}).batch(1, 1, 0, 0, 95, 201, {"sample::Pets": (0, 95)})
    builder.batch(2, 0, 91, 140, 390, 395, {"sample::Pets": (140, 250)})
    builder.batch(3, 1, 96, 130, 210, 396, {"sample::Pets": (130, 80)})
    path = builder.write(tmp_path / "run.json")

    def stage(steps: StepRange | None) -> tuple[int, float]:
        (row,) = (row for row in capture_of(path, steps).stages if row.path[-1] == "sample::Pets")
        return row.count, row.total_us

    assert stage(None) == (4, 90 + 95 + 250 + 80)
    assert stage(StepRange(2, 2)) == (1, 80)
    assert stage(StepRange(3, 4)) == (1, 250)
