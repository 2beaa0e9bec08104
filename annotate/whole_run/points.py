"""What of an interval is shown: tags and values for TensorBoard's Scalars and Histograms, a line for the terminal."""

from __future__ import annotations

from typing import Final

from annotate.whole_run.scalars import histogram, scalar
from annotate.whole_run.tally import Facts, Tally

_PREFIX: Final = "data_pipeline"
_STAGES: Final = 12
"""Those that took longest."""
_OF_THE_MACHINE: Final = {
    "rss_bytes": ("memory/training_process_GB", 1e9),
    "workers_rss_bytes": ("memory/workers_GB", 1e9),
    "pss_bytes": ("memory/all_processes_pss_GB", 1e9),
    "shm_bytes": ("memory/shm_GB", 1e9),
    "device_memory_bytes": ("memory/device_GB", 1e9),
    "cpu_percent": ("cpu_percent", 1.0),
    "device_percent": ("device_percent", 1.0),
    "rchar_per_s": ("read_MB_per_s", 1e6),
    "read_bytes_per_s": ("read_from_disk_MB_per_s", 1e6),
    "gc_share": ("garbage_collector_share", 1.0),
    "gil_share": ("gil_wait_share", 1.0),
}
"""Name in the file -> tag, and what it is divided by."""


def numbers_of(tally: Tally, seconds: float) -> dict[str, float]:
    """Of one loader, by tag; what is not known is left out."""
    tally.fold()
    found: dict[str, float] = {}
    if tally.steps and tally.step_ns:
        name = _wait_tag(tally)
        found[f"{name}_share"] = tally.wait_ns / tally.step_ns
        found["step_time_ms"] = tally.step_ns / tally.steps / 1e6
        found[f"{name}_ms"] = tally.wait_ns / tally.steps / 1e6
        found["longest_step_ms"] = tally.longest_step_ns / 1e6
    if tally.steps and tally.others_wait_ns:
        found[f"{_wait_tag(tally)}_for_others_ms"] = tally.others_wait_ns / tally.steps / 1e6
    if tally.joined:
        found[f"joined_{_wait_tag(tally)}_ms"] = tally.joined_ns / tally.joined / 1e6
    if tally.samples and seconds:
        found["samples_per_s"] = tally.samples / seconds
    if tally.epochs:
        found["first_wait_s"] = tally.first_wait_ns / tally.epochs / 1e9
    if tally.asked:
        found["ready_batches"] = tally.ready / tally.asked
    built, build, starved = _work(tally)
    if build + starved:
        found["build_time_ms"] = build / built / 1e6
        found["worker_busy_share"] = build / (build + starved)
    if tally.serialised:
        found["serialise_ms"] = tally.serialise_ns / tally.serialised / 1e6
    if tally.raised:
        found["exceptions"] = tally.raised
    if tally.slow_samples:
        found["slowest_sample_ms"] = tally.slow_samples[0]["took_us"] / 1e3
    failures, samples = tally.failures + tally.other_failures, tally.measured_samples + tally.other_samples
    for tag, counts, of in (
        ("failures_per_1000_samples", failures, samples),
        ("retries_per_1000_samples", tally.retries, tally.measured_samples),
    ):
        for name, count in counts.most_common(_STAGES):
            found[f"{tag}/{name}"] = 1e3 * count / max(1, of)
    for name, time in sorted(tally.stage_ns.items(), key=lambda item: -item[1])[:_STAGES]:
        found[f"stage_ms/{name}"] = time / tally.measured / 1e6
    return found


def _wait_tag(tally: Tally) -> str:
    return "taking_thread_wait" if tally.whose == "fed" else "data_wait"


def _waits(tally: Tally, numbers: dict[str, float]) -> str:
    """How long who waited."""
    name = _wait_tag(tally)
    wait = f"{numbers[f'{name}_ms']:.3g} ms ({numbers[f'{name}_share']:.0%})"
    if tally.whose == "fed":
        return f"data wait unknown (another thread than the one that trains takes the batches, and waits {wait})"
    others = numbers.get("data_wait_for_others_ms")
    of_them = "" if others is None else f", {others:.3g} ms of it for other DataLoaders"
    return f"data wait {wait}{' of a thread that is not the main one' if tally.whose == 'elsewhere' else ''}{of_them}"


def _work(tally: Tally) -> tuple[int, int, int]:
    """Batches, nanoseconds of building and of the waits before: of all that are known, else of the measured."""
    if tally.all_built:
        return tally.all_built, tally.all_build_ns, tally.all_starved_ns
    return tally.built, tally.build_ns, tally.starved_ns


def line_of(tally: Tally, seconds: float, is_alone: bool = True) -> str:
    """The same for the terminal; "" for an interval without a whole step. `is_alone`: no other loader gave a batch."""
    numbers = numbers_of(tally, seconds)
    if "step_time_ms" in numbers:
        parts = [
            "1 step" if tally.steps == 1 else f"{tally.steps:,} steps",
            f"step {numbers['step_time_ms']:.3g} ms",
            _waits(tally, numbers),
        ]
    elif tally.joined:
        batches = "1 batch" if tally.joined == 1 else f"{tally.joined:,} batches"
        wait = f"{tally.joined_ns / tally.joined / 1e6:.3g} ms"
        parts = [f"{batches} in the steps of another DataLoader", f"each waited for {wait}"]
    else:
        return ""
    if "samples_per_s" in numbers:
        of = "" if is_alone else f" over all {seconds:.3g} s, in which other DataLoaders gave batches too"
        parts.append(f"{numbers['samples_per_s']:,.0f} samples/s{of}")
    if "ready_batches" in numbers:
        parts.append(f"{numbers['ready_batches']:.1f} batches ready")
    if "worker_busy_share" in numbers:
        built, _, _ = _work(tally)
        measured = "1 batch" if built == 1 else f"{built:,} batches"
        parts.append(f"DataLoader workers busy about {numbers['worker_busy_share']:.0%} (measured on {measured})")
    stage = next((name for name in numbers if name.startswith("stage_ms/")), None)
    if stage is not None:
        parts.append(f"{stage.removeprefix('stage_ms/')} {numbers[stage]:.3g} ms per batch")
    return ", ".join(parts)


def values_of(tally: Tally, seconds: float, prefix: str = _PREFIX) -> list[bytes]:
    """The points of one loader."""
    found = numbers_of(tally, seconds)
    points = [scalar(f"{prefix}/{name}", value) for name, value in found.items()]
    if tally.steps:
        points.append(histogram(f"{prefix}/step_times_ms", tally.step_times))
        points.append(histogram(f"{prefix}/{_wait_tag(tally)}s_ms", tally.wait_times))
    return points


def machine_values(machine: Facts) -> list[bytes]:
    return [
        scalar(f"{_PREFIX}/{tag}", machine[name] / unit)
        for name, (tag, unit) in _OF_THE_MACHINE.items()
        if name in machine
    ]


def prefix_of(loader: int, main: int) -> str:
    """Tags of the loader that most batches came from are plain; the others carry their number."""
    return _PREFIX if loader == main else f"{_PREFIX}_loader_{loader}"
