"""How far predictions of `tb-dataplugin whatif` are off: a change is predicted from one capture, made, and measured.

The pipelines are those of `counterfactual_pipelines`. Each part is taken away, transforms are halved as well; the
number of DataLoader workers, prefetching and order are changed. A prediction is judged by the step that the change
brings: the unchanged loop's time, measured beside, times the predicted ratio. "Spread" is how much equal runs of the
unchanged loop differ. The model may be mended on the group "tune" only; "judge" says how good it is.

    python benchmarks/prediction.py --out results.json [--group judge] [--piece 150]
    python benchmarks/prediction.py --out batches.json --batches [...]      other batch sizes, and nothing else
    python benchmarks/prediction.py --out results.json --rejudge       predicts anew, runs nothing; prints Markdown

Called again with the same --out it goes on, where a pipeline's round is the smallest unit; exit status 3: there is more
to do. Timing needs a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.counterfactual_pipelines import PIPELINES  # noqa: E402
from benchmarks.counterfactual_pipelines.running import (  # noqa: E402
    BATCH,
    GROWS,
    HALVED,
    PREFETCH,
    UNORDERED,
    WORKERS,
)
from benchmarks.prediction_pairs import markdown, pairs_of  # noqa: E402

RUNNING: Final = "benchmarks.counterfactual_pipelines.running"
NUMBERS: Final = (0, 1, 2, 3)
DEPTHS: Final = (1, 6)
MORE: Final = 3
"""Exit status where pipelines are left."""


def main() -> int:
    options = _parser().parse_args()
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    work = options.out.with_suffix("")
    work.mkdir(parents=True, exist_ok=True)
    wanted = [name for name, pipeline in PIPELINES.items() if options.group in ("all", pipeline.group)]
    wanted = [name for name in wanted if not options.only or name.startswith(tuple(options.only))]
    end = time.monotonic() + options.piece
    for number in range(options.rounds) if not options.rejudge else ():
        for name in wanted:
            result = results.setdefault(name, {"rounds": [], "loads": []})
            if len(result["rounds"]) > number:
                continue
            if time.monotonic() > end:
                return MORE
            _measure(name, work / name, result, options)
            options.out.write_text(json.dumps(results, indent=1))
    pairs = [
        pair for name in wanted if name in results for pair in pairs_of(PIPELINES[name], work / name, results[name])
    ]
    print("\n".join(markdown(pairs, options.each)))
    return 0


def _measure(name: str, logdir: Path, result: dict[str, Any], options: argparse.Namespace) -> None:
    """One more round; before the first one, the capture."""
    print(name, f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    program = ["-m", RUNNING, name, "--seed", str(options.seed)]
    if not result["rounds"]:
        shutil.rmtree(logdir, ignore_errors=True)
        _python(*program, "--capture", str(logdir))
    changes = list(_batches(name) if options.batches else _changes(name))
    if not changes:
        result["rounds"].append({})
        return
    turn = len(result["rounds"]) * 2 % len(changes)
    turned = [*changes[turn:], *changes[:turn]]
    result["rounds"].append(json.loads(_python(*program, "--seconds", str(options.seconds), "--changes", *turned)))
    result["loads"].append(os.getloadavg()[0])


def _batches(name: str) -> Iterator[str]:
    """Half and twice the batch, with a step that takes as long, and one that grows with it."""
    size = PIPELINES[name].build(frozenset()).loader.batch_size
    for other in (size // 2, 2 * size) if size else ():
        yield f"{BATCH}{other}"
        yield f"{BATCH}{other}{GROWS}"


def _changes(name: str) -> Iterator[str]:
    """Parts by their names, and settings that are not the pipeline's own."""
    pipeline = PIPELINES[name]
    loader = pipeline.build(frozenset()).loader
    yield from pipeline.parts
    halves = [part for part in pipeline.parts if part.startswith("transform::") and part != "transform::Tokenise"]
    yield from (f"{part}{HALVED}" for part in halves[:2])
    yield from (f"{WORKERS}{number}" for number in NUMBERS if number != loader.num_workers)
    if loader.num_workers:
        yield from (f"{PREFETCH}{depth}" for depth in DEPTHS if depth != loader.prefetch_factor)
    if loader.num_workers > 1:
        yield UNORDERED


def _python(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {ended.returncode}:\n{ended.stderr[-3000:]}")
    return ended.stdout


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", type=Path, required=True, help="times, JSON; captures lie beside it")
    add("--group", choices=("tune", "judge", "all"), default="all")
    add("--only", nargs="+", default=[], metavar="NAME", help="pipelines whose names begin so")
    add("--seed", type=int, default=0, help="of the times that the parts take; one --out for each")
    add("--batches", action="store_true", help="measure other batch sizes, in place of all other changes")
    add("--rounds", type=int, default=3, help="of each change")
    add("--seconds", type=float, default=0.8, help="that a run is measured for")
    add("--piece", type=float, default=1e9, metavar="S", help="seconds after which nothing more is begun")
    add("--each", action="store_true", help="print each pair as well")
    add("--rejudge", action="store_true", help="run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
