"""Traces shared out among processes: here one worker in this process, which dies when the test says so."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.cli.analysing import Order, open_all
from tb_dataplugin.errors import BadRequest, DataPipelineError, InternalError, UnreadableTrace
from tb_dataplugin.many import map_traces
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.remote import Source
from tests.rank_traces import Spent, captures, write
from tests.trace_builder import TraceBuilder

TRACES = [TraceFile(Path(f"{name}.json"), ".", name, 0, 0) for name in "abcde"]


class Worker(Executor):
    """It dies of a trace for which `deadly` is true, and answers nothing from then on."""

    def __init__(self, deadly: Callable[[Source], bool]) -> None:
        self._deadly, self._dead = deadly, False

    def submit(self, work: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._dead = self._dead or self._deadly(args[0])
        try:
            if self._dead:
                raise BrokenExecutor
            future.set_result(pickle.loads(pickle.dumps(work(*args))))
        except Exception as error:
            future.set_exception(error)
        return future


class Here:
    """An engine of one such worker at a time."""

    lost = (BrokenExecutor,)
    remedy = "use fewer"

    def __init__(self, deadly: Callable[[Source], bool] = lambda trace: False, is_here: bool = True) -> None:
        self._deadly, self.is_here = deadly, is_here

    def executor(self, most: int) -> AbstractContextManager[Executor]:
        return Worker(self._deadly)


def name_of(trace: Source) -> str:
    return trace.name


def test_results_stand_in_the_order_of_the_traces() -> None:
    done: list[int] = []
    assert map_traces(TRACES, name_of, Here(), str, done.append) == list("abcde")
    assert done == [1, 2, 3, 4, 5]


def test_nothing_to_do_is_done() -> None:
    assert map_traces([], name_of, Here(), str) == []


def test_what_a_lost_process_had_is_done_again() -> None:
    deaths: Counter[str] = Counter()

    def once(trace: Source) -> bool:
        deaths[trace.name] += 1
        return trace.name == "b" and deaths["b"] == 1

    assert map_traces(TRACES, name_of, Here(once), str) == list("abcde")


def test_a_trace_that_kills_its_process_costs_its_own_result() -> None:
    results = map_traces(TRACES, name_of, Here(lambda trace: trace.name == "b"), str)
    assert results == ["a", "cannot read b.json: the process that read it was killed, twice; use fewer", *"cde"]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "cannot read b.json: there is not enough memory where it was read; use fewer"),
        (KeyError("x"), "cannot analyse b.json: KeyError: 'x'"),
        (UnreadableTrace("b.json", "it is odd", "look"), "cannot read b.json: it is odd; look"),
    ],
)
def test_what_one_trace_raises_costs_its_own_result(error: Exception, line: str) -> None:
    def work(trace: Source) -> str:
        if trace.name == "b":
            raise error
        return trace.name

    results = map_traces(TRACES, work, Here(), str)
    assert results[0] == "a" and results[2:] == list("cde")
    assert results[1].startswith(line)


@pytest.mark.parametrize(
    "error", [UnreadableTrace("a\x1b", "why", "what"), BadRequest("no"), InternalError("do", KeyError("x"))]
)
def test_an_error_is_the_same_on_the_other_side(error: DataPipelineError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_file_that_the_other_machine_does_not_have_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, _, status = open_all([TraceFile(tmp_path / "gone.json", ".", "gone", 0, 0)], Order(), Here(is_here=False))
    assert (kept, status) == ([], 2)
    assert "has no such file; put it where all Dask workers see it" in capsys.readouterr().err


def test_the_report_is_the_same_with_any_number_of_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(captures(lambda rank, step: Spent(decode=9_000 if rank else 1_000)), tmp_path)
    TraceBuilder().step(0, 100).wait(10, 30).kernel(50, 40).write(tmp_path / "plain.pt.trace.json")
    (tmp_path / "bad.pt.trace.json").write_text("{")
    said = []
    for jobs in ("1", "2"):
        assert main(["report", str(tmp_path), "--format", "json", "--no-cache", "--jobs", jobs]) == 2
        said.append(capsys.readouterr())
    assert said[0] == said[1]
    assert len(json.loads(said[0].out)["ranks"]) == 1


def test_no_number_of_processes_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "x", "--jobs", "0"])
    assert "not a number of processes" in capsys.readouterr().err
