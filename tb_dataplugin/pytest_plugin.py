"""The pytest plugin: a fixture `data_pipeline`, its options, and a section of the terminal's summary.

pytest imports this at its start, whatever it tests: everything but the standard library is imported by the fixture.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from tb_dataplugin.checks.pipeline import DataPipeline

_PROPERTY: Final = "data_pipeline"
"""Of a test's report: a line for each check. Reports travel from the processes of pytest-xdist."""

_NOT_IN_A_NAME: Final = re.compile(r"[^\w.-]+")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("data pipeline", "budgets and baselines for data pipelines (tb-dataplugin)")
    help_folder = "folder of the baselines (default: pytest's rootdir)"
    group.addoption("--data-pipeline-baseline", metavar="DIR", type=Path, help=help_folder)
    help_update = "make the captures of this run the baselines, instead of comparing"
    group.addoption("--data-pipeline-update", action="store_true", help=help_update)
    help_add = "add the captures of this run to the baselines: several runs show how much equal runs differ"
    group.addoption("--data-pipeline-add", action="store_true", help=help_add)


@pytest.fixture
def data_pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DataPipeline]:
    """Captures a training loop and checks it: budgets for data wait and samples/s, a stored baseline."""
    from tb_dataplugin.checks.pipeline import CheckSettings, DataPipeline
    from tb_dataplugin.checks.summary import append_summary, summary_markdown

    options, node = request.config.option, request.node
    folder = request.config.rootpath / (options.data_pipeline_baseline or "")
    settings = CheckSettings(
        folder=tmp_path / "data_pipeline",
        baselines=folder,
        own_baseline=_NOT_IN_A_NAME.sub("-", node.nodeid).strip("-") + ".json",
        update="add" if options.data_pipeline_add else "replace" if options.data_pipeline_update else "",
        fail=partial(pytest.fail, pytrace=False),
    )
    checked = DataPipeline(settings)
    yield checked
    if checked.captures:
        text = summary_markdown(node.nodeid, checked.said, checked.comparisons, checked.captures)
        trouble = append_summary(text, os.environ)
        lines = [*checked.said, *([trouble] if trouble else [])]
        node.user_properties.extend((_PROPERTY, line) for line in lines)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was measured, also by tests that passed; nothing where no test used the fixture."""
    reports = (report for kind in terminalreporter.stats.values() for report in kind)
    lines = dict.fromkeys(
        f"{report.nodeid}: {value}"
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "teardown"
        for name, value in report.user_properties
        if name == _PROPERTY
    )
    if lines:
        terminalreporter.section("data pipeline")
    for line in lines:
        terminalreporter.write_line(line)
