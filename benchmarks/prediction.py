"""How far predictions of `tb-dataplugin whatif` are off: a change is predicted from one capture, made, and measured.

The pipelines are those of `counterfactual_pipelines`. Each part is taken away, transforms are halved as well; the
number of DataLoader workers, prefetching and order are changed. A prediction is judged by the step that the change
brings: the unchanged loop's time, measured beside, times the predicted ratio. "Spread" is how much equal runs of the
unchanged loop differ. The model may be mended on the group "tune" only; "judge" says how good it is, "third" how
good it was once it had been mended in view of "judge", "fourth" in view of "third", and "fifth" in view of "fourth";
"sixth" judges the same model as "fifth"; "seventh" reads from disks and networks, and a part of it needs DLIO's
environment (`make .venv-dlio/.installed`).

    python benchmarks/prediction.py --out results.json [--group judge] [--piece 150]
    python benchmarks/prediction.py --out batches.json --batches [...]      other batch sizes, and nothing else
    python benchmarks/prediction.py --out results.json --rejudge       predicts anew, runs nothing; prints Markdown

Called again with the same --out it goes on, where a few changes of a pipeline are the smallest unit; exit status 3:
there is more to do. Timing needs a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.counterfactual_pipelines import PIPELINES  # noqa: E402
from benchmarks.counterfactual_pipelines.judging import bounds_of, estimate  # noqa: E402
from benchmarks.counterfactual_pipelines.pairing import MOST  # noqa: E402
from benchmarks.counterfactual_pipelines.running import (  # noqa: E402
    BATCH,
    GROWS,
    HALVED,
    PREFETCH,
    UNORDERED,
    WORKERS,
    Settings,
)
from benchmarks.counterfactual_pipelines.starting import report, run, runnable  # noqa: E402
from benchmarks.neighbours import AGAIN, DISTURBED, Neighbours  # noqa: E402
from benchmarks.prediction_pairs import markdown, pairs_of  # noqa: E402

NUMBERS: Final = (0, 1, 2, 3)
DEPTHS: Final = (1, 6)
AT_ONCE: Final = 4
"""Changes that one process measures."""
MORE: Final = 3
"""Exit status where something is left."""


def main() -> int:
    options = _parser().parse_args()
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    work = options.out.with_suffix("")
    work.mkdir(parents=True, exist_ok=True)
    wanted = [name for name, pipeline in PIPELINES.items() if options.group in ("all", pipeline.group)]
    wanted = [name for name in wanted if not options.only or name.startswith(tuple(options.only))]
    end = time.monotonic() + options.piece
    for name in runnable(wanted) if not options.rejudge else ():
        for _ in _parts(
            name, work / name, results.setdefault(name, {"pairs": {}, "loads": [], "disturbed": 0}), options
        ):
            options.out.write_text(json.dumps(results, indent=1))
            if time.monotonic() > end:
                return MORE
    pairs = [
        pair for name in wanted if name in results for pair in pairs_of(PIPELINES[name], work / name, results[name])
    ]
    disturbed = sum(results[name]["disturbed"] for name in wanted if name in results)
    print("\n".join(markdown(pairs, options.each)))
    if options.bounds:
        found = {name: _bounds(name, work / name, results[name]) for name in wanted if name in results}
        exceeded = sum(sum(one.values()) for one in found.values())
        print(f"Findings with a bound: {sum(map(len, found.values()))}; exceeded: {exceeded}")
        print("".join(f"- {name}: {one}\n" for name, one in found.items() if any(one.values())))
    print(f"Windows that count although other programs took {DISTURBED:.0%} of the CPUs or more: {disturbed}")
    return 0


def _parts(name: str, logdir: Path, result: dict[str, Any], options: argparse.Namespace) -> Iterator[None]:
    """Measures what `result` lacks; after each yield it has more."""
    seed = ("--seed", str(options.seed))
    if not result["loads"]:
        print(name, f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
        result["disturbed"] += _capture(name, logdir, seed)
        result["loads"].append(os.getloadavg()[0])
        yield
    if "settings" not in result:
        result["settings"] = json.loads(run(name, "--settings"))
    settings = Settings(**result["settings"])
    possible = batches(settings) if options.batches else changes_of(PIPELINES[name].parts, settings)
    changes = _drawn(name, list(possible), options.draw)
    left = [change for change in changes if change not in result["pairs"]]
    for first in range(0, len(left), AT_ONCE):
        some = left[first : first + AT_ONCE]
        measured = ("--seconds", str(options.seconds), "--most", str(options.most), "--changes", *some)
        found = json.loads(run(name, *seed, *measured))
        result["disturbed"] += found.pop("disturbed")
        result["pairs"] |= found
        result["loads"].append(os.getloadavg()[0])
        yield


def _bounds(name: str, logdir: Path, result: dict[str, Any]) -> dict[str, bool]:
    """Of the parts whose finding "saves up to" something: whether taking them away saved more, beyond its interval."""
    capture = json.loads(report(logdir))["captures"][0]
    saved = {part: [a - b for a, b in result["pairs"].get(part, ())] for part in PIPELINES[name].parts}
    gains = {part: estimate(values) for part, values in saved.items() if values}
    return {part: exceeded for part, (_, exceeded) in bounds_of(capture, gains).items()}


def _capture(name: str, logdir: Path, seed: tuple[str, str]) -> bool:
    """Whether other programs took CPUs meanwhile, each time."""
    for _ in range(1 + AGAIN):
        shutil.rmtree(logdir, ignore_errors=True)
        neighbours = Neighbours()
        run(name, *seed, "--capture", str(logdir))
        if neighbours.share <= DISTURBED:
            return False
    return True


def _drawn(name: str, changes: list[str], count: int) -> list[str]:
    """Some of them, by the pipeline's name: nobody chooses which."""
    drawn = random.Random(name).sample(changes, min(count, len(changes)))
    return [change for change in changes if change in drawn]


def batches(settings: Settings) -> Iterator[str]:
    """Half and twice the batch, with a step that takes as long, and one that grows with it."""
    size = settings.batch
    for other in filter(None, (size // 2, 2 * size) if size else ()):
        yield f"{BATCH}{other}"
        yield f"{BATCH}{other}{GROWS}"


def changes_of(parts: Sequence[str], settings: Settings) -> Iterator[str]:
    """Parts by their names, and settings that are not the pipeline's own."""
    yield from parts
    halves = [part for part in parts if part.startswith("transform::") and part != "transform::Tokenise"]
    yield from (f"{part}{HALVED}" for part in halves[:2])
    yield from (f"{WORKERS}{number}" for number in NUMBERS if number != settings.workers)
    if settings.workers:
        yield from (f"{PREFETCH}{depth}" for depth in DEPTHS if depth != settings.prefetch)
    if settings.workers > 1:
        yield UNORDERED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", type=Path, required=True, help="times, JSON; captures lie beside it")
    add("--group", choices=("tune", "judge", "third", "fourth", "fifth", "sixth", "seventh", "all"), default="all")
    add("--only", nargs="+", default=[], metavar="NAME", help="pipelines whose names begin so")
    add("--seed", type=int, default=0, help="of the times that the parts take; one --out for each")
    add("--batches", action="store_true", help="measure other batch sizes, in place of all other changes")
    add("--draw", type=int, default=99, metavar="N", help="measure N of a pipeline's changes, drawn by its name")
    add("--most", type=int, default=MOST, metavar="PAIRS", help="of windows for each change, where they differ")
    add("--seconds", type=float, default=0.6, help="that a window is measured for")
    add("--piece", type=float, default=1e9, metavar="S", help="seconds after which nothing more is begun")
    add("--each", action="store_true", help="print each pair as well")
    add("--bounds", action="store_true", help='also what findings promise ("saves up to"), beside what was gained')
    add("--rejudge", action="store_true", help="run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
