"""Every pipeline of the table: the same batches as without us, and the planted stage first in the report."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.ecosystem import cells
from tests.ecosystem.cells import Cell
from tests.ecosystem.children import in_child
from tests.ecosystem.observe import clear
from tests.ecosystem.pipeline import WAYS, Pipeline
from tests.ecosystem.pipelines import MODULES, pipelines

EVERY = [(module, pipeline) for module in MODULES for pipeline in pipelines(module)]


@functools.cache
def plain(module: str, title: str, folder: Path) -> Cell:
    cell: Cell = in_child(cells.run, module, title, "plain", str(folder))
    return cell


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("module", "pipeline"), EVERY, ids=lambda each: each if isinstance(each, str) else each.title)
def test_same_batches_and_the_planted_stage_first(
    module: str, pipeline: Pipeline, way: str, folder: Path, tmp_path: Path
) -> None:
    without_us = plain(module, pipeline.title, folder / f"{module} {pipeline.title}".replace("/", " "))
    cell: Cell = in_child(cells.run, module, pipeline.title, way, str(tmp_path))
    assert cell.count == without_us.count == pipeline.batches
    assert cell.batches == without_us.batches
    assert cell.others == without_us.others
    for text in cell.ours:
        clear(text)
    if way in pipeline.ways:
        assert cell.said.leading == pipeline.planted, cell.said
        assert pipeline.planted in cell.said.verdict
    else:
        assert pipeline.unseen
