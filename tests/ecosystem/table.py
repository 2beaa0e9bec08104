"""Writes docs/ecosystem.md from what one run of the tests saw.

python -m tests.ecosystem.table [--mended] FILE...     files of `ECOSYSTEM_RUN` (`ledger`)

Nothing in the tables is written by hand. A cell that the run has not is "not run". Cells and scripts say of which
commit they are; several are refused, but for cells that were run again after a mend (`--mended`): those are named.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tests.ecosystem import ledger
from tests.ecosystem.ledger import Made, Run, Tried
from tests.ecosystem.pipeline import WAYS

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "ecosystem.md"
ROWS: Final = "<!-- rows -->"
SCRIPTS: Final = "<!-- scripts -->"
"""Stand in the page before and after what is written here."""


def main() -> int:
    may_differ = sys.argv[1:2] == ["--mended"]
    files = sys.argv[2:] if may_differ else sys.argv[1:]
    if not files:
        sys.exit(__doc__)
    run = ledger.read([Path(name) for name in files])
    for what, made in (("cells", run.made), ("scripts", run.ran_made)):
        commits = sorted({each.commit for each in made})
        if len(commits) > 1 and not (may_differ and what == "cells"):
            sys.exit(f"These are {what} of {len(commits)} commits ({', '.join(commits)}): run all of them at one.")
    from tests.ecosystem.pipelines import MODULES, pipelines

    keys = [(module, pipeline.title) for module in MODULES for pipeline in pipelines(module)]
    text = put_in(put_in(PAGE.read_text(), ROWS, rows(run, keys)), SCRIPTS, scripts(run))
    PAGE.write_text(text)
    left = missing(run, keys)
    print(*(f"not run: {' / '.join(key)}" for key in left), sep="\n")
    return 1 if left else 0


def put_in(page: str, marker: str, text: str) -> str:
    """The page with `text` between its two markers."""
    before, _, after = page.split(marker)
    return f"{before}{marker}\n{text}{marker}{after}"


def missing(run: Run, keys: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """The cells that were not run."""
    return [(*key, way) for key in keys for way in WAYS if (*key, way) not in run.tried]


def rows(run: Run, keys: Iterable[tuple[str, str]]) -> str:
    """The table of all pipelines that were run in any way, and a line that says when."""
    found = [[run.tried.get((*key, way)) for way in WAYS] for key in keys]
    lines = [
        f"| library | version | pipeline | same batches | {' | '.join(f'`{way}`' for way in WAYS)} | stages | unseen |",
        "|" + "---|" * (6 + len(WAYS)),
        *(_row(tried) for tried in found if any(tried)),
    ]
    cells = [len(each.first) for each in run.tried.values()]
    counted = f"{len(cells)} cells, {sum(count > 1 for count in cells)} of them tried again"
    return "\n".join([made(_of_most(run), counted) + mended(run), "", *lines]) + "\n"


def mended(run: Run) -> str:
    """Which cells are of another commit than most; empty where none is."""
    others: dict[str, list[str]] = {}
    for (module, title, way), commit in run.commits.items():
        if commit != _most(run):
            others.setdefault(commit, []).append(f"{run.tried[module, title, way].library} / {title} / `{way}`")
    return "".join(f" Run again at `{commit}`: {'; '.join(named)}." for commit, named in others.items())


def _most(run: Run) -> str:
    """The commit of most cells."""
    return Counter(run.commits.values()).most_common(1)[0][0]


def _of_most(run: Run) -> list[Made]:
    return [made for made in run.made if made.commit == _most(run)] if run.commits else run.made


def made(when: Sequence[Made], what: str) -> str:
    """When, of what, on how busy a machine."""
    days = sorted({made.day for made in when})
    load = max((made.load for made in when), default=0.0)
    return (
        f"One run of `{', '.join(sorted({made.commit for made in when}))}` on {' and '.join(days)}: {what}; load "
        f"average up to {load:.1f}."
    )


def _row(ways: Sequence[Tried | None]) -> str:
    tried = [each for each in ways if each is not None]
    same = "yes" if all(each.same for each in tried) else "**no**"
    stages = ", ".join(f"`{stage}`" for stage in sorted({stage for each in tried for stage in each.stages}))
    first = " | ".join(map(_cell, ways))
    one = tried[0]
    return f"| {one.library} | {one.version} | {one.title} | {same} | {first} | {stages} | {one.unseen} |"


def _cell(tried: Tried | None) -> str:
    if tried is None:
        return "not run"
    count = sum(tried.first)
    if not tried.first:
        return "**failed**"
    if count in (0, len(tried.first)):
        return "yes" if count else "no"
    return f"{count} of {len(tried.first)}"


def scripts(run: Run) -> str:
    """What became of the training scripts; those without a stage table by name."""
    if not run.ran:
        return "Not run.\n"
    fine = [ran for ran in run.ran.values() if ran.is_fine]
    tables = [ran for ran in fine if ran.outcome == ledger.STAGE_TABLE]
    others = [f"`{ran.script}` ({ran.outcome})" for ran in run.ran.values() if ran not in tables]
    text = made(run.ran_made, f"{len(run.ran)} scripts") + "\n\n"
    text += (
        f"What a script prints is the same to the last bit in **{len(fine)} of {len(run.ran)}**, and there is a stage "
        f"table in **{len(tables)} of {len(run.ran)}**."
    )
    return text + (f" Without: {', '.join(others)}.\n" if others else "\n")


if __name__ == "__main__":
    sys.exit(main())
