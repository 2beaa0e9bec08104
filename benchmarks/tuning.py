"""What `tb-dataplugin tune` finds, beside a full grid over the same settings, on ten slow pipelines.

For each: `tune` within 12 runs and 15 minutes; then every setting of the grid, round by round; then the best of each,
side by side. "Reached" is the grid's best step time over tune's (1: as good; the aim is 0.9), "kept" the changes
that tune kept of those that it tried (the aim is half).

    python benchmarks/tuning.py --out results.json [--minutes 60]      again with the same --out: goes on
    python benchmarks/tuning.py --out results.json --rejudge           runs nothing

Timing needs a quiet machine; a pipeline takes about ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

from benchmarks.tuning_pipelines import PIPELINES, STEP_MS  # noqa: E402
from tb_dataplugin.tune.alternating import measure_beside  # noqa: E402
from tb_dataplugin.tune.as_json import as_json, ratio_dict  # noqa: E402
from tb_dataplugin.tune.running import CannotRun, Limits, Window  # noqa: E402
from tb_dataplugin.tune.search import step_of  # noqa: E402
from tb_dataplugin.tune.server import Program, Server  # noqa: E402
from tb_dataplugin.tune.setting import Changes, with_change  # noqa: E402
from tb_dataplugin.tune.tuning import tune  # noqa: E402

WORKERS: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16)
BESIDE: Final = ((2, True), (4, True), (8, True), (2, False))
"""prefetch_factor and in_order, with each number of DataLoader workers."""


def main() -> int:
    options = _parser().parse_args()
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    began = time.monotonic()
    for name in PIPELINES if not options.rejudge else ():
        is_wanted = not options.only or name in options.only
        if not is_wanted or name in results or time.monotonic() - began > 60 * options.minutes:
            continue
        print(name, f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
        results[name] = _run(name, options)
        options.out.write_text(json.dumps(results, indent=1))
    print("\n".join(_markdown(results)))
    return 0


def _run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    program = Program(f"benchmarks.tuning_pipelines:{name}", step_ms=STEP_MS, seconds=options.seconds)
    began = time.monotonic()
    tuned = tune(program, Limits(), lambda line: print(f"  {line}", file=sys.stderr))
    took, outcome = time.monotonic() - began, tuned.outcome
    times = _grid(program, dict(outcome.facts.made), options)
    best = min(times, key=times.__getitem__)
    values = {"ledger": json.loads(as_json(tuned)), "minutes": took / 60, "load": os.getloadavg()[0]}
    grid = {changes.text: 1e6 * step for changes, step in times.items()}
    beside = {} if best == outcome.best else _beside(program, outcome.best, best)
    return {**values, "grid_us": grid, "best": best.text, "beside": beside}


def _grid(program: Program, made: dict[str, Any], options: argparse.Namespace) -> dict[Changes, float]:
    """Seconds per step of each setting."""
    grid: dict[Changes, list[Window]] = {}
    for workers, (prefetch, in_order) in product(options.workers, BESIDE):
        changes = with_change(Changes(), "num_workers", workers, made)
        if workers:
            changes = with_change(changes, "prefetch_factor", prefetch, made)
        if workers > 1:
            changes = with_change(changes, "in_order", in_order, made)
        grid[changes] = []
    for number in range(options.rounds):
        for changes, windows in grid.items():
            print(f"  grid, round {number + 1} of {options.rounds}: {changes.text}", file=sys.stderr)
            try:
                server = program.start(changes)
            except CannotRun as error:
                print(f"  {error}", file=sys.stderr)
                continue
            try:
                windows.append(server.window())
            finally:
                server.close()
    return {changes: step_of(windows) for changes, windows in grid.items() if windows}


def _beside(program: Program, tuned: Changes, best: Changes) -> dict[str, float]:
    """Step time of the grid's best over that of tune's."""
    loops: list[Server] = [program.start(changes) for changes in (tuned, best)]
    try:
        result = measure_beside(
            loops[0],
            loops[1],
            most=5,
            in_process=False,
            window=lambda loop: loop.window(),
            is_late=lambda: False,
            say=lambda number: None,
        )
    finally:
        for loop in loops:
            loop.close()
    return ratio_dict(result.ratio)


def _markdown(results: dict[str, Any]) -> Iterator[str]:
    yield "| pipeline | unchanged, tune's, grid's best (ms) | tune's best | grid's best | reached | kept | minutes |"
    yield "|-|-|-|-|-|-|-|"
    for name, result in results.items():
        ledger, beside = result["ledger"], result["beside"]
        measured = [run for run in ledger["runs"] if "measured" in run]
        kept = sum(run["kept"] for run in measured)
        steps = (ledger["baseline"]["step_us"], ledger["best"]["step_us"], min(result["grid_us"].values()))
        reached = f"{beside['value']:.2f} ({beside['low']:.2f} to {beside['high']:.2f})" if beside else "the same"
        times = ", ".join(f"{step / 1e3:.1f}" for step in steps)
        change = ", ".join(f"{key}={value}" for key, value in ledger["best"]["change"].items()) or "unchanged"
        figures = f"{reached} | {kept} of {len(measured)} | {result['minutes']:.1f}"
        yield f"| {name} | {times} | {change} | {result['best']} | {figures} |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", type=Path, required=True, help="ledgers and times, JSON")
    add("--only", nargs="+", default=[], choices=PIPELINES, metavar="NAME", help="only these pipelines")
    add("--seconds", type=float, default=2.0, help="that a window is timed")
    add("--workers", type=int, nargs="+", default=list(WORKERS), metavar="N", help="of the grid")
    add("--rounds", type=int, default=3, help="of the grid")
    add("--minutes", type=float, default=120, help="no further pipeline is begun after these")
    add("--rejudge", action="store_true", help="run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
