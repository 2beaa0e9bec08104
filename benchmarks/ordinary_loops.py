"""What does the report name first in ordinary training programs with a planted delay?

    python benchmarks/ordinary_loops.py --out RESULTS.json                   # 29 programs, seed 0; some 15 minutes
    python benchmarks/ordinary_loops.py --only slow_sampler wrapper --seeds 3 --out RESULTS.json
    python benchmarks/ordinary_loops.py --healthy --out RESULTS.json         # 20 pipelines without a delay
    python benchmarks/ordinary_loops.py --all --seeds 2 --resume --out RESULTS.json  # carries on where it was stopped
    while python benchmarks/ordinary_loops.py --resume --piece 150 --out RESULTS.json; [ $? = 4 ]; do :; done  # pieces
    python benchmarks/ordinary_loops.py --rejudge --out RESULTS.json --markdown TABLE.md

Per program and seed: (1) without annotate, 300 batches, for the steady-state data wait (cut after ORDINARY_LOOPS_CAP_S
seconds, 15, on a crowded machine, but not below 120 batches); (2) with annotate, its own clocks being the truth of the
recorded steps; (3) the report on that capture. `runner/truth.py` says what the truth is, `runner/judgement.py` what HIT
and MISS mean. Work that burns CPU is a fixed CPU time of its thread: contention makes it longer, as real work.

Runs the checkout it is in, with the Python that runs it, which needs torch, numpy and Pillow.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

if __package__ in (None, ""):  # run as a file: the packages of this checkout come first
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.ordinary_loops_programs import HEALTHY, shapes
from benchmarks.ordinary_loops_programs.runner.runs import ROOT, Way, rejudge, run_one
from benchmarks.ordinary_loops_programs.runner.table import HEADING, line, markdown, summary

LEFT: Final = 4
"""Exit status where a piece is over and programs are left."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    names = _chosen(options)
    if not names:
        sys.exit(f"no such program; there are {' '.join([*shapes(), *HEALTHY])}")
    kept = json.loads(options.out.read_text()) if options.out.exists() and (options.resume or options.rejudge) else {}
    results: list[dict[str, Any]] = kept.get("results", [])
    about = _about(options.work or kept.get("about", {}).get("work") or tempfile.mkdtemp(prefix="ordinary_loops_"))
    way = Way(Path(about["work"]).resolve(), long=options.long, unplanted=options.unplanted, nice=options.nice)
    if options.rejudge:
        rejudge(results, way.work)
    if options.resume:
        results = [result for result in results if result["verdict"] != "INVALID"]
    for result in results:
        print(line(result))
    print(f"commit {about['head']} + {len(about['changed'])} changed files; load average {os.getloadavg()[0]:.1f}")
    print(f"files of the runs: {way.work}\n{HEADING}", flush=True)
    if options.rejudge:
        _save(options, about, results)
    else:
        have = {(result["shape"], result["seed"]) for result in results}
        seeds = range(options.seed_from, options.seed_from + options.seeds)
        waiting = [(name, seed) for seed in seeds for name in names if (name, seed) not in have]
        began = time.monotonic()
        while waiting and (not options.piece or time.monotonic() - began < options.piece):
            results.append(run_one(*waiting.pop(0), way))
            print(line(results[-1]), flush=True)
            _save(options, about, results)
        if waiting:
            return LEFT
    print(*summary(results), sep="\n")
    return 0


def _chosen(options: argparse.Namespace) -> list[str]:
    if options.only:
        return [name for name in [*shapes(), *HEALTHY] if name.startswith(tuple(options.only))]
    if options.healthy:
        return list(HEALTHY)
    return [*shapes(), *(HEALTHY if options.all else ())]


def _about(work: str | Path) -> dict[str, Any]:
    return {
        "head": _git("rev-parse", "--short", "HEAD"),
        "changed": _git("status", "--short").splitlines(),
        "cores": os.cpu_count(),
        "began": time.ctime(),
        "work": str(Path(work).resolve()),
    }


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # a machine without git
        return ""


def _save(options: argparse.Namespace, about: dict[str, Any], results: list[dict[str, Any]]) -> None:
    options.out.write_text(json.dumps({"about": about, "results": results}, indent=1))
    if options.markdown:
        said = f"Commit {about['head'] or 'unknown'}, {about['cores']} cores."
        options.markdown.write_text(markdown(results, said))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--only", nargs="+", default=[], metavar="NAME", help="programs whose names begin so, healthy ones too")
    add("--seeds", type=int, default=1, help="how many")
    add("--seed-from", type=int, default=0, help="the first")
    add("--healthy", action="store_true", help="the twenty healthy pipelines in place of the planted programs")
    add("--all", action="store_true", help="both")
    add("--long", action="store_true", help="1,000 un-annotated steps for the planted programs too")
    add("--unplanted", action="store_true", help="un-annotated, without the delay: checks the programs, not the report")
    add("--resume", action="store_true", help="keep what --out holds already, but INVALID ones")
    add("--rejudge", action="store_true", help="run nothing: judge what --out holds anew, from its files")
    add(
        "--piece",
        type=float,
        default=0,
        metavar="SECONDS",
        help=f"start none after so long; exit {LEFT} if any is left",
    )
    add("--out", type=Path, required=True, help="the results, JSON")
    add("--markdown", type=Path, metavar="FILE", help="the results as a Markdown table")
    add("--work", type=Path, metavar="FOLDER", help="files of the runs; default: that of --out, or a new temporary one")
    add("--nice", type=int, default=5, help="of the programs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
