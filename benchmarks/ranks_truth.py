"""Who `tb-dataplugin ranks` says holds up the others, where it was planted: gloo ranks on this machine.

    python -m benchmarks.ranks_truth --out results.json [--minutes 2]      again with the same --out: goes on
    python -m benchmarks.ranks_truth --out results.json --rejudge          runs nothing: reads the captures anew

Each run is 16 steps of 2 or 4 ranks, some seconds on an idle machine; ranks are forks of a Python that has imported
torch. A delay is planted in one rank's decode, storage, backward, or in a thread that holds Python's lock; or in
another rank in each step (`roam`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from tests.support import warm

ROOT: Final = Path(__file__).resolve().parents[1]
PROGRAM: Final = ROOT / "benchmarks" / "ranks_truth_programs" / "train.py"
MODULES: Final = (*warm.MODULES, "torch.nn.parallel", "torch.distributed.optim", "torch.distributed.algorithms.join")
"""Imported once, and not by each rank: that took two thirds of a run."""
CAUSES: Final = {
    "decode": ("decode::jpeg",),
    "storage": ("read::file",),
    "backward": ("compute",),
    "gil": ("host", "compute"),
}
"""What may be said of each fault. A thread that holds the lock delays operators' callers, and operators in Python."""
ENOUGH: Final = 0.9
"""Runs with less of their loss attributed are listed."""


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
    program = [sys.executable, str(PROGRAM), str(logdir), case.fault, case.who, case.way, str(case.delay_ms)]
    load, began = os.getloadavg()[0], time.monotonic()
    port = _port()
    ranks = [
        warm.start(program, env=_environment(rank, case.ranks, port), modules=MODULES) for rank in range(case.ranks)
    ]
    statuses = [rank.wait(120) for rank in ranks]
    return {"status": max(map(abs, statuses)), "seconds": time.monotonic() - began, "load": load}


def _environment(rank: int, ranks: int, port: int) -> dict[str, str]:
    """As torchrun sets it."""
    places = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "MASTER_PORT": port}
    numbers = {name: str(value) for name, value in places.items()}
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", **numbers}


def _port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


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
    """By fault and number of ranks; then each run that was judged wrongly, or less of which had the planted cause."""
    lines = [
        "| planted | ranks | runs | right | rank time lost | owned by the planted rank | and its cause | least |",
        "|---|---|---|---|---|---|---|---|",
    ]
    known = [case for case in done if "error" not in results[case.name]]
    for fault, ranks in product(CAUSES, (2, 4)):
        rows = [results[case.name] for case in known if (case.fault, case.ranks) == (fault, ranks)]
        if rows:
            right, lost = sum(row["owner_right"] for row in rows), [row["lost_share"] for row in rows]
            shares = " | ".join(f"{_of_the_loss(rows, key):.1%}" for key in ("owned", "caused"))
            range_of = f"{min(lost):.1%} to {max(lost):.1%}"
            least = min(row["caused"] for row in rows)
            lines.append(f"| {fault} | {ranks} | {len(rows)} | {right} | {range_of} | {shares} | {least:.1%} |")
    everything = [results[case.name] for case in known]
    lines += [
        "",
        f"Owner, cause and pattern right in {sum(row['owner_right'] for row in everything)} of {len(done)} runs;",
    ]
    if everything:
        lines[-1] += f" {_of_the_loss(everything, 'caused'):.1%} of the lost time has the planted owner and cause."
    for case in done:
        row = results[case.name]
        if row.get("error") or not row["owner_right"] or row["caused"] < ENOUGH:
            told = row.get("error") or f"{row['caused']:.1%}; {row['top']}"
            lines.append(f"- {case.name}: {told}")
    return "\n".join(lines)


def _of_the_loss(rows: list[dict[str, Any]], key: str) -> float:
    """A share of all that was lost in several runs, each counted as a share of its rank time."""
    return float(sum(row[key] * row["lost_share"] for row in rows) / (sum(row["lost_share"] for row in rows) or 1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=2, help="no run begins later; default: 2")
    parser.add_argument("--only", nargs="*", help="runs whose names begin so")
    parser.add_argument("--rejudge", action="store_true", help="run nothing, read the captures anew")
    return parser


if __name__ == "__main__":
    sys.exit(main())
