"""The data wait beside a clock that nobody here wrote: DLIO, the benchmark that MLPerf Storage runs.

    make bench-dlio                                        # six workloads, three runs each; some six minutes
    python benchmarks/dlio.py --only unet3d --runs 1 --out FILE.json
    python benchmarks/dlio.py --resume --out FILE.json     # carries on where it was stopped

DLIO reads npz files through torch's DataLoader, sleeps in place of computing, and states the accelerator utilisation
(AU): the time of computing that it asked for, over the time that passed. Beside it stand the same formula over the
steps as our report has them, and what is left of our window without the data wait, which means something else. All are
of the same steps of the same run; `dlio_attached/` has the parts.

DLIO runs in an environment of its own (`.venv-dlio`, requirements/dlio.txt), the report in the Python that runs this.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a file: the packages of this checkout come first
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.dlio_attached.configurations import CONFIGURATIONS
from benchmarks.dlio_attached.runs import ROOT, make_data, run_once
from benchmarks.dlio_attached.table import PARTS, markdown, summary


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    chosen = [one for one in CONFIGURATIONS if not options.only or one.name.startswith(tuple(options.only))]
    if not chosen:
        sys.exit(f"no such workload; there are {' '.join(one.name for one in CONFIGURATIONS)}")
    if not options.dlio_python.exists():
        sys.exit(f"{options.dlio_python} does not exist: `make bench-dlio` makes DLIO's environment")
    kept = json.loads(options.out.read_text()) if options.resume and options.out and options.out.exists() else {}
    results: list[dict[str, Any]] = kept.get("results", [])
    work = Path(options.work or kept.get("work") or tempfile.mkdtemp(prefix="dlio_")).resolve()
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; files of the runs: {work}", flush=True)
    for configuration in chosen:
        make_data(configuration, options.dlio_python.absolute(), work)
    for run in range(options.runs):
        for configuration in chosen:
            if sum(result["configuration"] == configuration.name for result in results) > run:
                continue
            results.append(run_once(configuration, options.dlio_python.absolute(), work))
            print(_line(results[-1]), flush=True)
            if options.out:
                about = {"head": _head(), "cores": os.cpu_count(), "work": str(work)}
                options.out.write_text(json.dumps({**about, "results": results}, indent=1))
    print(f"\n{markdown(results)}\n\n{summary(results)}")
    return 0


def _line(result: dict[str, Any]) -> str:
    named = result["named"]
    return (
        f"{result['configuration']:15} DLIO {100 * result['dlio']:5.1f}%  by our steps "
        f"{100 * result['by_definition']:5.1f}% ({result['difference_by_definition']:+.1f})  "
        f"ours {100 * result['ours']:5.1f}%  "
        f"{result['difference']:+5.1f} ({', '.join(f'{100 * result[part]:+.1f}' for part in PARTS)})  "
        f"epochs after {100 * result['dlio_epochs']:5.1f}%  {named['bound']}: {named['stage']} "
        f"{100 * named['share']:.0f}%  load average {result['load_average']:.1f}  {result['seconds']:.0f} s"
        + "".join(f"\n    warning: {' '.join(text.split())}" for text in result["warnings"])
    )


def _head() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # a machine without git
        return ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--only", nargs="+", default=[], metavar="NAME", help="workloads whose names begin so")
    add("--runs", type=int, default=3, help="of each workload")
    add("--out", type=Path, help="the results, JSON")
    add("--resume", action="store_true", help="keep the runs that --out holds already")
    add("--work", type=Path, metavar="FOLDER", help="data and files of the runs; default: that of --out, or a new one")
    add(
        "--dlio-python",
        type=Path,
        default=ROOT / ".venv-dlio" / "bin" / "python",
        metavar="FILE",
        help="of DLIO's environment",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
