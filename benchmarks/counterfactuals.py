"""What a change really brings, beside what the report says of it: parts of data pipelines are taken away, and measured.

For each pipeline: one capture of 16 steps; then the plain loop, without annotate, unchanged and without each part by
turns. The gain of a part is what the step becomes shorter without it, paired by rounds, with a 95% interval.

    python benchmarks/counterfactuals.py --out results.json [--minutes 5]      again with the same --out: goes on
    python benchmarks/counterfactuals.py --out results.json --rejudge          runs nothing: judges the captures anew

Timing needs a quiet machine: 29 pipelines of half a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.counterfactual_pipelines import PIPELINES  # noqa: E402
from benchmarks.counterfactual_pipelines.judging import judge, markdown  # noqa: E402
from benchmarks.counterfactual_pipelines.starting import report, run, runnable  # noqa: E402


def main() -> int:
    options = _parser().parse_args()
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    work = options.work or options.out.with_suffix("")
    began = time.monotonic()
    wanted = [name for name in PIPELINES if not options.only or name.startswith(tuple(options.only))]
    wanted = [name for name in wanted if options.group in (None, PIPELINES[name].group)]
    for name in runnable(wanted) if not options.rejudge else ():
        if name in results or time.monotonic() - began > 60 * options.minutes:
            continue
        print(name, f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
        results[name] = _run(name, work / name, options)
        options.out.write_text(json.dumps(results, indent=1))
    if options.rejudge or options.report:
        for name in wanted:
            if name in results:
                results[name]["report"] = _report(work / name)
        options.out.write_text(json.dumps(results, indent=1))
    judged = [judge(PIPELINES[name], results[name]) for name in wanted if "report" in results.get(name, {})]
    print(markdown(judged))
    missing = [name for name in wanted if name not in results]
    if missing:
        print(f"not run yet: {', '.join(missing)}", file=sys.stderr)
    return 0


def _run(name: str, logdir: Path, options: argparse.Namespace) -> dict[str, Any]:
    shutil.rmtree(logdir, ignore_errors=True)
    seed = ("--seed", str(options.seed))
    run(name, *seed, "--capture", str(logdir))
    times = run(name, *seed, "--rounds", str(options.rounds), "--seconds", str(options.seconds))
    return {"times_ms": json.loads(times), "load": os.getloadavg()[0], "time": time.time()}


def _report(logdir: Path) -> dict[str, Any]:
    """The parts of the report that are judged."""
    capture = json.loads(report(logdir))["captures"][0]
    kept = {key: capture.get(key) for key in ("window_us", "steps", "loader", "verdict", "findings")}
    kept["steps"] = {"count": capture["steps"]["count"], "mean_us": capture["steps"]["mean_us"]}
    return kept


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", type=Path, required=True, help="times and reports, JSON")
    add("--work", type=Path, metavar="FOLDER", help="captures; default: beside --out")
    add("--only", nargs="+", default=[], metavar="NAME", help="pipelines whose names begin so")
    add("--group", choices=["tune", "judge"], help="only these")
    add("--seed", type=int, default=0, help="of the times that the parts take; one --out for each")
    add("--rounds", type=int, default=5, help="pairs per part")
    add("--seconds", type=float, default=0.7, help="that a run is measured for")
    add("--minutes", type=float, default=60, help="no further pipeline is begun after these")
    add("--report", action="store_true", help="read the captures with this version, and judge them")
    add("--rejudge", action="store_true", help="the same, and run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
