"""The chain of a gap is of one batch, that which its wait received, and agrees with the data wait by stage."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.pipeline import analyse_file
from tests.conftest import GOLDEN
from tests.laws.test_analyses import capture_of, traces_with_workers
from tests.trace_builder import TraceBuilder

CAPTURES = sorted(GOLDEN.glob("*.gz"))
WITH_WORKERS = [GOLDEN / f"{name}.pt.trace.json.gz" for name in ("h100_pinned_workers1", "h100_resnet50_workers4")]


def gaps_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [gap for device in found["devices"] for gap in device["gaps"]]


def end_of(span: dict[str, Any]) -> float:
    return float(span["start_us"]) + float(span["duration_us"])


def overlap_us(one: dict[str, Any], other: dict[str, Any]) -> float:
    return min(end_of(one), end_of(other)) - max(float(one["start_us"]), float(other["start_us"]))


def check_chains(found: dict[str, Any]) -> None:
    has_stages = bool(found.get("loader", {}).get("wait_by_stage_us"))
    for gap in gaps_of(found):
        waited = gap["idle_by_cause_us"].get("data_wait", 0)
        if has_stages:
            assert (gap["stage"] != "") == (waited > 0)
            assert 0 <= gap["stage_us"] <= waited + 1e-3
        check_chain(gap.get("chain", {}))


def check_chain(chain: dict[str, Any]) -> None:
    sample, stage, batch = chain.get("sample"), chain.get("stage"), chain.get("batch")
    if sample:
        assert overlap_us(sample, chain["wait"]) > 0
    if chain.get("in_queue_us"):
        assert sample is None
    if batch is None:
        return
    if sample:
        assert sample["lane"] == batch["lane"]
        assert batch["start_us"] - 1e-3 <= sample["start_us"] and end_of(sample) <= end_of(batch) + 1e-3
        assert min(end_of(batch), end_of(chain["wait"])) > sample["start_us"]
    if stage and stage["lane"] == batch["lane"]:
        assert batch["start_us"] - 1e-3 <= stage["start_us"] and end_of(stage) <= end_of(batch) + 1e-3
    elif stage:
        assert stage["lane"] == chain["wait"]["lane"] and overlap_us(stage, chain["wait"]) > 0


@given(traces_with_workers())
@settings(deadline=None)
def test_a_chain_is_of_one_batch_and_a_data_wait_has_a_stage(builder: TraceBuilder) -> None:
    check_chains(capture_of(builder))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name.split(".")[0])
def test_so_it_is_in_every_real_capture(path: Path) -> None:
    check_chains(as_dict(analyse_file(path).capture))


@pytest.mark.parametrize("path", WITH_WORKERS, ids=lambda path: path.name.split(".")[0])
def test_the_trace_itself_says_that_the_sample_is_of_that_batch(path: Path) -> None:
    """Spans of DataLoader workers carry the number of their batch, which no analysis of chains reads."""
    found = as_dict(analyse_file(path).capture)
    spans = [event for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if event.get("args")]
    batches = {
        (event["args"]["index"], event["args"]["batch"])
        for event in spans
        if event["name"].startswith("sample::") and "batch" in event["args"]
    }
    chains = [gap["chain"] for gap in gaps_of(found) if "sample_index" in gap.get("chain", {})]
    assert all((chain["sample_index"], chain["batch_number"]) in batches for chain in chains)
    assert batches
