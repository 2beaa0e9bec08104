"""The bound of a stage that waits or reads in the training thread says that it is of that stage's data wait alone."""

from __future__ import annotations

import pytest

from tb_dataplugin.findings.beside_bound import BESIDE_BOUND
from tests.tb_dataplugin.findings.cases import capture_of, input_bound
from tests.trace_builder import TraceBuilder

STEPS = 12


def alone(stage: str, cpu: float) -> TraceBuilder:
    """No workers: of 10 ms per step, 8 ms are in `stage`, of which the thread is on a CPU for a part."""
    thread = {"cpu_us": round(STEPS * (2000 + cpu * 8000)), "run_delay_us": 0}
    loaders = [{"num_workers": 0, "batch_size": 1}]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 8}, training_thread=thread)
    for number in range(STEPS):
        start, cpu_us = number * 10_000.0, round(cpu * 7800)
        builder.step(start, 10_000).add("user_annotation", "wait::DataLoader", start, 8000, cpu_us=cpu_us + 100)
        builder.add("user_annotation", "sample::Pets", start + 50, 7900, index=number, cpu_us=cpu_us + 50)
        builder.add("user_annotation", stage, start + 100, 7800, index=number, cpu_us=cpu_us)
    return builder


def said(builder: TraceBuilder, stage: str) -> set[bool]:
    """Whether findings about the stage that save something say it."""
    about = [each for each in capture_of(builder).findings if each.stage == stage and each.gain_us_per_step]
    return {any(fact.kind == BESIDE_BOUND for fact in each.evidence) for each in about}


@pytest.mark.parametrize(
    ("stage", "cpu", "says"),
    [
        ("read::features", 0.02, True),
        ("transform::Ask", 0.02, True),
        ("read::file", 1.0, True),
        ("transform::Blur", 1.0, False),
    ],
)
def test_a_stage_that_waits_or_reads_in_the_training_thread_says_what_its_bound_has_not(
    stage: str, cpu: float, says: bool
) -> None:
    assert said(alone(stage, cpu), stage) == {says}


def test_only_the_stage_itself_and_not_the_advice_to_start_workers_says_it() -> None:
    findings = capture_of(alone("read::features", 0.02)).findings
    (workers,) = (each for each in findings if each.rule == "single_process_loading")
    assert not any(fact.kind == BESIDE_BOUND for fact in workers.evidence)


def test_in_dataloader_workers_the_step_does_not_follow_it() -> None:
    shares = {"sample::Pets": (0.0, 1.0, 0.05), "read::store": (0.0, 0.9, 0.02)}
    assert said(input_bound(stages=shares, run_delay=None), "read::store") == {False}
