"""Where an epoch starts or ends in the window, its steps may have lived on batches from before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.whatif import Change, predict
from tb_dataplugin.whatif.measured_wait import measured_ends
from tests.tb_dataplugin.whatif.test_simulation import loop


def test_intervals_have_how_sure_the_data_wait_is() -> None:
    """A stranger's window behind an evaluation: 47.5 ms per step (46.8 to 48.1), and 69 in the long run."""
    sure = loop(2, build_ms=60, own_ms=5)
    wait = sure.measured_wait_ns
    unsure = replace(sure, wait_ends_ns=(0.5 * wait, 2 * wait))
    assert measured_ends(sure) == (1.0, 1.0)
    less, more = measured_ends(unsure)
    assert more == pytest.approx(1 + wait / sure.measured_step_ns) and less < 1
    for change in (Change(workers=2), Change(workers=1)):
        known, found = predict(sure, change).step_us, predict(unsure, change).step_us
        assert found.value == known.value
        assert found.high == pytest.approx(more * known.high) and found.low < known.low
        assert found.low > 0.5 * 5_000
