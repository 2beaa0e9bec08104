"""Does the waste audit find what is planted, by how much it is wasted, and nothing in clean pipelines?

    python benchmarks/waste.py --out results.json [--only NAME ...]     # goes on where the file ends
    python benchmarks/waste.py --out results.json --table                 # Markdown

Faults are loops of a second, all on this machine, two of them on 2 gloo ranks. Found is what the finding gives as its
share; right: within 5 percentage points of what was planted. Clean runs are the twenty healthy pipelines and the shapes
of `ordinary_loops_programs`, written by others for another question, and ten ordinary settings made here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.ordinary_loops_programs import HEALTHY, file_of, shapes
from tb_dataplugin import read_report
from tb_dataplugin.rank_files import newest_of_each
from tb_dataplugin.ranks import summarise
from tb_dataplugin.reader.discovery import find_traces

RULES: Final = (
    "samples_read_again",
    "workers_read_the_same",
    "workers_without_work",
    "samples_dropped",
    "same_order",
    "pinned_for_nothing",
    "bytes_thrown_away",
)
KEEPS: Final = ("bytes_thrown_away", "shrink_first")
FAULTS: Final[dict[str, tuple[str, float]]] = {
    "sampler repeats 30%": ("samples_read_again", 0.30),
    "sampler gives each index twice": ("samples_read_again", 0.50),
    "sampler repeats 10%, 2 workers": ("samples_read_again", 0.10),
    "drop_last leaves out 36%": ("samples_dropped", 0.36),
    "drop_last leaves out 45%, in order": ("samples_dropped", 26 / 58),
    "iterable, 2 workers read all": ("workers_read_the_same", 1 / 2),
    "iterable, 3 workers read all": ("workers_read_the_same", 2 / 3),
    "1 shard, 2 workers": ("workers_without_work", 1 / 2),
    "2 shards, 3 workers": ("workers_without_work", 1 / 3),
    "1 batch per epoch, 2 workers": ("workers_without_work", 1 / 2),
    "pin_memory without a device": ("pinned_for_nothing", 1.0),
    "set_epoch is not called": ("same_order", 1.0),
    "crop keeps 15%": ("bytes_thrown_away", 0.15),
    "crop keeps 6%": ("bytes_thrown_away", 0.06),
    "2 ranks read everything": ("no_sharding", 0.50),
    "2 ranks share 20%": ("shared_samples", 0.20),
}
RANKS: Final = {"2 ranks read everything": range(80), "2 ranks share 20%": range(48, 128)}
"""What rank 1 reads; rank 0 reads 0 to 79. Read twice: 80 of 160, and 32 of 160."""
SETTINGS: Final = (
    "in order", "shuffled", "2 workers", "2 workers, shuffled", "replacement", "weighted", "iterable, sharded",
    "drop_last of 3%", "set_epoch is called", "crop keeps 60%",
)  # fmt: skip
LIMIT_S: Final = 120


def loops(name: str) -> tuple[Any, int, Callable[[int], None]]:
    """The loader, its epochs, and what is called before each."""
    import torch
    from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, WeightedRandomSampler

    from benchmarks.waste_programs import Cropped, Items, Listed, Pictures

    def nothing(epoch: int) -> None:
        pass

    def crops(keeps: float) -> Any:
        return DataLoader(Pictures(Cropped(keeps)), batch_size=8)

    if name in ("set_epoch is not called", "set_epoch is called"):
        sampler: DistributedSampler[Any] = DistributedSampler(Pictures(), num_replicas=2, rank=0)
        call = nothing if "not" in name else sampler.set_epoch
        return DataLoader(Pictures(), batch_size=8, sampler=sampler), 2, call
    makers: dict[str, tuple[Callable[[], Any], int]] = {
        "sampler repeats 30%": (
            lambda: DataLoader(Pictures(), batch_size=10, sampler=Listed([*range(70), *range(30)])), 1),
        "sampler gives each index twice": (
            lambda: DataLoader(Pictures(), batch_size=10, sampler=Listed([n // 2 for n in range(100)])), 1),
        "sampler repeats 10%, 2 workers": (
            lambda: DataLoader(
                Pictures(), batch_size=10, num_workers=2, sampler=Listed([*range(90), *range(10)])), 1),
        "drop_last leaves out 36%": (
            lambda: DataLoader(Pictures(n=100), batch_size=64, shuffle=True, drop_last=True), 8),
        "drop_last leaves out 45%, in order": (
            lambda: DataLoader(Pictures(n=58), batch_size=32, drop_last=True), 8),
        "iterable, 2 workers read all": (lambda: DataLoader(Items(), batch_size=8, num_workers=2), 1),
        "iterable, 3 workers read all": (lambda: DataLoader(Items(), batch_size=8, num_workers=3), 1),
        "1 shard, 2 workers": (lambda: DataLoader(Items(shards=1), batch_size=8, num_workers=2), 1),
        "2 shards, 3 workers": (lambda: DataLoader(Items(shards=2), batch_size=8, num_workers=3), 1),
        "1 batch per epoch, 2 workers": (lambda: DataLoader(Pictures(n=16), batch_size=16, num_workers=2), 4),
        "pin_memory without a device": (lambda: DataLoader(Pictures(), batch_size=10, pin_memory=True), 1),
        "crop keeps 15%": (lambda: crops(0.15), 1),
        "crop keeps 6%": (lambda: crops(0.06), 1),
        "in order": (lambda: DataLoader(Pictures(), batch_size=10), 2),
        "shuffled": (lambda: DataLoader(Pictures(), batch_size=10, shuffle=True), 2),
        "2 workers": (lambda: DataLoader(Pictures(), batch_size=10, num_workers=2), 2),
        "2 workers, shuffled": (
            lambda: DataLoader(Pictures(), batch_size=10, num_workers=2, shuffle=True, persistent_workers=True), 2),
        "replacement": (
            lambda: DataLoader(Pictures(), batch_size=10, sampler=RandomSampler(range(100), replacement=True)), 1),
        "weighted": (
            lambda: DataLoader(Pictures(), batch_size=10, sampler=WeightedRandomSampler(torch.ones(100), 100)), 1),
        "iterable, sharded": (lambda: DataLoader(Items(shards=4), batch_size=8, num_workers=2), 1),
        "drop_last of 3%": (lambda: DataLoader(Pictures(n=99), batch_size=32, shuffle=True, drop_last=True), 4),
        "crop keeps 60%": (lambda: crops(0.6), 1),
    }  # fmt: skip
    make, epochs = makers[name]
    return make(), epochs, nothing


def record(name: str, folder: str) -> None:
    """One loop, captured from its first batch to its last; in a process of its own."""
    import time
    import warnings

    import annotate

    warnings.simplefilter("ignore")
    loader, epochs, before = loops(name)
    steps = sum(1 for _ in range(epochs) for _ in loader)
    pause = 0.01 if name in FAULTS and FAULTS[name][0] in KEEPS else 0.002
    annotate.loader(loader)
    with annotate.profile(folder, wait=0, warmup=0, active=steps) as prof:
        for epoch in range(epochs):
            before(epoch)
            for _ in prof.steps(loader):
                time.sleep(pause * 5)


def record_rank(name: str, folder: str, rank: int, port: str) -> None:
    import torch.distributed as dist
    from torch import ones
    from torch.utils.data import DataLoader

    import annotate
    from benchmarks.waste_programs import Listed, Pictures

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    dist.init_process_group("gloo", rank=rank, world_size=2)
    mine = range(80) if rank == 0 else RANKS[name]
    loader = DataLoader(Pictures(n=160), batch_size=8, sampler=Listed(list(mine)))
    annotate.loader(loader)
    with annotate.profile(folder, wait=0, warmup=0, active=10) as prof:
        for _ in prof.steps(loader):
            dist.all_reduce(ones(4))
    dist.destroy_process_group()


def _run(*commands: list[str]) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for command in commands]
    for process in running:
        if process.wait(LIMIT_S):
            raise RuntimeError(f"{process.args} failed")


def _me(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.waste", *arguments]


def found_in(folder: str) -> list[tuple[str, float]]:
    """The rule of each finding about waste, and its share."""
    found = []
    for capture in read_report(folder):
        for finding in capture.findings:
            shares = [one.value for one in finding.evidence if one.unit == "share" and one.value]
            if finding.rule in (*RULES, "shrink_first"):
                found.append((finding.rule, shares[0] if shares else 1.0))
    return found


def found_in_ranks(folder: str) -> list[tuple[str, float]]:
    tables = newest_of_each(sorted(find_traces(Path(folder)), key=lambda trace: -trace.modified_ns)).tables
    return [(waste.kind, waste.share) for waste in summarise("ranks", tables).waste]


def judge(name: str) -> list[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        if name in RANKS:
            port = str(29_500 + os.getpid() % 2_000)
            _run(*(_me("--rank", str(rank), "--record", name, folder, "--port", port) for rank in (0, 1)))
            return found_in_ranks(folder)
        if name in FAULTS or name in SETTINGS:
            _run(_me("--record", name, folder))
        else:
            module = file_of(name).stem
            where = f"{'' if name in HEALTHY else 'shapes.'}{module}"
            variant = ["--variant", name] if name in HEALTHY else []
            program = [sys.executable, "-m", f"benchmarks.ordinary_loops_programs.{where}"]
            _run([*program, "--seed", "5", "--steps", "60", "--logdir", folder, *variant])
        found = found_in(folder)
        return found if name in FAULTS else [one for one in found if one[0] in RULES]


def is_right(name: str, found: list[tuple[str, float]]) -> bool:
    if name not in FAULTS:
        return not found
    rule, planted = FAULTS[name]
    same = KEEPS if rule in KEEPS else (rule,)
    return any(kind in same and abs(value - planted) <= 0.05 for kind, value in found)


def table(results: dict[str, list[tuple[str, float]]]) -> Iterator[str]:
    yield "| planted | share planted | found | share found | right |"
    yield "|---|---|---|---|---|"
    for name, (_, planted) in FAULTS.items():
        if name in results:
            found = results[name]
            kinds, shares = ", ".join(kind for kind, _ in found) or "nothing", ", ".join(f"{v:.1%}" for _, v in found)
            right = "yes" if is_right(name, found) else "no"
            yield f"| {name} | {planted:.1%} | {kinds} | {shares or '–'} | {right} |"
    clean = [name for name in results if name not in FAULTS]
    false = [f"{name}: {', '.join(kind for kind, _ in results[name])}" for name in clean if results[name]]
    yield f"\nClean runs: {len(clean)}, with a finding: {len(false)}{' (' + '; '.join(false) + ')' if false else ''}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("waste.json"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further run after so long")
    parser.add_argument("--record", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record and options.rank is not None:
        record_rank(*options.record, options.rank, options.port)
    elif options.record:
        record(*options.record)
    else:
        _series(options)


def _series(options: argparse.Namespace) -> None:
    import time

    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    began = time.monotonic()
    names = options.only or [*FAULTS, *SETTINGS, *HEALTHY, *shapes()]
    for name in [] if options.table else [name for name in names if name not in results]:
        if time.monotonic() - began > options.seconds:
            break
        try:
            results[name] = judge(name)
        except Exception as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        options.out.write_text(json.dumps(results, indent=1))
        print(name, results[name], "right" if is_right(name, results[name]) else "WRONG", flush=True)
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
