"""A program that nobody prepared, joined in the middle of an epoch: what is recorded, and that nothing stays."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import annotate
from annotate.capture import standing
from annotate.launch.joined import join

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 or newer monitors single functions")


def asked(folder: Path, seconds: float) -> Path:
    facts = {"logdir": str(folder / "logs"), "wait": None, "active": None, "standby": True}
    (folder / "order.json").write_text(json.dumps(facts))
    (folder / f"{os.getpid()}.ask").write_text(json.dumps({"seconds": seconds, "logdir": str(folder / "logs")}))
    return folder / f"{os.getpid()}.json"


@pytest.fixture(autouse=True)
def _nothing_stands() -> None:
    annotate.off()


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_that_runs_is_recorded_and_nothing_stays(workers: int, tmp_path: Path) -> None:
    note = asked(tmp_path, 0.2)
    before = {name: vars(DataLoader).get(name) for name in ("__iter__", "_get_iterator")}
    loader = DataLoader(TensorDataset(torch.arange(1e6)), 4, num_workers=workers)
    for number, (batch,) in enumerate(loader):
        assert batch.tolist() == [4.0 * number + each for each in range(4)]
        torch.ones(200, 200) @ torch.ones(200, 200)
        if number == 10:
            join(str(tmp_path))
            late = 0
        elif number > 10 and json.loads(note.read_text())["state"] in ("recorded", "nothing"):
            late += 1
            if late == 2:  # it leaves with the batch after its last
                break
    facts = json.loads(note.read_text())
    assert (facts["state"], facts["reason"]) == ("recorded", "")
    assert len(list((tmp_path / "logs").glob("*.pt.trace.json.gz"))) == 1
    assert {name: vars(DataLoader).get(name) for name in before} == before
    assert sys.monitoring.get_tool(4) is None  # type: ignore[attr-defined,unused-ignore]
    assert standing.current() is None


def test_who_asked_is_gone(tmp_path: Path) -> None:
    note = asked(tmp_path, 0.1)
    for number, _ in enumerate(DataLoader(TensorDataset(torch.arange(40.0)), 1)):
        if number == 5:
            join(str(tmp_path))
            assert note.exists()
            (tmp_path / f"{os.getpid()}.ask").unlink()
    assert standing.current() is None
    assert not (tmp_path / "logs").exists()
