"""Traces shared out among processes: here a pool of this one's threads, whose workers die when the test says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.cli.many import Outcome, analyse_many
from tb_dataplugin.reader.discovery import TraceFile
from tests.trace_builder import TraceBuilder

TRACES = [TraceFile(Path(f"{name}.json"), ".", name, 0, 0) for name in "abcde"]


class Dying(Executor):
    """Its only worker dies of a trace for which `deadly` is true; it answers nothing from then on."""

    def __init__(self, deadly: Callable[[TraceFile], bool]) -> None:
        self._deadly, self._dead = deadly, False

    def submit(self, work: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._dead = self._dead or self._deadly(args[0])
        if self._dead:
            future.set_exception(BrokenExecutor())
        else:
            future.set_result(work(*args))
        return future


def work(trace: TraceFile) -> Outcome:
    return Outcome(None, trace.name)


def names(outcomes: list[Outcome]) -> list[str]:
    return [outcome.complaint for outcome in outcomes]


def test_outcomes_stand_in_the_order_of_the_traces() -> None:
    done: list[int] = []
    outcomes = analyse_many(TRACES, work, 2, lambda jobs: Dying(lambda trace: False), done.append)
    assert names(outcomes) == list("abcde")
    assert done == [1, 2, 3, 4, 5]


def test_what_a_lost_process_had_is_done_again() -> None:
    deaths: Counter[str] = Counter()

    def once(trace: TraceFile) -> bool:
        deaths[trace.name] += 1
        return trace.name == "b" and deaths["b"] == 1

    assert names(analyse_many(TRACES, work, 2, lambda jobs: Dying(once))) == list("abcde")


def test_a_trace_that_kills_its_process_costs_its_own_row() -> None:
    outcomes = analyse_many(TRACES, work, 2, lambda jobs: Dying(lambda trace: trace.name == "b"))
    assert names(outcomes)[0] == "a"
    assert names(outcomes)[2:] == list("cde")
    assert outcomes[1].status == 2
    assert "cannot read b.json: the process that read it was killed twice" in outcomes[1].complaint


def test_the_report_is_the_same_with_any_number_of_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        TraceBuilder().step(0, 100).wait(10, 30).kernel(50, 40).write(tmp_path / f"{name}.pt.trace.json")
    (tmp_path / "bad.pt.trace.json").write_text("{")
    said = []
    for jobs in ("1", "2"):
        assert main(["report", str(tmp_path), "--format", "json", "--no-cache", "--jobs", jobs]) == 2
        said.append(capsys.readouterr())
    assert said[0] == said[1]


def test_no_number_of_processes_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "x", "--jobs", "0"])
    assert "not a number of processes" in capsys.readouterr().err
