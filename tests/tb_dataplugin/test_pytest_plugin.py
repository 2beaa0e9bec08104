"""The pytest plugin, in runs of pytest within this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.pytest_plugin.captures import Baseline

SLOW, FAST = "v100_resnet50_workers0", "v100_resnet50_workers4"
ANNOTATED = "annotate_workers2"

TEST = """
import os, pathlib, shutil

def test_loader(data_pipeline):
    data_pipeline.logdir.mkdir()
    shutil.copy(os.environ["CAPTURED"], data_pipeline.logdir)
    data_pipeline.{call}

def test_of_something_else():
    pass
"""


class Runs:
    """Test modules with one call of the fixture's, and a capture in its folder."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, golden: Path) -> None:
        self._pytester, self._patch, self._golden = pytester, monkeypatch, golden
        monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def __call__(self, call: str, *options: str, capture: str = FAST) -> pytest.RunResult:
        self._patch.setenv("CAPTURED", str(self._golden / f"{capture}.pt.trace.json.gz"))
        self._pytester.makepyfile(test_it=TEST.format(call=call))
        self._pytester.makeini("[pytest]")
        plugin = ("-p", "no:data_pipeline", "-p", "tb_dataplugin.pytest_plugin", "-W", "ignore:Module already imported")
        return self._pytester.runpytest_inprocess("-p", "no:cacheprovider", *plugin, *options)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, golden: Path) -> Runs:
    return Runs(pytester, monkeypatch, golden)


def test_within_its_budget_a_capture_is_one_line(run: Runs) -> None:
    result = run('check(max_data_wait="5%")')
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*data pipeline*", "test_it.py::test_loader: *"])


def test_what_exceeds_its_budget_fails_in_plain_lines(run: Runs) -> None:
    result = run('check(max_data_wait="5%", min_samples_per_s=1e9)', capture=ANNOTATED)
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert "of the step" in text and "more than 5.00%" in text
    assert "samples/s, fewer than" in text
    assert f"{ANNOTATED}.pt.trace.json.gz" in text
    assert "Traceback" not in text and "captures.py" not in text


def test_a_baseline_is_kept_and_compared_with(run: Runs, tmp_path: Path) -> None:
    baseline = ("--data-pipeline-baseline", str(tmp_path / "kept"))
    missing = run("compare()", *baseline)
    missing.assert_outcomes(passed=1, failed=1)
    assert "--data-pipeline-update" in missing.stdout.str()
    run("compare()", *baseline, "--data-pipeline-update").assert_outcomes(passed=2)
    run("compare()", *baseline).assert_outcomes(passed=2)
    slower = run('compare(fail_if_slower="5%")', *baseline, capture=SLOW)
    slower.assert_outcomes(passed=1, failed=1)
    assert "slower by" in slower.stdout.str()


def test_without_a_folder_for_baselines_nothing_is_compared(run: Runs) -> None:
    run("compare()").assert_outcomes(passed=1, skipped=1)


def test_a_test_that_captured_nothing_fails_in_one_line(run: Runs) -> None:
    result = run('logdir.joinpath("v100_resnet50_workers4.pt.trace.json.gz").unlink(); data_pipeline.report()')
    result.assert_outcomes(passed=1, failed=1)
    assert "data_pipeline: " in result.stdout.str() and "Traceback" not in result.stdout.str()


def test_a_job_of_github_gets_the_tables(run: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run('check(max_data_wait="5%")').assert_outcomes(passed=2)
    assert summary.read_text().startswith("### test_it.py::test_loader")


def test_a_tests_name_is_a_folder_name(tmp_path: Path) -> None:
    path = Baseline(tmp_path, "tests/a/test_x.py::test_it[2-\N{MICRO SIGN}/..]", update=False).path
    assert path.parent == tmp_path
