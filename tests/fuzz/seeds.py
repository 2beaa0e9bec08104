"""Real traces cut down to a few events, as the text that their writers laid out."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.mutate import damage_one
from tests.trace_builder import TraceBuilder, training_run

GOLDEN = Path(__file__).parents[1] / "golden" / "traces"
EVENTS = 60
LARGE = 1 << 20  # bytes of a gzipped trace that takes long to cut down


@dataclass(frozen=True)
class Seed:
    """`head`, the elements of `traceEvents` with commas between them, and `tail` are the text of a trace."""

    name: str
    head: str
    elements: tuple[str, ...]
    tail: str

    @property
    def text(self) -> bytes:
        return self.with_elements(self.elements)

    @property
    def names(self) -> list[Any]:
        return [json.loads(one, strict=False).get("name") for one in self.elements]

    def damaged(self, random: Random) -> tuple[int, bytes]:
        """Damage to one element, and which one."""
        row = random.randrange(len(self.elements))
        damaged = damage_one(self.elements[row], random)
        return row, self.with_elements((*self.elements[:row], damaged, *self.elements[row + 1 :]))

    def with_elements(self, elements: tuple[str, ...]) -> bytes:
        return (self.head + ",\n".join(elements) + self.tail).encode("utf-8", "replace")


def cut_down(name: str, text: str, events: int = EVENTS) -> Seed:
    """A few events of every kind in the trace, evenly chosen; launches keep what they launched."""
    begin = text.index("[", text.index('"traceEvents"')) + 1
    texts, values, end = _elements(text, begin)
    chosen = sorted(_chosen(values, events))
    return Seed(name, text[:begin], tuple(texts[row] for row in chosen), text[end:])


def _elements(text: str, at: int) -> tuple[list[str], list[Any], int]:
    decoder, texts, values = json.JSONDecoder(strict=False), list[str](), list[Any]()
    while True:
        while text[at] in ", \n\r\t":
            at += 1
        if text[at] == "]":
            return texts, values, at
        value, end = decoder.raw_decode(text, at)
        texts.append(text[at:end])
        values.append(value)
        at = end


def _chosen(values: list[Any], events: int) -> set[int]:
    kinds: dict[Any, list[int]] = {}
    linked: dict[Any, list[int]] = {}
    for row, value in enumerate(values):
        args = value.get("args") or {}
        kinds.setdefault((value.get("ph"), value.get("cat"), _stem(value.get("name"))), []).append(row)
        linked.setdefault(args.get("correlation", args.get("External id")), []).append(row)
    most = max(2, events // max(1, len(kinds)))
    rows = [row for found in kinds.values() for row in found[:: max(1, len(found) // most)][:most]]
    rows = rows[:: max(1, len(rows) // events)]
    steps = [row for row, value in enumerate(values) if _stem(value.get("name")) in ("ProfilerStep", "enumerate(")]
    partners = [other for row in rows[:20] for other in _partners(values[row], linked)]
    return {*rows, *steps[:8], *partners}


def _partners(value: Any, linked: dict[Any, list[int]]) -> list[int]:
    correlation = (value.get("args") or {}).get("correlation")
    return [] if correlation is None else linked[correlation][:3]


def _stem(name: object) -> str:
    name = str(name)
    return next((stem for stem in ("ProfilerStep", "enumerate(", "sample::", "decode::") if name.startswith(stem)), "")


def _built() -> TraceBuilder:
    """Workers, batches with costs, counters, copies and pairs in one trace."""
    builder = training_run(3).worker(0).worker(1)
    for number in range(4):
        t = 60 * number
        stages = {"sample::Pets": (t, 40.0, 20.0, 100.0), "decode::PIL": (t + 5, 20.0, 10.0, 50.0)}
        told = {"process_cpu_us": 30.0, "run_delay_us": 2.0, "voluntary_switches": 1, "read_bytes": 4096}
        builder.batch(number, number % 2, t, t, t + 45, t + 50 if number < 3 else None, stages, **told)
    for t in range(0, 300, 50):
        builder.counter("host::cpu", t, **{"core 0": 50.0, "core 1": 10.5}).counter("host::memory", t, used_bytes=1e9)
        builder.call("cudaLaunchKernel", t + 1, 3, 100 + t).kernel(t + 5, 10, correlation=100 + t)
        builder.call("cudaMemcpyAsync", t + 20, 3, 101 + t).memcpy(t + 22, 5, correlation=101 + t, bytes=1 << 20)
    for ph, ts in (("B", 3), ("E", 30), ("b", 40), ("e", 50)):
        builder.events.append({"ph": ph, "cat": "cpu_op", "name": "pair", "pid": 1, "tid": 1, "id": 4, "ts": ts})
    return builder


def built() -> Seed:
    return cut_down("built", _built().json().decode(), 200)


def seeds(large: bool = True) -> list[Seed]:
    """Of every real trace, and of a built one. `large`: also of those that take seconds to cut down."""
    found = [built()]
    for path in sorted(GOLDEN.glob("*.json.gz")):
        if large or path.stat().st_size < LARGE:
            with gzip.open(path) as file:
                found.append(cut_down(path.name, file.read().decode("utf-8", "replace")))
    return found
