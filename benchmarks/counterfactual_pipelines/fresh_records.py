"""The fifth group, records: texts in archives, a scene in each file, vectors of a database, graphs, sparse rows."""

from __future__ import annotations

import io
import json
import random
import sqlite3
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy.sparse
import torch
from torch.utils.data import IterableDataset, get_worker_info

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_kit import Endless, Lengthwise, Real, Trained, cached, collating
from benchmarks.counterfactual_pipelines.street_words import sentences


class CountNgrams(Lengthwise):
    """Words, and pairs of words."""

    def once(self, text: Any) -> Any:
        words = text.split()
        return Counter([*words, *(f"{word} {following}" for word, following in pairwise(words))])


class HashCounts(Real):
    def once(self, counts: Any) -> Any:
        vector = np.zeros(2048, np.float32)
        for ngram, count in counts.items():
            vector[zlib.crc32(ngram.encode()) % 2048] += count
        return torch.from_numpy(np.log1p(vector))


class Archives(IterableDataset[Any]):
    """Texts that are members of zip files; each DataLoader worker goes through files of its own."""

    MEMBERS: Final = 30

    def __init__(self, transform: Any, removed: Removed) -> None:
        self.transform, self.removed = transform, removed
        self.texts = [text.encode() for text in sentences(random.Random(21), self.MEMBERS, 200, 400)]
        self.files = [cached(f"archives/{number}.zip", self._archive) for number in range(4)]

    def _archive(self) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, text in enumerate(self.texts):
                archive.writestr(f"{number:03}.txt", text)
        return stream.getvalue()

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        number, apart = (worker.id, worker.num_workers) if worker else (0, 1)
        while True:
            with zipfile.ZipFile(self.files[number % 4]) as archive:
                for place, name in enumerate(archive.namelist()):
                    kept = "read::zipfile.read" in self.removed
                    text = self.texts[place] if kept else archive.read(name)
                    yield self.transform(text.decode()), place % 5
            number += apart


def _ngrams(removed: Removed) -> Loop:
    dataset = Archives(chain(removed, CountNgrams(2), HashCounts(1)), removed)
    return Loop(loading(removed, dataset, batch_size=24, num_workers=2, prefetch_factor=1), 6)


class PlaceObjects(Real):
    """Objects move, grow and shrink; those that leave the scene come back on its other side."""

    def once(self, scene: Any) -> Any:
        moved = []
        for thing in scene["objects"]:
            across, down = (random.gauss(at, 3) % 64 for at in thing["at"])
            moved.append({**thing, "at": (across, down), "size": thing["size"] * random.uniform(0.8, 1.2)})
        return {**scene, "objects": moved}


class DrawMaps(Real):
    """A map of heat for each kind of object."""

    def once(self, scene: Any) -> Any:
        maps, places = np.zeros((4, 64, 64), np.float32), np.arange(64, dtype=np.float32)
        for thing in scene["objects"]:
            across, down = (np.exp(-(((places - at) / thing["size"]) ** 2)) for at in thing["at"])
            np.maximum(maps[thing["kind"]], down[:, None] * across, out=maps[thing["kind"]])
        return torch.from_numpy(maps)


class Scenes(Endless):
    """A file of JSON for each sample; a sample is a batch."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.scenes = [self._scene(random.Random(number)) for number in range(30)]
        self.files = [
            cached(f"scenes/{number}.json", partial(self._as_json, number)) for number in range(len(self.scenes))
        ]

    def _as_json(self, number: int) -> bytes:
        return json.dumps(self.scenes[number], indent=1).encode()

    @staticmethod
    def _scene(pick: random.Random) -> dict[str, Any]:
        things = [
            {"kind": pick.randrange(4), "at": [pick.uniform(0, 64), pick.uniform(0, 64)], "size": pick.uniform(1, 6)}
            for _ in range(160)
        ]
        return {"objects": things, "camera": {f"k{k}": [pick.random() for _ in range(12)] for k in range(120)}}

    def __getitem__(self, i: int) -> Any:
        if "decode::scene" in self.removed:
            return self.transform(self.scenes[i % 30])
        text = self.files[i % 30].read_text()
        with annotate.stage("decode", "scene"):
            scene = json.JSONDecoder().decode(text)
        return self.transform(scene)


def _scenes(removed: Removed) -> Loop:
    dataset = Scenes(chain(removed, PlaceObjects(2), DrawMaps(2)), removed)
    return Loop(loading(removed, dataset, batch_size=1, num_workers=2, prefetch_factor=4), 4)


class Dequantise(Real):
    """Sixteen codes of a byte become a vector of 128 numbers."""

    def __init__(self, times: int = 2) -> None:
        super().__init__(times)
        self.books = np.random.default_rng(22).standard_normal((16, 256, 8)).astype(np.float32)

    def once(self, codes: Any) -> Any:
        numbers = np.frombuffer(bytes.fromhex(codes), np.uint8).reshape(-1, 16)
        vectors = self.books[np.arange(16), numbers].reshape(-1, 128)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class HardNegatives(Real):
    """For each item those of the others that are nearest to it."""

    def once(self, vectors: Any) -> Any:
        nearness = vectors @ vectors.T
        np.fill_diagonal(nearness, -1)
        nearest = np.argsort(-nearness, axis=1)[:, :6]
        return torch.from_numpy(vectors), torch.from_numpy(nearest)


class Items(Endless):
    """A database that is asked for the items of a user; each process opens it when it first needs it."""

    USERS, OF_EACH = 150, 48
    QUESTION: Final = """
        select group_concat(hex(codes), '') from (select codes from items where user = ? order by rank desc)
    """

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.file = cached("items.sqlite", self._database)
        self.connection: Any = None
        self.kept = random.randbytes(16 * self.OF_EACH).hex()

    def _database(self) -> bytes:
        pick = random.Random(23)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "items.sqlite"
            connection = sqlite3.connect(file)
            connection.execute("create table items (user integer, rank real, note text, codes blob)")
            connection.executemany(
                "insert into items values (?, ?, ?, ?)",
                [
                    (user, pick.random(), "bought " * 9, pick.randbytes(16))
                    for _ in range(self.OF_EACH)
                    for user in range(self.USERS)
                ],
            )
            connection.execute("create index by_user on items (user)")
            connection.commit()
            connection.close()
            return file.read_bytes()

    def __getitem__(self, i: int) -> Any:
        codes = self.kept
        if "read::sqlite3.execute" not in self.removed:
            self.connection = self.connection or sqlite3.connect(self.file)
            (codes,) = self.connection.execute(self.QUESTION, (i * 11 % self.USERS,)).fetchone()
        return self.transform(codes)


def _items(removed: Removed) -> Loop:
    dataset = Items(chain(removed, Dequantise(2), HardNegatives(2)), removed)
    return Loop(loading(removed, dataset, batch_size=48, num_workers=3, persistent_workers=True), 6)


class SampleHops(Real):
    """Ten neighbours of a node, and five of each of these, as GraphSAGE has it."""

    def __init__(self, times: int = 2) -> None:
        super().__init__(times)
        pick = random.Random(24)
        self.neighbours = [[pick.randrange(4000) for _ in range(pick.randrange(12, 60))] for _ in range(4000)]

    def once(self, node: Any) -> Any:
        near = random.sample(self.neighbours[node], 10)
        edges = [(other, node) for other in near]
        for other in near:
            edges.extend((further, other) for further in random.sample(self.neighbours[other], 5))
        return edges


class RelabelNodes(Real):
    """Nodes by their number in the sample."""

    def once(self, edges: Any) -> Any:
        numbers: dict[int, int] = {}
        relabelled = [tuple(numbers.setdefault(node, len(numbers)) for node in edge) for edge in edges]
        return list(numbers), relabelled


class Nodes(Endless):
    def __getitem__(self, i: int) -> Any:
        return self.transform(i * 31 % 4000)


KNOWN: Final = torch.randn(4000, 64)


def merge_graphs(samples: list[Any]) -> Any:
    """Graphs of a batch become one; its nodes come with what is known about them."""
    nodes: list[int] = []
    edges: list[tuple[int, int]] = []
    for numbers, of_it in samples:
        edges.extend((source + len(nodes), target + len(nodes)) for source, target in of_it)
        nodes.extend(numbers)
    return KNOWN[torch.tensor(nodes)], torch.tensor(edges).T.contiguous()


def _neighbours(removed: Removed) -> Loop:
    dataset = Nodes(chain(removed, SampleHops(2), RelabelNodes(2)), removed)
    return Trained(loading(removed, dataset, collating(removed, merge_graphs), batch_size=64, num_workers=2), 8)


class OfRows(Real):
    """All rows of a batch at once."""

    def size(self, rows: Any) -> int:
        return int(rows.shape[0])


class TfIdf(OfRows):
    def __init__(self, weights: Any, times: int = 2) -> None:
        super().__init__(times)
        self.weights = weights

    def once(self, rows: Any) -> Any:
        weighed = rows.multiply(self.weights).tocsr()
        lengths = np.sqrt(weighed.multiply(weighed).sum(axis=1))
        return scipy.sparse.diags_array(1 / np.asarray(lengths).ravel()) @ weighed


class TopTerms(OfRows):
    """The forty that weigh most, row by row."""

    def once(self, rows: Any) -> Any:
        rows = rows.tocsr().copy()
        for first, end in pairwise(rows.indptr):
            values = rows.data[first:end]
            values[values < np.sort(values)[-40]] = 0
        return rows


class Documents(Endless):
    """Counts of words in one sparse matrix, of which a whole batch is asked for at once."""

    def __init__(self, transform: Any, removed: Removed, counts: Any) -> None:
        super().__init__(transform, removed)
        self.counts = counts

    def __getitems__(self, indices: list[int]) -> list[Any]:
        rows = self.transform(self.counts[[i * 17 % 3000 for i in indices]])
        return list(torch.from_numpy(rows.toarray().astype(np.float32)))


def _sparse(removed: Removed) -> Loop:
    counts = scipy.sparse.random_array((3000, 4000), density=0.05, format="csr", rng=np.random.default_rng(25))
    weights = np.log(3000 / (1 + np.bincount(counts.indices, minlength=4000)))
    dataset = Documents(chain(removed, TfIdf(weights, 2), TopTerms(2)), removed, counts)
    return Loop(loading(removed, dataset, batch_size=192, num_workers=1, prefetch_factor=2), 8)


PIPELINES: Final = (
    Pipeline("ngrams_2", "fifth", ("read::zipfile.read", "transform::CountNgrams", "transform::HashCounts"), _ngrams),
    Pipeline("scenes_2", "fifth", ("decode::scene", "transform::PlaceObjects", "transform::DrawMaps"), _scenes),
    Pipeline(
        "items_3", "fifth", ("read::sqlite3.execute", "transform::Dequantise", "transform::HardNegatives"), _items
    ),
    Pipeline(
        "neighbours_2",
        "fifth",
        ("transform::SampleHops", "transform::RelabelNodes", "collate::merge_graphs"),
        _neighbours,
    ),
    Pipeline("sparse_1", "fifth", ("transform::TfIdf", "transform::TopTerms", "transfer"), _sparse),
)
