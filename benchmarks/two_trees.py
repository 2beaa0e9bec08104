"""What a span in a DataLoader worker costs in two source trees: CPU time, processes of the two taking turns of 20 ms.

    python benchmarks/two_trees.py BEFORE AFTER [--turns 80] [--rows object21 object168 object1344 function168]

A tree is a checkout of this repository, 0.1.0 or later. A row is what is timed and how many spans go to a batch, for
which all is done that a worker does: indices come in, spans are recorded, packed and written, the batch is finished.
The ratio is the median over pairs of neighbouring turns, with its 95% interval: the machine's own speed may change
from second to second.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROWS = ("object21", "object168", "object1344", "function168")
SPANS_PER_TURN = 2000
CHILD = "--child"


def main() -> None:
    if CHILD in sys.argv:
        child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--turns", type=int, default=80)
    parser.add_argument("--rows", nargs="+", default=ROWS, choices=ROWS)
    options = parser.parse_args()
    print(f"{'spans, to a batch':20}{'before':>9}{'after':>9}  ratio (95% interval)")
    for row in options.rows:
        before, after = take_turns((options.before, options.after), row, options.turns)
        middle, low, high = interval([b / a for a, b in zip(before, after, strict=True)])
        medians = f"{statistics.median(before):6.0f} ns{statistics.median(after):6.0f} ns"
        print(f"{row:20}{medians}  {middle:.3f} ({low:.3f} .. {high:.3f})", flush=True)


def take_turns(trees: tuple[Path, Path], row: str, turns: int) -> tuple[list[float], list[float]]:
    """Nanoseconds per span of each turn."""
    children = [
        subprocess.Popen(
            [sys.executable, __file__, CHILD, str(tree.resolve()), row],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for tree in trees
    ]
    for each in children:
        answer(each)
    found: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns):
        for number in (0, 1) if turn % 2 else (1, 0):
            ask(children[number])
            found[number].append(float(answer(children[number])))
    for each in children:
        each.communicate()
    return found


def ask(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def answer(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline()


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """Median, and its 95% interval by order statistics."""
    ordered = sorted(ratios)
    middle, half = len(ordered) // 2, int(0.98 * len(ordered) ** 0.5)
    return ordered[middle], ordered[max(0, middle - half)], ordered[min(len(ordered) - 1, middle + half)]


def child(tree: str, row: str) -> None:
    """Answers each line with what a span cost in one turn. 0.1.0 calls some things by other names."""
    sys.path[:0] = [tree, f"{tree}/benchmarks"]
    import worker_overhead as shared

    is_old = hasattr(shared, "_spans")
    (shared._spans if is_old else shared.switch).load_marker()  # type: ignore[attr-defined]
    kind, spans = row.rstrip("0123456789"), int(row.lstrip("abcdefghijklmnopqrstuvwxyz"))
    held = [shared.Nothing() if kind == "object" else shared.nothing_of]
    with shared.RecordingHere() as worker:
        shared.time_held(shared.Patches(), shared.Compose(held))
        timed = held[0]
        print("ready", flush=True)
        batches = max(1, SPANS_PER_TURN // spans)
        for turn, _ in enumerate(sys.stdin):
            began = time.thread_time_ns()
            for number in range(turn * batches, (turn + 1) * batches):
                worker.begin(*((0, number) if is_old else (shared.tag(number),)))
                for _ in range(spans):
                    timed(None)
                worker.finish(None)
            print((time.thread_time_ns() - began) / (batches * spans), flush=True)


if __name__ == "__main__":
    main()
