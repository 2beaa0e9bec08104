"""Hidden threads of libraries that compete for CPUs: how long other numbers of workers would take is not known."""

from __future__ import annotations

import pytest

from tb_dataplugin.whatif import Change, Prediction, predict
from tb_dataplugin.whatif.hidden_threads import COMPETE
from tests.tb_dataplugin.whatif.test_simulation import loop


def predicted(workers: int, *, compete: bool) -> Prediction:
    """Of two workers that build for 60 ms, and steps that take 5 ms."""
    return predict(loop(2, build_ms=60, own_ms=5, threads_compete=compete), Change(workers=workers))


@pytest.mark.parametrize("workers", [0, 1])
def test_fewer_workers_may_be_much_faster(workers: int) -> None:
    """A stranger's 8.3 ms per step without workers was below the interval, 12.3 to 28.3 ms."""
    plain, compete = predicted(workers, compete=False), predicted(workers, compete=True)
    assert compete.step_us.value == plain.step_us.value and compete.step_us.high == plain.step_us.high
    assert compete.step_us.low <= 5_000 < 20_000 < plain.step_us.low
    assert COMPETE in compete.notes and COMPETE not in plain.notes


def test_the_loop_as_it_was_captured_is_known() -> None:
    plain, compete = predicted(2, compete=False), predicted(2, compete=True)
    assert compete.step_us == plain.step_us and COMPETE not in compete.notes
