"""What the simulation misses of what was measured stays where it belongs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tb_dataplugin.whatif import Change, predict
from tb_dataplugin.whatif.as_measured import as_measured
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.simulation import Orders, simulate
from tests.tb_dataplugin.whatif.test_simulation import loop

WITHOUT = Change(stages=(("transform", 0.0),))


def sleeping(wait_ms: float = 3, **more: object) -> Loop:
    """Batches of 9 ms by one worker, a step that sleeps for most of its 7 ms, and programs that want both CPUs: the
    step got one at once each time, nearly.
    """
    own_delayed = 0.02
    made = loop(1, build_ms=9, own_ms=7 * (1 - own_delayed), cpus=2, build_cpus=0.15, own_cpus=0.2, other_cpus=2.0)
    measured = {"measured_step_ns": (7 + wait_ms) * 1e6, "measured_wait_ns": wait_ms * 1e6}
    return replace(made, own_delayed=own_delayed, **measured, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("wait_ms", [2.2, 3.0, 7.0])
def test_the_wait_of_a_stage_goes_with_it_on_a_busy_machine_too(wait_ms: float) -> None:
    """The rest of a step was measured: it is no data wait of something else, however long the simulation takes it."""
    made = predict(as_measured(sleeping(wait_ms)), WITHOUT)
    assert made.step_us.value == pytest.approx(7e3, rel=0.01)
    assert made.data_wait_share.value < 0.01 and made.limited_by == "step"


def test_what_is_missed_of_the_wait_shrinks_with_the_work() -> None:
    made = as_measured(sleeping(7.0))
    half = predict(made, Change(stages=(("transform", 0.75),)))
    assert half.step_us.value == pytest.approx(0.75 * 14e3, rel=0.02)
    assert half.limited_by == "transform::Blur"


def test_the_simulation_of_the_loop_as_captured_waits_as_measured() -> None:
    made = as_measured(sleeping())
    run = simulate(made, Orders.as_recorded(made))
    assert run.wait_ns.mean() == pytest.approx(made.measured_wait_ns, rel=0.02)
    assert run.step_ns.mean() == pytest.approx(made.measured_step_ns, rel=0.01)


def test_receiving_waits_for_a_cpu_as_long_as_was_measured() -> None:
    receive = replace(sleeping().receive, ns=np.full((1, 1), 0.8e6))
    made = as_measured(sleeping(receive=receive, receive_delayed=0.2))
    left = predict(made, WITHOUT)
    assert 0.8e3 <= left.step_us.value - 7e3 <= 1.2e3  # 1.6 ms, were it slowed as one that computes


def test_a_wait_that_no_work_of_the_loader_explains_is_not_put_on_it() -> None:
    made = replace(loop(1, build_ms=1, own_ms=7), measured_step_ns=10e6, measured_wait_ns=3e6)
    assert as_measured(made).stretched == 1
    assert predict(as_measured(made), WITHOUT).data_wait_share.value == pytest.approx(0.3)


def test_more_workers_still_take_cpus_from_the_step() -> None:
    """It had waited for as long as the simulation has it."""
    made = loop(1, build_ms=30, own_ms=10, cpus=2, other_cpus=1.0)
    run = simulate(made, Orders.as_recorded(made))
    step_ns, wait_ns = float(run.step_ns.mean()), float(run.wait_ns.mean())
    measured = replace(made, own_delayed=1 - 1 / run.slowed, measured_step_ns=step_ns, measured_wait_ns=wait_ns)
    found = as_measured(measured)
    assert found.eased == pytest.approx(1.0, abs=0.01) and found.stretched == 1
    assert predict(found, Change(workers=4)).step_us == predict(measured, Change(workers=4)).step_us
    beside = simulate(replace(found, settings=replace(found.settings, workers=4)), Orders.as_recorded(found))
    assert beside.slowed > 1.2 * run.slowed


@pytest.mark.parametrize("change", [WITHOUT, Change(stages=(("transform", 0.9),)), Change(workers=2)])
def test_the_ends_of_the_wait_belong_to_those_of_the_step(change: Change) -> None:
    made = predict(as_measured(sleeping()), change)
    step, share = made.step_us, made.data_wait_share
    assert share.low == pytest.approx(max(0.0, 1 - 7e3 / step.low), abs=0.02)
    assert share.high == pytest.approx(1 - 7e3 / step.high, abs=0.02)
    assert share.low <= share.value <= share.high


def test_the_wait_of_the_loop_as_captured_is_as_sure_as_its_batches() -> None:
    made = predict(as_measured(sleeping()), Change())
    assert made.data_wait_share.high - made.data_wait_share.low < 0.01
