"""Accelerator utilisation by DLIO's numbers and by ours; times in seconds, utilisations from 0 to 1.

DLIO's is the time it meant to compute over the time that passed. Ours is what is left of the window without the data
wait. They differ by four parts, whose sum is the difference exactly: what the computation took longer than asked for;
what DLIO counts as loading after the DataLoader's `next()` has returned; what passes between DLIO's steps; and by how
much our clock around `next()` and a third one differ. Only the last is an error of ours.

Like with like is DLIO's formula over our steps: the computation that was asked for over what those steps took by our
clock. It proves our steps and their times; of the data wait it says nothing, which `our_clock` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

TRAINING: Final = "block1"


@dataclass(frozen=True)
class Step:
    """As DLIO measures it: `load` and `process` both begin where it asks for the batch."""

    load: float
    compute: float
    process: float


@dataclass(frozen=True)
class Utilisation:
    """Of one run."""

    dlio: float
    """By DLIO's formula, over the steps of the window."""
    computed_longer: float
    """Neither loading nor the computation that was asked for, by DLIO's clocks."""
    released: float
    """Loading by DLIO's clocks after `next()`: the batch before is given up there, and its memory released."""
    between_steps: float
    """Of the window, and of none of DLIO's steps."""
    our_clock: float
    """The time of `next()` by the third clock, less our data wait."""
    dlio_epochs: float
    """What DLIO itself states, mean of the epochs after the recorded one."""
    ours: float
    by_definition: float
    """DLIO's formula, over the times that our report gives for the same steps."""
    steps: int

    @property
    def difference(self) -> float:
        """Ours less DLIO's over the same steps, in points."""
        return 100 * (self.ours - self.dlio)

    @property
    def difference_by_definition(self) -> float:
        """The same formula by both clocks, in points."""
        return 100 * (self.by_definition - self.dlio)


def steps_of(output: dict[str, Any]) -> list[Step]:
    """All training steps of DLIO's `0_output.json`, epoch after epoch."""
    steps: list[Step] = []
    for epoch in sorted((key for key in output if key.isdigit()), key=int):
        load, compute, process = (output[epoch][part][TRAINING] for part in ("load", "compute", "proc"))
        if not len(load) == len(compute) == len(process):
            raise ValueError(f"epoch {epoch} of DLIO's output has {len(load)} loads for {len(process)} steps")
        steps += [Step(*times) for times in zip(load, compute, process, strict=True)]
    return steps


def utilisation(
    output: dict[str, Any], next_s: Sequence[float], capture: dict[str, Any], epochs_after: Sequence[int]
) -> Utilisation:
    """Of one capture of `report --format json`, and DLIO's output and a third clock's of the same run.

    The profiler's steps end with DLIO's, so that step `n` of the profiler is the n-th that DLIO processed.

    Raises:
        ValueError: the window has steps that DLIO does not know.
    """
    numbers = [item["number"] for item in capture["steps"]["items"]]
    steps = steps_of(output)
    if len(next_s) != len(steps):
        raise ValueError(f"the third clock has {len(next_s)} batches for DLIO's {len(steps)} steps")
    if not numbers or max(numbers) >= len(steps):
        raise ValueError(f"the window's steps {numbers[:1]} to {numbers[-1:]} are not among DLIO's {len(steps)}")
    same = [steps[number] for number in numbers]
    process, load = sum(step.process for step in same), sum(step.load for step in same)
    compute, loader = sum(step.compute for step in same), sum(next_s[number] for number in numbers)
    wait, window = capture["loader"]["wait_us"] / 1e6, capture["window_us"] / 1e6
    stated = [output[str(epoch)]["au"][TRAINING] / 100 for epoch in epochs_after]
    return Utilisation(
        dlio=compute / process,
        computed_longer=(process - load - compute) / process,
        released=(load - loader) / process,
        between_steps=wait / process - wait / window,
        our_clock=(loader - wait) / process,
        dlio_epochs=sum(stated) / len(stated),
        ours=1 - wait / window,
        by_definition=compute / (sum(item["duration_us"] for item in capture["steps"]["items"]) / 1e6),
        steps=len(same),
    )


def first_named(capture: dict[str, Any]) -> dict[str, Any]:
    """What the report says first, and what it was unsure about."""
    wait = capture["loader"].get("wait_by_stage_us", {})
    largest = max(wait, key=lambda stage: wait[stage], default="")
    total = sum(wait.values())
    findings = capture.get("findings", [])
    return {
        "bound": capture["verdict"]["bound"],
        "sentence": capture["verdict"]["sentence"],
        "stage": largest,
        "share": wait[largest] / total if total else 0.0,
        "wait_by_stage": {stage: time / total for stage, time in wait.items()} if total else {},
        "finding": f"[{findings[0]['severity']}] {findings[0]['title']}" if findings else "",
        "workers": len(capture.get("workers", [])),
        "diagnostics": sorted({diagnostic["code"] for diagnostic in capture.get("diagnostics", [])}),
    }
