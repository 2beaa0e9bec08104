from __future__ import annotations

import numpy as np

from tb_dataplugin.pipeline import analyse
from tests.simulated_run import Simulation, runs
from tests.trace_builder import TraceBuilder, training_run


def test_blocks_sum_to_the_stage_and_tell_the_workers_apart() -> None:
    [capture] = runs(Simulation(steps=20, batch_size=3), np.random.default_rng(0), 1)
    for stage in (stage for stage in capture.stages if stage.kind != "wait"):
        assert sum(stage.block_count) == stage.count
        assert abs(sum(stage.block_self_us) - stage.self_us) < 0.01
        assert len(set(stage.block_worker)) == 2
        assert len(stage.block_count) == 20 and set(stage.block_count) <= {1, 2, 3}


def test_many_batches_are_joined_worker_by_worker() -> None:
    [capture] = runs(Simulation(steps=150, batch_size=1), np.random.default_rng(0), 1)
    blur = next(stage for stage in capture.stages if stage.label == "Blur")
    assert 40 <= len(blur.block_count) <= 66
    assert sum(blur.block_count) == 150
    assert list(blur.block_worker) == sorted(blur.block_worker)


def test_cpu_time_is_without_the_children() -> None:
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 1, "num_workers": 1}]).worker(0).step(0, 100)
    builder.batch(0, 0, 0, 0, 60, 90)
    where = {"pid": 100, "tid": 100, "batch": 0, "epoch": 0}
    builder.add("user_annotation", "transform::Outer", 10, 40, cpu_us=30, **where)
    builder.add("user_annotation", "decode::Inner", 20, 20, cpu_us=18, **where)
    stages = {stage.label: stage for stage in analyse(builder.trace()).capture.stages}
    assert list(stages["Outer"].block_cpu_us) == [12] and list(stages["Inner"].block_cpu_us) == [18]


def test_without_workers_a_block_is_a_step_and_cpu_time_is_absent() -> None:
    capture = analyse(training_run(8).trace()).capture
    crop = next(stage for stage in capture.stages if stage.label == "RandomCrop")
    assert list(crop.block_count) == [1] * 8 and not crop.block_cpu_us


def test_without_steps_blocks_are_slices_of_the_window() -> None:
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 1, "num_workers": 0}])
    for number in range(64):
        builder.wait(100 * number, 60, "wait::DataLoader").stage("transform::Crop", 100 * number + 1, 50)
    crop = next(stage for stage in analyse(builder.trace()).capture.stages if stage.label == "Crop")
    assert len(crop.block_count) == 32 and sum(crop.block_count) == 64
