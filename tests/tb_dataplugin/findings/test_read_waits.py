"""What each part of the data wait costs, where the window does not show the steady state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.read_waits import read_waits
from tb_dataplugin.findings.rules import float_before_transfer
from tests.tb_dataplugin.findings.cases import handed_over, results_of, signals_of


@pytest.fixture(scope="module")
def results() -> Results:
    """A batch that is built for 5 ms, of which collate has 1, and is on its way for another one."""
    return results_of(handed_over(1000, collate=1000))


def costs(results: Results, hidden_us: float) -> dict[str, float]:
    waits = read_waits(results, 6000.0, hidden_us)
    assert waits is not None
    return {wait.name: wait.cost_us for wait in waits}


def test_a_queue_that_empties_hides_waits_for_building_and_no_price_of_next(results: Results) -> None:
    seen, steady = costs(results, 0.0), costs(results, 50_000.0)
    assert seen["transfer"] > 900 and steady["transfer"] == pytest.approx(seen["transfer"])
    more = {name: steady[name] - seen[name] for name in steady if steady[name] > seen[name]}
    assert sum(more.values()) == pytest.approx(50_000)
    assert more["collate::default_collate"] == pytest.approx(50_000 / 5), "as of the time in which a batch is built"


def test_a_queue_that_fills_makes_all_waits_look_too_long(results: Results) -> None:
    seen, steady = costs(results, 0.0), costs(results, -4500.0)
    assert steady == {name: pytest.approx(cost / 4) for name, cost in seen.items()}


def test_stages_that_the_few_waits_of_the_window_were_not_for_have_their_cost(results: Results) -> None:
    bare = replace(results, loop=replace(results.loop, attribution=replace(
        results.loop.attribution, wait_by_stage_ns={"transfer": 2_000_000}
    )))  # fmt: skip
    waits = read_waits(bare, 2000.0, 10_000.0)
    assert waits is not None and waits[0].name == "transfer" and waits[0].cost_us == 2000 and waits[0].share == 1
    assert {wait.share for wait in waits[1:]} == {0.0}
    assert sum(wait.cost_us for wait in waits) == pytest.approx(12_000)
    signals = signals_of(handed_over(1000, collate=1000))
    unseen = [replace(row, data_wait_us=0.0) for row in signals.stages if row.stage.kind == "collate"]
    assert replace(signals, waits_by_stage=waits).cost_of(unseen) == pytest.approx(2000)


def test_what_is_no_number_of_the_window_says_of_what_it_is() -> None:
    """A device is idle for a data wait that is mostly for handing a batch over."""
    signals = signals_of(handed_over(4000).kernel(15_000, 4000))
    empties = SteadyState("draining", 0.0, 0.0, None, None, None, 1e7, 4.0, 1.0)
    for unsteady, where in ((None, ""), (empties, ", in as many steps of the steady state (estimated)")):
        said = float_before_transfer.check(replace(signals, unsteady=unsteady))
        assert isinstance(said, Finding)
        assert said.evidence[0].text.endswith(f"caused 4.00 ms of data wait{where}")
