"""Every start method, with and without persistent workers, in and out of order, for every kind of dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader
from worker_helpers import (
    BATCH,
    KINDS,
    SIZE,
    Seen,
    as_tensor,
    check,
    consumed,
    disagreement,
    durations,
    make_dataset,
    run,
    worker_spans,
)

import annotate

SLOW = [  # each value of each option at least once
    ("map", True, True),
    ("getitems", False, False),
    ("iterable", True, True),
    ("subset", False, True),
]
CASES = [("fork", kind, persistent, in_order) for kind in KINDS for persistent in (True, False) for in_order in (1, 0)]
CASES += [("spawn", *case) for case in SLOW] + [("forkserver", *case) for case in SLOW[::-1]]
RUN = [*CASES[:16:4], *CASES[3:16:4], ("spawn", *SLOW[0]), ("forkserver", *SLOW[1])]
"""Those that `make test` runs: with fork each kind twice, with every option; of the slow ones one each."""


def make_loader(kind: str, method: str, persistent: bool, in_order: bool, **keywords: Any) -> DataLoader[Any]:
    return DataLoader(
        make_dataset(kind),
        batch_size=BATCH,
        collate_fn=as_tensor,
        num_workers=2,
        persistent_workers=persistent,
        multiprocessing_context=method,
        in_order=bool(in_order),
        **keywords,
    )


@pytest.mark.parametrize(
    ("method", "kind", "persistent", "in_order"),
    [pytest.param(*case, marks=() if case in RUN else pytest.mark.thorough) for case in CASES],
)
def test_every_batch_and_every_span_is_there(
    method: str, kind: str, persistent: bool, in_order: bool, tmp_path: Path
) -> None:
    loader = annotate.loader(make_loader(kind, method, persistent, in_order))
    trace, seen = run(tmp_path, loader, epochs=2)
    check(trace)
    check_numbers(trace, seen, kind, bool(in_order))
    check_spans(trace, seen, kind)
    pids = {worker["pid"] for worker in trace["dataPipeline"]["workers"]}
    assert len(pids) == (2 if persistent else 4)
    assert pids == {batch.pid for batch in seen}


def check_numbers(trace: dict[str, Any], seen: list[Seen], kind: str, in_order: bool) -> None:
    records = consumed(trace)
    assert [record["epoch"] for record in records] == [batch.epoch for batch in seen]
    assert [record["pid"] for record in records] == [batch.pid for batch in seen]
    for epoch in (0, 1):
        numbers = [record["batch"] for record in records if record["epoch"] == epoch]
        assert len(set(numbers)) == len(numbers)
        if in_order:
            assert numbers == sorted(numbers)
    if kind != "iterable":
        order = list(range(SIZE - 1, -1, -1)) if kind == "subset" else list(range(SIZE))
        for record, batch in zip(records, seen, strict=True):
            first = record["batch"] * BATCH
            assert batch.indices == order[first : first + BATCH]


def check_spans(trace: dict[str, Any], seen: list[Seen], kind: str) -> None:
    by_batch: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for spans in worker_spans(trace).values():
        for span in spans:
            by_batch.setdefault((span["args"]["epoch"], span["args"]["batch"]), []).append(span)
    for record, batch in zip(consumed(trace), seen, strict=True):
        spans = by_batch[record["epoch"], record["batch"]]
        assert {span["pid"] for span in spans} == {batch.pid}
        assert {span["args"]["worker"] for span in spans} == {record["worker"]}
        assert record["started_us"] <= min(span["ts"] for span in spans)
        assert max(span["ts"] + span["dur"] for span in spans) <= record["finished_us"] + 0.001
        if kind == "map":
            samples = [span["args"]["index"] for span in spans if span["name"].startswith("sample::")]
            assert samples == batch.indices
            assert {span["args"]["index"] for span in spans if span["name"] == "transform::Busy"} == {*batch.indices}
    check_totals(trace, seen, kind)


def check_totals(trace: dict[str, Any], seen: list[Seen], kind: str) -> None:
    """Against the dataset's own clock."""
    rows = [row for batch in seen for row in batch.rows]
    found = durations(trace)
    assert disagreement(found["read::sleep"], [row[3] for row in rows]) < 0.03
    assert disagreement(found["transform::Busy"], [row[4] for row in rows]) < 0.03
    (samples,) = [times for name, times in found.items() if name.startswith("sample::") and "." not in name]
    if kind == "iterable":
        samples = sorted(samples)[-len(rows) :]  # the last call of each iterator ends it
    if kind != "getitems":
        assert disagreement(samples, [row[2] for row in rows]) < 0.03
