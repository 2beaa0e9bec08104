"""Figures of real traces that somebody else made, against figures that somebody else computed."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.pipeline import analyse_file
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
    assert found["findings"] == []


def test_alexnet_busy_time_agrees_with_hta_without_its_sync_records() -> None:
    # HTA 0.5.0 counts 66 327 us with `cuda_sync` records as activity and 66 141 us without.
    found = capture("alexnet_no_steps")
    assert found["devices"][0]["busy_us"] == 66_141
    assert "steps" not in found
    assert "no_steps" in {one["code"] for one in found["diagnostics"]}


@pytest.mark.filterwarnings("ignore")  # the peer's own
@pytest.mark.parametrize("workers", [0, 4])
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
