"""What is summed up between two lines of a run's file: numbers that can be added to those of other lines."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, Final

_PER_OCTAVE: Final = 4
"""Buckets of a histogram while the time doubles: a percentile read from it is within 9% of the true one."""

Facts = dict[str, Any]
"""Something that JSON can hold."""


def bucket_of(time_ns: int) -> int:
    """The bucket of a time: its upper edge is ``2 ** (bucket / 4)`` microseconds."""
    return 0 if time_ns <= 1000 else math.ceil(math.log2(time_ns / 1000) * _PER_OCTAVE)


def upper_edge_us(bucket: int) -> float:
    return float(2 ** (bucket / _PER_OCTAVE))


class Tally:
    """Of one loader, since its last line; times in nanoseconds."""

    def __init__(self) -> None:
        self.steps = self.step_ns = self.wait_ns = self.longest_step_ns = self.longest_wait_ns = 0
        self.samples = 0
        self.unused_steps = 0
        """Handed out while a profiler recorded, or after another loader's batches: their time says nothing."""
        self.epochs = self.first_wait_ns = 0
        self.ready = 0
        """Finished batches that lay ready as the loop asked, summed over the steps with workers."""
        self.asked = 0
        self.built = self.build_ns = self.starved_ns = 0
        self.measured = self.deserialise_ns = self.serialised = self.serialise_ns = 0
        self.stage_ns: Final[defaultdict[str, int]] = defaultdict(int)
        self.step_times: Final[defaultdict[int, int]] = defaultdict(int)
        self.wait_times: Final[defaultdict[int, int]] = defaultdict(int)
        self.stalls = 0

    def add_step(self, step_ns: int, wait_ns: int) -> None:
        self.steps += 1
        self.step_ns += step_ns
        self.wait_ns += wait_ns
        self.longest_step_ns = max(self.longest_step_ns, step_ns)
        self.longest_wait_ns = max(self.longest_wait_ns, wait_ns)
        self.step_times[bucket_of(step_ns)] += 1
        self.wait_times[bucket_of(wait_ns)] += 1

    @property
    def is_empty(self) -> bool:
        return not (self.steps or self.built or self.unused_steps or self.epochs)

    def facts(self, loader: int) -> Facts:
        """As it stands in the file: what is 0 is left out; times in microseconds."""
        numbers: Facts = {
            "steps": self.steps, "samples": self.samples, "unused_steps": self.unused_steps, "epochs": self.epochs,
            "step_us": _us(self.step_ns), "wait_us": _us(self.wait_ns), "first_wait_us": _us(self.first_wait_ns),
            "longest_step_us": _us(self.longest_step_ns), "longest_wait_us": _us(self.longest_wait_ns),
            "ready": self.ready, "asked": self.asked, "built": self.built, "build_us": _us(self.build_ns),
            "starved_us": _us(self.starved_ns), "measured": self.measured, "deserialise_us": _us(self.deserialise_ns),
            "serialised": self.serialised, "serialise_us": _us(self.serialise_ns), "stalls": self.stalls,
            "stage_us": {name: _us(time) for name, time in self.stage_ns.items()},
            "step_times": {str(bucket): count for bucket, count in sorted(self.step_times.items())},
            "wait_times": {str(bucket): count for bucket, count in sorted(self.wait_times.items())},
        }  # fmt: skip
        return {"loader": loader, **{name: value for name, value in numbers.items() if value}}


def _us(time_ns: int) -> float:
    return round(time_ns / 1000, 1)


def merged(first: Facts, second: Facts) -> Facts:
    """Two intervals, one after the other, as one: counts are added, the longest and the latest are kept."""
    loaders = {each["loader"]: each for each in first["loaders"]}
    for each in second["loaders"]:
        known = loaders.get(each["loader"])
        loaders[each["loader"]] = each if known is None else _added(known, each)
    machine = {**first.get("machine", {}), **second.get("machine", {})}
    return {**first, "to": second["to"], "loaders": [loaders[key] for key in sorted(loaders)], "machine": machine}


def _added(first: Facts, second: Facts) -> Facts:
    total = dict(first)
    for name, value in second.items():
        before = total.get(name)
        if name == "loader" or before is None:
            total[name] = value
        elif isinstance(value, dict):
            total[name] = {key: round(before.get(key, 0) + value.get(key, 0), 1) for key in {**before, **value}}
        else:
            total[name] = max(before, value) if name.startswith("longest") else round(before + value, 1)
    return total
