from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.interpreter_lock import check
from tb_dataplugin.findings.verdict import judge_run
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of, signals_of
from tests.tb_dataplugin.findings.step_cases import MODEL
from tests.trace_builder import TraceBuilder


def looped(
    *states: int, workers: int = 0, wait: float = 2000, holder: str = "metrics", delay_us: int = 0
) -> TraceBuilder:
    """Ten steps of 10 ms, each of which begins with a wait; a sample every 0.1 ms, `states` repeated. With
    `delay_us` a thread that seems to run waits for a CPU for half of that time.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": workers, "batch_size": 1}], host={"cores": 8})
    for start in range(0, 100_000, 10_000):
        builder.step(start, 10_000).wait(start, wait, "wait::DataLoader").stage("sample::A", start, wait)
    times = [50.0 + 100 * number for number in range(1000)]
    return builder.sampled(
        times, [states[number % len(states)] for number in range(1000)], holders=[holder], delay_us=delay_us
    )


def test_waiting_for_the_lock_has_its_cost_per_step_and_who_held_it() -> None:
    finding = finding_in(looped(3, 0), "interpreter_lock")
    assert finding.gain_us_per_step == pytest.approx(5000, rel=0.05)
    assert "GIL" in finding.title
    assert "'metrics'" in finding.title
    assert finding.confidence == "measured"
    assert any("metrics held it for 100% of the " in text for text in evidence_of(finding))


def test_what_it_waits_for_a_cpu_may_go_with_the_thread_that_has_one() -> None:
    finding = finding_in(looped(3, 3, 0, 0, delay_us=20), "interpreter_lock")
    assert finding.gain_us_per_step == pytest.approx(7500, rel=0.05), "half of what it seems to run it waits for a CPU"
    assert any(text.startswith("for 2.5") and "it waits for a CPU" in text for text in evidence_of(finding))


def test_where_nobody_was_seen_to_hold_it_nobody_is_named() -> None:
    finding = finding_in(looped(2, 0), "interpreter_lock")
    assert "metrics" not in finding.title
    assert finding.confidence == "likely"


def test_a_thread_that_records_is_a_cost_of_recording_and_nobodys_fault() -> None:
    capture = capture_of(looped(3, 0, holder="annotate: host samples"))
    assert "GIL" not in capture.verdict.sentence
    assert finding_of(looped(3, 0, holder="annotate: host samples"), "interpreter_lock") is None


@pytest.mark.parametrize("states", ((0,), (1,), (0,) * 49 + (3,)))
def test_a_thread_that_runs_or_is_blocked_does_not_wait_for_it(states: tuple[int, ...]) -> None:
    assert finding_of(looped(*states), "interpreter_lock") is None


def test_workers_are_not_advised_where_the_lock_is_the_limit() -> None:
    assert finding_of(looped(0, wait=8000), "single_process_loading") is not None
    rules = [finding.rule for finding in capture_of(looped(3, 0, wait=8000)).findings]
    assert "single_process_loading" not in rules
    assert rules[0] in ("interpreter_lock", "leading_stage")


def test_a_thread_is_not_advised_where_the_lock_is_the_limit() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 1).operator(1, 1)
    builder.call("cudaLaunchKernel", 5000, 0, 7).kernel(5000, 5000, correlation=7)
    assert finding_of(builder, "python_pauses") is not None
    builder.sampled([25 + 50.0 * number for number in range(200)], [3] * 100 + [1] * 100)
    assert finding_of(builder, "python_pauses") is None
    assert finding_in(builder, "interpreter_lock").gain_us_per_step == pytest.approx(4998, rel=0.05)


def test_the_verdict_names_the_lock_and_its_holder() -> None:
    sentence = capture_of(looped(3, 0)).verdict.sentence
    assert sentence.endswith("waits for Python's lock (GIL), which the thread 'metrics' holds.")
    assert "GIL" not in capture_of(looped(0)).verdict.sentence


def test_a_lock_of_the_workers_is_theirs() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}], host={"cores": 8}).worker(0)
    for number, start in enumerate(range(0, 100_000, 10_000)):
        builder.step(start, 10_000).wait(start, 8000, "wait::DataLoader")
        builder.batch(number, 0, start, start, start + 7900, start + 7950, {"sample::A": (start, 7800)})
    times = [50.0 + 100 * number for number in range(1000)]
    builder.sampled(times, [1] * 1000).sampled(times, [2, 0] * 500, pid=100)
    finding = finding_in(builder, "interpreter_lock")
    assert "DataLoader workers wait for Python's lock (GIL)" in finding.title
    assert finding.gain_us_per_step == pytest.approx(4000, rel=0.1)


def fed(*, lock: int = 45, loading: float = 2, holders: Sequence[str] = ("feeder",)) -> TraceBuilder:
    """Ten steps of 20 ms by the optimizer; another thread takes the batches, and computes features in between.

    `loading`: ms of each step, by that thread. `lock`: of 100 samples of the training thread, those that wait for the
    lock which that thread has.
    """
    steps = {"source": "optimizer", "boundaries_us": [20_000.0 * step for step in range(11)]}
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 4}], steps=steps)
    for step in range(10):
        builder.operator(20_000 * step + 19_000, 900).stage("sample::Rows", 20_000 * step, 1000 * loading, tid=7)
    times = [500.0 + 1000 * number for number in range(200)]
    held = [3 + number % len(holders) if 37 * number % 100 < lock else 0 for number in range(200)]
    builder.sampled(times, held, holders=holders)
    run, hashing = ("Feeder.run", "/home/me/train.py", 30), ("buckets", "/home/me/train.py", 12)
    builder.stacks(times, [MODEL] * len(times))
    return builder.stacks(times, [(run, hashing) if number % 5 else (run,) for number in range(200)], tid=7)


def test_a_thread_that_takes_the_batches_and_has_the_lock_is_named_with_what_it_runs() -> None:
    finding = finding_in(fed(), "interpreter_lock")
    assert finding.title == (
        "For 45.0% of the window the training thread waits for Python's lock (GIL), which the thread 'feeder' holds"
    )
    assert finding.gain_us_per_step == pytest.approx(9000, rel=0.05)
    said = evidence_of(finding)
    assert "89.9 ms of the window, 45.0% of it" in said
    assert any(line.startswith("buckets at train.py:12: ") and "runs besides loading" in line for line in said)


def test_a_thread_that_takes_the_batches_without_the_lock_is_no_trouble() -> None:
    assert finding_of(fed(lock=2), "interpreter_lock") is None


def test_where_that_thread_mostly_loads_the_line_that_loads_comes_first() -> None:
    said = [text for text in evidence_of(finding_in(fed(loading=15), "interpreter_lock")) if "train.py" in text]
    assert said[0].startswith("buckets at train.py:12: ") and "of Rows" in said[0]
    assert "runs besides loading" in said[1]
    alone = [text for text in evidence_of(finding_in(fed(loading=19), "interpreter_lock")) if "train.py" in text]
    assert len(alone) == 1 and "of Rows" in alone[0]


def test_a_thread_that_mostly_loads_is_advised_to_have_workers_load() -> None:
    assert "Give that DataLoader workers" in finding_in(fed(loading=15), "interpreter_lock").advice
    assert "Move what the thread 'feeder' does" in finding_in(fed(loading=2), "interpreter_lock").advice


def test_so_is_one_whose_data_wait_is_known_where_it_loads_outside_the_training_thread() -> None:
    """Under `prof.steps`, around a DataLoader that hands its batches on from a thread of its own."""
    signals = replace(signals_of(fed(loading=15)), data_wait_us=300.0)
    found = check(signals)
    assert isinstance(found, Finding) and "Give that DataLoader workers" in found.advice
    assert "which builds the batches" in judge_run(signals).sentence
    here = tuple(replace(row, in_thread_us=row.self_us) for row in signals.stages)
    other = check(replace(signals, stages=here))
    assert isinstance(other, Finding) and "Move what the thread 'feeder' does" in other.advice


def test_of_several_threads_that_had_the_lock_none_is_taken_for_the_one_that_loads() -> None:
    finding = finding_in(fed(loading=15, holders=("metrics", "feeder")), "interpreter_lock")
    assert "builds the batches itself" not in finding.advice
    said = evidence_of(finding)
    assert not any("of Rows" in text for text in said)
    assert any("what other threads run besides loading" in text for text in said)


def test_where_another_thread_takes_the_batches_all_that_is_not_running_may_go() -> None:
    builder = fed(lock=45)
    states = builder.top_level[METADATA_KEY]["thread_samples"]["threads"][0]["state"]
    states[:] = [1 if state == 0 and number % 2 else state for number, state in enumerate(states)]
    blocked = states.count(1) / len(states)
    finding = finding_in(builder, "interpreter_lock")
    assert finding.gain_us_per_step == pytest.approx(9000 + 20_000 * blocked, rel=0.05)
    assert any("it is blocked, as by the queue" in text for text in evidence_of(finding))


def with_metrics(builder: TraceBuilder) -> TraceBuilder:
    """Samples of the thread that has the lock, and loads nothing."""
    run, ranking = ("metrics", "/home/me/train.py", 50), ("rank", "/home/me/train.py", 52)
    times = [500.0 + 1000 * number for number in range(200)]
    return builder.stacks(times, [(run, ranking)] * 200, tid=9, holder="metrics", states=[0] * 200)


def test_a_thread_that_was_seen_to_load_nothing_is_not_the_one_that_builds_the_batches() -> None:
    finding = finding_in(with_metrics(fed(loading=15, holders=("metrics",))), "interpreter_lock")
    assert finding.advice.startswith("Move what the thread 'metrics' (metrics at train.py:50) does out of")
    lines = [text for text in evidence_of(finding) if "train.py" in text]
    assert lines[0].startswith("rank at train.py:52: 100% of what the thread 'metrics' runs")
    assert not any("of Rows" in line for line in lines)


def test_it_is_said_where_the_thread_with_the_lock_was_not_sampled() -> None:
    said = evidence_of(finding_in(looped(3, 0), "interpreter_lock"))
    assert "which line holds it is not known: the thread 'metrics' was not sampled" in said


def test_what_the_recorder_held_is_said_to_be_left_out() -> None:
    builder = looped(3, 3, 3, 0)
    samples = builder.top_level[METADATA_KEY]["thread_samples"]
    samples["holders"].append("annotate: host samples")
    samples["threads"][0]["state"][::4] = [4] * 250
    said = evidence_of(finding_in(builder, "interpreter_lock"))
    assert any(text.endswith("of it, without waiting for the recorder's own thread") for text in said)
    assert not any("the recorder" in text for text in evidence_of(finding_in(looped(3, 0), "interpreter_lock")))
