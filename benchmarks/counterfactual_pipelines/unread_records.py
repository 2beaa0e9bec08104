"""The sixth group, lines and letters: a web server's log, genomes from far away, and orders on a disk that stalls."""

from __future__ import annotations

import csv
import hashlib
import io
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_kit import Endless, Lengthwise, Real, cached, collating

LINE: Final = re.compile(
    r"(?P<host>\d+\.\d+\.\d+\.\d+) - (?P<user>\S+) "
    r"\[(?P<day>\d+)/(?P<month>\w+)/(?P<year>\d+):(?P<time>[\d:]+) [^]]+\] "
    r'"(?P<verb>[A-Z]+) (?P<path>[^ ?]+)(?:\?(?P<query>\S*))? HTTP/[\d.]+" '
    r'(?P<status>\d{3}) (?P<size>\d+|-) "(?P<agent>[^"]*)"'
)


class ParseLines(Lengthwise):
    def once(self, lines: Any) -> Any:
        return [match.groupdict() for match in map(LINE.match, lines) if match]


class Fingerprints(Lengthwise):
    """Numbers for what is text, the same in each process."""

    def once(self, requests: Any) -> Any:
        return [
            [
                *(self._number(request[field] or "") for field in ("host", "path", "agent", "query")),
                int(request["status"]),
                int(request["size"].replace("-", "0")),
            ]
            for request in requests
        ]

    def _number(self, text: str) -> int:
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little") % 50021


class Visits(IterableDataset[Any]):
    """The lines of a log as they come, 6 to 29 to a visit; each DataLoader worker has its own log."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform
        self.files = [cached(f"logs/{k}.log", lambda k=k: _log(k)) for k in range(3)]  # type: ignore[misc]

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        path, pick = self.files[(worker.id if worker else 0) % 3], random.Random(4)
        while True:
            with path.open() as file:
                lines: list[str] = []
                length = pick.randrange(6, 30)
                for line in file:
                    lines.append(line)
                    if len(lines) == length:
                        yield self.transform(lines)
                        lines, length = [], pick.randrange(6, 30)


def _log(number: int) -> bytes:
    pick, verbs, lines = random.Random(number), ("GET", "POST", "HEAD"), []
    for k in range(4000):
        host = ".".join(str(pick.randrange(256)) for _ in range(4))
        path = "/".join(pick.choice(("shop", "cart", "static", "api")) for _ in range(pick.randrange(1, 5)))
        query = f"?page={pick.randrange(40)}&by=price" if k % 3 else ""
        lines.append(
            f'{host} - - [{1 + k % 28}/Nov/2026:{k % 24:02}:{k % 60:02}:07 +0000] "{verbs[k % 3]} /{path}{query} '
            f'HTTP/1.1" {pick.choice((200, 304, 404))} {pick.randrange(9999)} "Browser/{k % 9} (System; rv:{k % 50})"'
        )
    return "\n".join(lines).encode()


def pad_visits(samples: list[Any]) -> Any:
    """Numbers that this batch has often get small ones, as an embedding of a fixed size needs them."""
    counts: defaultdict[int, int] = defaultdict(int)
    for visit in samples:
        for request in visit:
            for number in request[:4]:
                counts[number] += 1
    places = {number: k for k, number in enumerate(sorted(counts, key=lambda number: (-counts[number], number)))}
    padding = [0] * 6
    rows = [
        [[*(places[number] for number in request[:4]), *request[4:]] for request in visit]
        + [padding] * (29 - len(visit))
        for visit in samples
    ]
    return torch.tensor(rows)


def _visits(removed: Removed) -> Loop:
    dataset = Visits(chain(removed, ParseLines(2), Fingerprints(2)))
    return Loop(loading(removed, dataset, collating(removed, pad_visits), batch_size=64, num_workers=2), 8)


LETTERS: Final = np.frombuffer(b"ACGT", np.uint8)
CODONS: Final = {"".join(codon): k % 21 for k, codon in enumerate(product("ACGT", repeat=3))}


class Translate(Real):
    """Three letters at a time, the amino acids that they stand for."""

    def once(self, letters: Any) -> Any:
        return letters, torch.tensor([CODONS[letters[k : k + 3]] for k in range(0, len(letters), 3)])


class OneHotLetters(Real):
    """A channel for each letter, none of them quite certain."""

    def once(self, read: Any) -> Any:
        letters, acids = read
        channels = (np.frombuffer(letters.encode(), np.uint8) == LETTERS[:, None]).astype(np.float32)
        channels += 0.1 * np.random.random(channels.shape).astype(np.float32)
        return torch.from_numpy(channels / channels.sum(axis=0)), acids


class Genomes(Endless):
    """Parts of a genome from a store; most answers take 2 or 3 ms, some 10 and more."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.genome = _genome()

    def __getitem__(self, i: int) -> Any:
        first = i * 7919 % (len(self.genome) - 9000)
        if "read::store" not in self.removed:
            with annotate.stage("read", "store"):
                time.sleep(min(0.03, random.lognormvariate(-6.0, 0.6)))
        return self.transform(self.genome[first : first + 9000])


@cache
def _genome() -> str:
    return "".join(random.Random(1).choices("ACGT", k=60000))


def _genomes(removed: Removed) -> Loop:
    dataset = Genomes(chain(removed, Translate(2), OneHotLetters(2)), removed)
    return Loop(loading(removed, dataset, batch_size=6, num_workers=3, prefetch_factor=3), 10)


class GroupBy(Real):
    """Totals and means by customer, and the goods that each bought most of."""

    def once(self, rows: Any) -> Any:
        groups: defaultdict[str, list[Any]] = defaultdict(list)
        for row in rows:
            groups[row["customer"]].append(row)
        table = []
        for customer in sorted(groups):
            bought = [(float(row["price"]) * int(row["count"]), row["goods"]) for row in groups[customer]]
            total = sum(price for price, _ in bought)
            by_goods: defaultdict[str, float] = defaultdict(float)
            for price, goods in bought:
                by_goods[goods] += price
            best = max(sorted(by_goods), key=lambda goods: by_goods[goods])
            table.append([total, total / len(bought), float(len(by_goods)), float(best.removeprefix("goods"))])
        return torch.tensor(table)


class Orders(IterableDataset[Any]):
    """A day's orders in a table as text; the disk stalls at each 30th."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        self.transform, self.removed = transform, removed
        self.days = _days()
        self.parsed = list(csv.DictReader(io.StringIO(self.days[0])))

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        day = 11 * worker.id if worker else 0
        while True:
            day += 1
            yield self.transform(self._orders(day))

    def _orders(self, day: int) -> list[dict[str, Any]]:
        if "read::disk" not in self.removed:
            with annotate.stage("read", "disk"):
                time.sleep(0.020 if day % 30 == 0 else 0.0003)
        if "decode::csv" in self.removed:
            return self.parsed
        with annotate.stage("decode", "csv"):
            return list(csv.DictReader(io.StringIO(self.days[day % len(self.days)])))


@cache
def _days() -> list[str]:
    pick, days = random.Random(3), []
    for _ in range(20):
        rows = ["order,customer,goods,count,price,shop,paid"]
        for k in range(150):
            bought = f"goods{pick.randrange(30)},{pick.randrange(1, 9)},{pick.uniform(1, 80):.2f}"
            rows.append(f"{k},customer{k % 12},{bought},shop{pick.randrange(4)},{k % 2}")
        days.append("\n".join(rows))
    return days


def _orders(removed: Removed) -> Loop:
    dataset = Orders(chain(removed, GroupBy(2)), removed)
    return Loop(loading(removed, dataset, batch_size=16, num_workers=2), 9)


PIPELINES: Final = (
    Pipeline("visits_2", "sixth", ("transform::ParseLines", "transform::Fingerprints", "collate::pad_visits"), _visits),
    Pipeline("genomes_3", "sixth", ("read::store", "transform::Translate", "transform::OneHotLetters"), _genomes),
    Pipeline("orders_2", "sixth", ("read::disk", "decode::csv", "transform::GroupBy"), _orders),
)
