"""What libraries take to read and decode, and how much of it has a name: one pipeline per library, on real files.

    python benchmarks/readers_seen.py [--samples 30] [--only h5py,zarr] [--markdown]

Each dataset is written as the library's documentation has it. The columns: the share of a sample's time that is in no
span below `sample`; microseconds of a sample; the stages below it; whether the results are bit for bit those without
annotate, and of the same types. Each number is the median over the samples: others may use the machine. Libraries that
are not installed are left out. The files are small and in the page cache: this is about names, not about speed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import annotate
from benchmarks.readers_seen_base import Pipeline
from benchmarks.readers_seen_pipelines import PIPELINES


class Seen(NamedTuple):
    """One library's row."""

    library: str
    no_name: float
    """Share of the samples' time."""
    sample_us: float
    """Microseconds of a sample."""
    stages: dict[str, float]
    """Share of those below `sample`, the largest first."""
    same: bool
    notes: list[str]
    """Of the trace."""


def spans_by_thread(trace: dict[str, Any]) -> list[list[dict[str, Any]]]:
    threads: dict[object, list[dict[str, Any]]] = {}
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") == "user_annotation" and "::" in event["name"]:
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
    return [sorted(found, key=lambda e: (float(e["ts"]), -float(e["dur"]))) for found in threads.values()]


def shares_by_sample(events: list[dict[str, Any]]) -> list[dict[str, float]]:
    """Of each sample, its microseconds by the deepest span (under "") and all in all (under "total")."""
    samples: list[dict[str, float]] = []
    open_spans: list[tuple[str, float]] = []
    for event in events:
        begin, took = float(event["ts"]), float(event["dur"])
        while open_spans and open_spans[-1][1] <= begin:
            open_spans.pop()
        if event["name"].startswith("sample::"):
            samples.append(defaultdict(float, {"": took, "total": took}))
            open_spans = [("", begin + took)]
        elif open_spans:
            samples[-1][event["name"]] += took
            samples[-1][open_spans[-1][0]] -= took
            open_spans.append((event["name"], begin + took))
    return samples


def canonical(value: Any) -> Any:
    """Type, and bytes or repr."""
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [canonical(item) for item in value]
    numpy = getattr(value, "numpy", None)
    array = numpy() if callable(numpy) else value
    return type(value).__name__, array.tobytes() if hasattr(array, "tobytes") else repr(value)


def see(library: str, pipeline: Pipeline, folder: Path, samples: int) -> Seen:
    ds = pipeline(folder)
    plain = [canonical(ds[index % len(ds)]) for index in range(samples)]
    annotate.dataset(ds)
    with annotate.profile(folder / "run", wait=0, warmup=0, active=1) as prof:
        recorded = [canonical(ds[index % len(ds)]) for index in range(samples)]
        for index in range(samples):  # measured: nothing between samples that empties the CPU's caches
            ds[index % len(ds)]
        prof.step()
    with gzip.open(prof.trace_files[-1]) as file:
        trace = json.load(file)
    found = [sample for events in spans_by_thread(trace) for sample in shares_by_sample(events)][-samples:]
    names = {name for sample in found for name in sample} - {"", "total"}
    stages = {name: median(sample.get(name, 0.0) / sample["total"] for sample in found) for name in names}
    return Seen(
        library,
        median(sample[""] / sample["total"] for sample in found),
        median(sample["total"] for sample in found),
        dict(sorted(stages.items(), key=lambda stage: -stage[1])),
        recorded == plain,
        trace["dataPipeline"]["notes"],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--only", default="", help="libraries, with commas between them")
    parser.add_argument("--markdown", action="store_true", help="print the rows of the table in docs/readers.md")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(PIPELINES)
    wrong = 0
    for library in wanted:
        with tempfile.TemporaryDirectory() as folder:
            try:
                seen = see(library, PIPELINES[library], Path(folder), options.samples)
            except ImportError as error:
                print(f"| {library} | not installed: {error} |", file=sys.stderr)
                continue
        wrong += not seen.same
        row = (
            library,
            f"{seen.no_name:.0%}",
            f"{seen.sample_us:.0f}",
            ", ".join(f"{name} {share:.0%}" for name, share in list(seen.stages.items())[:4]),
            "yes" if seen.same else "NO",
        )
        print("| " + " | ".join(row) + " |" if options.markdown else "{:24}{:>6}{:>8}  {}  same: {}".format(*row))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
