from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.other_programs import OtherPrograms
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.foresight import Foresight
from tb_dataplugin.findings.in_memory import ONLY_WAY_CODE
from tb_dataplugin.findings.rules.transfer_heavy import check
from tb_dataplugin.findings.stage_signals import StageWait
from tb_dataplugin.findings.thresholds import HAND_OVER_US
from tb_dataplugin.whatif import Change
from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of, handed_over, signals_of
from tests.trace_builder import TraceBuilder


def test_a_slow_way_to_the_training_thread_has_its_size() -> None:
    said = finding_in(handed_over(4000), "transfer_heavy")
    assert said.gain_us_per_step == 4000 - HAND_OVER_US, "what next() itself takes remains"
    assert "4.19 MB per batch" in evidence_of(said)


def test_its_evidence_says_all_of_the_data_wait_only_where_the_title_does() -> None:
    signals = signals_of(handed_over(4000))
    (wait,) = (wait for wait in signals.waits_by_stage or () if wait.name == "transfer")
    for share, said in ((1.0, "caused all of the"), (0.999, "caused nearly all of the")):
        waits = (replace(wait, share=share),)
        found = check(replace(signals, waits_by_stage=waits, data_wait_us=wait.data_wait_us))
        assert isinstance(found, Finding) and found.evidence[0].text.startswith(said)


def test_a_small_batch_on_a_slow_way_waits_for_something_else_than_its_bytes() -> None:
    assert "uint8" in finding_in(handed_over(4000), "transfer_heavy").advice
    builds = {"sample::Pets": (5100.0, 14_000.0, 100.0)}
    at_work = handed_over(9000, size=256).batch(1, 0, 0, 5100, 19_500, None, builds)
    advice = finding_in(at_work, "transfer_heavy").advice
    assert "interpreter's lock" in advice and "If a batch holds other objects than tensors" in advice


def test_a_batch_that_may_be_all_tensors_is_not_told_to_become_so() -> None:
    unknown = finding_in(handed_over(4000, size=0), "transfer_heavy").advice
    assert unknown.startswith("What a batch holds was not recorded. If it holds other objects than tensors")
    small = finding_in(handed_over(4000, size=350_000), "transfer_heavy").advice
    assert small.startswith("A batch is small. If it holds") and "uint8" not in small
    slow = finding_in(handed_over(9000, size=256), "transfer_heavy").advice
    assert "explain this. If it holds other objects than tensors" in slow and "the price of handing over" in slow


def test_samples_that_are_tensors_in_memory_need_no_way() -> None:
    builder = handed_over(4000)
    builder.batch(1, 0, 5000, 5000, 5100, None, {"sample::TensorDataset": (5000, 100.0, 100.0)})
    assert "by a list of indices" not in finding_in(builder, "transfer_heavy").advice
    said = finding_in(of_tensors(9000), "transfer_heavy")
    assert "by a list of indices" in said.advice and "Set num_workers=0 with it" in said.advice
    assert "num_workers=0" in said.code and "BatchSampler(RandomSampler(dataset), 8, drop_last=False)" in said.code
    assert said.gain_us_per_step == 9000, "also what next() itself takes goes"
    assert any("but for copying the rows" in line for line in evidence_of(said))


def test_whole_batches_in_memory_need_only_no_workers() -> None:
    whole: dict[str, Any] = {"batch_size": None, "whole": True, "sampler": "BatchSampler"}
    said = finding_in(of_tensors(9000, **whole), "transfer_heavy")
    assert said.advice.startswith("Each call takes a whole batch already") and said.code == ONLY_WAY_CODE


def test_many_bytes_in_memory_are_left_to_the_workers() -> None:
    """The training thread would copy the rows for as long as it waits."""
    for size, is_said in ((2**16, True), (2**24, False)):
        said = finding_in(of_tensors(9000, size=size), "transfer_heavy")
        assert ("num_workers=0" in said.code) is is_said and ("by a list of indices" in said.advice) is is_said


def of_tensors(wait: int, size: int | None = None, **settings: object) -> TraceBuilder:
    drawn = {"num_workers": 1, "batch_size": 8, "drop_last": False, "sampler": "RandomSampler", "replacement": False}
    builder = TraceBuilder().annotated(loaders=[{"dataset": "TensorDataset", **drawn, **settings}]).worker(0)
    stages: dict[str, tuple[float, ...]] = {"sample::TensorDataset": (0, 1000, 100.0)}
    if size is not None:
        stages["collate::default_collate"] = (1000, 1000, 100.0, size)
    return builder.step(0, 20_000).wait(0, wait, "wait::DataLoader").batch(0, 0, 0, 0, 2000, wait - 1, stages)


def test_it_is_not_the_lock_where_no_cpu_is_free_or_the_worker_has_time() -> None:
    crowded = handed_over(9000, size=256).counter("host::cpu", 10, **{f"core {core}": 99.0 for core in range(8)})
    assert "No CPU is free" in finding_in(crowded, "transfer_heavy").advice
    assert "has time" in finding_in(handed_over(9000, size=256), "transfer_heavy").advice


def test_threads_that_make_the_step_are_not_to_become_fewer() -> None:
    crowded = handed_over(9000, size=256).counter("host::cpu", 10, **{f"core {core}": 99.0 for core in range(8)})
    crowded.top_level["dataPipeline"]["loaders"][0]["num_workers"] = 2
    assert "for them (fewer DataLoader workers, a machine" in finding_in(crowded, "transfer_heavy").advice
    crowded.kernel(9_100, 800)
    assert "for them (fewer DataLoader workers or threads of torch, a" in finding_in(crowded, "transfer_heavy").advice


def test_other_programs_leave_no_cpu_free_for_fewer_workers() -> None:
    crowded = handed_over(9000, size=256).counter("host::cpu", 10, **{f"core {core}": 99.0 for core in range(8)})
    crowded.top_level["dataPipeline"]["loaders"][0]["num_workers"] = 2
    said = check(replace(signals_of(crowded), other_programs=OtherPrograms(8, 0.99, 5.0)))
    assert isinstance(said, Finding) and "for them (a machine that is not shared)" in said.advice


@pytest.mark.parametrize(("longer_us", "may_be_fewer"), [(8_000, False), (0, True), (-500, True), (None, True)])
def test_fewer_workers_are_not_advised_where_steps_are_predicted_to_get_longer(
    longer_us: float | None, may_be_fewer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expects_gain(foresight: Foresight, change: Change, least: float) -> bool | None:
        assert change == Change(workers=1)
        return None if longer_us is None else -longer_us >= least * 20_000

    crowded = handed_over(9000, size=256).counter("host::cpu", 10, **{f"core {core}": 99.0 for core in range(8)})
    crowded.top_level["dataPipeline"]["loaders"][0]["num_workers"] = 2
    monkeypatch.setattr(Foresight, "expects_gain", expects_gain)
    said = check(signals_of(crowded))
    assert isinstance(said, Finding)
    assert ("for them (fewer DataLoader workers, a machine" in said.advice) is may_be_fewer
    slower = "(less work in the DataLoader workers, a machine that is not shared), and measure again. Fewer DataLoader"
    assert (slower in said.advice) is ("with num_workers=1 `tb-dataplugin whatif`" in said.advice) is not may_be_fewer


def test_a_single_worker_is_not_to_become_none() -> None:
    crowded = handed_over(9000, size=256).counter("host::cpu", 10, **{f"core {core}": 99.0 for core in range(8)})
    assert "for them (a machine that is not shared)" in finding_in(crowded, "transfer_heavy").advice
    crowded.kernel(9_100, 800)
    assert "for them (fewer threads of torch, a machine" in finding_in(crowded, "transfer_heavy").advice


def test_a_full_queue_is_no_trouble_that_workers_could_cure() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 2000).wait(1000, 700, "wait::DataLoader").batch(0, 0, 0, 0, 500, 1699)
    said = finding_in(builder, "transfer_heavy")
    assert said.severity == "low" and "price of next()" in said.advice
    assert finding_of(builder, "too_few_workers") is None


def test_the_gain_is_bounded_by_the_whole_way_of_a_batch_that_was_built_late() -> None:
    """Drawn 12 ms before its wait of 8 ms, on its way for the last 5 of those: a quarter of its path is transfer."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0, started=-20_000)
    builder.step(0, 10_000).wait(2_000, 8_000, "wait::DataLoader")
    builder.batch(0, 0, -10_000, -10_000, 5_000, 9_999, {"sample::Pets": (-10_000, 15_000)})
    said = finding_in(builder, "transfer_heavy")
    assert said.gain_us_per_step == 4_999 - HAND_OVER_US
    assert said.title.startswith("A batch takes 5.00 ms")


def test_what_recording_took_is_not_blamed_on_the_threads_of_the_program() -> None:
    crowded = handed_over(9000, size=256).counter("host::cpu", 10, **{f"core {core}": 99.0 for core in range(2)})
    crowded.sampled([1000.0 * number for number in range(20)], [0] * 20)
    crowded.top_level["dataPipeline"]["thread_samples"]["cpu_us"] = 12_000.0
    said = finding_in(crowded, "transfer_heavy")
    assert said.advice.startswith("No CPU was free, and the process that samples threads")
    assert "took 60.0% of one" in said.advice
    assert "fewer DataLoader workers" not in said.advice


def test_a_way_that_is_pinning_is_said_to_be_that() -> None:
    signals = signals_of(handed_over(4000))
    (way,) = (wait for wait in signals.waits_by_stage or () if wait.name == "transfer")
    for part, is_said in ((0.9, True), (0.2, False)):
        pin, rest = (
            StageWait(name, parse_span_name(name), share * way.data_wait_us, share * way.cost_us, share * way.share)
            for name, share in (("transfer::pin", part), ("transfer", 1 - part))
        )
        found = check(replace(signals, waits_by_stage=(rest, pin)))
        assert isinstance(found, Finding) and ("pinning" in found.advice) is is_said
