"""The pure parts of `benchmarks/dlio.py`: utilisation from DLIO's JSON and ours, the table, DLIO's settings."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.dlio_attached import table
from benchmarks.dlio_attached.configurations import CONFIGURATIONS, EPOCHS, WARM_UP
from benchmarks.dlio_attached.utilisation import first_named, steps_of, utilisation


def output(epochs: int = 3, steps: int = 4) -> dict[str, Any]:
    """Of DLIO. Step `n` of all loads for n + 1 s, computes for 2 s and takes half a second for itself."""
    found: dict[str, Any] = {"hostname": "here", "host_memory_GB": 1.0}
    for epoch in range(1, epochs + 1):
        load = [float(step + 1) for step in range((epoch - 1) * steps, epoch * steps)]
        found[str(epoch)] = {
            "load": {"block1": load},
            "compute": {"block1": [2.0] * steps},
            "proc": {"block1": [one + 2.5 for one in load]},
            "au": {"block1": 10.0 * epoch},
        }
    return found


NEXT = [step + 0.75 for step in range(12)]
"""A third clock: a quarter of a second less than DLIO's loading."""


def capture(numbers: list[int], wait_us: float = 60.0, window_us: float = 100.0) -> dict[str, Any]:
    return {
        "window_us": window_us,
        "steps": {"items": [{"number": number, "duration_us": window_us / len(numbers)} for number in numbers]},
        "loader": {"wait_us": wait_us, "wait_by_stage_us": {"read::file": 20.0, "decode::numpy.NpzFile": 40.0}},
        "verdict": {"bound": "cpu", "sentence": "The training thread waits."},
        "findings": [{"severity": "high", "title": "decode::numpy.NpzFile caused 67% of the data wait"}],
        "workers": [{}, {}],
        "diagnostics": [{"code": "no_device"}, {"code": "no_device"}],
    }


def test_steps_stand_in_the_order_of_epochs_also_from_the_tenth_on() -> None:
    steps = steps_of(output(epochs=11, steps=2))
    assert [step.load for step in steps] == [float(n + 1) for n in range(22)]


def test_an_output_whose_parts_differ_in_length_is_refused() -> None:
    broken = output()
    broken["2"]["load"]["block1"].pop()
    with pytest.raises(ValueError, match=r"epoch 2 .* 3 loads for 4 steps"):
        steps_of(broken)


def test_both_utilisations_are_of_the_same_steps() -> None:
    measured = utilisation(output(), NEXT, capture([5, 6]), [3])
    process = (6 + 2.5) + (7 + 2.5)
    assert measured.dlio == pytest.approx(4 / process)
    assert measured.dlio_epochs == pytest.approx(0.3)
    assert measured.ours == pytest.approx(0.4)
    assert measured.difference == pytest.approx(100 * (0.4 - 4 / process))
    assert measured.steps == 2


def test_dlios_formula_over_our_steps_takes_their_time_from_the_report() -> None:
    measured = utilisation(output(), NEXT, capture([5, 6], window_us=20e6), [3])
    assert measured.by_definition == pytest.approx(4 / 20)
    assert measured.difference_by_definition == pytest.approx(100 * (4 / 20 - 4 / 18))


def test_the_parts_of_the_difference_sum_to_it() -> None:
    process = (6 + 2.5) + (7 + 2.5)
    measured = utilisation(output(), NEXT, capture([5, 6], wait_us=12e6, window_us=20e6), [3])
    assert measured.computed_longer == pytest.approx(1 / process)
    assert measured.released == pytest.approx((13 - 12.5) / process)
    assert measured.our_clock == pytest.approx((12.5 - 12) / process)
    assert measured.between_steps == pytest.approx(12 / process - 12 / 20)
    assert measured.difference == pytest.approx(100 * sum(getattr(measured, part) for part in table.PARTS))


def test_a_third_clock_of_other_batches_is_refused() -> None:
    with pytest.raises(ValueError, match="11 batches for DLIO's 12 steps"):
        utilisation(output(), NEXT[1:], capture([5, 6]), [3])


@pytest.mark.parametrize("numbers", [[], [11, 12]])
def test_a_window_of_other_steps_is_refused(numbers: list[int]) -> None:
    with pytest.raises(ValueError, match="not among DLIO's 12"):
        utilisation(output(), NEXT, capture(numbers), [3])


def test_what_is_named_first_is_the_largest_part_of_the_data_wait() -> None:
    named = first_named(capture([5]))
    assert (named["stage"], named["share"]) == ("decode::numpy.NpzFile", pytest.approx(2 / 3))
    assert named["finding"] == "[high] decode::numpy.NpzFile caused 67% of the data wait"
    assert (named["workers"], named["diagnostics"]) == (2, ["no_device"])


def test_without_a_data_wait_no_stage_is_named() -> None:
    quiet = capture([5], wait_us=0.0)
    quiet["loader"]["wait_by_stage_us"] = {}
    quiet["findings"] = []
    named = first_named(quiet)
    assert (named["stage"], named["share"], named["finding"]) == ("", 0.0, "")


def result(configuration: str, dlio: float, ours: float, stage: str = "read::file") -> dict[str, Any]:
    return {
        "configuration": configuration,
        "dlio": dlio,
        **dict.fromkeys(table.PARTS, (ours - dlio) / 4),
        "dlio_epochs": dlio,
        "ours": ours,
        "difference": 100 * (ours - dlio),
        "by_definition": dlio - 0.01,
        "difference_by_definition": -1.0,
        "named": {"stage": stage},
    }


def test_a_row_has_medians_and_the_range_of_differences() -> None:
    first = CONFIGURATIONS[0].name
    lines = table.markdown([result(first, 0.2, 0.21), result(first, 0.3, 0.29), result(first, 0.4, 0.4, "")]).split(
        "\n"
    )
    assert len(lines) == 3
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert cells[0] == first
    assert cells[3:8] == ["30.0%", "29.0%", "−1.0", "29.0%", "−1.0 .. +1.0"]
    assert cells[-1] == "`read::file` 2/3, none 1/3"


def test_a_configuration_is_reached_only_if_all_of_its_runs_are() -> None:
    one, other = CONFIGURATIONS[0].name, CONFIGURATIONS[1].name
    said = table.summary([result(one, 0.5, 0.51), result(one, 0.5, 0.46), result(other, 0.9, 0.9)])
    formula, wait = said.split("\n")
    assert formula.startswith("DLIO's formula over our steps: within 2 points 3 of 3 runs, all runs of 2 of 2")
    assert f"within 2 points 2 of 3 runs, all runs of 1 of 2 configurations; the worst −4.0 ({one}). " in wait
    assert said.endswith("at most 1.0")


def test_windows_lie_within_the_second_epoch() -> None:
    for configuration in CONFIGURATIONS:
        first = configuration.wait_steps + WARM_UP
        assert configuration.steps < configuration.wait_steps
        assert first + configuration.active_steps <= 2 * configuration.steps
        assert EPOCHS > 2


def test_workloads_that_share_records_are_the_same_records() -> None:
    records: dict[str, tuple[int, ...]] = {}
    for one in CONFIGURATIONS:
        drawn = (one.record_bytes, one.record_bytes_stdev, one.steps * one.batch_size)
        assert records.setdefault(one.data, drawn) == drawn, one.name
        overrides = one.overrides("/data")
        assert f"++workload.reader.read_threads={one.workers}" in overrides
        assert f"++workload.dataset.data_folder=/data/{one.data}" in overrides
