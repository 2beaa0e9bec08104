"""Writes docs/ecosystem.md from a run of every pipeline in every way.

python -m tests.ecosystem.table [MODULE...]     (15 minutes on two cores; rows of other modules stay)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

import tests.ecosystem  # noqa: F401  (before the libraries)
from tests.ecosystem import cells
from tests.ecosystem.children import in_child
from tests.ecosystem.pipeline import WAYS, Pipeline
from tests.ecosystem.pipelines import MODULES, pipelines
from tests.ecosystem.planted import Said, said

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "ecosystem.md"
RUN: Final = "run --"
ROWS: Final = "<!-- rows -->"
"""Stands in the page before and after what is written here."""


class Row(NamedTuple):
    library: str
    version: str
    title: str
    same: bool
    """The batches, in every way."""
    named: tuple[str, ...]
    """Stages, without waits."""
    first: dict[str, bool]
    """By way: the planted stage has most of the data wait."""
    unseen: str


def main() -> None:
    wanted = sys.argv[1:] or MODULES
    with tempfile.TemporaryDirectory() as folder:
        for module in wanted:
            _put_in(list(_rows_of(module, Path(folder))))


def _put_in(rows: list[Row]) -> None:
    """The rows into the page, in the place of those of the same pipelines; new ones stand at the end."""
    before, old, after = PAGE.read_text().split(ROWS)
    head, lines = written(rows).splitlines()[:2], {_key(line): line for line in old.splitlines()[3:]}
    lines |= {_key(line): line for line in written(rows).splitlines()[2:]}
    PAGE.write_text("\n".join([f"{before}{ROWS}", *head, *lines.values(), f"{ROWS}{after}"]))


def _key(line: str) -> tuple[str, str]:
    """Library and pipeline of a row."""
    library, _, title, *_ = line.strip("| ").split(" | ")
    return library, title


def _rows_of(module: str, folder: Path) -> Iterator[Row]:
    for number, pipeline in enumerate(pipelines(module)):
        yield _row(module, pipeline, folder / f"{module}{number}")


def _row(module: str, pipeline: Pipeline, folder: Path) -> Row:
    plain = in_child(cells.run, module, pipeline.title, "plain", str(folder / "plain"))
    batches: set[str] = {plain.batches}
    seen: dict[str, Said] = {}
    for way in WAYS:
        cell = in_child(cells.run, module, pipeline.title, way, str(folder / way))
        batches.add(cell.batches)
        seen[way] = cell.said
    printed, seen[RUN] = run_under_the_launcher(module, pipeline.title, folder / RUN)
    batches.add(printed)
    stages = {stage for each in seen.values() for stage in each.stages if not stage.startswith(("wait::", "user::"))}
    row = Row(
        library=pipeline.library,
        version=_version(pipeline.library),
        title=pipeline.title,
        same=len(batches) == 1,
        named=tuple(sorted(stages)),
        first={way: each.leading == pipeline.planted for way, each in seen.items()},
        unseen=pipeline.unseen,
    )
    print(json.dumps(row._asdict()), {way: each.leading for way, each in seen.items()}, flush=True)
    return row


def run_under_the_launcher(module: str, title: str, folder: Path) -> tuple[str, Said]:
    """The hash that the program printed, and what the report says of its capture."""
    files, traces = folder / "files", folder / "traces"
    files.mkdir(parents=True)
    command = [sys.executable, "-m", "tb_dataplugin", "run", "--logdir", str(traces), "--wait", "8", "--active", "24"]
    command += ["--", sys.executable, "-W", "ignore", "-m", "tests.ecosystem.loop", module, title, str(files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    words = [line.split()[-1] for line in done.stdout.splitlines() if line.startswith("batches ")]
    return (words[0] if words else f"exit status {done.returncode}"), said(traces)


def _version(library: str) -> str:
    try:
        return version(library).partition("+")[0]
    except PackageNotFoundError:
        return "no build for CPUs"


def written(rows: list[Row]) -> str:
    """The table."""
    ways = (*WAYS, RUN)
    lines = [
        f"| library | version | pipeline | same batches | {' | '.join(f'`{way}`' for way in ways)} | stages | unseen |",
        "|" + "---|" * (6 + len(ways)),
    ]
    for row in rows:
        first = " | ".join("yes" if row.first[way] else "no" for way in ways)
        stages = ", ".join(f"`{stage}`" for stage in row.named)
        same = "yes" if row.same else "**no**"
        lines.append(f"| {row.library} | {row.version} | {row.title} | {same} | {first} | {stages} | {row.unseen} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
