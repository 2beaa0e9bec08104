"""What is saved outside the data wait is no more than the DataLoader workers have time for, whatever rule says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.findings.device_signals import CopySignals, IdleSignals, SyncSignals
from tb_dataplugin.findings.engine import run_rules
from tb_dataplugin.findings.finding import NamedFinding
from tb_dataplugin.findings.gain import gain_of
from tb_dataplugin.findings.garbage_signals import Collections, GarbageSignals
from tb_dataplugin.findings.lock_signals import LockSignals
from tb_dataplugin.findings.saving import saved_without, until_workers_limit
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.uneven_signals import UnevenSignals
from tb_dataplugin.findings.verdict import judge_run
from tb_dataplugin.findings.worker_signals import WorkerSignals
from tb_dataplugin.units import duration
from tests.tb_dataplugin.findings.cases import input_bound, signals_of
from tests.tb_dataplugin.findings.uneven_cases import QUICK, SLOW, in_turns
from tests.trace_builder import TraceBuilder

STEPS, WHOLE = 4, 40_000.0
HALF = WHOLE / 2
COPIES = CopySignals(4, 4, 0, 4, 4, copy_us=HALF, overlapped_us=0.0, gigabytes_per_s=None)

SPENT: Final[Mapping[str, dict[str, Any]]] = {
    "launch_bound": {"idle": IdleSignals(HALF, {"launch": HALF}, gap_count=9)},
    "python_pauses": {"idle": IdleSignals(HALF, {"host": HALF}, long_pauses_us=HALF)},
    "sync_bound": {"syncs": SyncSignals(4, HALF, HALF, (("aten::item", 4),))},
    "unpinned_copies": {"copies": COPIES},
    "blocking_copies": {"copies": replace(COPIES, pageable=0, pinned=4)},
    "collector_in_step": {"garbage": GarbageSignals(step_us=HALF, full=Collections(9, HALF))},
    "garbage_collection": {"garbage": GarbageSignals(wait_us=HALF, full=Collections(9, HALF))},
    "interpreter_lock": {"lock": LockSignals(HALF, 0.0, 1.0, 0.6, 0.0, 0.0, 0.0, 0.0, False, {})},
    "uneven_batches": {"uneven": UnevenSignals(8, 1, WHOLE, HALF, 1e6, 2e6, HALF, None, False)},
}
"""By rule: half of the window, spent on what it is about."""


def signals(name: str, busy: float) -> Signals:
    """Two workers that are busy for that share of a window of four steps."""
    workers = WorkerSignals(workers=2, alive=2.0, batches=2.0, busy=busy, starved=0.0, slowest=0, skew=1.0)
    more: dict[str, Any] = {"idle": IdleSignals(HALF, {}), "data_wait_us": HALF, "wait_cost_us": HALF} | SPENT[name]
    return replace(signals_of(input_bound(steps=STEPS)), workers=workers, **more)


def found(name: str, signals: Signals) -> NamedFinding:
    return next(named for named in run_rules(signals)[0] if named.rule == name)


@pytest.mark.parametrize("name", SPENT)
def test_work_outside_the_data_wait_saves_no_more_than_the_workers_allow(name: str) -> None:
    free, limited = (found(name, signals(name, busy)).finding for busy in (0.3, 0.97))
    assert free.gain_us_per_step == pytest.approx(HALF / STEPS) and free.severity == "high"
    assert limited.gain_us_per_step == pytest.approx(0.03 * WHOLE / STEPS) and limited.severity == "low"
    (said,) = (fact.text for fact in limited.evidence if fact.text.startswith("beyond that"))
    assert said.startswith("beyond that the loop waits for its DataLoader workers, which need 97.0% of the step")
    assert said.endswith(f"for which CPUs are free, up to {duration(HALF / STEPS)} per step")
    assert limited.confidence == "likely"


def test_workers_that_keep_each_other_from_the_lock_get_faster_without_that() -> None:
    lock = LockSignals(0.0, HALF, 1.0, 0.0, 0.6, HALF, 0.0, 0.0, False, {})
    limited = replace(signals("interpreter_lock", 0.97), lock=lock)
    assert found("interpreter_lock", limited).finding.gain_us_per_step == pytest.approx(HALF / STEPS)


def test_a_window_that_lives_on_its_queue_says_what_workers_need_in_the_long_run() -> None:
    spent = signals("launch_bound", 0.6)
    assert spent.workers is not None
    spent = replace(spent, workers=replace(spent.workers, taken_per_built=1.5))
    assert found("launch_bound", spent).finding.gain_us_per_step == pytest.approx(0.4 * WHOLE / STEPS)
    empties = SteadyState("draining", 0.0, 0.0, None, None, None, 1e7, 4.0, 1.0)
    drained = found("launch_bound", replace(spent, unsteady=empties)).finding
    assert drained.gain_us_per_step == pytest.approx(0.1 * WHOLE / STEPS)


def test_what_workers_allow_nothing_of_is_nothing_to_gain() -> None:
    assert gain_of(0.0, signals("launch_bound", 1.0)).text == "nothing to gain"
    assert found("launch_bound", signals("launch_bound", 1.0)).gain.us_per_step is None


def test_what_of_a_gain_is_the_profiler_is_said_and_else_that_it_is_not_known() -> None:
    spent = signals("launch_bound", 0.3)
    unknown = found("launch_bound", replace(spent, slows_launches=True)).finding
    assert unknown.confidence == "likely" and "profiler slows launches" in unknown.confidence_reason
    known = found("launch_bound", replace(spent, slows_launches=False, profiler_us=10.0)).finding
    assert "slows launches" not in known.confidence_reason
    assert any("up to 10.0 µs per step of this gain is torch's profiler's own" in fact.text for fact in known.evidence)


def test_launches_are_not_said_to_be_no_data_where_no_span_shows_a_loader() -> None:
    spent = replace(signals("launch_bound", 0.3), slows_launches=False)
    known, unknown = (found("launch_bound", replace(spent, data_wait_us=wait)).finding for wait in (0.0, None))
    assert "not for data" in known.title and "DataLoader is not the cause" in known.advice
    assert "not for data" not in unknown.title and "is not the cause" not in unknown.advice
    assert unknown.confidence == "possible" and "no DataLoader spans" in unknown.confidence_reason


def test_a_gain_of_data_wait_is_no_bound_of_what_is_saved_without_the_profiler() -> None:
    idle = IdleSignals(HALF, {"data_wait": HALF / 2, "launch": HALF / 2})
    for slows in (True, False):
        waiting = replace(signals("launch_bound", 0.97), idle=idle, slows_launches=slows)
        texts = [
            fact.text
            for named in run_rules(waiting)[0]
            if named.gain.of_wait and named.gain.us_per_step
            for fact in named.finding.evidence
        ]
        assert texts and any("without torch's profiler" in text for text in texts) is slows


def test_of_workers_that_take_turns_the_slowest_limits_and_its_time_is_what_a_stage_takes() -> None:
    found = signals_of(in_turns((QUICK, SLOW), rounds=40, divided=True))
    step_of_two = SLOW / 2
    saving = until_workers_limit(found, found.loop_us)
    assert saving.us < 0.03 * found.loop_us, "the loop already takes as long as worker 1 needs"
    assert "DataLoader worker 1, which needs" in saving.why[0].text
    rows = [row for row in found.stages if row.stage.kind == "sample"]
    without = saved_without(found, rows)
    assert found.wait_cost_us is not None
    assert without.us == pytest.approx(found.wait_cost_us, rel=0.01)
    frees = duration(rows[0].in_slowest_us / (found.step_count or 1))
    assert rows[0].in_slowest_us == pytest.approx(40 * SLOW, rel=0.05)
    assert f"this frees {frees} per step of DataLoader worker 1, for which the others wait" in without.why[0].text
    assert found.per_step(rows[0].in_slowest_us) == pytest.approx(step_of_two, rel=0.05)


def test_a_step_that_is_just_long_enough_would_wait_for_the_slowest_worker_if_it_were_shorter() -> None:
    said = judge_run(signals_of(in_turns((QUICK, SLOW), rounds=30, train=17_200.0))).sentence
    assert "but DataLoader worker 1, busy for 9" in said and "could hardly keep up with a faster step" in said


def test_the_loop_gets_no_shorter_than_the_cpu_time_of_a_thread_that_builds() -> None:
    """A thread of the program iterates the DataLoader: of each step of 10 ms it builds for 9, on a CPU for 8.1."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0}], host={"cores": 4})
    for start in range(0, 50_000, 10_000):
        builder.step(start, 10_000).wait(start + 10, 2_000, "wait::Prefetcher")
        builder.add("user_annotation", "sample::Pets", start + 20, 9_000, tid=2, cpu_us=8_100)
    beside = signals_of(builder)
    saving = until_workers_limit(beside, 40_000)
    assert saving.us == pytest.approx(50_000 - 5 * 8_100)
    assert "the loop waits for what builds its batches, which needs 81.0% of the step" in saving.why[0].text
    assert until_workers_limit(beside, 9_000).us == 9_000
    assert until_workers_limit(replace(beside, built_beside=None), 40_000).us == 40_000
