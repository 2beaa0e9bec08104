"""``python -m tests.harm``: runs the matrix and says what differs, and how often each value of a dimension failed."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future, as_completed
from dataclasses import replace

from tests.harm.cells import DIMENSIONS, SLOW, Cell, covering, every
from tests.harm.compare import Difference
from tests.harm.faults import FAULTS
from tests.harm.lab import Lab


def chosen(arguments: argparse.Namespace) -> list[Cell]:
    """The cells that were asked for."""
    if arguments.faults:
        return [replace(cell, fault=name) for name, cell in FAULTS.items()]
    cells: Iterable[Cell] = every() if arguments.all else (*covering(), *SLOW)
    wanted = dict(pair.split("=", 1) for pair in arguments.only)
    return [cell for cell in cells if all(cell.values()[name] in value.split(",") for name, value in wanted.items())]


def table(results: dict[Cell, list[Difference]]) -> str:
    """Passed and failed by each value of each dimension."""
    passed: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for cell, found in results.items():
        for pair in cell.values().items():
            (failed if found else passed)[pair] += 1
    rows = [f"{'':12} {'':22} {'passed':>7} {'failed':>7}"]
    rows += [
        f"{name:12} {value:22} {passed[name, value]:7} {failed[name, value]:7}"
        for name, values in DIMENSIONS.items()
        for value in values
        if passed[name, value] + failed[name, value]
    ]
    fields = Counter(name for found in results.values() for name in {one.field for one in found})
    rows += [f"{'differs in':12} {name:22} {'':7} {number:7}" for name, number in fields.most_common()]
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harm", description=__doc__)
    parser.add_argument("--all", action="store_true", help="every cell, not only a covering selection")
    parser.add_argument("--faults", action="store_true", help="a fault of ours at each hook instead")
    parser.add_argument("--only", nargs="*", default=[], metavar="DIMENSION=VALUE,...", help="cells with these values")
    parser.add_argument("--quiet", action="store_true", help="the table alone")
    arguments = parser.parse_args()
    begin = time.monotonic()
    results: dict[Cell, list[Difference]] = {}
    with Lab() as lab:
        futures: dict[Future[list[Difference]], Cell] = {lab.try_cell(cell): cell for cell in chosen(arguments)}
        for future in as_completed(futures):
            cell = futures[future]
            results[cell] = found = future.result()
            if found and not arguments.quiet:
                print(f"FAILED {cell}", *(f"    {one}" for one in found), sep="\n", flush=True)
    print(table(results))
    failed = sum(map(bool, results.values()))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{len(results)} cells, {failed} failed, {time.monotonic() - begin:.0f} s, "
        f"{used.ru_utime + used.ru_stime:.0f} s of CPU time"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
