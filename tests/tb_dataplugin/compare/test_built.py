"""What the times of stages are per: samples built, or taken."""

from __future__ import annotations

import pytest

from tb_dataplugin.compare.built import Units, units_of
from tb_dataplugin.compare.sides import group_runs
from tb_dataplugin.report import report_pb2 as pb


def capture(*stages: pb.Stage, workers: int = 2, seen: dict[str, float] | None = None) -> pb.Capture:
    """20 batches of 4 samples were taken; each worker built 12."""
    tree = pb.LineTree(
        names=seen,
        label=range(len(seen or ())),
        depth=[0] * len(seen or ()),
        total_us=(seen or {}).values(),
        origin=["stage"] * len(seen or ()),
    )
    return pb.Capture(
        name="one",
        mode="train",
        stages=stages,
        loader=pb.Loader(num_workers=workers),
        throughput=pb.Throughput(samples=80, samples_per_batch=4),
        workers=[pb.Worker(worker=number, batches=12) for number in range(workers)],
        lines=pb.Lines(pipeline=pb.PartLines(tree=tree) if seen else None),
    )


def stage(*path: str, count: int, us: float = 10.0) -> pb.Stage:
    kind, _, label = path[-1].partition("::")
    return pb.Stage(kind=kind, label=label, path=path, count=count, total_us=us * count)


def units(*captures: pb.Capture) -> Units:
    found = units_of(group_runs(captures)[0], "sample")
    assert found is not None
    return found


SAMPLE = stage("sample::Data", count=98)


def test_samples_count_by_their_spans_and_those_at_the_edges_by_their_part() -> None:
    assert units(capture(SAMPLE)).built.units == 98
    assert units(capture(SAMPLE, seen={"sample::Data": 970.0})).built.units == pytest.approx(97)
    assert units(capture(SAMPLE, seen={"sample::Data": 500.0})).built.units == 96  # stacks were missed


def test_a_dataset_in_a_dataset_is_one_sample() -> None:
    inner = stage("sample::Outer", "sample::Data", count=98)
    assert units(capture(stage("sample::Outer", count=98), inner)).built.units == 98


def test_a_span_may_be_a_batch() -> None:
    batch, inner = "sample::Data.__getitems__", stage("sample::Data.__getitems__", "sample::Data", count=90)
    assert units(capture(stage(batch, count=24))).built.units == 96
    assert units(capture(stage(batch, count=24), inner)).built.units == 90


def test_without_spans_of_samples_batches_count_and_without_workers_all_are_taken() -> None:
    assert units(capture(stage("collate::pad", count=24))).built.units == 96
    assert units(capture(stage("collate::pad", count=24), workers=0)).built.units == 80


def test_what_the_training_thread_does_is_per_sample_taken() -> None:
    wait = "wait::DataLoader"
    known = units(
        capture(SAMPLE, stage(wait, "sampler::Random", count=24), stage(wait, "transfer::pin", count=20)),
    )
    assert known.per("transfer::pin") == (80, 0)
    assert known.per("h2d::cuda") == (80, 0)
    assert known.per("sampler::Random") == (80, 16)  # indices of so many samples may be drawn ahead
    assert known.per("sample::Data").units == known.per("collate::pad").units == 98
    assert known.per("collate::pad").error > known.per("sample::Data").error > 0


def test_windows_add_up() -> None:
    one, two = capture(SAMPLE), capture(SAMPLE)
    two.name = "two"
    both = units(one, two)
    assert (both.taken, both.built.units) == (160, 196)
    assert both.built.relative == pytest.approx(units(one).built.relative / 2**0.5)
