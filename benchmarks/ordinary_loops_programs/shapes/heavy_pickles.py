"""Batches of some 32,000 small Python objects, that workers must pickle and the training thread unpickle.

Planted: the sheer number of objects in a batch. The truth is the data wait as a whole.
"""

from __future__ import annotations

import pickle
import time
from typing import Any

from torch.utils.data import DataLoader, Dataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Train


class Token:
    __slots__ = ("word", "at", "tag")  # noqa: RUF023

    def __init__(self, word: str, at: int, tag: str) -> None:
        self.word, self.at, self.tag = word, at, tag


class Sentences(Dataset):
    def __init__(self, kind: str, per: int) -> None:
        make = {
            "tuple": lambda i: (f"w{i}", i, 0.5 * i),
            "dict": lambda i: {"word": f"w{i}", "at": i},
            "Token": lambda i: Token(f"w{i}", i, "n"),
        }[kind]
        self.documents = [[make(d * per + i) for i in range(per)] for d in range(48)]

    def __len__(self) -> int:
        return 100000

    def __getitem__(self, i: int) -> Any:
        return self.documents[i % 48]


def flat(samples: list[Any]) -> list[Any]:
    return [token for s in samples for token in s]


def build(run: kit.Run) -> None:
    kind, per = run.pick("tuple", "dict", "Token"), run.pick(1800, 2000, 2200)
    if not kit.PLANTED:
        per = 2
    run.truth("transfer", [r"transfer(::.*)?"], what="all", about=f"{16 * per} x {kind} a batch")
    step = Train(run, 6)
    dataset = Sentences(kind, per)
    blob = pickle.dumps(flat([dataset[i] for i in range(16)]))  # the clock: what loading one such batch takes
    t0 = time.perf_counter()
    pickle.loads(blob)
    kit.note("loads", t0)
    loader = run.loader(DataLoader(dataset, batch_size=16, num_workers=2, collate_fn=flat))
    with run.profile() as prof:
        run.begin()
        for tokens in prof.steps(loader):
            run.got()
            step(tokens)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
