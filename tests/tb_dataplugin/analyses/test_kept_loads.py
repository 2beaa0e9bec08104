"""Rare calls: of a chunk of the data, or of what each DataLoader worker needs once."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.kept_loads import find_kept_loads
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder


def loaded_for(*batches: int) -> TraceBuilder:
    """Two workers build 24 batches in 1 ms each; for these they load something for 20 ms more, for which the loop waits
    as long.
    """
    loaders = [{"name": "DataLoader", "num_workers": 2, "batch_size": 1}]
    builder, at = TraceBuilder().annotated(loaders=loaders).worker(0).worker(1), 0.0
    for number in range(24):
        took = 21_000.0 if number in batches else 1000.0
        stages = {"sample::Texts": (at + 20, took - 40)}
        if number in batches:
            stages["read::load"] = (at + 30, took - 1000)
        builder.batch(number, number % 2, -100.0, at + 10, at + took - 10, at + took - 5, stages)
        builder.wait(at, took, "wait::DataLoader").step(at, took + 5000)
        at += took + 5000
    return builder


@pytest.mark.parametrize(("batches", "is_chunk"), [((0, 1), False), ((1,), False), ((0, 1, 12), True)])
def test_what_each_worker_loads_once_in_an_epoch_is_no_chunk(batches: tuple[int, ...], is_chunk: bool) -> None:
    assert (find_kept_loads(results_of(loaded_for(*batches))) is not None) is is_chunk
