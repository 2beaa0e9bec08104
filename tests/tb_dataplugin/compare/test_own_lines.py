"""Lines of the training thread, of two sides."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tb_dataplugin.compare.own_lines import _changed, _Side
from tb_dataplugin.report import report_pb2 as pb


def side(samples: int, lines: Mapping[str, float]) -> _Side:
    """Ten units; times in us per unit of 100, by function."""
    named = [
        pb.Line(function=name, file="/home/me/train.py", line=5, time_us=10 * us, share=us / 100, is_user=True)
        for name, us in lines.items()
    ]
    return _Side((pb.PartLines(samples=samples, time_us=1000.0, lines=named),), 10.0)


FULL = {"backward": 70.0, "loss": 25.0}


@pytest.mark.parametrize("swap", [False, True])
def test_a_line_that_few_samples_do_not_name_is_not_gone(swap: bool) -> None:
    """They name the one that has most for certain: of the others no more is known than what is left for them."""
    sides = [side(90, {"backward": 70.0}), side(400, FULL)]
    assert not list(_changed(*(sides[::-1] if swap else sides)))


def test_what_is_left_for_a_line_bounds_it() -> None:
    found = list(_changed(side(90, {"backward": 95.0}), side(400, {"backward": 30.0, "loss": 60.0})))
    assert [(line.before_us, line.after_us, line.is_bound) for line in found if line.change_us > 0] == [
        (5.0, 60.0, True)
    ]


def test_a_line_that_enough_samples_do_not_name_is_gone() -> None:
    found = list(_changed(side(400, FULL), side(400, {"backward": 95.0})))
    assert [(line.before_us, line.after_us, line.is_bound) for line in found if line.change_us < 0] == [
        (25.0, 0.0, False)
    ]
