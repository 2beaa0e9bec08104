"""``python -m tests.harm``: runs the matrix and says what differs, and how often each value of a dimension failed.

The whole of it in pieces of eight minutes, each of which goes on where the last one was:

    python -m tests.harm --all --ledger harm.jsonl --minutes 8
    python -m tests.harm --all --run --ledger harm-run.jsonl --minutes 8
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from tests.harm.cells import DIMENSIONS, SLOW, Cell, covering, every, under_run
from tests.harm.compare import Difference
from tests.harm.faults import FAULTS
from tests.harm.lab import Lab
from tests.harm.ledger import Ledger, Results, in_mixed_order
from tests.which_commit import commit

_AHEAD: Final = 16
"""Cells that are asked for before one of them has ended."""


def chosen(arguments: argparse.Namespace) -> list[Cell]:
    """The cells that were asked for."""
    if arguments.faults:
        return [replace(cell, fault=name) for name, cell in FAULTS.items()]
    cells: Iterable[Cell] = every() if arguments.all else (*covering(), *SLOW)
    wanted = dict(pair.split("=", 1) for pair in arguments.only)
    cells = under_run(cells) if arguments.run else cells
    return in_mixed_order(
        cell for cell in cells if all(cell.values()[name] in value.split(",") for name, value in wanted.items())
    )


def tried(
    attempt: Callable[[Cell], Future[list[Difference]]], cells: Iterable[Cell], until: float
) -> Iterator[tuple[Cell, list[Difference]]]:
    """Each cell when it has been tried; none is begun after the moment `until` of ``time.monotonic``."""
    left, going = iter(cells), dict[Future[list[Difference]], Cell]()
    while True:
        if time.monotonic() < until:
            going |= {attempt(cell): cell for cell in islice(left, _AHEAD - len(going))}
        if not going:
            return
        for future in wait(going, return_when=FIRST_COMPLETED).done:
            yield going.pop(future), future.result()


def table(results: Results) -> str:
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
        for value in dict.fromkeys((*values, *(each for known, each in passed | failed if known == name)))
        if passed[name, value] + failed[name, value]
    ]
    fields = Counter(name for found in results.values() for name in {one.field for one in found})
    rows += [f"{'differs in':12} {name:22} {'':7} {number:7}" for name, number in fields.most_common()]
    return "\n".join(rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.harm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="every cell, not only a covering selection")
    parser.add_argument("--run", action="store_true", help="each program under `tb-dataplugin run`")
    parser.add_argument("--faults", action="store_true", help="a fault of ours at each hook instead")
    parser.add_argument("--twice", action="store_true", help="both times without us: shows what does not repeat")
    parser.add_argument("--only", nargs="*", default=[], metavar="DIMENSION=VALUE,...", help="cells with these values")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="keep the results there; try what is not in it yet")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further cell after so long")
    parser.add_argument("--quiet", action="store_true", help="the table alone")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    begin = time.monotonic()
    cells = chosen(arguments)
    ledger = Ledger(arguments.ledger, commit())
    left = [cell for cell in cells if cell not in ledger.results]
    with Lab() as lab, suppress(KeyboardInterrupt):  # the table is of what has been tried by then
        attempt = lab.try_twice if arguments.twice else lab.try_cell
        for cell, found in tried(attempt, left, begin + 60 * arguments.minutes):
            ledger.note(cell, found)
            if found and not arguments.quiet:
                print(f"FAILED {cell}", *(f"    {one}" for one in found), sep="\n", flush=True)
    results = {cell: ledger.results[cell] for cell in cells if cell in ledger.results}
    print(table(results))
    failed = sum(map(bool, results.values()))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{len(results)} of {len(cells)} cells ({ledger.commits()}), {failed} failed; this time "
        f"{time.monotonic() - begin:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU time"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
