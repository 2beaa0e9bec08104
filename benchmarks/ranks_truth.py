"""Who `tb-dataplugin ranks` says holds up the others, where it was planted: gloo ranks on this machine.

    python benchmarks/ranks_truth.py --out results.json [--minutes 2]      again with the same --out: goes on
    python benchmarks/ranks_truth.py --out results.json --rejudge          runs nothing: reads the captures anew

Each run is 16 steps of 2 or 4 ranks, below 10 s on an idle machine. A delay is planted in one rank's decode, storage,
backward, or in a thread that holds Python's lock; or in another rank in each step (`roam`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PROGRAM: Final = ROOT / "benchmarks" / "ranks_truth_programs" / "train.py"
CAUSES: Final = {
    "decode": ("decode::jpeg",),
    "storage": ("read::file",),
    "backward": ("compute",),
    "gil": ("host", "compute"),
}
"""What may be said of each fault. A thread that holds the lock delays operators' callers, and operators in Python."""


@dataclass(frozen=True, slots=True)
class Case:
    fault: str
    ranks: int
    who: str
    way: str
    delay_ms: int

    @property
    def name(self) -> str:
        return f"{self.fault}-{self.ranks}-{self.who}-{self.way}-{self.delay_ms}"


def cases() -> list[Case]:
    """The most different ones first. More ranks on the same CPUs have longer steps, which would hide a short delay."""
    fixed = [
        Case(fault, ranks, str(who % ranks), way, delay * ranks)
        for delay, way, who, (ranks, fault) in product(
            (40, 80), ("ddp", "sum"), (1, 2, 3), product((2, 4), ("decode", "backward", "storage", "gil"))
        )
    ]
    roaming = [Case(fault, ranks, "roam", "sum", 40 * ranks) for ranks in (2, 4) for fault in ("decode", "backward")]
    return list(dict.fromkeys((*fixed[:8], *roaming, *fixed[8:])))


def main() -> int:
    options = _parser().parse_args()
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    work, began = options.out.with_suffix(""), time.monotonic()
    wanted = [case for case in cases() if not options.only or case.name.startswith(tuple(options.only))]
    for case in wanted if not options.rejudge else ():
        if case.name not in results and time.monotonic() - began < 60 * options.minutes:
            results[case.name] = _run(case, work / case.name)
            results[case.name] |= _judge(case, work / case.name)
            options.out.write_text(json.dumps(results, indent=1))
    for case in wanted if options.rejudge else ():
        if case.name in results:
            results[case.name] |= _judge(case, work / case.name)
    options.out.write_text(json.dumps(results, indent=1))
    print(_table([case for case in wanted if case.name in results], results))
    return 0


def _run(case: Case, logdir: Path) -> dict[str, Any]:
    shutil.rmtree(logdir, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={case.ranks}"]
    program = [str(PROGRAM), str(logdir), case.fault, case.who, case.way, str(case.delay_ms)]
    load, began = os.getloadavg()[0], time.monotonic()
    done = subprocess.run([*launcher, *program], env=environment, capture_output=True, text=True, timeout=120)
    if done.returncode:
        print(case.name, done.stderr[-2000:], file=sys.stderr)
    return {"status": done.returncode, "seconds": time.monotonic() - began, "load": load}


def _judge(case: Case, logdir: Path) -> dict[str, Any]:
    """Of the lost time: the planted rank's share, and its share with the planted cause."""
    command = [sys.executable, "-c", "from tb_dataplugin.cli.main import main; raise SystemExit(main())"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "ranks", str(logdir), "--format", "json"], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        return {"error": done.stderr.strip()}
    report = json.loads(done.stdout)
    lost, owners = report["lost_us"], report["owners"]
    right = [row for row in owners if case.who == "roam" or row["rank"] == int(case.who)]
    caused = [row for row in right if row["stage"] in CAUSES[case.fault]]
    expected = "roaming" if case.who == "roam" else "fixed"
    return {
        "owner_right": bool(owners) and owners[0] in caused and owners[0]["pattern"] == expected,
        "owned": sum(row["lost_us"] for row in right) / lost if lost else 0.0,
        "caused": sum(row["lost_us"] for row in caused) / lost if lost else 0.0,
        "lost_share": lost / report["rank_time_us"] if report["rank_time_us"] else 0.0,
        "collectives": report["collectives"]["count"],
        "verdict": report["verdict"],
        "top": [(row["rank"], row["stage"], round(row["lost_us"] / 1e3, 1), row["pattern"]) for row in owners[:4]],
    }


def _table(done: list[Case], results: dict[str, Any]) -> str:
    lines = [
        "| run | rank time lost | owned by the planted rank | and its cause | right | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for case in done:
        row = results[case.name]
        if "error" in row:
            lines.append(f"| {case.name} | {row['error']} | | | | |")
            continue
        shares = " | ".join(f"{row[key]:.1%}" for key in ("lost_share", "owned", "caused"))
        lines.append(f"| {case.name} | {shares} | {'yes' if row['owner_right'] else '**no**'} | {row['seconds']:.1f} |")
    right = sum(results[case.name].get("owner_right", False) for case in done)
    return "\n".join([*lines, "", f"Owner, cause and pattern right in {right} of {len(done)} runs."])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=2, help="no run begins later; default: 2")
    parser.add_argument("--only", nargs="*", help="runs whose names begin so")
    parser.add_argument("--rejudge", action="store_true", help="run nothing, read the captures anew")
    return parser


if __name__ == "__main__":
    sys.exit(main())
