"""The pytest plugin: what loading may cost, checked by a test (docs/ci.md).

    def test_loader(data_pipeline):
        with annotate.profile(data_pipeline.logdir) as prof:
            for batch in prof.steps(loader):
                train(batch)
        data_pipeline.check(max_data_wait="5%", min_samples_per_s=400)
        data_pipeline.compare(fail_if_slower="10%")

pytest imports this module in every run, so it imports nothing else until a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tb_dataplugin.pytest_plugin.captures import DataPipeline

_SEEN = pytest.StashKey[list[Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("data pipeline", "budgets for loading data (tb-dataplugin)")
    group.addoption(
        "--data-pipeline-baseline",
        metavar="DIR",
        type=Path,
        default=None,
        help="where data_pipeline.compare finds the captures to compare with, one folder per test",
    )
    group.addoption(
        "--data-pipeline-update",
        action="store_true",
        help="make this run's captures the baseline, and compare nothing",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SEEN] = []


@pytest.fixture
def data_pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DataPipeline]:
    """A folder for this test's captures, `logdir`, and what they may cost: `check`, `compare`."""
    from tb_dataplugin.pytest_plugin.captures import Baseline, DataPipeline

    folder = request.config.getoption("--data-pipeline-baseline")
    update = bool(request.config.getoption("--data-pipeline-update"))
    baseline = None if folder is None else Baseline(folder, _lasting_name(request.node), update)
    pipeline = DataPipeline(tmp_path / "data_pipeline", baseline)
    yield pipeline
    request.config.stash[_SEEN].append((request.node.nodeid, pipeline))


def _lasting_name(node: pytest.Item) -> str:
    """The test's name, whatever pytest takes for the project's root: that depends on how it is called."""
    return f"{node.path.parent.name}/{node.path.name}::{node.nodeid.partition('::')[2]}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line for each test that captured; in a job of GitHub's the tables as well."""
    seen = [(name, pipeline) for name, pipeline in config.stash[_SEEN] if pipeline.sentences]
    if not seen:
        return
    from tb_dataplugin.pytest_plugin.summary import append_for_github

    terminalreporter.section("data pipeline")
    for name, pipeline in seen:
        for sentence in pipeline.sentences:
            terminalreporter.write_line(f"{name}: {sentence}")
    append_for_github(seen)
