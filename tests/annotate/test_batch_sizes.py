"""How many samples batches have, as the recorder notes it: of DataLoader workers, the indices drawn for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from capture_helpers import load
from torch.utils.data import DataLoader
from worker_helpers import BATCH, Books, batches_of

import annotate


def test_the_last_batch_of_an_epoch_is_smaller(tmp_path: Path) -> None:
    loader: DataLoader[Any] = annotate.loader(DataLoader(Books(BATCH + 1), batch_size=BATCH, num_workers=1))
    with annotate.profile(tmp_path, wait=1, warmup=1, active=4) as prof:
        for _ in range(3):
            for _ in prof.steps(loader):
                pass
    records = batches_of(load(prof.trace_files[0]))
    assert {(record["batch"], record["samples"]) for record in records} == {(0, BATCH), (1, 1)}
