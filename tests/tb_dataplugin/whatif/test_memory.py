"""What batches and DataLoader workers have in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from tb_dataplugin.whatif.memory import find_batch_bytes


def row(kind: str, count: int, size: float) -> Any:
    return SimpleNamespace(stage=SimpleNamespace(kind=kind), count=count, bytes=count * size)


def test_a_batch_is_one_of_the_training_loops_and_none_of_an_evaluations() -> None:
    loop = (row("collate", 25, 1.77e6), row("sample", 400, 1e5))
    both = (row("collate", 30, 2.06e6),)
    assert find_batch_bytes(cast(Any, SimpleNamespace(stages=both, loop=SimpleNamespace(stages=loop)))) == 1.77e6
