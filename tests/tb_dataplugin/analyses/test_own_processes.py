"""CPU time of the program's own child processes: no other program has it."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.analyses.other_programs import find_other_programs
from tb_dataplugin.analyses.taken_cpus import find_taken_cpus
from tb_dataplugin.analyses.unfollowed import unfollowed_workers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.whatif import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.predictable import NOT_FOLLOWED
from tests.tb_dataplugin.findings.cases import capture_of, finding_in, results_of, signals_of
from tests.tb_dataplugin.findings.rules.test_taken_cpus import beside
from tests.tb_dataplugin.findings.step_cases import MAIN, MODEL, Frame
from tests.trace_builder import TraceBuilder

GENERATOR = {"name": "generator", "stepped": True}
WINDOW_US, OWN_US = 100_000.0, 20_000.0
GET: Frame = ("Queue.get", "/lib/python3.12/queue.py", 171)
BATCHES: Frame = ("batches", "/home/me/train.py", 41)


def queued(loader: dict[str, Any] = GENERATOR, sampler: bool = False, **thread: Any) -> TraceBuilder:
    """Ten steps of 10 ms on two full CPUs, of which the training process has 0.2: half of each step is a wait in
    ``q.get``. `thread`: what the record of the training thread has beside that.
    """
    spent = {"cpu_us": OWN_US, "run_delay_us": 0.0, "process_cpu_us": OWN_US, **thread}
    builder = TraceBuilder().annotated(loaders=[loader], host={"cores": 2}, training_thread=spent)
    for number in range(10):
        at = 10_000.0 * number
        builder.step(at, 10_000).wait(at, 5000, "wait::batches").stage("wrapper::batches", at + 1, 4998)
        builder.counter("host::cpu", at, **{"core 0": 100.0, "core 1": 100.0})
        if sampler:
            builder.stage("sampler::RandomSampler", at + 100, 10, tid=7)
    times = [500 + 1000 * number for number in range(100)]
    stacks = [(MAIN, BATCHES, GET) if number % 10 < 5 else MODEL for number in range(100)]
    return builder.stacks(times, stacks)


def children(cpus: float, pids: tuple[int, ...] = ()) -> dict[str, Any]:
    return {
        "passing_children_cpu_us": 0.0,
        "lasting_children_cpu_us": cpus * WINDOW_US,
        "loader_worker_pids": list(pids),
    }


def codes(capture: pb.Capture) -> set[str]:
    return {doubt.code for doubt in capture.doubts}


def notes(capture: pb.Capture) -> dict[str, str]:
    return {note.code: note.message for note in capture.diagnostics}


def test_child_processes_are_no_other_programs() -> None:
    found = find_other_programs(results_of(queued(**children(1.5))))
    assert found is not None and found.others == pytest.approx(0.3, abs=0.02)
    assert found.children == pytest.approx(1.5, abs=0.02) and not found.crowd


def test_a_machine_that_the_programs_own_processes_fill_is_no_doubt_and_is_said() -> None:
    capture = capture_of(queued(**children(1.5, (11, 12))))
    assert "busy_machine" not in codes(capture) and "unknown_processes" not in notes(capture)
    said = notes(capture)["own_processes"]
    assert said.startswith("Child processes of this program that the capture does not follow used 1.50 CPUs of 2")
    assert "2 DataLoader workers are among them" in said and "annotate.loader" in said
    nameless = notes(capture_of(queued(**children(1.5))))["own_processes"]
    assert "DataLoader workers are among them" not in nameless


def test_other_programs_beside_them_are_a_doubt_as_ever() -> None:
    capture = capture_of(queued(**children(0.1)))
    [doubt] = [doubt for doubt in capture.doubts if doubt.code == "busy_machine"]
    assert doubt.sentence.startswith("Other programs used 1.70 CPUs of 2")
    assert doubt.sentence.endswith("(Child processes of the training process do not count as others.)")


def test_without_that_record_a_loop_over_no_dataloader_says_that_it_is_not_known_whose_they_are() -> None:
    capture = capture_of(queued())
    assert "busy_machine" not in codes(capture)
    said = notes(capture)["unknown_processes"]
    assert said.startswith("Other programs, or other processes of this one, used 1.80 CPUs of 2")
    assert "crowded" not in said and signals_of(queued()).other_programs is not None
    known = capture_of(queued({"name": "DataLoader", "num_workers": 0}))
    assert "busy_machine" in codes(known) and "unknown_processes" not in notes(known)


def test_who_waits_for_a_queue_that_a_dataloader_fills_is_told_to_annotate_that() -> None:
    for builder in (queued(**children(1.5, (11, 12))), queued(sampler=True)):
        advice = finding_in(builder, "leading_stage").advice
        assert "a DataLoader that this capture does not follow" in advice and "annotate.loader(...)" in advice
        assert "let several processes make it" not in advice
    assert "let several processes make it" in finding_in(queued(**children(0.0)), "leading_stage").advice


def test_what_becomes_of_a_loop_whose_dataloader_is_not_followed_is_not_predicted() -> None:
    """It has DataLoader workers, and more or fewer of them are no matter of the code that waits for the queue."""
    found = fit_loop(results_of(queued(**children(1.5, (11, 12)))))
    assert isinstance(found, Unavailable) and NOT_FOLLOWED in found.message
    assert isinstance(fit_loop(results_of(queued(**children(1.5)))), Loop)


def test_recorded_workers_are_followed() -> None:
    builder = queued(**children(1.5, (100, 101)))
    assert unfollowed_workers(results_of(builder)) == 2
    builder.worker(0).worker(1)
    assert unfollowed_workers(results_of(builder)) is None
    followed = queued({"name": "DataLoader", "num_workers": 2}, sampler=True)
    assert unfollowed_workers(results_of(followed)) is None


def test_child_processes_beside_the_workers_do_not_compete_as_other_programs() -> None:
    builder = beside(2)
    thread = builder.top_level["dataPipeline"]["training_thread"]
    without = find_taken_cpus(results_of(builder))
    assert without is not None and without.others_compete and not without.children_ns
    thread |= {"passing_children_cpu_us": 0.0, "lasting_children_cpu_us": 1e9}
    taken = find_taken_cpus(results_of(builder))
    assert taken is not None and taken.by_workers == without.by_workers and not taken.others_compete
    assert taken.at_most == taken.by_workers and taken.children_ns == pytest.approx(without.others_ns, rel=0.01)
    assert finding_in(builder, "taken_cpus").title.startswith(
        "DataLoader workers and other processes of the program hold the CPUs"
    )
