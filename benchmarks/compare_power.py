"""How often `compare` raises a false alarm, and how often it finds a transform that became 10 % dearer.

    python benchmarks/compare_power.py [--same 20] [--changed 10] [--runs 5] [--steps 60] [--keep FOLDER]

Real captures of a pipeline with 2 DataLoader workers on the CPU; every capture is a process of its own. A comparison
has `--runs` captures on each side, taken in turns (before, after, before, ...), as one should. The planted change:
`Blur` goes on computing until it has used 10 % more CPU time than it needed. Both kinds of comparison are also counted
with one capture on each side. With `--keep`, captures that are there already are not taken again.

A false alarm is a comparison of equal sides that says faster or slower, or names a stage. A planted change is found
when `Blur` is named as dearer; exactly, when nothing else is named. No accelerator is needed.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PLANTED = 1.10
BATCH = 8
BLUR = "transform::Blur"


def capture(logdir: Path, factor: float, steps: int) -> None:
    """One run of the pipeline, recorded for `steps` steps; in a process of its own."""
    import numpy as np
    import PIL.Image
    import torch
    from torch.utils.data import DataLoader, Dataset

    import annotate

    class Blur:
        def __call__(self, image: np.ndarray) -> np.ndarray:
            begin = time.thread_time_ns()
            for _ in range(20):
                image = (image + np.roll(image, 1, axis=0)) / 2
            until = begin + factor * (time.thread_time_ns() - begin)
            while time.thread_time_ns() < until:
                pass
            return image

    class Gamma:
        def __call__(self, image: np.ndarray) -> np.ndarray:
            return np.power(image, 0.9)

    class Color:
        matrix = np.array([[0.299, 0.587, 0.114], [-0.169, -0.331, 0.5], [0.5, -0.419, -0.081]], dtype=np.float32)

        def __call__(self, image: np.ndarray) -> np.ndarray:
            return image @ self.matrix

    def to_array(image: PIL.Image.Image) -> np.ndarray:
        return np.asarray(image.convert("RGB"), dtype=np.float32)

    class Photos(Dataset):
        def __init__(self) -> None:
            noise = np.random.default_rng(0).integers(0, 255, (48, 64, 3), dtype=np.uint8)
            file = io.BytesIO()
            PIL.Image.fromarray(noise).resize((256, 192)).save(file, "jpeg", quality=90)
            self.data = file.getvalue()
            self.transform = annotate.compose([to_array, Blur(), Gamma(), Color()])

        def __len__(self) -> int:
            return BATCH * (steps + 20)

        def __getitem__(self, index: int) -> np.ndarray:
            image: np.ndarray = self.transform(PIL.Image.open(io.BytesIO(self.data)))
            return image

    torch.set_num_threads(1)
    loader = annotate.loader(DataLoader(Photos(), batch_size=BATCH, num_workers=2))
    with annotate.profile(logdir, wait=6, warmup=2, active=steps) as prof:
        for batch in prof.steps(loader):
            batch.mean()


def taken(folder: Path, factor: float, steps: int) -> Path:
    """The trace of one run, taken now unless it is there."""
    if not any(folder.glob("*.gz")):
        command = [sys.executable, __file__, "--capture", str(folder), "--factor", str(factor), "--steps", str(steps)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return next(folder.glob("*.gz"))


def take_sides(folder: Path, factor: float, runs: int, steps: int) -> tuple[list[Path], list[Path]]:
    """Captures of both sides, in turns."""
    before, after = [], []
    for number in range(runs):
        before.append(taken(folder / f"before{number}", 1.0, steps))
        after.append(taken(folder / f"after{number}", factor, steps))
    return before, after


Sides = tuple[Sequence[Path], Sequence[Path]]


def count(name: str, comparisons: Sequence[Sides], hits: dict[str, Callable[[str, set[str]], bool]]) -> None:
    """Prints how many of the comparisons are what."""
    from tb_dataplugin.compare import compare
    from tb_dataplugin.pipeline import analyse_file

    found, changes, limits = dict.fromkeys(hits, 0), [], []
    for sides in comparisons:
        before, after = ([analyse_file(path).capture for path in side] for side in sides)
        result = compare(before, after)
        named = {("+" if s.typical.change > 0 else "-") + s.stage for s in result.stages if s.typical.told_apart}
        blur = next(stage.typical for stage in result.stages if stage.stage == BLUR)
        changes.append(blur.change)
        limits.append((result.time.detectable, blur.detectable))
        for kind, is_hit in hits.items():
            found[kind] += is_hit(result.outcome, named)
    told = ", ".join(f"{kind} {number} of {len(comparisons)}" for kind, number in found.items())
    middle = len(limits) // 2
    time_limit, blur_limit = (sorted(column)[middle] for column in zip(*limits, strict=True))
    print(
        f"{name}: {told}; Blur {min(changes):+.1%} to {max(changes):+.1%}; "
        f"can be told: time {time_limit:.0%}, Blur {blur_limit:.0%} (medians)"
    )


ALARMS: dict[str, Callable[[str, set[str]], bool]] = {
    "false alarms": lambda outcome, named: outcome != "same" or bool(named),
    "of them faster or slower": lambda outcome, named: outcome != "same",
}
FINDS: dict[str, Callable[[str, set[str]], bool]] = {
    "found": lambda outcome, named: f"+{BLUR}" in named,
    "exactly": lambda outcome, named: named == {f"+{BLUR}"},
    "wrong direction": lambda outcome, named: outcome == "faster" or f"-{BLUR}" in named,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--same", type=int, default=20)
    parser.add_argument("--changed", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--capture", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--factor", type=float, default=1.0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.capture:
        capture(arguments.capture, arguments.factor, arguments.steps)
        return
    with tempfile.TemporaryDirectory() as scratch:
        root, runs, steps = arguments.keep or Path(scratch), arguments.runs, arguments.steps
        same = [take_sides(root / f"same{i}", 1.0, runs, steps) for i in range(arguments.same)]
        changed = [take_sides(root / f"changed{i}", PLANTED, runs, steps) for i in range(arguments.changed)]
        print(f"load average {os.getloadavg()[1]:.1f} at the end, {os.cpu_count()} cores, {steps} steps a capture")
        for each in dict.fromkeys((runs, 1)):
            count(f"equal, {each} to a side", [(a[:each], b[:each]) for a, b in same], ALARMS)
            count(f"Blur +10 %, {each} to a side", [(a[:each], b[:each]) for a, b in changed], FINDS)


if __name__ == "__main__":
    main()
