"""Threads of torch in the training process that find no CPU beside DataLoader workers."""

from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.tb_dataplugin.findings.rules.test_oversubscribed import crowded as with_hidden_threads
from tests.tb_dataplugin.findings.rules.test_taken_cpus import crowded
from tests.trace_builder import TraceBuilder

RULE = "step_threads"


@pytest.mark.parametrize("wait", [400, 4000])
def test_a_step_of_more_threads_than_workers_leave_cpus_for_is_told_to_try_fewer(wait: float) -> None:
    """Whether batches come in time or not."""
    said = finding_in(crowded(wait=wait), RULE)
    assert said.code.startswith("torch.set_num_threads(1)  # in the training process")
    assert not said.HasField("gain_us_per_step") and said.gain_text == "gain unknown"
    assert any(
        "torch is set to 2 threads in the training process, DataLoader workers keep 0.99 of the 2 CPUs busy" in text
        for text in evidence_of(said)
    )


@pytest.mark.parametrize(
    "builder",
    [
        crowded(threads=1.0),  # torch has two, and computes with one
        crowded(delayed=0.02),
        crowded(busy=60.0),
        with_hidden_threads(),
    ],
)
def test_else_nothing_is_said(builder: TraceBuilder) -> None:
    assert finding_of(builder, RULE) is None


def test_as_many_threads_are_left_as_cpus() -> None:
    builder = crowded()
    builder.top_level["dataPipeline"]["host"] |= {"cores": 8, "torch_threads": 8}
    builder.top_level["dataPipeline"]["training_thread"]["process_cpu_us"] *= 4
    assert finding_in(builder, RULE).code.startswith("torch.set_num_threads(7)")


def test_the_advice_on_hidden_threads_says_that_it_leaves_those_of_the_step() -> None:
    advice = finding_in(with_hidden_threads(), "oversubscribed").advice
    assert "but not for torch: torch.set_num_threads or OMP_NUM_THREADS limits its threads there" in advice
