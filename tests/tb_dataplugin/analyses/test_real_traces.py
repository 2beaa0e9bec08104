"""Figures of real traces that somebody else made, against figures that somebody else computed."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tb_dataplugin.analyses.device_idle import find_device_idle
from tb_dataplugin.analyses.launches import find_gap_ends
from tb_dataplugin.analyses.steps import find_window
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.reader import read_trace
from tests.conftest import GOLDEN

ROLES = ("kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_op", "other", "total")
"""Order of torch_tb_profiler's costs."""

ALL = sorted(path.name for path in GOLDEN.glob("*.gz"))


@functools.cache
def capture(name: str) -> dict[str, Any]:
    file = name if name.endswith(".gz") else f"{name}.pt.trace.json.gz"
    return as_dict(analyse_file(GOLDEN / file).capture)


def test_v100_without_workers() -> None:
    found = capture("v100_resnet50_workers0")
    device, loader = found["devices"][0], found["loader"]
    assert found["window_us"] == 1_049_317
    assert (device["busy_us"], device["kernel_busy_us"]) == (587_982, 575_962)
    assert (device["idle_us"], device["gap_count"], device["longest_gap_us"]) == (461_335, 7_739, 69_076)
    assert (loader["wait_us"], loader["exposed_wait_us"]) == (415_791, 355_571)


def test_v100_with_four_workers() -> None:
    found = capture("v100_resnet50_workers4")
    device, loader = found["devices"][0], found["loader"]
    assert found["window_us"] == 838_490
    assert (device["busy_us"], device["idle_us"]) == (606_972, 231_518)
    assert (loader["wait_us"], loader["exposed_wait_us"]) == (8_522, 7_117)


def test_the_verdict_on_four_workers_is_not_data() -> None:
    found = capture("v100_resnet50_workers4")
    assert "not the bottleneck" in found["verdict"]["sentence"]
    assert found["verdict"]["bound"] not in ("read", "cpu", "transfer")
    assert found["verdict"]["bound"] == "host"
    assert "the host launches operators more slowly" in found["verdict"]["sentence"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("v100_resnet50_workers0", {"data_wait": 352_401, "launch": 93_518, "host": 14_321, "h2d": 1_041, "sync": 54}),
        ("v100_resnet50_workers4", {"launch": 151_181, "h2d": 37_614, "host": 35_561, "data_wait": 7_101, "sync": 61}),
        ("mi250_minitoy", {"launch": 8_363.749, "host": 803.972, "h2d": 57.611}),
        # 30 s of this is `aten::empty_strided`, which initialises CUDA, and 10 s the first convolution.
        ("alexnet_no_steps", {"launch": 43_288_379, "host": 68_678, "h2d": 1_946, "sync": 153, "unknown": 68}),
        ("sampled_rank0", {"launch": 464_520, "host": 217_896, "h2d": 129, "sync": 88}),
    ],
)
def test_causes_of_idle_time(name: str, expected: dict[str, float]) -> None:
    causes = capture(name)["devices"][0]["idle_by_cause_us"]
    assert {cause: us for cause, us in causes.items() if us} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "host_wait", "other"), [("v100_resnet50_workers0", 382_676, 0), ("v100_resnet50_workers4", 175_026, 1_469)]
)
def test_gaps_whose_launch_came_late_are_the_host_wait_of_hta(name: str, host_wait: int, other: int) -> None:
    """HTA 0.5.0, its last step included, begins at the first kernel: the gap before that is ours alone."""
    trace = read_trace(GOLDEN / f"{name}.pt.trace.json.gz")
    window = find_window(trace)
    assert not isinstance(window, Unavailable)
    (device,) = found if not isinstance(found := find_device_idle(trace, window), Unavailable) else ()
    ends = find_gap_ends(trace, device.device, device.gaps)
    late = trace.events.start_ns[ends.launch] > device.gaps.start
    assert device.gaps.durations[late].sum() - device.gaps.durations[0] == 1000 * host_wait
    long = device.gaps.durations >= 30_000
    assert device.gaps.durations[~late & long].sum() == 1000 * other


def test_the_data_wait_of_four_workers_is_under_one_point() -> None:
    found = capture("v100_resnet50_workers4")
    assert found["devices"][0]["idle_by_cause_us"]["data_wait"] < 0.01 * found["window_us"]


def test_alexnet_busy_time_agrees_with_hta_without_its_sync_records() -> None:
    # HTA 0.5.0 counts 66 327 us with `cuda_sync` records as activity and 66 141 us without.
    found = capture("alexnet_no_steps")
    assert found["devices"][0]["busy_us"] == 66_141
    assert "steps" not in found
    assert "no_steps" in {one["code"] for one in found["diagnostics"]}


@pytest.mark.filterwarnings("ignore")  # the peer's own
@pytest.mark.parametrize("workers", [0, pytest.param(4, marks=pytest.mark.thorough)])
def test_exposed_wait_agrees_with_torch_tb_profiler(workers: int) -> None:
    """Its `DataLoader` part of a step is loader time without device activity or runtime calls: our exposed wait."""
    data = pytest.importorskip("torch_tb_profiler.profiler.data")
    name = f"v100_resnet50_workers{workers}"
    peer = data.RunProfileData.parse("worker0", 0, str(GOLDEN / f"{name}.pt.trace.json.gz"), None)
    peer.process()
    loader_time = peer.avg_costs.costs[ROLES.index("dataloader")] * len(peer.steps_costs)
    assert capture(name)["loader"]["exposed_wait_us"] == pytest.approx(loader_time, abs=1)


@pytest.mark.parametrize("name", ALL)
def test_laws_hold_on_every_real_trace(name: str) -> None:
    found = capture(name)
    for device in found["devices"]:
        assert device["busy_us"] + device["idle_us"] == pytest.approx(found["window_us"], abs=1e-3)
        assert sum(device["idle_by_cause_us"].values()) == pytest.approx(device["idle_us"], abs=1e-3)
        if len(device["gaps"]) == device["gap_count"]:
            assert sum(gap["duration_us"] for gap in device["gaps"]) == pytest.approx(device["idle_us"], abs=1e-3)
    loader = found.get("loader")
    if loader and loader["wait_by_stage_us"]:
        assert sum(loader["wait_by_stage_us"].values()) == pytest.approx(loader["wait_us"], abs=1e-3)


@pytest.mark.parametrize("name", ALL)
def test_what_is_absent_has_a_reason(name: str) -> None:
    found = capture(name)
    codes = {one["code"] for one in found["diagnostics"]}
    assert ("no_device_activity" in codes) == (not found["devices"])
    assert ("no_steps" in codes) == ("steps" not in found)
    assert bool(codes & {"no_loader_spans", "no_training_thread"}) == ("loader" not in found)
    assert ("no_stage_markers" in codes) == (not found["stages"])


def test_an_h100_that_waits_for_workers_has_its_idle_time_by_cause_stage_and_sample() -> None:
    """Its program, and what was measured beside it: docs/accuracy.md, "On a device"."""
    found = capture("h100_resnet50_workers4")
    (device,) = found["devices"]
    causes, stages = device["idle_by_cause_us"], device["idle_by_stage_us"]
    assert sum(causes.values()) == pytest.approx(device["idle_us"])
    assert max(causes, key=causes.__getitem__) == "data_wait"
    assert max(stages, key=stages.__getitem__) == "decode::PIL.Image"
    longest = device["gaps"][:3]
    assert [(gap["cause"], gap["stage"]) for gap in longest] == [("data_wait", "decode::PIL.Image")] * 3
    assert all(gap["chain"]["sample_index"] % 16 == 0 for gap in longest)  # each sixteenth file is 18 times as large
    assert longest[0]["chain"]["files"] == ["/data/photos/0224.jpg"]
    assert "too_few_workers" in {finding["rule"] for finding in found["findings"]}


def test_an_h100_that_waits_for_pinning_has_all_of_its_wait_there() -> None:
    waits = capture("h100_pinned_workers1")["loader"]["wait_by_stage_us"]
    assert max(waits, key=waits.__getitem__) == "transfer::pin" and waits["transfer::pin"] > 220_000
