"""Information that is taken out of a good trace turns figures into "unknown, because ...", never into 0."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.pipeline import analyse, as_report
from tb_dataplugin.reader.kineto import trace_from_json
from tests.trace_builder import TraceBuilder

MAY_BE_NONE = (".window_start_us", ".h2d.launched")
"""A moment, and a count of what could be linked."""

Event = dict[str, Any]
Figures = dict[str, float]


def two_workers() -> dict[str, Any]:
    """Six steps of 100 us on a device, fed by two DataLoader workers with stages of their own."""
    builder = TraceBuilder(deviceProperties=[{"id": 0, "name": "GPU"}], distributedInfo={"rank": 1, "world_size": 2})
    builder.annotated(loaders=[{"batch_size": 4, "num_workers": 2}], host={"cores": 2}).worker(0).worker(1)
    for number in range(6):
        t = 100 * number + 100
        stages = {"sample::Pets": (t - 70, 95), "decode::PIL.Image": (t - 60, 60), "transform::Crop": (t + 1, 20)}
        builder.batch(number, number % 2, t - 90, t - 80, t + 28, t + 30, stages)
        builder.step(t, 100).wait(t, 40, "wait::DataLoader").stage("h2d::copy", t + 42, 5).memcpy(t + 44, 2)
        builder.operator(t + 48, 10).add("cuda_runtime", "cudaLaunchKernel", t + 50, 2, correlation=number)
        builder.add("kernel", "gemm", t + 60, 30, pid=0, tid=7, device=0, stream=7, correlation=number)
        builder.add("cuda_runtime", "cudaDeviceSynchronize", t + 58, 34)
    content: dict[str, Any] = json.loads(builder.json())
    return content


def real(name: str) -> Callable[[], dict[str, Any]]:
    path = Path(__file__).parents[1] / "golden" / "traces" / f"{name}.pt.trace.json.gz"
    return lambda: json.loads(gzip.decompress(path.read_bytes()))


SOURCES: dict[str, Callable[[], dict[str, Any]]] = {
    "two_workers": two_workers,
    "torch2_13_cpu_workers0": real("torch2_13_cpu_workers0"),
    "torch1_8_cpu_workers2": real("torch1_8_cpu_workers2"),
    "mi250_minitoy": real("mi250_minitoy"),
    "sampled_rank0": real("sampled_rank0"),
}


def without_events(unwanted: Callable[[Event], bool]) -> Callable[[dict[str, Any]], None]:
    def delete(trace: dict[str, Any]) -> None:
        trace["traceEvents"] = [event for event in trace["traceEvents"] if not unwanted(event)]

    return delete


def without_field(field: str) -> Callable[[dict[str, Any]], None]:
    def delete(trace: dict[str, Any]) -> None:
        for event in trace["traceEvents"]:
            event.pop(field, None)

    return delete


def without_arg(field: str) -> Callable[[dict[str, Any]], None]:
    def delete(trace: dict[str, Any]) -> None:
        for event in trace["traceEvents"]:
            if isinstance(event.get("args"), dict):
                event["args"].pop(field, None)

    return delete


def without_member(member: str) -> Callable[[dict[str, Any]], None]:
    return lambda trace: trace.pop(member, None)


def named(*parts: str) -> Callable[[Event], bool]:
    return lambda event: any(part in str(event.get("name")) for part in parts)


def of_category(*categories: str) -> Callable[[Event], bool]:
    return lambda event: str(event.get("cat")).lower() in categories


DELETIONS: dict[str, Callable[[dict[str, Any]], None]] = {
    "steps": without_events(named("ProfilerStep#")),
    "waits": without_events(named("enumerate(", "wait::")),
    "stages": without_events(named("sample::", "decode::", "transform::")),
    "operators": without_events(of_category("cpu_op", "operator")),
    "runtime": without_events(of_category("cuda_runtime", "cuda_driver", "runtime")),
    "kernels": without_events(of_category("kernel")),
    "copies": without_events(of_category("gpu_memcpy", "memcpy", "gpu_memset", "memset")),
    "device": without_events(of_category("kernel", "gpu_memcpy", "memcpy", "gpu_memset", "memset")),
    "metadata_events": without_events(lambda event: event.get("ph") == "M"),
    "categories": without_field("cat"),
    "names": without_field("name"),
    "durations": without_field("dur"),
    "processes": without_field("pid"),
    "threads": without_field("tid"),
    "args": without_field("args"),
    "correlation": without_arg("correlation"),
    "devices_of_kernels": without_arg("device"),
    "batch_numbers": without_arg("batch"),
    "indices": without_arg("index"),
    "annotate": without_member("dataPipeline"),
    "device_properties": without_member("deviceProperties"),
    "rank": without_member("distributedInfo"),
}


def capture_of(trace: dict[str, Any]) -> dict[str, Any]:
    built = trace_from_json(json.dumps(trace).encode(), Path("built.json"))
    captures: list[dict[str, Any]] = json.loads(as_json(as_report([analyse(built).capture])))["captures"]
    return captures[0]


def figures(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Numbers by path; those in lists of things that may come and go are left out, devices are not."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from figures(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value if path == ".devices" else ():
            yield from figures(inner, f"{path}[{inner['id']}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


@pytest.mark.one_of(2)
@pytest.mark.parametrize("deletion", DELETIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_what_is_taken_away_becomes_unknown_and_not_zero(source: str, deletion: str) -> None:
    whole = SOURCES[source]()
    less = deepcopy(whole)
    DELETIONS[deletion](less)
    before = dict(figures(capture_of(whole)))
    try:
        capture = capture_of(less)
    except Exception as error:
        assert type(error).__name__ == "UnreadableTrace", error
        assert "\n" not in str(error)
        return
    zeros = [
        path
        for path, value in figures(capture)
        if value == 0 and before.get(path, 0) != 0 and not path.endswith(MAY_BE_NONE)
    ]
    assert zeros == []
    gone = before.keys() - dict(figures(capture)).keys()
    assert not gone or capture["diagnostics"], gone
