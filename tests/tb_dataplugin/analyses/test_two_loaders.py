"""Two loaders in one loop: which one the capture is about, and whose samples are counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.named import of_one_loader
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.export.whatif_text import as_json
from tb_dataplugin.findings.saving import _asked, saved_without
from tb_dataplugin.whatif import Change, fit_loop, predict
from tests.tb_dataplugin.analyses.test_cycled_loader import cycled
from tests.tb_dataplugin.findings.cases import capture_of, input_bound, results_of, signals_of
from tests.trace_builder import TraceBuilder

SHORT_LONG = (100, 200)


def zipped(large: int, waits_us: tuple[int, int] = (200, 100)) -> TraceBuilder:
    """Each step takes a batch of 16 from two workers' loader, and one of `large` that the training thread builds.

    Args:
        waits_us: for either, in each step.
    """
    first, second = waits_us
    loaders = [
        {"name": "DataLoader", "dataset": "Unlabelled", "num_workers": 2, "batch_size": 16, "iterated": 1},
        {"name": "DataLoader", "dataset": "Labelled", "num_workers": 0, "batch_size": large, "iterated": 5},
    ]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 8}).worker(0).worker(1)
    for number in range(10):
        begin = 1_000 * number
        builder.step(begin, 1_000).wait(begin, first, "wait::DataLoader")
        builder.wait(begin + 300, second, "wait::DataLoader")
        builder.batch(
            number,
            number % 2,
            begin - 900,
            begin - 890,
            begin - 100,
            begin + first - 10,
            {"sample::Unlabelled": (begin - 890, 700)},
        )
        for sample in range(large):
            builder.stage("sample::Labelled", begin + 305 + sample, 1)
    return builder


@pytest.mark.parametrize("large", [8, 16, 40])
def test_the_loader_that_is_waited_for_longest_is_the_one_that_counts(large: int) -> None:
    capture = capture_of(zipped(large))
    assert capture.loader.dataset == "Unlabelled"
    assert capture.loader.num_workers == 2
    assert capture.throughput.samples == 160


@pytest.mark.parametrize("large", [8, 16, 40])
def test_it_may_be_the_one_without_workers(large: int) -> None:
    capture = capture_of(zipped(large, SHORT_LONG))
    assert capture.loader.dataset == "Labelled"
    assert capture.throughput.samples == 10 * large


def test_what_lies_in_the_starts_of_epochs_does_not_count() -> None:
    """An epoch of the short one starts in every fourth step, whose waits are more than all for the other one."""
    assert capture_of(cycled()).loader.dataset == "Unlabelled"


def test_a_capture_is_known_by_the_loader_that_gives_most_samples() -> None:
    """Which one is waited for longest changes with what is mended; then nothing else of the program has changed."""
    before, after = (capture_of(zipped(8, waits)) for waits in (SHORT_LONG, (200, 100)))
    assert before.loader.named.settings.dataset == "Unlabelled" and before.loader.named.samples == 160
    assert not after.loader.HasField("named")
    (left,), (right,) = of_one_loader([before], [after])
    assert left.loader.dataset == right.loader.dataset == "Unlabelled"
    assert left.throughput.samples == right.throughput.samples == 160
    assert [each.dataset for each in left.loader.other_settings] == ["Labelled"]
    assert not compare([before], [after]).settings


def test_the_training_loop_of_each_side_stays_where_both_are_about_the_same() -> None:
    before, after = capture_of(zipped(8, SHORT_LONG)), capture_of(zipped(20, (50, 250)))
    (left,), (right,) = of_one_loader([before], [after])
    assert left.loader.dataset == right.loader.dataset == "Labelled"
    (change,) = compare([before], [after]).settings
    assert (change.name, change.before, change.after) == ("batch_size", "8", "20")


def test_a_sentence_about_workers_counts_the_waits_for_their_batches() -> None:
    """Each step waits 100 us for theirs and 200 us for the other loader's."""
    capture = capture_of(zipped(40, SHORT_LONG))
    (summary,) = capture.worker_summaries
    assert summary.sentence.startswith(
        "2 DataLoader workers of the DataLoader of Unlabelled (batches of 16, num_workers=2) are busy"
    )
    assert "waits 10.0% of it for its batches" in summary.sentence
    single = next(finding for finding in capture.findings if finding.rule == "single_process_loading")
    assert single.title.startswith("The DataLoader of Labelled (batches of 40) has no workers")


def test_nor_is_what_the_other_loader_builds_a_share_of_that_wait() -> None:
    """All batches of the workers are finished before the loop waits for them; 150 us of 300 build the others."""
    (summary,) = capture_of(zipped(150, SHORT_LONG)).worker_summaries
    assert summary.sentence.endswith(
        "mostly while finished batches are in the queue: building them is not the bottleneck."
    )


def test_one_loader_needs_no_name() -> None:
    capture = capture_of(input_bound())
    assert capture.worker_summaries[0].sentence.startswith("2 DataLoader workers are busy")


def test_loaders_with_the_same_settings_are_told_apart_by_their_numbers() -> None:
    loaders = [{"num_workers": 1, "dataset": "Episodes", "batch_size": 10}] * 2
    builder = TraceBuilder().annotated(loaders=loaders).step(0, 1000).wait(0, 100, "wait::DataLoader")
    for loader in (0, 1):
        builder.worker(0, loader=loader)
        builder.batch(0, 0, 0, 10, 60, 80, {"sample::Episodes": (10, 40)}, loader=loader)
    names = [summary.sentence.split(" (")[0] for summary in capture_of(builder).worker_summaries]
    assert names == [f"1 DataLoader worker of the DataLoader of Episodes, number {number}" for number in (0, 1)]


def test_what_the_other_loader_takes_of_each_step_stays_whatever_becomes_faster() -> None:
    """300 us of a step are waits, of which 100 are for the loader without workers."""
    loop = fit_loop(results_of(zipped(large=8)))
    assert not isinstance(loop, Unavailable)
    assert (loop.beside_ns, loop.measured_wait_ns) == (100_000, 200_000)
    assert loop.measured_step_ns - loop.measured_wait_ns == 800_000
    signals = signals_of(zipped(large=8))
    assert (signals.drawn_us, signals.wait_cost_us) == (1_000, 3_000)
    rows = [row for row in signals.stages if row.stage.label == "Unlabelled"]
    assert saved_without(signals, rows).us <= 2_000, "of all steps, what is waited for its batches"


def test_what_if_names_the_loader_that_it_covers_where_there_are_several() -> None:
    loop, single = fit_loop(results_of(zipped(large=8))), fit_loop(results_of(input_bound()))
    assert not isinstance(loop, Unavailable) and not isinstance(single, Unavailable)
    basis = json.loads(as_json(loop, [predict(loop, Change(workers=3))]))["basis_text"]
    covered, other = basis.partition("Changes are those of the DataLoader of ")[2].split(" alone: ")
    assert covered.startswith("Unlabelled (") and other.startswith("the DataLoader of Labelled (")
    assert "stays as now" in other
    assert "Changes are those" not in json.loads(as_json(single, [predict(single, Change(workers=3))]))["basis_text"]


def test_what_stages_of_the_other_loader_caused_can_go_as_well() -> None:
    """A stranger's three tasks: 33 of 51 ms per step went without the slow one's stage, and its bound was 1.5 ms."""
    signals = signals_of(zipped(large=8))
    rows = [row for row in signals.stages if row.stage.label == "Labelled"]
    assert saved_without(signals, rows).us >= signals.cost_of(rows) > 0
    text = input_bound(workers=2)
    assert _asked(signals_of(text), 500.0, 2_000.0) == 2_000.0
    assert _asked(signals, 2_500.0, 3_000.0) == 2_500.0
    assert _asked(signals, 0.0, 3_000.0) == 2_000.0


def test_samples_of_one_of_several_loaders_are_said_to_be_and_no_part_limits() -> None:
    capture = capture_of(zipped(large=8))
    assert any(note.code == "samples_of_one" and "Unlabelled alone" in note.message for note in capture.diagnostics)
    assert not capture.throughput.slowest_text


def remade(ended: bool) -> TraceBuilder:
    """Ten steps, with a new DataLoader from the sixth on. `ended`: when the first one was over; else it goes on."""
    loaders: list[dict[str, Any]] = [
        {"dataset": "Text", "num_workers": 1, "batch_size": 8, "passes_us": [[0, 5_000 if ended else None]]},
        {"dataset": "Text", "num_workers": 1, "batch_size": 8, "passes_us": [[5_000, None]]},
    ]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 8})
    for loader in (0, 1):
        builder.worker(0, loader=loader, pid=100 + loader)
    for number in range(10):
        begin, builder.pids[0] = 1_000 * number, 100 + number // 5
        builder.step(begin, 1_000).wait(begin, 500, "wait::DataLoader")
        builder.batch(number % 5, 0, begin - 900, begin - 800, begin + 400, begin + 490)
        builder.of_loader(number // 5)
    return builder


def test_a_loader_that_is_made_anew_is_one_of_the_loop() -> None:
    use = results_of(remade(True)).use
    assert sorted(use.loops) == [0, 1] and not len(use.drawn)
    assert capture_of(remade(True)).throughput.samples == 80
    assert len(results_of(remade(False)).use.loops) == 1


def test_beside_a_loader_without_workers_is_what_is_waited_for_the_one_that_has_some() -> None:
    """Its own waits build its batches; the other 100 us of each step stay, whatever becomes of them."""
    loop = fit_loop(results_of(zipped(40, SHORT_LONG)))
    assert not isinstance(loop, Unavailable)
    assert (loop.beside_ns, loop.measured_wait_ns) == (100_000, 200_000)
    assert loop.batches_per_step == 1 and loop.build.total_ns.mean() == 200_000


def test_what_if_says_whose_a_stage_is_that_only_the_other_loader_has() -> None:
    loop = fit_loop(results_of(zipped(large=8)))
    assert not isinstance(loop, Unavailable)
    with pytest.raises(BadRequest) as raised:
        predict(loop, Change(stages=(("sample::Labelled", 0.5),)))
    assert str(raised.value).startswith(
        "sample::Labelled is a stage of the DataLoader of Labelled (batches of 8, num_workers=0), of which nothing is "
        "predicted: what if is about the DataLoader of Unlabelled (batches of 16, num_workers=2) alone"
    )


def test_a_slow_sample_is_held_against_those_of_its_own_loader() -> None:
    signals = signals_of(zipped(large=8))
    assert {number: (one.count, one.median_us) for number, one in signals.sample_habits.items()} == {0: (9, 700.0)}, (
        "of workers; the first one was built before the window"
    )


def test_what_building_alone_could_sustain_is_of_the_loader_whose_samples_are_counted() -> None:
    """Its worker needs 800 us for 8 samples, that of the other one 100 us for as many."""
    loaders = [{"name": "DataLoader", "dataset": name, "num_workers": 1, "batch_size": 8} for name in ("Text", "Extra")]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 8})
    for loader in (0, 1):
        builder.worker(0, loader=loader, pid=100 + loader)
    for number in range(10):
        begin = 1_000 * number
        builder.step(begin, 1_000).wait(begin, 500, "wait::DataLoader").wait(begin + 500, 50, "wait::DataLoader")
        for loader, name, build, came in ((0, "Text", 100, 490), (1, "Extra", 12.5, 540)):
            builder.pids[0] = 100 + loader
            builder.batch(number, 0, begin - 900, begin + came - 8 * build, begin + came, begin + came + 5)
            builder.of_loader(loader)
            for sample in range(8):
                facts = {"batch": number, "index": 8 * number + sample, "epoch": 0}
                start, pid = begin + came - (8 - sample) * build, 100 + loader
                builder.add("user_annotation", f"sample::{name}", start, build, pid=pid, tid=pid, **facts)
    rates = capture_of(builder).throughput
    assert (rates.samples, round(rates.prepare_per_s)) == (80, 10_000)
