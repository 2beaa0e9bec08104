"""Is the steady state that a short window's report gives that of 1,000 steps?

    python benchmarks/steady_state.py --out RESULTS.json                  # 29 programs, seed 6; some 30 minutes
    python benchmarks/steady_state.py --only draining --seed 7 --out RESULTS.json
    while python benchmarks/steady_state.py --piece 150 --out RESULTS.json; [ $? = 4 ]; do :; done   # 3 minutes each

Per program of `ordinary_loops.py`: the report on its window (10 to 40 steps, as the program asks for), beside the same
program run plain for 1,000 steps or 45 s with its own clocks around next(). On both sides: data wait without that for
first batches and at the ends of epochs, over itself and the rest of the steps, from which pauses (what makes a step's
rest longer than three usual ones) are left out. The window's is the report's estimate where there is one, else what was
measured. Aim: within 5 points in at least 90%.

Each run is judged for the table of `ordinary_loops.py` too: --markdown has both. With --piece it starts no program
after so many seconds, and exits with 4 while some are left.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a file: the packages of this checkout come first
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.ordinary_loops_programs import shapes
from benchmarks.ordinary_loops_programs.runner.runs import Way, folder_of, run_one
from benchmarks.ordinary_loops_programs.runner.table import markdown
from benchmarks.ordinary_loops_programs.runner.truth import share_of, steady_truth, without_pauses

NEAR = 0.05
SECONDS = 45
LEFT = 4


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    os.environ["ORDINARY_LOOPS_CAP_S"] = str(SECONDS)
    kept = json.loads(options.out.read_text()) if options.out.exists() else {}
    work = Path(kept.get("work") or options.work or tempfile.mkdtemp(prefix="steady_state_")).resolve()
    results: list[dict[str, Any]] = kept.get("results", [])
    have = {(result["shape"], result["seed"]) for result in results}
    names = [name for name in shapes() if name.startswith(tuple(options.only or [""]))]
    waiting = [name for name in names if (name, options.seed) not in have]
    began = time.monotonic()
    while waiting and (not options.piece or time.monotonic() - began < options.piece):
        results.append(_compared(waiting.pop(0), options.seed, work))
        print(*_cells(results[-1]), sep=" | ", flush=True)
        options.out.write_text(json.dumps({"work": str(work), "results": results}, indent=1))
    if options.rejudge:
        results = [result | _steady(result, work) for result in results]
    table = table_of(results)
    if options.markdown:
        options.markdown.write_text(f"{table}\n\n{markdown(results, 'The same runs:')}")
    print(table)
    return LEFT if waiting else 0


def _compared(name: str, seed: int, work: Path) -> dict[str, Any]:
    result = run_one(name, seed, Way(work, long=True))
    return result | _steady(result, work)


def _steady(result: dict[str, Any], work: Path) -> dict[str, Any]:
    folder = folder_of(result["shape"], result["seed"], work)
    if not (folder / "report.json").exists():
        return {}
    capture = json.loads((folder / "report.json").read_text())["captures"][0]
    truth, found = steady_truth(folder / "plain"), steady_reading(capture)
    return {"steady": {"truth": truth, "report": found, "off": found["share"] - truth["share"]}}


def steady_reading(capture: dict[str, Any]) -> dict[str, Any]:
    """What the report says of the loop's steady state: its estimate, else what it measured."""
    loader, items = capture.get("loader", {}), capture["steps"]["items"]
    own = without_pauses([step["duration_us"] - step.get("data_wait_us", 0) for step in items])
    steady = loader.get("steady_state", {})
    ends = loader.get("first_batch_wait_us", 0) + loader.get("wait_by_stage_us", {}).get("shutdown", 0)
    measured = sum(step.get("data_wait_us", 0) for step in items)
    wait = steady["wait_us"] * len(items) if "wait_us" in steady else measured - ends
    return {
        "state": steady.get("state", "no DataLoader workers"),
        "share": share_of(wait, own),
        "measured": share_of(measured, own),
        "steps": len(items),
    }


def table_of(results: Sequence[dict[str, Any]]) -> str:
    head = [
        "program",
        "seed",
        "window: state, steps",
        "measured",
        "its steady state",
        "long run",
        "steps",
        "off, points",
    ]
    rows = [head, ["-"] * len(head), *(_cells(result) for result in sorted(results, key=lambda r: r["shape"]))]
    offs = [abs(result["steady"]["off"]) for result in results if "steady" in result]
    near = sum(off <= NEAR for off in offs)
    said = f"Within {100 * NEAR:.0f} points: {near} of {len(results)}; load average as each began "
    loads = [result["load"] for result in results] or [0.0]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\n{said}{min(loads):.1f} to {max(loads):.1f}."


def _cells(result: dict[str, Any]) -> list[str]:
    name, seed = result["shape"].replace("_", " "), str(result["seed"])
    if "steady" not in result:
        return [name, seed, result.get("reason", "no report"), "", "", "", "", "no report"]
    truth, found = result["steady"]["truth"], result["steady"]["report"]
    return [
        name,
        seed,
        f"{found['state'].replace('_', ' ')}, {found['steps']}",
        *(f"{100 * share:.1f}%" for share in (found["measured"], found["share"], truth["share"])),
        str(truth["batches"]),
        f"{100 * result['steady']['off']:+.1f}",
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--only", nargs="+", default=[], metavar="NAME", help="programs whose names begin so")
    add("--seed", type=int, default=6)
    add(
        "--piece",
        type=float,
        default=0,
        metavar="SECONDS",
        help=f"start none after so long; exit {LEFT} if some are left",
    )
    add("--rejudge", action="store_true", help="judge what --out holds anew, from its files")
    add("--out", type=Path, required=True, help="the results, JSON; what it holds is not run again")
    add("--markdown", type=Path, metavar="FILE", help="both tables")
    add("--work", type=Path, metavar="FOLDER", help="files of the runs; default: that of --out, or a new temporary one")
    return parser


if __name__ == "__main__":
    sys.exit(main())
