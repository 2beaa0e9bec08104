"""How far predictions of `tb-dataplugin whatif` are off: a change is predicted from one capture, made, and measured.

The pipelines are those of `counterfactuals`: each part is taken away, and the number of DataLoader workers changed. A
prediction is judged by the step that the change brings: the unchanged loop's time, measured beside, times the predicted
ratio. "Spread" is how much equal runs of the unchanged loop differ.

    python benchmarks/prediction.py --out results.json [--minutes 20] [--seed 1]     again with the same --out: goes on
    python benchmarks/prediction.py --out results.json --rejudge                     predicts anew, runs nothing

Timing needs a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.counterfactual_pipelines import PIPELINES  # noqa: E402

RUNNING: Final = "benchmarks.counterfactual_pipelines.running"
WORKERS: Final = "workers="
NUMBERS: Final = (0, 1, 2, 3)


@dataclass(frozen=True)
class Pair:
    """Milliseconds per step: predicted with its 90% interval, and measured (median of the rounds)."""

    pipeline: str
    group: str
    change: str
    captured: float
    unchanged: float
    spread: float
    predicted: float
    low: float
    high: float
    measured: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1

    @property
    def is_covered(self) -> bool:
        return self.low <= self.measured <= self.high


def main() -> int:
    options = _parser().parse_args()
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    work = options.out.with_suffix("")
    began = time.monotonic()
    wanted = [name for name in PIPELINES if not options.only or name.startswith(tuple(options.only))]
    for name in wanted if not options.rejudge else ():
        if name in results or time.monotonic() - began > 60 * options.minutes:
            continue
        print(name, f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
        results[name] = _run(name, work / name, options)
        options.out.write_text(json.dumps(results, indent=1))
    pairs = [pair for name in wanted if name in results for pair in _pairs(name, work / name, results[name])]
    print("\n".join(_markdown(pairs)))
    return 0


def _run(name: str, logdir: Path, options: argparse.Namespace) -> dict[str, Any]:
    shutil.rmtree(logdir, ignore_errors=True)
    program = ["-m", RUNNING, name, "--seed", str(options.seed)]
    _python(*program, "--capture", str(logdir))
    own = json.loads(_whatif(logdir, "--workers", "1"))["settings"]["workers"]
    numbers = [str(number) for number in NUMBERS if number != own]
    timing = ["--rounds", str(options.rounds), "--seconds", str(options.seconds)]
    times = _python(*program, *timing, "--workers", *numbers)
    return {"times_ms": json.loads(times), "load": os.getloadavg()[0]}


def _pairs(name: str, logdir: Path, result: dict[str, Any]) -> Iterator[Pair]:
    times = result["times_ms"]
    unchanged = times.pop("")
    for change, measured in times.items():
        asked = (
            ("--workers", change.removeprefix(WORKERS)) if change.startswith(WORKERS) else ("--stage", f"{change}=0x")
        )
        answer = json.loads(_whatif(logdir, *asked))
        if "predictions" not in answer:
            continue
        captured, step = answer["baseline"]["step_us"], answer["predictions"][0]["step_us"]
        base = statistics.median(unchanged)
        predicted = {end: step[end] / captured * base for end in ("value", "low", "high")}
        yield Pair(
            pipeline=name,
            group=PIPELINES[name].group,
            change=change,
            captured=captured / 1e3,
            unchanged=base,
            spread=statistics.stdev(unchanged) / base if len(unchanged) > 1 else 0.0,
            predicted=predicted["value"],
            low=predicted["low"],
            high=predicted["high"],
            measured=statistics.median(measured),
        )


def _whatif(logdir: Path, *asked: str) -> str:
    command = [sys.executable, "-m", "tb_dataplugin", "whatif", str(logdir), *asked, "--format", "json"]
    ended = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False)
    if ended.returncode:
        print(ended.stderr.strip(), file=sys.stderr)
    return ended.stdout if not ended.returncode else "{}"


def _python(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {ended.returncode}:\n{ended.stderr[-3000:]}")
    return ended.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _markdown(pairs: list[Pair]) -> Iterator[str]:
    yield "| pipeline | change | step captured, unchanged, changed (ms) | predicted (90% interval) | error | within |"
    yield "|-|-|-|-|-|-|"
    for pair in pairs:
        interval = f"{pair.predicted:.1f} ({pair.low:.1f} to {pair.high:.1f})"
        steps = f"{pair.captured:.1f}, {pair.unchanged:.1f} ± {100 * pair.spread:.0f}%, {pair.measured:.1f}"
        yes = "yes" if pair.is_covered else "no"
        yield f"| {pair.pipeline} | `{pair.change}` | {steps} | {interval} | {100 * pair.error:+.0f}% | {yes} |"
    yield ""
    for group in ("tune", "judge", ""):
        chosen = [pair for pair in pairs if pair.group == group or not group]
        if chosen:
            yield _summary(group or "all", chosen)


def _summary(title: str, pairs: list[Pair]) -> str:
    errors = sorted(abs(pair.error) for pair in pairs)
    p90 = errors[min(len(errors) - 1, round(0.9 * len(errors)))]
    covered = sum(pair.is_covered for pair in pairs)
    spread = statistics.median(pair.spread for pair in pairs)
    return (
        f"- {title}, {len(pairs)} pairs: median error {100 * statistics.median(errors):.1f}%, p90 {100 * p90:.0f}%, "
        f"90% interval holds {covered} ({100 * covered / len(pairs):.0f}%); spread of equal runs {100 * spread:.1f}%"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", type=Path, required=True, help="times, JSON; captures lie beside it")
    add("--only", nargs="+", default=[], metavar="NAME", help="pipelines whose names begin so")
    add("--seed", type=int, default=0, help="of the times that the parts take; one --out for each")
    add("--rounds", type=int, default=3, help="of each change")
    add("--seconds", type=float, default=0.6, help="that a run is measured for")
    add("--minutes", type=float, default=60, help="no further pipeline is begun after these")
    add("--rejudge", action="store_true", help="run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
