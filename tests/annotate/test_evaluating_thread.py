"""A thread that evaluates with a DataLoader of its own while another one trains: who took which batch."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from capture_helpers import load, record_all
from torch.utils.data import DataLoader
from worker_helpers import BATCH, Books, as_tensor, consumed, worker_spans

import annotate
from annotate.hooks.patching import Patches
from annotate.options import WorkerLimits
from annotate.workers import capturing
from annotate.workers.capturing import WorkerCapture
from annotate.workers.spool import Spool


class Exam(Books):
    """Of the evaluation."""


def loader_of(dataset: Any) -> DataLoader[Any]:
    return annotate.loader(DataLoader(dataset, batch_size=BATCH, num_workers=1, collate_fn=as_tensor))


def test_each_batch_says_whether_another_thread_than_the_training_one_took_it(tmp_path: Path) -> None:
    mine, others = loader_of(Books()), loader_of(Exam())
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        thread = threading.Thread(target=lambda: list(others))
        thread.start()
        for _ in mine:
            prof.step()
        thread.join()
        prof.step()
    trace = load(prof.trace_files[-1])
    datasets = [settings["dataset"] for settings in trace["dataPipeline"]["loaders"]]
    taken = {(datasets[batch["loader"]], batch["elsewhere"]) for batch in consumed(trace)}
    assert taken == {("Books", False), ("Exam", True)}
    arrows = [event for event in trace["traceEvents"] if event.get("cat") == "batch" and event["ph"] == "s"]
    spans = worker_spans(trace)
    pids = {batch["pid"] for batch in consumed(trace) if batch["elsewhere"]}
    assert all(spans[pid] for pid in pids)
    assert arrows and not pids & {arrow["pid"] for arrow in arrows}


def test_two_threads_that_begin_at_once_have_one_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers of both write into it; those of the first wrote into one that nobody read."""
    both, made = threading.Barrier(2, timeout=20), []

    class Slow(Spool):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)
            both.wait()

    monkeypatch.setattr(capturing, "Spool", Slow)
    capture = WorkerCapture(lambda _: 0, Patches(), WorkerLimits())
    places: list[Any] = []
    threads = [threading.Thread(target=lambda: places.append(capture.place(object()))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert capture.spool is not None
        assert [place.folder for place in places] == [str(capture.spool.folder)] * 2
        assert sorted(spool.folder.exists() for spool in made) == [False, True]
    finally:
        capture.end()
    assert not any(spool.folder.exists() for spool in made)
