"""Who gets what DataLoader workers leave, beside other programs: an interval has both."""

from __future__ import annotations

import pytest

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.whatif import Change, fit_loop, predict
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.own_share import EITHER
from tests.tb_dataplugin.findings.cases import results_of
from tests.tb_dataplugin.findings.rules.test_taken_cpus import beside, crowded
from tests.trace_builder import TraceBuilder

NEVER = Change(stages=(("transform::Blur", 0.0),))


def loop_of(builder: TraceBuilder) -> Loop:
    loop = fit_loop(results_of(builder))
    assert not isinstance(loop, Unavailable)
    return loop


def test_the_interval_reaches_down_to_a_step_that_waits_for_no_cpu() -> None:
    made = predict(loop_of(beside(14, threads=1.0)), NEVER)
    assert made.step_us.low == pytest.approx(0.8 * 0.5 * 9600, rel=0.05)
    assert made.step_us.value > 9000  # other programs take their part, for all that is known
    assert EITHER in made.notes


def test_it_reaches_there_by_degrees() -> None:
    loop = loop_of(beside(14, threads=1.0))
    lows = [predict(loop, Change(stages=(("transform::Blur", part),))).step_us.low for part in (0.0, 0.5, 0.99)]
    assert lows == sorted(lows) and lows[1] > 1.2 * lows[0] and lows[2] > 1.4 * lows[0]


def test_without_workers_the_step_builds_its_batch_however_much_of_the_cpus_it_gets() -> None:
    loop = loop_of(beside(14, threads=1.0))
    none = predict(loop, Change(workers=0))
    build_us = float(loop.build.total_ns.mean()) * loop.batches_per_step / 1e3
    assert build_us > 1000
    assert none.step_us.low == pytest.approx(0.65 * (0.5 * 9600 + build_us), rel=0.05)
    assert none.data_wait_share.low == pytest.approx(max(0.0, 1 - 0.5 * 9600 / none.step_us.low), abs=0.03)


def test_more_workers_or_more_work_may_take_their_cpus_from_the_step_alone() -> None:
    loop = loop_of(beside(14, threads=1.0))
    more = predict(loop, Change(stages=(("transform::Blur", 3.0),)))
    assert more.step_us.low == pytest.approx(0.8 * more.step_us.value, rel=0.1) and EITHER in more.notes
    assert EITHER in predict(loop, Change(workers=1)).notes


@pytest.mark.parametrize("change", [Change(), Change(prefetch=4)])
def test_with_as_much_work_for_the_workers_nothing_is_open(change: Change) -> None:
    assert EITHER not in predict(loop_of(beside(14, threads=1.0)), change).notes


def test_without_other_programs_nothing_is_open() -> None:
    loop = loop_of(crowded())
    assert loop.own_share is None
    assert EITHER not in predict(loop, NEVER).notes
