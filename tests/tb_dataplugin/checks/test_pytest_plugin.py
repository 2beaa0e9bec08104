"""The plugin in a pytest of its own, in this process; captures are built, and only `tests/annotate` takes real ones."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tb_dataplugin import pytest_plugin
from tests.trace_builder import TraceBuilder

pytest_plugins = ["pytester"]

USES = """
from pathlib import Path
def test_loader(data_pipeline):
    data_pipeline.add(Path({trace!r}))
    data_pipeline.{check}
"""


@pytest.fixture(autouse=True)
def _plugin_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inner pytest has no other plugins, and this one once, installed or not."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def trace(folder: Path, wait_us: float = 50, name: str = "host_1.2") -> str:
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 4, "num_workers": 0}])
    now = 0.0
    for step in range(24):
        took = wait_us + step % 3
        builder.step(now, took + 50).wait(now, took, "wait::DataLoader")
        builder.stage("sample::Pets", now + 1, took - 2).stage("transform::Crop", now + 2, took - 4)
        now += took + 50
    return str(builder.write(folder / f"{name}.pt.trace.json.gz"))


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess("-p", "tb_dataplugin.pytest_plugin", "-p", "no:cacheprovider", *arguments)


def test_a_missed_budget_fails_with_one_message_that_names_stage_and_capture(pytester: pytest.Pytester) -> None:
    made = trace(pytester.path)
    result = run(pytester, USES.format(trace=made, check='check(max_data_wait="5%")'))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "data pipeline: budget missed: data wait is * of the time, budget 5.00% (95% interval *, 24 steps)",
            "limited by: transform::Crop, which caused *% of the data wait",
            f"capture: {made} *",
            "*test_loader: exceeded: data wait is *",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_budget_that_is_kept_is_told_in_the_summary_of_the_terminal(pytester: pytest.Pytester) -> None:
    result = run(pytester, USES.format(trace=trace(pytester.path), check="check(min_samples_per_s=10)"))
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= data pipeline =*", "*test_loader: within: * samples/s, budget 10*"])


def test_a_baseline_is_written_when_asked_and_compared_from_then_on(pytester: pytest.Pytester) -> None:
    check = 'check_against_baseline("ci/base.json", fail_if_slower="10%")'
    quick = USES.format(trace=trace(pytester.path), check=check)
    slow = USES.format(trace=trace(pytester.path, 200, "host_2.3"), check=check)
    result = run(pytester, quick)
    result.stdout.fnmatch_lines(["data pipeline: cannot read *base.json: No such file*--data-pipeline-update"])
    run(pytester, quick, "--data-pipeline-update").assert_outcomes(passed=1)
    assert (pytester.path / "ci" / "base.json").exists()
    run(pytester, quick).assert_outcomes(passed=1)
    result = run(pytester, slow)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["data pipeline: slower by *, more than the 10% allowed", "Slower: *", "baseline: *"])


def test_a_missing_baseline_is_said_once(pytester: pytest.Pytester) -> None:
    result = run(pytester, USES.format(trace=trace(pytester.path), check='check_against_baseline("absent.json")'))
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*another exception occurred*")
    assert sum(line.startswith("data pipeline: cannot read") for line in result.outlines) == 1


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (
            "check(max_data_wait=5)",
            "data pipeline: max_data_wait=5 is not a percentage; write it like max_data_wait='5%'",
        ),
        ("check(max_data_wait='5')", "data pipeline: max_data_wait: '5' is not a percentage; write it like 5%"),
        (
            "check_against_baseline(fail_if_slower=0.1)",
            "data pipeline: fail_if_slower=0.1 is not a percentage; write it like fail_if_slower='5%'",
        ),
    ],
)
def test_a_limit_that_is_no_percentage_is_one_line(pytester: pytest.Pytester, check: str, said: str) -> None:
    result = run(pytester, USES.format(trace=trace(pytester.path), check=check))
    result.assert_outcomes(failed=1)
    assert said in result.outlines
    result.stdout.no_fnmatch_line("*Error*")
    result.stdout.no_fnmatch_line("*another exception occurred*")


def test_without_a_name_a_baseline_is_the_tests_own_in_the_folder_of_the_option(pytester: pytest.Pytester) -> None:
    source = USES.format(trace=trace(pytester.path), check="check_against_baseline()")
    options = ("--data-pipeline-baseline", "kept")
    run(pytester, source, *options, "--data-pipeline-add").assert_outcomes(passed=1)
    assert [path.suffix for path in (pytester.path / "kept").iterdir()] == [".json"]
    run(pytester, source, *options).assert_outcomes(passed=1)


def test_the_jobs_summary_gets_the_checks_and_what_was_captured(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = pytester.path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run(pytester, USES.format(trace=trace(pytester.path), check='check(max_data_wait="5%")'))
    text = summary.read_text()
    assert text.startswith("before\n## Data pipeline of ") and "- exceeded: data wait is" in text
    assert "transform::Crop" in text


def test_a_summary_that_cannot_be_written_fails_no_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path))
    result = run(pytester, USES.format(trace=trace(pytester.path), check="check(min_samples_per_s=10)"))
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*cannot write the summary to *"])


def test_a_test_that_captured_nothing_fails_in_one_line(pytester: pytest.Pytester) -> None:
    result = run(pytester, 'def test_none(data_pipeline):\n    data_pipeline.check(max_data_wait="5%")\n')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["data pipeline: nothing was captured yet; run more steps *"])


def test_tests_that_do_not_use_it_meet_nothing_of_it(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_plain(tmp_path):\n    assert True\n")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*data pipeline*")


def test_the_start_of_pytest_imports_nothing_but_the_standard_library_for_it() -> None:
    body = ast.parse(Path(pytest_plugin.__file__).read_text()).body
    names = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in body if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names == {"pytest"}
