"""What is summed up between two lines of a run's file: numbers that can be added to those of other lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import repeat
from typing import Any, Final

from annotate.recording.takers import Counts, Whose

_PER_OCTAVE: Final = 4
"""Buckets of a histogram while the time doubles: a percentile read from it is within 9% of the true one."""

_EDGES_NS: Final = [1000 * 2 ** (bucket / _PER_OCTAVE) for bucket in range(40 * _PER_OCTAVE)]
MOST_SLOW: Final = 5
"""Samples of an interval that are kept, the slowest."""
_AT_ONCE: Final = 64
"""Steps that are summed up together: a batch costs two places in a list."""

Step = tuple[int, int, int]
"""Its time and its data wait in nanoseconds; samples."""
Facts = dict[str, Any]
"""Something that JSON can hold."""


def bucket_of(time_ns: int) -> int:
    """The bucket of a time: its upper edge is ``2 ** (bucket / 4)`` microseconds."""
    return bisect_left(_EDGES_NS, time_ns)


def upper_edge_us(bucket: int) -> float:
    return float(2 ** (bucket / _PER_OCTAVE))


class Tally:
    """Of one loader, since its last line; times in nanoseconds."""

    def __init__(self) -> None:
        self.steps = self.step_ns = self.wait_ns = self.longest_step_ns = self.longest_wait_ns = 0
        self.samples = 0
        self.unused_steps = 0
        """Handed out while a profiler recorded, or after another loader's batches, to the same thread, where those do
        not come in most steps: their time says nothing."""
        self.profiled_steps = 0
        """Of those: the ones that a profiler or other work of ours made longer."""
        self.others_wait_ns = 0
        """Of `wait_ns`: waits for batches of other loaders, which come in most steps."""
        self.joined = self.joined_ns = 0
        """Its batches that came in steps of another loader, and the waits for them; without first ones of epochs."""
        self.other_ns = 0
        """In those, and in the last step of each epoch, which no batch follows."""
        self.beside_ns = 0
        """In all steps, and waits for a first batch, during which another thread took a batch of another iterator: so
        much of them, at most, is in the times of that one as well."""
        self.profiled_samples = self.profiled_ns = 0
        """In steps, and waits for a first batch, that a profiler or other work of ours made longer."""
        self.taken = Counts(0, 0, 0)
        """By which threads."""
        self.epochs = self.first_waits = self.first_wait_ns = 0
        """`first_waits`: epochs that began while no profiler recorded, and whose waits are known."""
        self.made = 0
        """Loaders that were iterated for the first time: more than one where the program makes this one anew."""
        self.between = self.between_ns = self.longest_between_ns = 0
        """Before its epochs: from where an epoch before, of any loader, was over to ``iter(loader)``; where no other
        thread took batches meanwhile."""
        self.ready = 0
        """Times that the loop asked for a batch while one lay ready, summed over `asked` batches: on average, as many
        lie ready as the loop asks."""
        self.asked = 0
        self.built = self.build_ns = self.starved_ns = 0
        self.build_squares = self.starved_squares = self.build_starved = 0
        """Sums of squares and of the products, from which follows how sure the share of both times is."""
        self.all_built = self.all_build_ns = self.all_starved_ns = 0
        """The same of every batch that its worker has told of, whether it was measured or not."""
        self.measured = self.deserialise_ns = self.serialised = self.serialise_ns = 0
        self.stage_ns: Final[defaultdict[str, int]] = defaultdict(int)
        self.step_times: Final[Counter[int]] = Counter()
        self.wait_times: Final[Counter[int]] = Counter()
        self.stalls = 0
        self.raised = 0
        """Times that an exception came to the loop in place of a batch."""
        self.measured_samples = 0
        self.failures: Final[Counter[str]] = Counter()
        self.retries: Final[Counter[str]] = Counter()
        """By stage, in the measured batches, and in the last ones of DataLoader workers that end with the epoch."""
        self.other_samples = 0
        self.other_failures: Final[Counter[str]] = Counter()
        """In those that were not measured, as far as DataLoader workers notice."""
        self.slow_samples: list[Facts] = []
        """The slowest first."""
        self._steps: list[int] = []
        self._waits: list[int] = []
        """Of the latest steps, which the sums do not hold before `fold`."""

    def add_step(self, step_ns: int, wait_ns: int) -> None:
        self._waits.append(wait_ns)
        self._steps.append(step_ns)
        if len(self._steps) >= _AT_ONCE:
            self.fold()

    def add_steps(self, several: list[Step]) -> None:
        """As they were put down by the loop, which does no arithmetic."""
        steps, waits, samples = zip(*several, strict=True)
        self._steps.extend(steps)
        self._waits.extend(waits)
        self.samples += sum(samples)
        self.fold()

    def add_between(self, time_ns: int) -> None:
        """Since an epoch before; less than nothing where its iterator was made while that went on."""
        time_ns = max(0, time_ns)
        self.between += 1
        self.between_ns += time_ns
        self.longest_between_ns = max(self.longest_between_ns, time_ns)

    def add_built(self, build_ns: int, starved_ns: int) -> None:
        self.built += 1
        self.build_ns += build_ns
        self.starved_ns += starved_ns
        self.build_squares += build_ns * build_ns
        self.starved_squares += starved_ns * starved_ns
        self.build_starved += build_ns * starved_ns

    def add_all(self, batches: int, build_ns: int, starved_ns: int) -> None:
        self.all_built += batches
        self.all_build_ns += build_ns
        self.all_starved_ns += starved_ns

    def add_slow_samples(self, several: list[Facts]) -> None:
        self.slow_samples = slowest([*self.slow_samples, *several])

    def fold(self) -> None:
        """Bring the sums up to date."""
        steps, waits, self._steps, self._waits = self._steps, self._waits, [], []
        if not steps:
            return
        self.steps += len(steps)
        self.step_ns += sum(steps)
        self.wait_ns += sum(waits)
        self.longest_step_ns = max(self.longest_step_ns, *steps)
        self.longest_wait_ns = max(self.longest_wait_ns, *waits)
        self.step_times.update(map(bisect_left, repeat(_EDGES_NS), steps))
        self.wait_times.update(map(bisect_left, repeat(_EDGES_NS), waits))

    @property
    def is_empty(self) -> bool:
        steps = self.steps or self._steps or self.unused_steps or self.joined
        return not (steps or self.built or self.epochs or self.raised)

    @property
    def whose(self) -> Whose:
        """Whose waits these are."""
        return self.taken.whose(self.steps + self.unused_steps + self.joined + self.epochs)

    def facts(self, loader: int) -> Facts:
        """As it stands in the file: what is 0 is left out; times in microseconds."""
        self.fold()
        numbers: Facts = {
            "steps": self.steps, "samples": self.samples, "unused_steps": self.unused_steps, "epochs": self.epochs,
            "joined": self.joined, "joined_wait_us": _us(self.joined_ns), "others_wait_us": _us(self.others_wait_ns),
            "other_us": _us(self.other_ns), "beside_us": _us(self.beside_ns),
            "profiled_steps": self.profiled_steps, "profiled_samples": self.profiled_samples,
            "profiled_us": _us(self.profiled_ns), "made": self.made, "between": self.between,
            "between_us": _us(self.between_ns), "longest_between_us": _us(self.longest_between_ns),
            "step_us": _us(self.step_ns), "wait_us": _us(self.wait_ns), "first_wait_us": _us(self.first_wait_ns),
            "first_waits": self.first_waits,
            "longest_step_us": _us(self.longest_step_ns), "longest_wait_us": _us(self.longest_wait_ns),
            "ready": self.ready, "asked": self.asked, "built": self.built, "build_us": _us(self.build_ns),
            "starved_us": _us(self.starved_ns), "build_us2": _us2(self.build_squares),
            "starved_us2": _us2(self.starved_squares), "build_starved_us2": _us2(self.build_starved),
            "all_built": self.all_built, "all_build_us": _us(self.all_build_ns),
            "all_starved_us": _us(self.all_starved_ns),
            "measured": self.measured, "deserialise_us": _us(self.deserialise_ns),
            "serialised": self.serialised, "serialise_us": _us(self.serialise_ns), "stalls": self.stalls,
            "stage_us": {name: _us(time) for name, time in self.stage_ns.items()},
            "step_times": {str(bucket): count for bucket, count in sorted(self.step_times.items())},
            "wait_times": {str(bucket): count for bucket, count in sorted(self.wait_times.items())},
            "raised": self.raised, "measured_samples": self.measured_samples, "slow_samples": self.slow_samples,
            "failures": dict(self.failures), "retries": dict(self.retries),
            "other_samples": self.other_samples, "other_failures": dict(self.other_failures),
            "elsewhere": self.taken.elsewhere, "own": self.taken.own, "fed": self.taken.fed,
        }  # fmt: skip
        return {"loader": loader, **{name: value for name, value in numbers.items() if value}}


def _us(time_ns: int) -> float:
    return round(time_ns / 1000, 1)


def _us2(squares: int) -> float:
    return round(squares / 1e6, 1)


def slowest(samples: list[Facts]) -> list[Facts]:
    """Those that are kept, the slowest first."""
    return sorted(samples, key=lambda sample: -sample["took_us"])[:MOST_SLOW]


def merged(first: Facts, second: Facts) -> Facts:
    """Two intervals, one after the other, as one: counts are added, the longest and the latest are kept."""
    loaders = {each["loader"]: each for each in first["loaders"]}
    for each in second["loaders"]:
        known = loaders.get(each["loader"])
        loaders[each["loader"]] = each if known is None else _added(known, each)
    machine = {**first.get("machine", {}), **second.get("machine", {})}
    latest: Facts = {name: second[name] for name in ("to", "batches") if name in second}
    recording = first.get("recording_us", 0) + second.get("recording_us", 0)
    if recording:
        latest["recording_us"] = round(recording, 1)
    return {**first, **latest, "loaders": [loaders[key] for key in sorted(loaders)], "machine": machine}


def _added(first: Facts, second: Facts) -> Facts:
    total = dict(first)
    for name, value in second.items():
        before = total.get(name)
        if name == "loader" or before is None:
            total[name] = value
        elif isinstance(value, list):
            total[name] = slowest(before + value)
        elif isinstance(value, dict):
            total[name] = {key: round(before.get(key, 0) + value.get(key, 0), 1) for key in {**before, **value}}
        else:
            total[name] = max(before, value) if name.startswith("longest") else round(before + value, 1)
    return total
