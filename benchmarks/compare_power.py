"""How often `compare` raises a false alarm, and how often it finds a transform that became 10 % slower.

    python benchmarks/compare_power.py [--pipeline photos|arrays] [--same 20] [--changed 10] [--runs 5] [--times 1.1]
        [--keep FOLDER]

Real captures of a pipeline with 2 DataLoader workers on the CPU; every capture is a process of its own. A comparison
has `--runs` captures on each side, taken in turns (before, after, before, ...), as one should. The planted change:
one transform goes on computing until it has used 10 % more CPU time than it needed. Command lines get a random length:
the memory of a process is laid out by such things, and stays so; two folders whose names differ by one character made
a stage of 0.2 ms a fifth faster, every time. Both kinds of comparison are also counted
with one capture on each side. With `--keep`, captures that are there already are not taken again.

A false alarm is a comparison of equal sides that says faster or slower, or names a stage. A planted change is found
when that transform is named as slower; exactly, when nothing else is named. No accelerator is needed.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PLANTED = 1.10
BATCH = 8
STAGE = {"photos": "transform::RandomMask", "arrays": "transform::Blur"}
"""Per pipeline, the transform that becomes slower."""

Transform = Callable[[Any], Any]


def slower(transform: Transform, factor: float) -> Transform:
    """The same, going on until it has used `factor` times the CPU time that it needed."""

    class Slower:
        def __call__(self, value: Any) -> Any:
            begin = time.thread_time_ns()
            result = transform(value)
            until = begin + factor * (time.thread_time_ns() - begin)
            while time.thread_time_ns() < until:
                pass
            return result

    Slower.__name__ = type(transform).__name__
    return Slower()


def photos(factor: float) -> tuple[list[Transform], list[bytes]]:
    """The demo's pipeline, on JPEG files of 533x800; two thirds of the time go to a dilation, which computes."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
    from demo import CROP, ConvertColor, RandomMask, Scale, make_photos
    from torchvision import transforms as T  # noqa: N812

    folder = Path(tempfile.gettempdir()) / "compare_power_photos"
    make_photos(folder, 32)
    files = [path.read_bytes() for path in sorted(folder.glob("*.jpg"))]
    return [T.PILToTensor(), T.RandomCrop(CROP), slower(RandomMask(), factor), ConvertColor(), Scale()], files


def arrays(factor: float) -> tuple[list[Transform], list[bytes]]:
    """numpy on small images; two thirds of the time go to moving memory, in which equal processes differ most."""
    import numpy as np
    import PIL.Image

    class Blur:
        def __call__(self, image: Any) -> Any:
            for _ in range(20):
                image = (image + np.roll(image, 1, axis=0)) / 2
            return image

    class Gamma:
        def __call__(self, image: Any) -> Any:
            return np.power(image, 0.9)

    class Color:
        matrix = np.array([[0.299, 0.587, 0.114], [-0.169, -0.331, 0.5], [0.5, -0.419, -0.081]], dtype=np.float32)

        def __call__(self, image: Any) -> Any:
            return image @ self.matrix

    def to_array(image: PIL.Image.Image) -> Any:
        return np.asarray(image.convert("RGB"), dtype=np.float32)

    noise = np.random.default_rng(0).integers(0, 255, (48, 64, 3), dtype=np.uint8)
    file = io.BytesIO()
    PIL.Image.fromarray(noise).resize((256, 192)).save(file, "jpeg", quality=90)
    return [to_array, slower(Blur(), factor), Gamma(), Color()], [file.getvalue()]


PIPELINES = {"photos": photos, "arrays": arrays}


def capture(pipeline: str, logdir: Path, factor: float, steps: int) -> None:
    """One run of the pipeline, recorded for `steps` steps; in a process of its own."""
    import PIL.Image
    import torch
    from torch.utils.data import DataLoader, Dataset

    import annotate

    class Photos(Dataset[Any]):
        def __init__(self) -> None:
            transforms, self.files = PIPELINES[pipeline](factor)
            self.transform = annotate.compose(transforms)

        def __len__(self) -> int:
            return BATCH * (steps + 20)

        def __getitem__(self, index: int) -> Any:
            return self.transform(PIL.Image.open(io.BytesIO(self.files[index % len(self.files)])))

    torch.set_num_threads(1)
    loader = annotate.loader(DataLoader(Photos(), batch_size=BATCH, num_workers=2))
    with annotate.profile(logdir, wait=6, warmup=2, active=steps) as prof:
        for batch in prof.steps(loader):
            batch.mean()


def taken(pipeline: str, folder: Path, factor: float, steps: int) -> Path:
    """The trace of one run, taken now unless it is there."""
    if not any(folder.glob("*.gz")):
        command = [sys.executable, __file__, "--pipeline", pipeline, "--capture", str(folder), "--factor", str(factor)]
        command += ["--steps", str(steps), "--ballast", "x" * random.randrange(256)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return next(folder.glob("*.gz"))


def take_sides(pipeline: str, folder: Path, factor: float, runs: int, steps: int) -> tuple[list[Path], list[Path]]:
    """Captures of both sides, in turns."""
    before, after = [], []
    for number in range(runs):
        before.append(taken(pipeline, folder / f"before{number}", 1.0, steps))
        after.append(taken(pipeline, folder / f"after{number}", factor, steps))
    return before, after


Sides = tuple[Sequence[Path], Sequence[Path]]
Hit = Callable[[str, str, set[str], str], bool]
"""Whether outcome, sentence and stages named ("+" slower, "-" faster) are what is counted, with this one planted."""


def count(name: str, planted: str, comparisons: Sequence[Sides], hits: dict[str, Hit]) -> None:
    """Prints how many of the comparisons are what."""
    from tb_dataplugin.compare import compare
    from tb_dataplugin.pipeline import analyse_file

    if not comparisons:
        return
    found, changes, limits = dict.fromkeys(hits, 0), [], []
    for sides in comparisons:
        before, after = ([analyse_file(path).capture for path in side] for side in sides)
        result = compare(before, after)
        significant = [stage for stage in result.stages if stage.outcome in ("faster", "slower")]
        named = {("+" if stage.outcome == "slower" else "-") + stage.name for stage in significant}
        own = next(stage for stage in result.stages if stage.name == planted)
        changes.append(own.change)
        limits.append([one.detectable if one.HasField("detectable") else math.inf for one in (result.time, own)])
        for kind, is_hit in hits.items():
            found[kind] += is_hit(result.outcome, result.sentence, named, planted)
    counts = ", ".join(f"{kind} {number} of {len(comparisons)}" for kind, number in found.items())
    middle = len(limits) // 2
    time_limit, own_limit = (sorted(column)[middle] for column in zip(*limits, strict=True))
    print(
        f"{name}: {counts}; {planted} {min(changes):+.1%} to {max(changes):+.1%}; "
        f"smallest detectable: time {time_limit:.0%}, {planted} {own_limit:.0%} (medians)"
    )


ALARMS: dict[str, Hit] = {
    "false alarms": lambda outcome, sentence, named, planted: outcome in ("faster", "slower") or bool(named),
    "of them faster or slower": lambda outcome, sentence, named, planted: outcome in ("faster", "slower"),
    "of the others likely": lambda outcome, sentence, named, planted: sentence.startswith("Likely"),
    "total too short": lambda outcome, sentence, named, planted: outcome == "too_short",
}
FINDS: dict[str, Hit] = {
    "found": lambda outcome, sentence, named, planted: f"+{planted}" in named,
    "exactly": lambda outcome, sentence, named, planted: named == {f"+{planted}"},
    "wrong direction": lambda outcome, sentence, named, planted: outcome == "faster" or f"-{planted}" in named,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pipeline", choices=sorted(PIPELINES), default="photos")
    parser.add_argument("--same", type=int, default=20)
    parser.add_argument("--changed", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    help_times = "how many times as much CPU time the slower transform takes; default: %(default)s"
    parser.add_argument("--times", type=float, default=PLANTED, help=help_times)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--capture", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--ballast", help=argparse.SUPPRESS)
    parser.add_argument("--factor", type=float, default=1.0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.capture:
        capture(arguments.pipeline, arguments.capture, arguments.factor, arguments.steps)
        return
    with tempfile.TemporaryDirectory() as scratch:
        root, runs, steps = arguments.keep or Path(scratch), arguments.runs, arguments.steps
        pipeline, planted, times = arguments.pipeline, STAGE[arguments.pipeline], arguments.times
        same = [take_sides(pipeline, root / f"same{i}", 1.0, runs, steps) for i in range(arguments.same)]
        changed = [take_sides(pipeline, root / f"changed{i}", times, runs, steps) for i in range(arguments.changed)]
        print(f"load average {os.getloadavg()[1]:.1f} at the end, {os.cpu_count()} cores, {steps} steps a capture")
        for each in dict.fromkeys((runs, 1)):
            count(f"equal, {each} to a side", planted, [(a[:each], b[:each]) for a, b in same], ALARMS)
            count(f"{times - 1:+.0%}, {each} to a side", planted, [(a[:each], b[:each]) for a, b in changed], FINDS)


if __name__ == "__main__":
    main()
