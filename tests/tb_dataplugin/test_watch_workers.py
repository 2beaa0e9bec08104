"""How busy DataLoader workers were in a whole run, how many batches lay ready, and how sure either is."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import stdev

import pytest

from tb_dataplugin.export.run_markdown import run_section
from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.report.build_whole_run import whole_run_report
from tb_dataplugin.watchfile.lines import LoaderNumbers
from tb_dataplugin.watchfile.reading import read_part, runs_of
from tb_dataplugin.watchfile.workers import busy_note, busy_number, busy_of, ready_of, ready_text
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
        "busy while epochs go on (95% interval 73 to 77%, measured on 100 batches), 1.50 batches ready on average",
    )
    assert " ".join(f"{report.busy_text} {note}".split()) in " ".join(runs_text([run]).split())
    assert f"DataLoader workers {report.busy_text} {note}" in "\n".join(run_section(report)).replace("\\", "")
    assert report.busy_low == pytest.approx(0.73, abs=0.01) and report.ready_batches == 100
