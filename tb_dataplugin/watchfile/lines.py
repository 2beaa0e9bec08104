"""The lines of a run's file (``docs/watch.md``), checked as they are decoded."""

from __future__ import annotations

from typing import Annotated

import msgspec

Amount = Annotated[float, msgspec.Meta(ge=0, le=1e18)]
Square = Annotated[float, msgspec.Meta(ge=0, le=1e36)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
Moment = Annotated[float, msgspec.Meta(ge=0, le=2**36)]
"""Seconds since 1970."""
Name = Annotated[str, msgspec.Meta(max_length=4096)]
Bucket = Annotated[str, msgspec.Meta(pattern=r"^\d{1,3}$")]


class RunLine(msgspec.Struct, frozen=True, tag_field="kind", tag="run"):
    """The first of a file: one process."""

    t: Moment
    version: Count
    host: Name = ""
    pid: Count = 0
    rank: Count | None = None
    world_size: Count | None = None


class LoaderLine(msgspec.Struct, frozen=True, tag_field="kind", tag="loader"):
    loader: Count
    dataset: Name = ""
    num_workers: Count = 0
    batch_size: Count = 0
    """0: the loader has none, as with a batch sampler of the user's."""


class SlowSample(msgspec.Struct, frozen=True):
    """One of the slowest of an interval: of all batches of DataLoader workers, else of those that were measured."""

    took_us: Amount
    index: Count
    epoch: Count = 0
    batch: Count = 0
    worker: Count | None = None
    files: list[Name] = []
    """The first ones that it opened."""


class LoaderNumbers(msgspec.Struct, frozen=True):
    """Of one loader in one interval, as annotate's `Tally.facts` has them; times in microseconds."""

    loader: Count
    steps: Count = 0
    unused_steps: Count = 0
    profiled_steps: Count = 0
    """Of `unused_steps`: those that recording made longer. Runs of earlier versions lack it."""
    joined: Count = 0
    joined_wait_us: Amount = 0
    """Batches that came in steps of another loader's, and the waits for them, without first batches of epochs. Runs of
    earlier versions lack both, and what follows: they left such steps out."""
    others_wait_us: Amount = 0
    """Of `wait_us`: waits for such batches of other loaders."""
    samples: Count = 0
    epochs: Count = 0
    step_us: Amount = 0
    wait_us: Amount = 0
    first_wait_us: Amount = 0
    first_waits: Count | None = None
    """As in the file, which leaves out 0, and in that of an earlier version: see `timed_firsts`."""
    other_us: Amount = 0
    """In steps that are not timed; runs of earlier versions lack this and what follows."""
    beside_us: Amount = 0
    """In steps, and waits for a first batch, during which another thread took batches of another iterator: so much of
    all loaders' times together, at most, is counted twice. Runs of earlier versions lack it: they left such steps
    out."""
    profiled_samples: Count = 0
    profiled_us: Amount = 0
    """In steps, and waits for a first batch, that recording made longer; without `recording_us`. Runs of earlier
    versions lack both."""
    made: Count = 0
    """Loaders that were iterated for the first time."""
    between: Count = 0
    """Epochs that followed one, of any loader."""
    between_us: Amount = 0
    longest_between_us: Amount = 0
    longest_step_us: Amount = 0
    longest_wait_us: Amount = 0
    ready: Amount = 0
    asked: Count = 0
    built: Count = 0
    build_us: Amount = 0
    starved_us: Amount = 0
    build_us2: Square = 0
    starved_us2: Square = 0
    build_starved_us2: Square = 0
    """Sums of squares and products of both times of a batch. Runs of earlier versions lack them."""
    all_built: Count = 0
    all_build_us: Amount = 0
    all_starved_us: Amount = 0
    """Of every batch that its worker has told of, measured or not. Runs of earlier versions lack them, and so do
    datasets whose samples are not followed."""
    measured: Count = 0
    stage_us: dict[Name, Amount] = {}
    step_times: dict[Bucket, Count] = {}
    wait_times: dict[Bucket, Count] = {}
    raised: Count = 0
    measured_samples: Count = 0
    slow_samples: list[SlowSample] = []
    failures: dict[Name, Count] = {}
    retries: dict[Name, Count] = {}
    other_samples: Count = 0
    other_failures: dict[Name, Count] = {}
    elsewhere: Count = 0
    own: Count = 0
    fed: Count = 0
    """Batches, by the threads that took them: see `takers`. Runs of earlier versions lack all three."""

    @property
    def batches(self) -> int:
        """That the loop had."""
        return self.steps + self.unused_steps + self.joined + self.timed_firsts

    @property
    def timed_firsts(self) -> int:
        """Epochs that `first_wait_us` is of: of an earlier version, which did not count them, all that have any."""
        return self.first_waits if self.first_waits is not None else self.epochs if self.first_wait_us else 0


class IntervalLine(
    msgspec.Struct, frozen=True, tag_field="kind", tag="interval", rename={"begin": "from", "end": "to"}
):
    begin: Moment
    end: Moment
    recording_us: Amount = 0
    """For which the program stood still so that a window could be recorded; no other time has it. Runs of earlier
    versions lack it."""
    loaders: list[LoaderNumbers] = []
    machine: dict[Name, Amount] = {}


class EventLine(msgspec.Struct, frozen=True, tag_field="kind", tag="event"):
    """Step time or data wait left its usual range (stall, slow), or was in it again (usual)."""

    t: Moment
    number: Count
    change: Name
    what: Name
    loader: Count = 0
    epoch: Count = 0
    batch: Count = 0
    took_us: Amount = 0
    usual_us: Amount = 0
    mean_us: Amount | None = None
    """Of a step, in the slow time that is over."""
    wait_us: Amount | None = None
    usual_wait_us: Amount | None = None
    """Mean data wait of a step in the slow step time that is over, and the median of the steps before. Runs of earlier
    versions lack both."""
    usual_steps: Count | None = None
    """Whose median `usual_us` is; runs of earlier versions lack it."""


class CaptureLine(msgspec.Struct, frozen=True, tag_field="kind", tag="capture", rename={"begin": "from"}):
    """What was recorded of an event: a file, or why there is none; or a window that the program recorded."""

    t: Moment
    event: Count | None = None
    """None: an `annotate.profile` or a profiler of the program's, `tb-dataplugin run` or `attach` recorded it."""
    capture: Name = ""
    missed: Name = ""
    begin: Moment | None = None
    """From then on the loop also did what recording takes, until `t`."""


class EndLine(msgspec.Struct, frozen=True, tag_field="kind", tag="end"):
    t: Moment


Line = RunLine | LoaderLine | IntervalLine | EventLine | CaptureLine | EndLine

decode = msgspec.json.Decoder(Line).decode
"""One line. Raises msgspec.MsgspecError."""
