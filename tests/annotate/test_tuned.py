from __future__ import annotations

import importlib.util
import json
import socket
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from torch.utils.data import DataLoader

from annotate.launch import tuned
from annotate.loop_windows import LEAST

SITE = Path(tuned.__file__).parent / "site" / "_annotate_settings.py"


@pytest.fixture
def settings() -> ModuleType:
    spec = importlib.util.spec_from_file_location("_annotate_settings", SITE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Loader:
    """As DataLoader takes its arguments."""

    def __init__(
        self, dataset: object, batch_size: int = 1, num_workers: int = 0, *, prefetch_factor: int | None = None
    ) -> None:
        if dataset is None:
            raise ValueError("no dataset")
        self.given = {"batch_size": batch_size, "num_workers": num_workers, "prefetch_factor": prefetch_factor}

    def __iter__(self) -> Iterator[int]:
        return iter((1, 2))


def patched(
    settings: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, **changes: object
) -> type[Loader]:
    cls = type("Patched", (Loader,), dict(vars(Loader)))
    (folder / "tune.json").write_text(json.dumps({"folder": str(folder), "place": place, "changes": changes}))
    monkeypatch.setenv("ANNOTATE_TUNE", str(folder))
    settings.put_in(cls)
    return cls


def line_here() -> int:
    return sys._getframe(1).f_lineno


@pytest.mark.parametrize(
    ("given", "changes", "made"),
    [
        ({"num_workers": 1}, {}, {"num_workers": 1}),
        ({"batch_size": 4}, {"num_workers": 2}, {"batch_size": 4, "num_workers": 2}),
        ({"num_workers": 2, "timeout": 5, "prefetch_factor": 4}, {"num_workers": 0}, {"num_workers": 0}),
        ({"persistent_workers": True}, {}, {"persistent_workers": True}),
    ],
)
def test_what_a_loader_without_workers_refuses_is_left_out(
    settings: ModuleType, given: dict[str, Any], changes: dict[str, Any], made: dict[str, Any]
) -> None:
    assert settings.with_changes(given, changes) == made


def test_only_the_loader_made_at_the_place_gets_the_settings(
    settings: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{Path(__file__).resolve()}:{line_here() + 2}"
    cls = patched(settings, tmp_path, monkeypatch, place, num_workers=3, prefetch_factor=4)
    here = cls([1], 8)
    elsewhere = cls([1], 8)
    assert here.given == {"batch_size": 8, "num_workers": 3, "prefetch_factor": 4}
    assert elsewhere.given == {"batch_size": 8, "num_workers": 0, "prefetch_factor": None}


def test_the_place_of_a_subclass_is_where_it_is_made(
    settings: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{Path(__file__).resolve()}:{line_here() + 7}"
    base = patched(settings, tmp_path, monkeypatch, place, num_workers=3)

    class Own(base):  # type: ignore[misc, valid-type]
        def __init__(self, dataset: object) -> None:
            super().__init__(dataset, batch_size=2)

    assert Own([1]).given["num_workers"] == 3


def test_wrong_arguments_raise_what_they_raise_without_us(
    settings: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{Path(__file__).resolve()}:{line_here() + 3}"
    cls = patched(settings, tmp_path, monkeypatch, place, num_workers=3)
    with pytest.raises(TypeError, match="bacth_size"):
        cls([1], bacth_size=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="no dataset"):
        cls(None)


def test_nothing_is_done_where_who_asked_is_gone(
    settings: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = patched(settings, tmp_path, monkeypatch, "", num_workers=3)
    assert list(cls([1])) == [1, 2]
    monkeypatch.setenv("ANNOTATE_TUNE", str(tmp_path / "gone"))
    again = type("Again", (Loader,), dict(vars(Loader)))
    settings.put_in(again)
    assert vars(again)["__init__"] is Loader.__init__


def test_a_fault_of_ours_is_a_warning_and_the_batches_stay() -> None:
    loader: DataLoader[int] = DataLoader(range(4))  # type: ignore[arg-type]
    iterator = iter(loader)
    with pytest.warns(RuntimeWarning, match="annotate does not time this program"):
        tuned.iterated(loader, iterator, 0.0, {"place": "", "folder": "/nowhere/at/all"})
    assert [int(batch) for batch in iterator] == [0, 1, 2, 3]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes from one look to the next."""
    ticks = count()
    monkeypatch.setattr(tuned, "perf_counter", lambda: float(next(ticks)))


def asked_and_timed(questions: int, batches: int) -> tuple[list[Any], list[dict[str, Any]], bool]:
    """What the loop got, what was answered, and whether the loop was interrupted."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b'{"seconds": 4}\n' * questions)
        ours.shutdown(socket.SHUT_WR)
        call = tuned.TunedLoop(theirs, {"place": "train.py:3", "iterable": False})
        call.begins(0.0, 0.0, settling=2, workers=0)
        got: list[Any] = []
        iterator, interrupted = iter(range(batches)), False
        try:
            while True:
                got.append(call.next_of(iterator, next))
        except KeyboardInterrupt:
            interrupted = True
        except StopIteration:
            pass
        theirs.shutdown(socket.SHUT_WR)
        answers = [json.loads(line) for line in ours.makefile()]
    return got, answers, interrupted


def test_windows_are_timed_as_asked_and_the_loop_is_interrupted_when_nobody_asks() -> None:
    got, answers, interrupted = asked_and_timed(questions=2, batches=100)
    assert answers[0] == {"place": "train.py:3", "iterable": False}
    assert [answer["batches"] for answer in answers[1:]] == [LEAST, LEAST]
    assert interrupted
    assert got == list(range(len(got)))


def test_an_epoch_that_ends_in_a_window_is_passed_on() -> None:
    got, answers, interrupted = asked_and_timed(questions=1, batches=5)
    assert (got, len(answers), interrupted) == (list(range(5)), 1, False)


def test_a_window_shows_whether_workers_of_an_iterable_dataset_deliver_the_same() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b'{"seconds": 4}\n')
        ours.shutdown(socket.SHUT_WR)
        call = tuned.TunedLoop(theirs, {"iterable": True, "settings": {"num_workers": 2}})
        call.begins(0.0, 0.0, settling=2, workers=2)
        iterator = iter([number // 2 for number in range(100)])
        with pytest.raises(KeyboardInterrupt):
            while True:
                call.next_of(iterator, next)
        theirs.shutdown(socket.SHUT_WR)
        window = [json.loads(line) for line in ours.makefile()][1]
    assert window["same"] is True and window["passed"] == 0
