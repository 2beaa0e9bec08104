"""How busy DataLoader workers were in a whole run, how many batches lay ready, and how sure either is."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import stdev

import pytest
from msgspec.structs import replace

from tb_dataplugin.export.run_markdown import run_section
from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.report.build_whole_run import whole_run_report
from tb_dataplugin.watchfile.lines import LoaderNumbers
from tb_dataplugin.watchfile.reading import read_part, runs_of
from tb_dataplugin.watchfile.workers import busy_note, busy_number, busy_of, ready_of, ready_text, stages_note
from tests.tb_dataplugin.test_watchfile import RUN, interval, write


def measured(*times: tuple[float, float]) -> LoaderNumbers:
    """`times`: build, and the wait before it, of a batch in microseconds."""
    return LoaderNumbers(
        0,
        built=len(times),
        build_us=sum(build for build, _ in times),
        starved_us=sum(wait for _, wait in times),
        build_us2=sum(build**2 for build, _ in times),
        starved_us2=sum(wait**2 for _, wait in times),
        build_starved_us2=sum(build * wait for build, wait in times),
    )


def test_the_interval_is_that_of_a_share_of_times_and_intervals_of_the_run_add_up() -> None:
    times = [(40.0 + number % 3, 10.0 + number % 4) for number in range(20)]
    found = busy_of([measured(*times)])
    assert found is not None and found.low is not None and found.high is not None
    share = sum(build for build, _ in times) / sum(map(sum, times))
    off = stdev(build - share * (build + wait) for build, wait in times) / 20**0.5
    mean = sum(map(sum, times)) / 20
    assert found.share == pytest.approx(share)
    assert found.high - share == pytest.approx(2.093 * off / mean, rel=1e-3)
    assert busy_of([measured(*times[:7]), LoaderNumbers(0), measured(*times[7:])]) == found


def test_the_interval_holds_the_share_of_all_batches_most_of_the_time() -> None:
    numbers, within = random.Random(0), 0
    for _ in range(400):
        run = [(numbers.gauss(50, 5), numbers.expovariate(0.2)) for _ in range(300)]
        share = sum(build for build, _ in run) / sum(map(sum, run))
        found = busy_of([measured(*numbers.sample(run, 12))])
        assert found is not None and found.low is not None and found.high is not None
        within += found.low <= share <= found.high
    assert within >= 0.85 * 400


@pytest.mark.parametrize(
    ("numbers", "shown", "note"),
    [
        ([measured((50, 5), (40, 5), (60, 2))], "about 93%", "busy while epochs go on, measured on 3 batches"),
        ([measured(*[(50, 0)] * 9)], "about 100%", "busy while epochs go on, measured on 9 batches"),
        (
            [measured(*[(50, 5), (40, 15)] * 5)],
            "82%",
            "busy while epochs go on (95% interval 75 to 89%, measured on 10 batches)",
        ),
        (
            [measured(*[(50, 5), (50, 5.1)] * 500)],
            "90.8%",
            "busy while epochs go on (95% interval 90.8 to 90.8%, measured on 1,000 batches)",
        ),
        (
            [LoaderNumbers(0, built=9, build_us=439.0, starved_us=466.0)],
            "about 49%",
            "busy, measured on 9 batches; time between epochs may count as idle",
        ),
    ],
)
def test_no_more_digits_are_said_than_the_batches_carry(numbers: list[LoaderNumbers], shown: str, note: str) -> None:
    busy = busy_of(numbers)
    assert busy is not None
    assert (busy_number(busy), busy_note(busy)) == (shown, note)


def of_all(batches: int, build: float, starved: float, steps: int) -> LoaderNumbers:
    """And one in twenty of them measured, with nothing of the long ones."""
    few = batches // 20
    return LoaderNumbers(
        0,
        steps=steps,
        all_built=batches,
        all_build_us=build,
        all_starved_us=starved,
        measured=few,
        built=few,
        build_us=8e3 * few,
        starved_us=3e3 * few,
        build_us2=64e6 * few,
        starved_us2=10e6 * few,
        build_starved_us2=24e6 * few,
    )


@pytest.mark.parametrize(
    ("numbers", "shown", "note"),
    [
        ([of_all(240, 4.4e6, 3.6e6, 240)], "55.0%", "busy while epochs go on, measured on 240 batches"),
        ([of_all(100, 4.4e6, 3.6e6, 240)], "about 55%", "busy while epochs go on, measured on 100 of 240 batches"),
        ([of_all(239, 4.4e6, 3.6e6, 240)] * 2, "55.0%", "busy while epochs go on, measured on 478 of 480 batches"),
    ],
    ids=["all", "some", "nearly all"],
)
def test_what_workers_told_of_all_batches_is_no_sample(numbers: list[LoaderNumbers], shown: str, note: str) -> None:
    busy = busy_of(numbers)
    assert busy is not None
    assert (busy_number(busy), busy_note(busy)) == (shown, note)
    assert (busy.low, busy.high) == (None, None)


def test_a_run_that_was_mostly_recorded_by_an_earlier_version_is_a_sample() -> None:
    busy = busy_of([of_all(40, 4.4e5, 3.6e5, 40), measured(*[(50, 5), (40, 15)] * 5)])
    assert busy is not None and (busy.of, busy.batches) == (None, 12)


def test_the_interval_of_a_sample_takes_in_long_steps_that_may_lie_beside_it() -> None:
    """Two steps of 1.2 s among 240 of 8 ms, and 12 measured batches without a long one."""
    sample = measured(*[(8e3 + number % 3, 4e3 + number % 4) for number in range(12)])
    usual, long = {"52": 238}, {"52": 238, "81": 2}
    found = []
    for times, time in ((usual, 238 * 8e3), (long, 238 * 8e3 + 2 * 1.2e6)):
        busy = busy_of([replace(sample, steps=240, step_us=time, step_times=times)])
        assert busy is not None and busy.low is not None and busy.high is not None
        found.append((busy.low, busy.high))
    assert found[0][0] == pytest.approx(0.667, abs=0.01) and found[0][1] - found[0][0] < 0.01
    assert found[1][0] < 0.45 and found[1][1] > 0.75


def test_long_steps_that_are_many_are_among_the_measured_batches() -> None:
    """Every tenth of 20,000: of 1,000 measured ones, they cannot all have been missed."""
    sample = measured(*[(8e3 + number % 3, 4e3 + number % 4) for number in range(1000)])
    times, time = {"52": 18_000, "66": 2_000}, 18_000 * 8e3 + 2_000 * 9e4
    busy = busy_of([replace(sample, steps=20_000, step_us=time, step_times=times)])
    assert busy is not None and busy.low is not None and busy.high is not None
    assert busy.high - busy.low < 0.03


def test_stages_say_on_how_many_batches_they_were_measured_and_what_building_took_in_all() -> None:
    assert stages_note([LoaderNumbers(0, measured=1)]) == "measured on 1 batch"
    text = "measured on 12 batches; building a batch took 18.3 ms on average over 240"
    assert stages_note([of_all(240, 4.4e6, 3.6e6, 240)]) == text


def test_ready_batches_say_of_how_many_they_are_where_those_are_a_sample() -> None:
    every, some = LoaderNumbers(0, ready=189, asked=180, steps=177), LoaderNumbers(0, ready=2, asked=9, steps=177)
    assert ready_of([LoaderNumbers(0, steps=4)]) is None
    for numbers, text in (
        (every, "1.05 batches ready on average"),
        (some, "about 0.2 batches ready on average, measured on 9 batches"),
    ):
        found = ready_of([numbers])
        assert found is not None and ready_text(found) == text


def test_terminal_page_and_markdown_say_the_same(tmp_path: Path) -> None:
    one = interval(0)
    one["loaders"][0] |= {"build_us2": 9.1e10, "starved_us2": 1.2e10, "build_starved_us2": 3e10}
    (run,) = runs_of([read_part(write(tmp_path / "a.watch.jsonl", RUN, one))])
    report = whole_run_report(run, "a")
    assert report is not None
    note = f"{report.busy_note}, {report.ready_text}"
    assert (report.busy_text, note) == (
        "75%",
        "busy while epochs go on (95% interval 68 to 78%, measured on 100 batches), 1.50 batches ready on average",
    )
    assert " ".join(f"{report.busy_text} {note}".split()) in " ".join(runs_text([run]).split())
    assert f"DataLoader workers {report.busy_text} {note}" in "\n".join(run_section(report)).replace("\\", "")
    said = runs_text([run])
    assert report.stages_note and f"({report.stages_note})" in " ".join(said.split())
    assert f"Stages: {report.stages_note}." in "\n".join(run_section(report))
    assert report.busy_low == pytest.approx(0.68, abs=0.01) and report.ready_batches == 100
