"""Whether what a finding promised came true."""

from __future__ import annotations

from tb_dataplugin.compare.build import compare
from tb_dataplugin.compare.promise import promise
from tests.tb_dataplugin.findings.cases import capture_of, input_bound


def test_what_a_step_takes_less_stands_beside_what_was_promised() -> None:
    before, after = capture_of(input_bound(steps=8)), capture_of(input_bound(steps=8))
    after.steps.mean_us = 4000
    (fact,) = promise([before], [after])
    assert fact.value == 6000
    first = before.findings[0]
    assert fact.text == (
        "a step takes 6.00 ms less (10.0 ms before, 4.00 ms after); the first finding before "
        f"({first.title}) promised up to {first.gain_text.split()[3]} ms"
    )
    assert fact.text in [one.text for one in compare([before], [after]).evidence]


def test_steps_of_other_sizes_or_no_shorter_ones_show_nothing() -> None:
    before, after = capture_of(input_bound(steps=8)), capture_of(input_bound(steps=8))
    assert promise([before], [after]) == ()
    after.steps.mean_us = 4000
    after.loader.batch_size = 1
    assert promise([before], [after]) == ()
    assert promise([], [after]) == ()
