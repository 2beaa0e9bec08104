"""What `tb-dataplugin tune` finds, beside a full grid over the same settings, on ten slow pipelines.

For each: `tune` within 12 runs and 15 minutes; then every setting of the grid, round by round; then the best of each,
side by side. "Reached" is the grid's best step time over tune's (1: as good; the aim is 0.9), "kept" the changes
that tune kept of those that it tried (the aim is half).

    python benchmarks/tuning.py --out results.json [--piece 150]       again with the same --out: goes on
    python benchmarks/tuning.py --out results.json --rejudge           runs nothing; prints Markdown

Exit status 3: there is more to do. Timing needs a quiet machine; a pipeline takes about ten minutes.
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
from tb_dataplugin.tune.running import CannotRun, Limits  # noqa: E402
from tb_dataplugin.tune.server import Program, Server  # noqa: E402
from tb_dataplugin.tune.setting import Changes, with_change  # noqa: E402
from tb_dataplugin.tune.tuning import tune  # noqa: E402

MORE: Final = 3
"""Exit status where something is left to measure."""

WORKERS: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16)
DEPTHS: Final = (2, 4, 8)
"""prefetch_factor, with each number of DataLoader workers; the first one also with in_order=False."""


def main() -> int:
    options = _parser().parse_args()
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    end = time.monotonic() + options.piece
    for name in options.only or PIPELINES if not options.rejudge else ():
        for _ in _parts(name, results.setdefault(name, {}), options):
            options.out.write_text(json.dumps(results, indent=1))
            if time.monotonic() > end:
                return MORE
    print("\n".join(_markdown(results)))
    return 0


def _parts(name: str, result: dict[str, Any], options: argparse.Namespace) -> Iterator[None]:
    """Measures what `result` lacks; after each yield it has more."""
    program = Program(f"benchmarks.tuning_pipelines:{name}", step_ms=STEP_MS, seconds=options.seconds)
    if "ledger" not in result:
        print(name, f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
        began = time.monotonic()
        tuned = tune(program, Limits(pairs=options.pairs), lambda line: print(f"  {line}", file=sys.stderr))
        made = dict(tuned.outcome.facts.made)
        result.update(ledger=json.loads(as_json(tuned)), made=made, load=os.getloadavg()[0])
        result["minutes"] = (time.monotonic() - began) / 60
        yield
    grid = {changes.text: changes for changes in _grid(result["made"], options)}
    windows: dict[str, list[list[float]]] = result.setdefault("grid", {})
    for number, (text, changes) in product(range(options.rounds), grid.items()):
        if len(windows.get(text, ())) <= number:
            print(f"  grid, round {number + 1} of {options.rounds}: {text}", file=sys.stderr)
            windows.setdefault(text, []).append(_timed(program, changes))
            yield
    best = min(grid, key=lambda text: _step(windows[text]))
    if "best" not in result:
        tuned_changes = Changes.of(result["ledger"]["best"]["change"])
        result["beside"] = {} if grid[best] == tuned_changes else _beside(program, tuned_changes, grid[best])
        result["best"] = best
        yield


def _grid(made: dict[str, Any], options: argparse.Namespace) -> list[Changes]:
    grid: dict[Changes, None] = {}
    beside = [*((depth, True) for depth in options.depths), *(() if options.ordered else ((options.depths[0], False),))]
    for number, (prefetch, in_order) in product(options.workers, beside):
        changes = with_change(Changes(), "num_workers", number, made)
        if number:
            changes = with_change(changes, "prefetch_factor", prefetch, made)
        if number > 1:
            changes = with_change(changes, "in_order", in_order, made)
        grid[changes] = None
    return list(grid)


def _timed(program: Program, changes: Changes) -> list[float]:
    """Seconds and batches; one of no batch in an hour where the setting does not run."""
    try:
        server = program.start(changes)
    except CannotRun as error:
        print(f"  {error}", file=sys.stderr)
        return [3600.0, 1]
    try:
        window = server.window()
        return [window.total, window.batches]
    finally:
        server.close()


def _step(windows: list[list[float]]) -> float:
    return sum(total for total, _ in windows) / sum(batches for _, batches in windows)


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
    yield "| pipeline | before, tune, grid (ms) | tune's best | grid's best | reached | kept | minutes | needs code |"
    yield "|-|-|-|-|-|-|-|-|"
    for name, result in results.items():
        if "best" not in result:
            continue
        ledger, beside = result["ledger"], result["beside"]
        measured = [run for run in ledger["runs"] if "measured" in run]
        kept = sum(run["kept"] for run in measured)
        steps = (
            ledger["baseline"]["step_us"],
            ledger["best"]["step_us"],
            1e6 * min(map(_step, result["grid"].values())),
        )
        reached = f"{beside['value']:.2f} ({beside['low']:.2f} to {beside['high']:.2f})" if beside else "the same"
        times = ", ".join(f"{step / 1e3:.1f}" for step in steps)
        change = ", ".join(f"{key}={value}" for key, value in ledger["best"]["change"].items()) or "unchanged"
        code = ledger.get("code", {})
        left = f"{code.get('stage', '')} {Path(code.get('line', '')).name}".strip() or "nothing"
        figures = f"{reached} | {kept} of {len(measured)} | {result['minutes']:.1f} | {left}"
        yield f"| {name} | {times} | {change} | {result['best']} | {figures} |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", type=Path, required=True, help="ledgers and times, JSON")
    add("--only", nargs="+", default=[], choices=PIPELINES, metavar="NAME", help="only these pipelines")
    add("--seconds", type=float, default=2.0, help="that a window is timed")
    add("--workers", type=int, nargs="+", default=list(WORKERS), metavar="N", help="of the grid")
    add("--depths", type=int, nargs="+", default=list(DEPTHS), metavar="N", help="prefetch_factor, of the grid")
    add("--ordered", action="store_true", help="leave in_order=False out of the grid")
    add("--rounds", type=int, default=3, help="of the grid")
    add("--pairs", type=int, default=8, help="of windows for each setting that tune tries, at most")
    add("--piece", type=float, default=1e9, metavar="S", help="seconds after which nothing more is begun")
    add("--rejudge", action="store_true", help="run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
