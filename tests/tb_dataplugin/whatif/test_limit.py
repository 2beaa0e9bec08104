"""What is said to limit a loop once a change is made."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from annotate.trace_format import Stage
from tb_dataplugin.export.whatif_text import _limits, limit_texts
from tb_dataplugin.pipeline import read_loop
from tb_dataplugin.whatif import Change, Prediction, Range, fit_loop, predict
from tb_dataplugin.whatif.change import TRANSFER
from tb_dataplugin.whatif.limit import limited_by
from tb_dataplugin.whatif.loop import DeviceWait, Loop, Settings, Timed
from tb_dataplugin.whatif.more_workers import may_lack_cpus
from tb_dataplugin.whatif.simulation import Orders, simulate
from tests.tb_dataplugin.findings.cases import input_bound, results_of
from tests.trace_builder import TraceBuilder

MS = 1e6
BLUR = Stage("transform", "Blur")
SLEEP = Stage("transform", "Sleep")


def loop(wait: float = 0.5) -> Loop:
    """Two workers build 40 ms batches for a step of 10 ms: 20 ms per step; `wait`: the data wait that was measured."""
    return Loop(
        settings=Settings(2, 2, True),
        build=Timed(((BLUR,),), np.full((12, 1), 40 * MS)),
        way_ns=np.zeros(1),
        receive=Timed(((),), np.zeros((1, 1))),
        own_ns=np.full(12, 10 * MS),
        build_cpus=1.0,
        own_cpus=1.0,
        cpus=16.0,
        other_cpus=0.0,
        batches_per_step=1,
        samples_per_step=8,
        batch_bytes=None,
        measured_step_ns=20 * MS,
        measured_wait_ns=wait * 20 * MS,
    )


def prediction(change: Change, limit: str, *, short: bool = False) -> Prediction:
    one = Range(1.0, 1.0, 1.0)
    return Prediction(change, one, None, one, None, limit, None, short_of_cpus=short)


def test_no_stage_is_named_where_next_to_nothing_waits() -> None:
    """The simulation has 25% with three workers, and 50% with two, where 25% were measured."""
    assert predict(loop(), Change(workers=3)).limited_by == BLUR.name
    less = predict(loop(wait=0.25), Change(workers=3))
    assert less.data_wait_share.value == 0 and less.limited_by == "step"


@pytest.mark.parametrize(("share", "limit"), [(0.04, "step"), (0.06, "transform::Blur")])
def test_next_to_nothing_is_what_acquits_a_loader_elsewhere(share: float, limit: str) -> None:
    orders = Orders(np.arange(60), np.arange(60))
    assert limited_by(loop(), [orders], [simulate(loop(), orders)], share).name == limit


def test_the_rest_of_the_step_limits_by_what_the_device_waits_for() -> None:
    made = [prediction(Change(workers=8), "step", short=True), prediction(Change(workers=2), BLUR.name)]
    waits = replace(loop(), device_wait=DeviceWait("launch", 4 * MS))
    idle = "launching operators leaves the device idle for 4.00 ms per step in the window"
    assert f"With workers=8, the rest of the step limits: {idle}." in list(_limits(made, waits))
    for little in (loop(), replace(loop(), device_wait=DeviceWait("launch", 0.5 * MS))):
        assert "With workers=8, the rest of the step limits." in list(_limits(made, little))


def test_what_the_device_waits_for_is_read_from_its_gaps(tmp_path: Path) -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    for number in range(8):
        start = 1000.0 * number
        builder.step(start, 1000).wait(start, 300, "wait::DataLoader").stage("sample::Pets", start, 300)
        builder.operator(start + 300, 600).call("cudaLaunchKernel", start + 880, 10, correlation=number)
        builder.kernel(start + 890, 100, correlation=number)
    found = read_loop(builder.write(tmp_path / "run.pt.trace.json"))[0]
    assert found.device_wait is not None and found.device_wait.cause == "launch"
    assert found.device_wait.ns == pytest.approx(0.6 * MS, rel=0.05)


def test_pinned_batches_bring_little_where_the_loader_limits_and_it_is_said() -> None:
    held, ahead = (
        predict(replace(loop(), settings=Settings(workers, 2, True), pageable_ns=4 * MS), Change(pin=True))
        for workers in (2, 8)
    )
    assert held.notes[1:] == (
        "pin_memory=True: the loader limits, so most of what a step saves there it waits longer for data.",
    )
    assert len(ahead.notes) == 1


def sleepy() -> Loop:
    """Batches of 38 ms of sleep and 2 ms of work, for a step of 0.5 ms, on one CPU."""
    build = Timed(((SLEEP,), (BLUR,)), np.tile([38 * MS, 2 * MS], (12, 1)))
    waits = replace(loop(), own_ns=np.full(12, 0.5 * MS), measured_wait_ns=19.5 * MS)
    return replace(waits, build=build, build_cpus=0.05, on_cpu={(SLEEP,): 0.0, (BLUR,): 1.0}, cpus=1.0, cpus_busy=0.2)


@pytest.mark.parametrize("workers", [6, 7, 8])
def test_what_workers_wait_for_limits_and_not_the_cpus_that_they_leave_alone(workers: int) -> None:
    """All would keep more CPUs busy at once than there are, and yet a step waits for those that sleep."""
    more = predict(sleepy(), Change(workers=workers))
    assert (more.limited_by, more.short_of_cpus) == (SLEEP.name, False)
    assert may_lack_cpus(workers, sleepy()) and not more.slowed


def test_where_cpus_limit_the_stage_is_named_that_works_and_not_one_that_sleeps() -> None:
    """40 workers would build a batch each ms, and the CPU needs 2.5 ms for one."""
    more = predict(sleepy(), Change(workers=40))
    assert (more.limited_by, more.short_of_cpus) == (BLUR.name, True)
    assert more.slowed > 1


def test_workers_that_only_compute_are_limited_by_cpus_also_where_these_are_few_too_few() -> None:
    short = replace(loop(), cpus=3.0, own_ns=np.full(12, 1 * MS), measured_wait_ns=19 * MS)
    more = predict(short, Change(workers=4))
    assert (more.limited_by, more.short_of_cpus) == (BLUR.name, True)


def test_which_of_two_stages_limits_is_not_decided_by_where_the_window_happens_to_end() -> None:
    """With more workers, rare long reads hold back more than the sleep does; from some number of them on."""
    read = Stage("read", "file")
    ns = np.tile([30 * MS, 0.0], (24, 1))
    ns[[7, 15], 1] = 100 * MS
    uneven = replace(sleepy(), build=Timed(((SLEEP,), (read,)), ns), on_cpu={}, cpus=16.0)
    named = [predict(uneven, Change(workers=workers)).limited_by for workers in range(3, 10)]
    assert [name for name, _ in groupby(named)] == [SLEEP.name, read.name]


def test_how_much_of_a_stage_is_work_is_read_from_its_cpu_time() -> None:
    stages = {
        "sample::Pets": (0.0, 1.0, 0.4),
        "transform::Sleep": (0.0, 0.6, 0.0),
        "transform::Blur": (0.6, 0.4, 0.4),
    }
    found = fit_loop(results_of(input_bound(stages=stages, threads=0.4)))
    assert isinstance(found, Loop)
    shares = {path[-1].name: share for path, share in found.on_cpu.items()}
    assert shares["transform::Sleep"] == pytest.approx(0.0, abs=0.01)
    assert shares["transform::Blur"] == pytest.approx(1.0, abs=0.01)
    assert set(found.on_cpu) <= set(found.build.parts) | {path for path in found.on_cpu if path[-1].kind == "sample"}


def test_what_limits_says_still_of_the_stage_that_was_changed_and_cpus_where_they_are_short() -> None:
    made = [
        prediction(Change(stages=((BLUR.name, 0.5),)), BLUR.name),
        prediction(Change(workers=8), BLUR.name, short=True),
        prediction(Change(workers=2), BLUR.name),
        prediction(Change(workers=1), BLUR.name),
    ]
    assert sorted(_limits(made, loop())) == [
        "In each of the others, transform::Blur would be the next stage to make faster (by self time).",
        "With transform::Blur=0.5x, transform::Blur would still be the next stage to make faster (by self time).",
        "With workers=8, the CPUs limit: what helps is less work, most of all in transform::Blur (by self time).",
    ]


def test_cpus_do_not_limit_where_a_batch_takes_longest_from_its_worker_to_the_loop() -> None:
    """Cheap batches, which would keep two CPUs busy at once, were there not the 1.2 ms to receive each of them."""
    cheap = replace(
        loop(),
        settings=Settings(0, 2, True),
        build=Timed(((BLUR,),), np.tile([[0.25 * MS], [0.3 * MS]], (6, 1))),
        own_ns=np.tile([0.15 * MS, 0.2 * MS], 6),
        on_cpu={(BLUR,): 0.9},
        cpus=2.0,
        measured_step_ns=0.45 * MS,
        measured_wait_ns=0.275 * MS,
    )
    assert may_lack_cpus(1, cheap)
    made = [predict(cheap, Change(workers=workers)) for workers in (1, 2, 4)]
    assert {(one.limited_by, one.short_of_cpus) for one in made} == {(TRANSFER, False)}
    (text,) = _limits(made, cheap)
    assert text == "In each of them, sending batches from DataLoader workers and receiving them (transfer) limits."


def test_what_limits_goes_by_self_time_and_a_row_of_its_caller_may_save_more() -> None:
    """A stranger's read was named, and a row of the decoding that calls it had the shorter step."""
    sample, load, read = Stage("sample", "Pets"), Stage("decode", "load"), Stage("read", "fromfile")
    parts = ((Stage("wait", "DataLoader"), sample), (sample, load), (sample, load, read))
    nested = replace(loop(), build=Timed(parts, np.tile([4 * MS, 16 * MS, 20 * MS], (12, 1))))
    outer, inner = (predict(nested, Change(stages=((stage.name, 0.5),))) for stage in (load, read))
    assert outer.step_us.value < inner.step_us.value
    same = predict(nested, Change())
    assert same.limited_by == read.name
    assert limit_texts([same], nested) == [
        "With unchanged, read::fromfile would be the next stage to make faster (by self time).",
        "Self time is without what a stage calls; predictions for decode::load also change read::fromfile, which it "
        "calls.",
    ]
    flat = predict(loop(), Change(workers=1))
    assert limit_texts([flat], loop()) == [
        "With workers=1, transform::Blur would be the next stage to make faster (by self time)."
    ]
