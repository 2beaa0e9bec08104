"""Synthetic traces with planted idle time: what was planted, by cause and by stage, in microseconds.

python -m tests.planted    prints the table of docs/accuracy.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.pipeline import analyse
from tests.trace_builder import TraceBuilder

DTOH = "Memcpy DtoH (Device -> Pageable)"


@dataclass(frozen=True, slots=True)
class Planted:
    """`causes` are those of the device's idle time, `stages` the blame of its part that waits for data."""

    name: str
    trace: Callable[[], TraceBuilder]
    causes: Mapping[str, float]
    stages: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    causes: dict[str, float]
    stages: dict[str, float]


def look(case: Planted) -> Found:
    """What the report says of it; causes without any time are left out."""
    device = as_dict(analyse(case.trace().trace()).capture)["devices"][0]
    causes = {cause: us for cause, us in device["idle_by_cause_us"].items() if us}
    return Found(causes, dict(device["idle_by_stage_us"]))


def step() -> TraceBuilder:
    return TraceBuilder().step(0, 1000)


def ended_by_kernel(builder: TraceBuilder, launch: float, start: float, tid: int = 1) -> TraceBuilder:
    return builder.call("cudaLaunchKernel", launch, 5, 7, tid=tid).kernel(start, 1000 - start, correlation=7)


def fed_by_a_worker(
    stages: Mapping[str, tuple[float, float]],
    drawn: float = 0,
    ready: float = 0,
    finished: float = 500,
    started: float = 100,
    **more: Any,
) -> TraceBuilder:
    """A wait from 0 to 600 for a batch that a worker began at 100; the kernel is launched at 650 and starts at 660."""
    builder = step().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).wait(0, 600, "wait::DataLoader")
    builder.worker(0, started=min(ready, started)).batch(0, 0, drawn, started, finished, 599, dict(stages), **more)
    return ended_by_kernel(builder, 650, 660)


def zero_workers() -> TraceBuilder:
    builder = step().annotated(loaders=[{"num_workers": 0}]).wait(0, 600, "wait::DataLoader")
    builder.stage("sample::Pets", 50, 500).stage("transform::Crop", 100, 400).stage("decode::PIL.Image", 150, 300)
    return ended_by_kernel(builder, 650, 660)


def around_a_loader(*inner: tuple[float, float], wait: str = "wait::Packer") -> TraceBuilder:
    """A wait from 0 to 600 in an iterator around a loader without workers, whose own waits are `inner`."""
    builder = step().annotated(loaders=[{"name": "DataLoader", "num_workers": 0}]).wait(0, 600, wait)
    for start, end in inner:
        builder.wait(start, end - start).stage("sample::Pets", start + 10, end - start - 20)
    return ended_by_kernel(builder, 650, 660)


def slow_sampler() -> TraceBuilder:
    """The batch was ready; after it has arrived the next indices are drawn for 500 us."""
    builder = step().annotated(loaders=[{"name": "DataLoader", "num_workers": 1}]).worker(0)
    builder.wait(0, 600, "wait::DataLoader").wait(5, 590).stage("sampler::BySize", 50, 500)
    builder.batch(0, 0, -300, -300, -200, 599, {"sample::Pets": (-300, 100)})
    return ended_by_kernel(builder, 650, 660)


def on_its_way(pins: bool, **moments: float) -> TraceBuilder:
    """Finished at 100, consumed at 590 of a wait from 0 to 600."""
    settings = {"name": "DataLoader", "num_workers": 1, "pin_memory": pins}
    builder = step().annotated(loaders=[settings]).wait(0, 600, "wait::DataLoader").worker(0)
    builder.batch(0, 0, 0, 0, 100, 590, {"sample::Pets": (0, 100)}).moments(**moments)
    return ended_by_kernel(builder, 650, 660)


def limited_by(next_start: float, drawn: float = -20_000, **moments: float) -> TraceBuilder:
    """Batch 2 of worker 0 takes 6 ms from the end of its batch 0: 1 ms between stages, 1 ms reading, 4 ms decoding. It
    is finished 5 ms before the end of a wait of 600 us and is on its way since. The worker's next batch is drawn and
    begins then.
    """
    builder = step().annotated(loaders=[{"name": "DataLoader", "num_workers": 2}]).wait(0, 600, "wait::DataLoader")
    builder.worker(0, started=-30_000).worker(1, started=-30_000)
    builder.batch(0, 0, -20_000, -15_000, -10_400, -9_000).moments(**moments)
    builder.batch(
        2, 0, -20_000, -10_400, -4_400, 599, {"read::file": (-9_400, 1000), "decode::PIL.Image": (-8_400, 4000)}
    )
    builder.batch(4, 0, drawn, next_start, 9_000, None)
    return ended_by_kernel(builder, 650, 660)


def crowded(cores: int) -> TraceBuilder:
    """A batch is finished at 100 of a wait from 0 to 600, in which both DataLoader workers build. The training thread
    could run for 100 us of the window, and three quarters of that it waited for a CPU.
    """
    more: dict[str, Any] = {"host": {"cores": cores}, "training_thread": {"cpu_us": 25, "run_delay_us": 75}}
    loaders = [{"name": "DataLoader", "num_workers": 2}]
    builder = step().annotated(loaders=loaders, **more).wait(0, 600, "wait::DataLoader").worker(0).worker(1)
    builder.batch(0, 0, 0, 0, 100, 590, {"transform::Crop": (0, 100)})
    builder.batch(2, 0, 100, 100, 2_000, None, {"transform::Crop": (100, 1_800)})
    builder.batch(1, 1, 0, 0, 2_000, None, {"transform::Blur": (1, 1_900)})
    return ended_by_kernel(builder, 650, 660)


def read_back() -> TraceBuilder:
    builder = step().kernel(0, 100).call("cudaMemcpyAsync", 50, 200, 3)
    return builder.memcpy(100, 50, name=DTOH, correlation=3)


def several_gaps() -> TraceBuilder:
    """A wait and a copy; Python and a launch; a synchronisation, an operator and a launch."""
    builder = step().annotated().wait(0, 100).call("cudaMemcpyAsync", 100, 150, 1).memcpy(200, 50, correlation=1)
    builder.call("cudaLaunchKernel", 290, 10, 2).kernel(300, 100, correlation=2)
    builder.call("cudaStreamSynchronize", 310, 140).operator(460, 40).call("cudaLaunchKernel", 490, 10, 3)
    return builder.kernel(500, 500, correlation=3)


IN_A_WORKER = {"sample::Pets": (100.0, 400.0), "read::file": (110.0, 90.0), "decode::PIL.Image": (200.0, 300.0)}

CASES = (
    Planted(
        "worker decodes and reads",
        lambda: fed_by_a_worker(IN_A_WORKER),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"startup": 100, "sample::Pets": 10, "read::file": 90, "decode::PIL.Image": 300, "transfer": 100},
    ),
    Planted(
        "worker not ready until 60, and at work from 100",
        lambda: fed_by_a_worker({"sample::Pets": (100.0, 400.0)}, ready=60),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"startup": 100, "sample::Pets": 400, "transfer": 100},
    ),
    Planted(
        "worker without an index until 80",
        lambda: fed_by_a_worker({"sample::Pets": (100.0, 400.0)}, drawn=80),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"starved": 80, "transfer::index": 20, "sample::Pets": 400, "transfer": 100},
    ),
    Planted(
        "worker at rest: its index is on its way until 100, its stages begin at 150",
        lambda: fed_by_a_worker({"sample::Pets": (150.0, 350.0)}, ready=-1000),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"transfer::index": 100, "other": 50, "sample::Pets": 350, "transfer": 100},
    ),
    Planted(
        "slow way to the training thread",
        lambda: fed_by_a_worker({"sample::Pets": (100.0, 100.0)}, finished=200),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"startup": 100, "sample::Pets": 100, "transfer": 400},
    ),
    Planted(
        "no workers: stages in the waiting thread",
        zero_workers,
        {"data_wait": 600, "host": 50, "launch": 10},
        {"other": 100, "sample::Pets": 100, "transform::Crop": 100, "decode::PIL.Image": 300},
    ),
    Planted(
        "sampler in the training thread, beside a worker",
        slow_sampler,
        {"data_wait": 600, "host": 50, "launch": 10},
        {"sampler::BySize": 500, "transfer": 100},
    ),
    Planted(
        "iterator that packs two batches of a loader",
        lambda: around_a_loader((0, 200), (300, 500)),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"wrapper::Packer": 200, "sample::Pets": 360, "other": 40},
    ),
    Planted(
        "the same, before and after its first batch",
        lambda: around_a_loader((100, 300), wait="wait::Packer (first batch)"),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"other": 100 + 20, "sample::Pets": 180, "wrapper::Packer": 300},
    ),
    Planted(
        "recorded code of a generator around a loader",
        lambda: around_a_loader((100, 300)).stage("wrapper::pack", 50, 500),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"wrapper::pack": 50 + 250, "wrapper::Packer": 50 + 50, "sample::Pets": 180, "other": 20},
    ),
    Planted(
        "way to the training thread, every moment recorded",
        lambda: on_its_way(True, serialise_us=150, serialised_us=350, deserialise_us=380, arrived_us=480),
        {"data_wait": 600, "host": 50, "launch": 10},
        {
            "sample::Pets": 100,
            "transfer::serialise": 200,
            "transfer::queue": 50 + 30,
            "transfer::deserialise": 100,
            "transfer::pin": 120,
        },
    ),
    Planted(
        "the same without pinning, its end not seen in the worker",
        lambda: on_its_way(False, deserialise_us=380, arrived_us=480),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"sample::Pets": 100, "transfer": 280 + 120, "transfer::deserialise": 100},
    ),
    Planted(
        "throughput: the worker had its next index queued",
        lambda: limited_by(-4_300),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"decode::PIL.Image": 400, "read::file": 100, "other": 100},
    ),
    Planted(
        "the same, and it began late: it waited for a CPU",
        lambda: limited_by(-2_400),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"decode::PIL.Image": 400, "read::file": 100, "other": 100},
    ),
    Planted(
        "the same, and it serialised the batch before for 0.6 ms of the time between stages",
        lambda: limited_by(-4_300, serialise_us=-10_300, serialised_us=-9_700),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"decode::PIL.Image": 400, "read::file": 100, "transfer::queue": 10, "transfer::serialise": 60, "other": 30},
    ),
    Planted(
        "latency: drawn 1.2 ms before the wait, and still being built",
        lambda: fed_by_a_worker(
            {"read::file": (-1200, 600), "decode::PIL.Image": (-600, 900)}, drawn=-1200, finished=300, started=-1200
        ),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"read::file": 200, "decode::PIL.Image": 300, "transfer": 100},
    ),
    Planted(
        "latency: the worker waited 2 ms for its next index",
        lambda: limited_by(-2_400, drawn=-2_500),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"transfer": 600},
    ),
    Planted(
        "on its way while two workers hold both CPUs",
        lambda: crowded(2),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"transform::Crop": 100 + 187.5, "transform::Blur": 187.5, "transfer": 125},
    ),
    Planted(
        "the same with a third CPU",
        lambda: crowded(3),
        {"data_wait": 600, "host": 50, "launch": 10},
        {"transform::Crop": 100, "transfer": 500},
    ),
    Planted(
        "wait after the launch: exposed, not the cause",
        lambda: step().call("cudaLaunchKernel", 100, 5, 7).wait(105, 400).kernel(600, 400, correlation=7),
        {"host": 100, "launch": 500},
    ),
    Planted(
        "pageable copy, staged by the host",
        lambda: step().call("cudaMemcpyAsync", 100, 400, 7).memcpy(450, 50, correlation=7).kernel(500, 500),
        {"host": 100, "h2d": 350},
    ),
    Planted(
        "marked copy",
        lambda: ended_by_kernel(step().stage("h2d::batch", 100, 300), 500, 510),
        {"host": 200, "h2d": 300, "launch": 10},
    ),
    Planted(
        "device drained by a synchronisation",
        lambda: ended_by_kernel(step().kernel(0, 200).call("cudaDeviceSynchronize", 50, 250), 500, 510),
        {"sync": 100, "host": 200, "launch": 10},
    ),
    Planted(
        "scalar read back",
        lambda: ended_by_kernel(
            step().kernel(0, 100).call("cudaMemcpyAsync", 50, 200, 3).memcpy(100, 50, name=DTOH, correlation=3),
            300,
            310,
        ),
        {"sync": 100, "host": 50, "launch": 10},
    ),
    Planted(
        "operators slower than the device",
        lambda: ended_by_kernel(step().operator(0, 500), 490, 500),
        {"launch": 500},
    ),
    Planted(
        "backward thread launches",
        lambda: ended_by_kernel(step().operator(200, 300, "AddmmBackward0", tid=2), 490, 500, tid=2),
        {"host": 200, "launch": 300},
    ),
    Planted(
        "Python between operators",
        lambda: ended_by_kernel(step().operator(0, 100), 500, 510),
        {"launch": 100 + 10, "host": 400},
    ),
    Planted(
        "blocked in a collective",
        lambda: ended_by_kernel(
            step().stage("nccl:all_reduce", 100, 300).call("cudaStreamSynchronize", 150, 200), 500, 510
        ),
        {"comm": 200, "host": 300, "launch": 10},
    ),
    Planted(
        "queued before the gap began",
        lambda: (
            step()
            .call("cudaLaunchKernel", 0, 5, 1)
            .call("cudaLaunchKernel", 5, 5, 2)
            .kernel(0, 400, correlation=1)
            .kernel(500, 500, correlation=2)
        ),
        {"launch": 100},
    ),
    Planted(
        "three gaps in turn",
        several_gaps,
        {"data_wait": 100, "h2d": 100, "host": 40 + 10, "launch": 10 + 40, "sync": 50},
    ),
    Planted("no host events", lambda: TraceBuilder().kernel(0, 400).kernel(600, 400), {"unknown": 200}),
)


def markdown() -> str:
    """One row per case."""
    lines = ["| planted | cause: planted | reported | stage: planted | reported |", "|---|---|---|---|---|"]
    for case in CASES:
        found = look(case)
        cells = (case.causes, found.causes, case.stages, found.stages)
        lines.append(f"| {case.name} | " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines)


def _cell(times: Mapping[str, float]) -> str:
    ordered = sorted(times.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{name} {time:g}" for name, time in ordered) or "–"


if __name__ == "__main__":
    print(markdown())
