"""What the fixture `data_pipeline` is: captures of one test, and checks on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TypeVar

from tb_dataplugin.checks.baseline import read_baseline, write_baseline
from tb_dataplugin.checks.budgets import Checked, check_data_wait, check_rate
from tb_dataplugin.checks.explaining import explain
from tb_dataplugin.compare import compare
from tb_dataplugin.compare.limit import judge_limit, share_of
from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.pipeline import open_capture
from tb_dataplugin.report.report_pb2 import Capture, Comparison

B = TypeVar("B")
Inconclusive = Literal["pass", "fail"]
_CAPTURE: Final = "annotate"
"""By its name: the flow is one way, and only this object, in the test's own process, has both ends of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """Of one test. `folder`: for its captures. `fail` raises, with a message that is all a reader gets."""

    folder: Path
    baselines: Path
    own_baseline: str
    update: Literal["", "replace", "add"]
    fail: Callable[[str], NoReturn]


class CapturedLoop:
    """What ``data_pipeline.capture()`` gives: an `annotate.profile` whose loop ends once it has been recorded."""

    def __init__(self, profile: Any, windows: int) -> None:
        self._profile = profile
        self._windows = windows

    def steps(self, loader: Iterable[B]) -> Iterator[B]:
        """The batches of `loader`, a step after each, until all windows are written."""
        for batch in self._profile.steps(loader):
            if self._windows and len(self._profile.trace_files) >= self._windows:
                return
            yield batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._profile, name)


class DataPipeline:
    """Captures training loops of a test, and fails the test where they miss a budget or got slower."""

    def __init__(self, settings: CheckSettings) -> None:
        self.captures: Final[list[Capture]] = []
        """Reports of the windows that were captured so far, oldest first (`report.proto`)."""
        self.said: Final[list[str]] = []
        """A line for each check."""
        self.comparisons: Final[list[Comparison]] = []
        self._settings = settings
        self._loops = 0

    @contextmanager
    def capture(self, steps: int = 20, **keywords: Any) -> Iterator[CapturedLoop]:
        """Capture the loop inside, as ``annotate.profile(..., active=steps)``.

            with data_pipeline.capture(steps=20) as prof:
                for batch in prof.steps(loader):
                    train(batch)

        Args:
            steps: how many to record.
            keywords: passed to `annotate.profile`; ``wait=2`` for a loop too short to settle.
        """
        self._loops += 1
        folder = self._settings.folder / str(self._loops)
        profile = import_module(_CAPTURE).profile(folder, **{"active": steps, "verdict": False, **keywords})
        windows = 0 if keywords.get("headspace") or "schedule" in keywords else keywords.get("repeat", 1)
        with profile:
            yield CapturedLoop(profile, windows)
        with self._failing():
            self.add(*map(Path, profile.trace_files))

    def add(self, *traces: Path) -> None:
        """Check these captures as well, which the test has from elsewhere."""
        with self._failing():
            self.captures.extend(open_capture(trace).capture for trace in traces)

    def check(
        self,
        *,
        max_data_wait: str | None = None,
        min_samples_per_s: float | None = None,
        inconclusive: Inconclusive = "pass",
    ) -> None:
        """Fail the test where the captures so far miss a budget by more than their noise.

        Args:
            max_data_wait: data wait as a share of the time, ``"5%"``.
            min_samples_per_s: of all windows together.
            inconclusive: what becomes of a budget that lies within the 95% interval.
        """
        if max_data_wait is None and min_samples_per_s is None:
            raise TypeError("data_pipeline.check needs a budget: max_data_wait='5%' or min_samples_per_s=400")
        limit = None if max_data_wait is None else self._share("max_data_wait", max_data_wait)
        self._need_captures()
        with self._failing():
            checks = [] if limit is None else [check_data_wait(self.captures, limit)]
            checks += [] if min_samples_per_s is None else [check_rate(self.captures, min_samples_per_s)]
        self.said.extend(f"{checked.outcome}: {checked.sentence}" for checked in checks)
        failed = [checked for checked in checks if _fails(checked, inconclusive)]
        if failed:
            self._fail(*(f"{_OPENING[checked.outcome]}: {checked.sentence}" for checked in failed))

    def check_against_baseline(
        self, baseline: str | Path | None = None, *, fail_if_slower: str = "10%", inconclusive: Inconclusive = "pass"
    ) -> None:
        """Fail the test where the captures so far are slower than a stored baseline, as ``compare --fail-if-slower``.

        With ``--data-pipeline-update`` the captures become the baseline; with ``--data-pipeline-add`` a run of it.

        Args:
            baseline: its file, in the folder of ``--data-pipeline-baseline``; None: one named for the test.
            fail_if_slower: how much more time per sample or step is allowed.
            inconclusive: what becomes of a comparison that decides neither.
        """
        allowed, update = self._share("fail_if_slower", fail_if_slower), self._settings.update
        path = self._settings.baselines / (baseline or self._settings.own_baseline)
        self._need_captures()
        with self._failing():
            if update:
                earlier = read_baseline(path) if update == "add" and path.exists() else []
                runs = write_baseline(path, self.captures, earlier)
                self.said.append(f"baseline written: {path}, runs in it: {runs}")
                return
            comparison = compare(read_baseline(path), self.captures)
        judgement = judge_limit(comparison, allowed)
        self.comparisons.append(comparison)
        self.said.append(f"{judgement.outcome}: {judgement.sentence or comparison.sentence}")
        if judgement.outcome == "slower" or (judgement.outcome == "inconclusive" and inconclusive == "fail"):
            self._fail(judgement.sentence, comparison.sentence, f"baseline: {path}")

    def _share(self, name: str, value: object) -> float:
        """Of whatever a test passed."""
        if not isinstance(value, str):
            self._settings.fail(f"data pipeline: {name}={value!r} is not a percentage; write it like {name}='5%'")
        try:
            return share_of(value)
        except ValueError as error:
            why = str(error)
        return self._settings.fail(f"data pipeline: {name}: {why}")

    def _need_captures(self) -> None:
        if not self.captures:
            what = "nothing was captured" if self._loops else "nothing was captured yet"
            remedy = "run more steps in `with data_pipeline.capture(steps=20) as prof:`, or pass wait=2"
            self._settings.fail(f"data pipeline: {what}; {remedy}")

    def _fail(self, *lines: str) -> NoReturn:
        self._settings.fail("\n".join([f"data pipeline: {lines[0]}", *lines[1:], *explain(self.captures)]))

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Whatever cannot be read, known or written is one line."""
        try:
            yield
        except DataPipelineError as error:
            try:
                self._settings.fail(f"data pipeline: {error}")
            except BaseException as failed:
                raise failed from None  # else pytest shows both, with the same text


_OPENING: Final = {"exceeded": "budget missed", "inconclusive": "inconclusive, and that fails here"}


def _fails(checked: Checked, inconclusive: Inconclusive) -> bool:
    return checked.outcome == "exceeded" or (checked.outcome == "inconclusive" and inconclusive == "fail")
