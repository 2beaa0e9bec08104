from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tests.tb_dataplugin.findings.cases import abstentions, finding_in, finding_of, input_bound


def test_hidden_threads_that_fight_for_cores() -> None:
    said = finding_in(input_bound(run_delay=0.4, threads=3.0), "oversubscribed")
    assert "set_num_threads(1)" in said.code
    assert said.gain_us_per_step == pytest.approx(4000, rel=0.05)


def test_hidden_threads_on_free_cores_do_no_harm() -> None:
    assert finding_of(input_bound(run_delay=0.0, threads=3.0), "oversubscribed") is None


def test_threads_are_not_judged_without_records() -> None:
    assert "oversubscribed" in abstentions(input_bound(run_delay=None))


def test_the_thread_that_sends_batches_is_no_hidden_one() -> None:
    costs = WorkerCosts(4, 100, 0.4, 0.6, 0.3, 0, 0, 0, 0, 0, 0.0, sending=0.25)
    assert costs.threads == 1.0
    assert replace(costs, sending=0.0).threads == pytest.approx(1.5)
    assert replace(costs, process_cpu=1.45).threads == pytest.approx(3.0)
