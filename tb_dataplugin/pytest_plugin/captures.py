"""A test's captures, judged by a budget and by a baseline."""

from __future__ import annotations

import re
import shutil
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from tb_dataplugin.api import Report, read_report
from tb_dataplugin.compare import compare
from tb_dataplugin.compare.limit import judge_limit
from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.report.report_pb2 import Capture, Comparison
from tb_dataplugin.units import parse_percentage, percent, significant


@dataclass(frozen=True, slots=True)
class Baseline:
    """The captures of a test in an earlier run: in `folder`, by the test's name."""

    folder: Path
    test: str
    update: bool

    @property
    def path(self) -> Path:
        return self.folder / re.sub(r"[^\w.=-]+", "_", self.test)


@dataclass(slots=True)
class DataPipeline:
    """What the fixture `data_pipeline` gives. `sentences`: what is said at the end of the run."""

    logdir: Path
    """For ``annotate.profile``; a folder of this test alone."""
    baseline: Baseline | None
    sentences: list[str] = field(default_factory=list)
    comparison: Comparison | None = None

    def report(self) -> Report:
        """The report on what the test captured so far.

        Raises:
            pytest.fail.Exception: nothing was captured, or a trace cannot be read; in one line.
        """
        try:
            return read_report(self.logdir)
        except DataPipelineError as error:
            pytest.fail(f"data_pipeline: {error}", pytrace=False)

    def check(self, *, max_data_wait: str | None = None, min_samples_per_s: float | None = None) -> None:
        """Fails where a capture exceeds the budget.

        Args:
            max_data_wait: share of the step, like "5%". What chance explains does not fail: the lower end of the 95%
                interval counts, where there is one. In the steady state, where the window is not steady.
            min_samples_per_s: over the window.

        Raises:
            ValueError: no percentage, or nothing to check.
            pytest.fail.Exception: a budget is exceeded, or what it is about is not in the capture.
        """
        if max_data_wait is None and min_samples_per_s is None:
            raise ValueError("data_pipeline.check: give max_data_wait, min_samples_per_s, or both")
        most = None if max_data_wait is None else parse_percentage(max_data_wait)
        report = self.report()
        said = [capture.verdict.sentence for capture in report]
        self.sentences += said
        problems = [problem for capture in report for problem in _exceeded(capture, most, min_samples_per_s)]
        if problems:
            pytest.fail("\n".join(["data_pipeline:", *problems, *said, *(capture.file for capture in report)]), False)

    def compare(self, *, fail_if_slower: str = "10%", inconclusive: Literal["pass", "fail"] = "pass") -> None:
        """Fails where the captures are slower than the baseline's by more than `fail_if_slower`, noise considered.

        With --data-pipeline-update the captures become the baseline instead. Without --data-pipeline-baseline the test
        is skipped.

        Raises:
            ValueError: no percentage.
            pytest.fail.Exception: slower; no baseline of this test; with ``inconclusive="fail"`` no certain answer.
        """
        allowed, report = parse_percentage(fail_if_slower), self.report()
        if self.baseline is None:
            pytest.skip("data_pipeline.compare: give --data-pipeline-baseline DIR")
        if self.baseline.update:
            _replace(self.baseline.path, self.logdir)
            self.sentences.append(f"the baseline is now {self.baseline.path}")
            return
        if not self.baseline.path.is_dir():
            pytest.fail(f"no baseline in {self.baseline.path}: run pytest once with --data-pipeline-update", False)
        self.comparison = compare(list(read_report(self.baseline.path)), list(report))
        judged = judge_limit(self.comparison, allowed)
        self.sentences.append(self.comparison.sentence)
        if judged.outcome == "slower" or (judged.outcome == "inconclusive" and inconclusive == "fail"):
            pytest.fail(f"data_pipeline: {judged.sentence}\n{self.comparison.sentence}", pytrace=False)
        if judged.outcome == "inconclusive":
            warnings.warn(f"data_pipeline: {judged.sentence}", UserWarning, stacklevel=2)


def _exceeded(capture: Capture, most_wait: float | None, least_rate: float | None) -> list[str]:
    """One line per budget that the capture exceeds."""
    problems = []
    if most_wait is not None:
        share, low, interval = _data_wait(capture)
        if share is None:
            problems.append(f"the data wait of {capture.name} is unknown: loop over prof.steps(loader)")
        elif low > most_wait:
            problems.append(f"data wait is {percent(share)} of the step{interval}, more than {percent(most_wait)}")
    if least_rate is not None:
        rate = capture.throughput.samples_per_s if capture.throughput.HasField("samples_per_s") else None
        if rate is None:
            problems.append(f"the samples per second of {capture.name} are unknown: annotate the loader")
        elif rate < least_rate:
            problems.append(f"{significant(rate)} samples/s, fewer than {significant(least_rate)}")
    return problems


def _data_wait(capture: Capture) -> tuple[float | None, float, str]:
    """As a share of the step; the lower end of its interval; and the interval in words."""
    steady = capture.loader.steady_state
    if steady.HasField("share"):
        words = f" (95% interval {percent(steady.share_low)} to {percent(steady.share_high)})"
        return steady.share, steady.share_low, words
    if not capture.HasField("loader") or not capture.window_us:
        return None, 0.0, ""
    share = capture.loader.wait_us / capture.window_us
    return share, share, ""


def _replace(target: Path, source: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
