"""A program that makes its DataLoader again and again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tb_dataplugin import read_report
from tb_dataplugin.cache.identity import fingerprint
from tb_dataplugin.cli import main
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.report.report_pb2 import Capture
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder

RULE = "loader_made_anew"
LOADER = {"dataset": "Records", "num_workers": 2, "batch_size": 64, "sampler_length": 2560}


def remade(*loaders: dict[str, Any], **settings: Any) -> TraceBuilder:
    """Four steps with batches of the last of these loaders."""
    described = [{**LOADER, **settings, **each} for each in loaders]
    builder = TraceBuilder().annotated(loaders=described, host={"cores": 8})
    last = len(loaders) - 1
    builder.worker(0, loader=last)
    for step in range(4):
        at = 10_000 * step
        builder.batch(step, 0, at, at, at + 4_000, at + 4_900).of_loader(last)
        builder.wait(at, 5_000).step(at, 10_000)
    return builder


def epochs(count: int, gone: bool | None = True, each: float = 1e6, between: float = 6e5) -> list[dict[str, Any]]:
    """Loaders of one pass each; of `each` from one to the next, `between` lies between."""
    found: list[dict[str, Any]] = [
        {"passes_us": [(each * number, each * (number + 1) - between)]} for number in range(count)
    ]
    found[-1]["passes_us"] = [(each * (count - 1), None)]
    for number, loader in enumerate(found if gone is not None else ()):
        loader["gone"] = number < count - 1 and gone
    return found


def test_it_says_how_many_there_were_and_what_lies_between() -> None:
    found = finding_in(remade(*epochs(8)), RULE)
    name = "The DataLoader of Records (batches of 64, num_workers=2)"
    assert found.title == f"{name} is made anew for each epoch: 8 of them so far"
    assert (found.severity, found.confidence) == ("high", "likely")
    assert "once, before the epochs, with persistent_workers=True" in found.advice
    assert evidence_of(found) == [
        "8 DataLoaders with the same settings, one after another",
        "600 ms between two epochs (7 times, at most 600 ms), 60.0% of the time from epoch to epoch",
    ]
    assert not found.HasField("gain_us_per_step"), "an evaluation may be in it"


def beside(folder: Path, builder: TraceBuilder, **facts: float) -> Capture:
    """`builder`'s capture, where the program has left what lay between its epochs when it was over."""
    left = {"times": 4, "seconds": 0.6, "longest_s": 0.2, "whole_s": 4.0, "made": 5, "loader": 0, **facts}
    trace = builder.write(folder / "vm_1.2.pt.trace.json")
    (folder / "vm_1.2.epochs.json").write_text(json.dumps(left))
    return analyse_file(trace).capture


@pytest.mark.parametrize("command", ["prune", "anonymise"])
def test_a_copy_of_a_trace_keeps_what_was_left_beside_it(command: str, tmp_path: Path) -> None:
    beside(tmp_path, remade({}))
    copy = tmp_path / "copy.pt.trace.json.gz"
    assert main([command, str(tmp_path / "vm_1.2.pt.trace.json"), "-o", str(copy)]) == 0
    assert RULE in {found.rule for found in analyse_file(copy).capture.findings}


def test_a_trace_in_a_storage_comes_with_what_was_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", str(tmp_path / "cache"))
    beside(tmp_path, remade({}))
    files = fsspec.filesystem("memory")
    for file in tmp_path.glob("vm_1.2.*"):
        files.pipe(f"/made_anew/{file.name}", file.read_bytes())
    report = read_report("memory://made_anew/vm_1.2.pt.trace.json")
    assert RULE in {found["rule"] for found in report.to_dict()["captures"][0]["findings"]}


def test_a_window_in_the_first_epoch_is_told_what_the_program_did_later(tmp_path: Path) -> None:
    assert finding_of(remade({}), RULE) is None
    found = next(each for each in beside(tmp_path, remade({})).findings if each.rule == RULE)
    assert found.title.endswith("is made anew for each epoch: 5 of them") and found.severity == "medium"
    assert evidence_of(found) == [
        "5 DataLoaders with the same settings, one after another in the whole run",
        "150 ms between two epochs (4 times, at most 200 ms), 15.0% of the time from epoch to epoch",
    ]


@pytest.mark.parametrize("facts", [{"made": 1}, {"made": 2}, {"loader": 7}, {"times": 0}, {"seconds": -1}])
def test_what_is_left_beside_it_of_other_loaders_or_cannot_be_read_says_nothing(
    tmp_path: Path, facts: dict[str, float]
) -> None:
    assert RULE not in [each.rule for each in beside(tmp_path, remade({}), **facts).findings]


def test_workers_are_advised_for_a_loader_that_is_made_once(tmp_path: Path) -> None:
    builder = TraceBuilder().annotated(loaders=[{**LOADER, "num_workers": 0}], host={"cores": 8})
    for step in range(12):
        at = 10_000 * step
        builder.wait(at, 6_000, "wait::DataLoader").stage("sample::Records", at, 5_900).step(at, 10_000)
    found = next(each for each in beside(tmp_path, builder).findings if each.rule == "single_process_loading")
    assert found.code.startswith("loader = DataLoader(") and found.code.endswith("# once, before the epochs")
    assert found.advice.startswith("First make the DataLoader once")
    assert found.code != finding_in(builder, "single_process_loading").code


def test_what_is_left_beside_it_makes_another_state_of_the_file(tmp_path: Path) -> None:
    trace = remade({}).write(tmp_path / "vm_1.2.pt.trace.json")
    before = fingerprint(trace)
    beside(tmp_path, remade({}))
    assert before != fingerprint(trace)


def test_two_are_enough_where_the_first_is_gone_and_loaders_that_are_held_are_none() -> None:
    assert "2 of them" in finding_in(remade(*epochs(2)), RULE).title
    assert finding_of(remade(*epochs(4, gone=False)), RULE) is None
    assert finding_of(remade({**epochs(2)[0], "shuffle": True}, epochs(2)[1]), RULE) is None, "for an evaluation"


def test_a_loader_of_several_epochs_is_not_made_for_each() -> None:
    first, second = epochs(2, each=4e6)
    first["passes_us"] = [(0.0, 1e6), (1.1e6, 2e6), (2.1e6, 3e6)]
    found = finding_in(remade(first, second), RULE)
    assert found.title.endswith("is made anew: 2 of them so far")
    assert any("(3 times, at most 1.00 s), 30.0% of the time" in text for text in evidence_of(found))


def test_an_evaluation_between_two_epochs_is_none_of_the_time_between() -> None:
    evaluation = {"shuffle": False, "dataset": "Other", "passes_us": [(5e5, 9e5)], "gone": False}
    found = finding_in(remade(evaluation, *epochs(3)), RULE)
    assert any("(2 times, at most 600 ms), 35.0% of" in text for text in evidence_of(found))


def test_where_the_capture_holds_all_loaders_it_is_possible_only() -> None:
    found = finding_in(remade(*epochs(3, gone=None)), RULE)
    assert (found.severity, found.confidence) == ("medium", "possible")
    assert "holds several DataLoaders that are alike" in found.confidence_reason
    assert finding_of(remade(*epochs(2, gone=None)), RULE) is None
    zipped = [{"passes_us": [(float(number), None)]} for number in range(3)]
    assert finding_of(remade(*zipped), RULE) is None


def test_an_earlier_capture_says_how_many_and_that_more_is_not_known() -> None:
    found = finding_in(remade(*[{}] * 40), RULE)
    assert found.title.endswith("is made anew: 40 of them so far")
    assert found.severity == "low" and "annotate.watch records it" in found.confidence_reason
    assert finding_of(remade({}, {}), RULE) is None


def test_without_workers_nothing_is_said_of_them() -> None:
    assert "persistent" not in finding_in(remade(*epochs(3), num_workers=0), RULE).advice


def test_times_that_no_clock_shows_cost_the_record() -> None:
    assert capture_of(remade(*epochs(2, each=1e300))).mode == "unannotated"


def started(*, between: float = 1000.0, **settings: Any) -> TraceBuilder:
    """Three loaders, one after the other, of four steps of 10 ms each: new workers take 30 ms until the first batch."""
    made: list[dict[str, Any]] = [
        {"passes_us": [(70_000.0 * epoch, 70_000.0 * (epoch + 1) - between)], "passes_ts_us": [], "gone": epoch < 2}
        for epoch in range(3)
    ]
    builder = TraceBuilder().annotated(loaders=[{**LOADER, **settings, **each} for each in made], host={"cores": 8})
    for epoch in range(3):
        builder.worker(0, pid=100 + epoch, loader=epoch)
        for step in range(4):
            at = 70_000 * epoch + (40_000 if step else 0) + 10_000 * (step - bool(step))
            wait, name = (30_000, "wait::DataLoader (first batch)") if not step else (1_000, "wait::DataLoader")
            builder.batch(step, 0, at, at + wait - 900, at + wait - 100, at + wait - 50)
            builder.of_loader(epoch).wait(at, wait, name).step(at, 40_000 if not step else 10_000)
    return builder


@pytest.mark.parametrize("persistent", [False, True])
def test_the_starts_of_its_workers_have_a_bound_as_those_of_a_loader_that_is_kept(persistent: bool) -> None:
    """Each of the 2 starts behind the first takes 30 ms, but for the batch, once in 4 steps."""
    builder = started(persistent_workers=persistent)
    found = finding_in(builder, "slow_first_batch")
    assert found.gain_us_per_step == pytest.approx((30_000 - 800) / 4, rel=0.02)
    assert (found.severity, found.confidence) == ("high", "likely")
    assert "3 DataLoaders with the same settings, one after another" in evidence_of(found)
    assert found.advice.startswith("Make the DataLoader once") and found.code.endswith("# once, before the epochs")
    assert finding_of(builder, RULE) is None, "it is the same change"
    assert finding_of(builder, "epoch_starts_empty") is None


def test_what_lies_between_epochs_is_a_finding_beside_that() -> None:
    assert finding_in(started(between=35_000, persistent_workers=False), RULE).severity == "high"
