"""Planted hot lines, and the line that the report names: is it that one, and has it the share that the clocks gave it?

    python benchmarks/lines_truth.py [--seconds 8] [--only CASE[:PLACE] ...] [--out FILE [--piece 150]]

Each case is a program of its own with a transform (or a training step) that has one hot line and a warm one, timed by
clocks around both. Right: the first line of the stage is the planted one. Its share is to be within 5 points where the
stage has at least 500 samples. Cases that are in FILE are not run again; a piece that ends before all are run exits
with 3.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import tb_dataplugin
from tb_dataplugin.report import report_pb2 as pb

ROOT: Final = Path(__file__).resolve().parent.parent
ENOUGH: Final = 500
WITHIN: Final = 0.05
RIGHT: Final = 0.95

CASES: Final = (
    ("PurePython", "fork"),
    ("LongC", "fork"),
    ("Regex", "here"),
    ("ReleasingC", "fork"),
    ("Hashing", "here"),
    ("Sleeping", "fork"),
    ("FileRead", "fork"),
    ("Locking", "here"),
    ("Recursion", "fork"),
    ("Decorated", "here"),
    ("Lambda", "fork"),
    ("Generator", "here"),
    ("Private", "fork"),
    ("Comprehension", "here"),
    ("Local", "fork"),
    ("Convolved", "fork"),
    ("NumpySort", "here"),
    ("TorchWork", "here"),
    ("Padded", "fork"),
    ("TwoLines", "here"),
    ("TwoLines", "fork"),
    ("Installed", "fork"),
    ("Packaged", "fork"),
    ("Cell", "fork"),
    ("PurePython", "spawn"),
    ("LongC", "forkserver"),
    ("TwoLines", "persistent"),
    ("PurePython", "replay"),
    ("LongC", "replay"),
    ("PurePython", "training"),
    ("LongC", "training"),
    ("Sleeping", "training"),
    ("TwoLines", "training"),
    ("PurePython", "inside"),
    ("LongC", "inside"),
    ("ReleasingC", "inside"),
    ("Sleeping", "inside"),
)
"""What is planted, and where it runs: DataLoader workers by how they are started, "here" without workers; "inside": as
"here", sampled by the thread that stands in where no process may look from outside."""


@dataclass(frozen=True, slots=True)
class Outcome:
    case: str
    place: str
    samples: int
    is_right: bool
    true_share: float
    share: float
    named: str
    check: str
    cost: float

    @property
    def is_close(self) -> bool | None:
        """None: too few samples to say."""
        return abs(self.share - self.true_share) <= WITHIN if self.samples >= ENOUGH else None


def run(case: str, place: str, seconds: float) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        program = (sys.executable, "-m", "benchmarks.lines_truth_programs.program", case, place, str(seconds), folder)
        done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=300)
        if done.returncode:
            sys.exit(f"{case} in {place} failed:\n{done.stderr}")
        truth = json.loads((Path(folder) / "truth.json").read_text())
        return judged(case, place, truth, tb_dataplugin.read_report(folder)[0])


def judged(case: str, place: str, truth: dict[str, float | str], capture: pb.Capture) -> Outcome:
    name = "host" if place == "training" else f"transform::{case}"
    parts = capture.lines.training if place == "training" else capture.lines.stages
    part = next((part for part in parts if part.name == name), pb.PartLines())
    first = part.lines[0] if part.lines else pb.Line()
    named = next((line for line in part.lines if (line.file, line.line) == (truth["file"], truth["line"])), pb.Line())
    is_right = (first.file, first.line) == (truth["file"], truth["line"])
    share = named.share
    if case == "Installed":  # the user's line is the one that calls into the package
        is_right, share = first.calls == "hotpackage.hot", first.share * first.calls_share
    if place == "training":  # the loop's own lines are outside of what the clocks timed
        share /= max(1e-9, sum(line.share for line in part.lines if line.file == truth["file"]))
    check = f"{capture.lines.check.difference * 100:+.1f}" if capture.lines.HasField("check") else ""
    return Outcome(
        case=case,
        place=place,
        samples=part.samples,
        is_right=is_right,
        true_share=float(truth["share"]),
        share=share,
        named=first.text,
        check=check,
        cost=capture.lines.cost_us / capture.window_us,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path, help="outcomes, a line each; those in it are not run again")
    parser.add_argument("--piece", type=float, default=float("inf"), help="seconds after which no other case begins")
    arguments = parser.parse_args()
    chosen = [one for one in CASES if not arguments.only or one[0] in arguments.only or ":".join(one) in arguments.only]
    outcomes = read(arguments.out)
    until = time.monotonic() + arguments.piece
    for case, place in chosen:
        if (case, place) in outcomes:
            continue
        if time.monotonic() > until:
            return 3
        outcomes[case, place] = outcome = run(case, place, arguments.seconds)
        if arguments.out:
            with arguments.out.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
    return show([outcomes[one] for one in chosen])


def read(out: Path | None) -> dict[tuple[str, str], Outcome]:
    if out is None or not out.exists():
        return {}
    outcomes = [Outcome(**json.loads(line)) for line in out.read_text().splitlines()]
    return {(outcome.case, outcome.place): outcome for outcome in outcomes}


def show(outcomes: Sequence[Outcome]) -> int:
    """Of the thread that stands in only the line is asked for: its shares are rough, and the report says so."""
    columns = (
        "planted, where, samples, named first, true share, by samples, error (points), stages (points), sampler (CPU)"
    )
    print("|".join(["", *(f" {name} " for name in columns.split(", ")), ""]))
    print("|-|-|-|-|-|-|-|-|-|")
    for one in outcomes:
        right = one.named if one.is_right else f"**{one.named or 'nothing'}**"
        print(
            f"| {one.case} | {one.place} | {one.samples} | {right} | {one.true_share:.1%} | {one.share:.1%} "
            f"| {(one.share - one.true_share) * 100:+.1f} | {one.check} | {one.cost:.1%} |"
        )
    right_count = sum(one.is_right for one in outcomes)
    close = [one.is_close for one in outcomes if one.is_close is not None and one.place != "inside"]
    print(f"\nHottest line right: {right_count} of {len(outcomes)}.")
    print(f"Share within 5 points, with at least {ENOUGH} samples: {sum(close)} of {len(close)}.")
    return 0 if right_count >= RIGHT * len(outcomes) and all(close) else 1


if __name__ == "__main__":
    sys.exit(main())
