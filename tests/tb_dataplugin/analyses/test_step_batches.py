"""Steps that take several batches each: gradients are accumulated over them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_dataplugin.analyses.step_batches import step_batches
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.export.whatif_text import as_json
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.whatif.fitting import fit_loop
from tests.tb_dataplugin.analyses.test_inner_loops import asking
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder


def built_by_workers(taken: Sequence[int], source: str = "optimizer", ended: Sequence[int] = ()) -> TraceBuilder:
    """Each step takes so many batches of 8, 100 us each; before the `ended` batches an epoch's ``next()`` has none."""
    bounds = [100.0 * sum(taken[:number]) for number in range(len(taken) + 1)]
    settings = {"num_workers": 1, "batch_size": 8, "dataset": "Train"}
    builder = TraceBuilder().annotated(loaders=[settings], steps={"source": source, "boundaries_us": bounds})
    builder.worker(0)
    for number in range(sum(taken)):
        begin = 100.0 * number
        if number in ended:
            builder.wait(begin + 1, 2)
        builder.wait(begin + 5, 20).batch(number, 0, begin, begin + 1, begin + 15, begin + 20)
    return builder


def text_of(builder: TraceBuilder) -> str:
    return " ".join(as_text(pb.Report(captures=[capture_of(builder)])).split())


def test_accumulated_gradients_are_said_where_steps_are_named() -> None:
    """A stranger read "50 steps" beside "batches of 8" and 200 waits, and of 32 samples in each step nothing."""
    said = text_of(built_by_workers([4] * 6))
    assert "6 steps of 4 batches, 400 µs each on average" in said
    assert (
        "steps: each is one step of the optimizer, with 4 batches; counted from the window's first, which begins with "
        "batch 0 of its epoch (from 0)"
    ) in said


def test_what_if_says_of_how_many_batches_its_step_is() -> None:
    loop = fit_loop(results_of(asking([4] * 6)))
    assert not isinstance(loop, Unavailable)
    assert " per step of 4 batches, " in as_json(loop, ())
    one = fit_loop(results_of(asking([1] * 6)))
    assert not isinstance(one, Unavailable) and " per step, " in as_json(one, ())


@pytest.mark.parametrize(
    ("builder", "said"),
    [
        (built_by_workers([4] * 6), "4 batches"),
        (built_by_workers([4] * 6, ended=(12,)), "4 batches"),
        (built_by_workers([4, 4, 4, 6, 4]), "about 4 batches"),
        (built_by_workers([1] * 6, ended=(3,)), ""),
        (built_by_workers([1] * 9 + [8]), ""),
        (built_by_workers([4, 4]), ""),
        (built_by_workers([4] * 6, source="batch"), ""),
        (asking([2] * 5), "2 batches"),
        (asking([1] * 5), ""),
    ],
)
def test_only_steps_that_take_another_number_than_one_say_it(builder: TraceBuilder, said: str) -> None:
    assert step_batches(results_of(builder)) == said
    assert (" of 4 batches, " in text_of(builder)) is (said == "4 batches")
