"""Every pipeline of the table: the same batches as without us, and the planted stage first in the report."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ecosystem import cells, ledger
from tests.ecosystem.cells import Cell
from tests.ecosystem.children import in_child
from tests.ecosystem.observe import clear
from tests.ecosystem.pipeline import RUN, WAYS, Pipeline
from tests.ecosystem.pipelines import MODULES, pipelines

EVERY = [(module, pipeline) for module in MODULES for pipeline in pipelines(module)]
ATTEMPTS = 3
"""On a machine with other work, anything may take more time than what was planted: most of so many have to say so."""


@functools.cache
def plain(module: str, title: str, folder: Path) -> Cell:
    cell: Cell = in_child(cells.run, module, title, "plain", str(folder))
    return cell


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


@pytest.mark.timeout(360)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("module", "pipeline"), EVERY, ids=lambda each: each if isinstance(each, str) else each.title)
def test_same_batches_and_the_planted_stage_first(
    module: str, pipeline: Pipeline, way: str, folder: Path, tmp_path: Path
) -> None:
    seen: list[Cell] = []
    is_same, problem = False, ""
    try:
        without_us = plain(module, pipeline.title, folder / f"{module} {pipeline.title}".replace("/", " "))
        for cell in attempts(module, pipeline, way, tmp_path):
            check(cell, without_us, pipeline, way)
            seen.append(cell)
        is_same = True
    except AssertionError as error:
        problem = str(error)
        raise
    finally:
        keep(module, pipeline, way, seen, is_same=is_same, problem=problem)
    if way in pipeline.ways:
        leading = [cell.said.leading for cell in seen]
        assert 2 * leading.count(pipeline.planted) > len(leading), [(cell.said, cell.ours) for cell in seen]
    else:
        assert pipeline.unseen


def attempts(module: str, pipeline: Pipeline, way: str, folder: Path) -> Iterator[Cell]:
    """One, and more where that has another stage first than is expected."""
    for number in range(ATTEMPTS):
        args = module, pipeline.title
        if way == RUN:
            cell = cells.run_under_the_launcher(*args, str(folder / str(number)))
        else:
            cell = in_child(cells.run, *args, way, str(folder / str(number)))
        yield cell
        if number == 0 and (cell.said.leading == pipeline.planted or way not in pipeline.ways):
            return


def check(cell: Cell, without_us: Cell, pipeline: Pipeline, way: str) -> None:
    """What holds however busy the machine is."""
    assert cell.count == without_us.count == pipeline.batches
    assert cell.batches == without_us.batches
    if way != RUN:
        assert cell.others == without_us.others
        for text in cell.ours:
            clear(text)
    if cell.said.leading == pipeline.planted:
        assert pipeline.planted in cell.said.verdict


def keep(module: str, pipeline: Pipeline, way: str, seen: list[Cell], *, is_same: bool, problem: str) -> None:
    """Of the run that docs/ecosystem.md is made of."""
    stages = {stage for cell in seen for stage in cell.said.stages if not stage.startswith(("wait::", "user::"))}
    leading = tuple(cell.said.leading for cell in seen)
    ledger.note(
        ledger.of_pipeline(
            module,
            pipeline,
            way,
            same=is_same,
            first=tuple(stage == pipeline.planted for stage in leading),
            leading=leading,
            stages=tuple(sorted(stages)),
            note=problem[:600] or " ".join(text for cell in seen for text in cell.ours)[:600],
        )
    )
