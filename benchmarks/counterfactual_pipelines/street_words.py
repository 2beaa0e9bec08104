"""The fourth group, words and objects: text, chats, clicks, tables, molecules, and polygons, mostly in plain Python."""

from __future__ import annotations

import gzip
import json
import pickle
import random
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import BatchSampler, IterableDataset, get_worker_info

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_kit import Endless, Lengthwise, Real, Trained, cached, collating

_PICK: Final = random.Random(7)
WORDS: Final = ["".join(_PICK.choices("aeiounstrlmdk", k=_PICK.randrange(3, 11))) for _ in range(3000)]
PIECES: Final = {
    piece: k for k, piece in enumerate(sorted({word[a : a + n] for word in WORDS for a in (0, 3) for n in (1, 2, 3)}))
}


def sentences(pick: random.Random, count: int, shortest: int, longest: int) -> list[str]:
    return [" ".join(pick.choices(WORDS, k=pick.randrange(shortest, longest))) for _ in range(count)]


def pieces_of(word: str) -> list[int]:
    """The longest pieces first, as WordPiece has them."""
    found, at = [], 0
    while at < len(word):
        length = next((n for n in (3, 2) if word[at : at + n] in PIECES), 1)
        found.append(PIECES.get(word[at : at + length], 0))
        at += length
    return found


class WordPieces(Lengthwise):
    def once(self, text: Any) -> Any:
        return [piece for word in text.split() for piece in pieces_of(word)]


class MaskTokens(Lengthwise):
    """Fifteen in a hundred, as BERT learns them."""

    def once(self, tokens: Any) -> Any:
        return [103 if random.random() < 0.15 else token for token in tokens]


class Texts(Endless):
    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.texts = sentences(random.Random(1), 400, 30, 160)

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.texts[i % 400])


def pad_to_longest(samples: list[Any]) -> Any:
    longest = max(map(len, samples))
    ids = torch.tensor([sample + [0] * (longest - len(sample)) for sample in samples])
    return {"input_ids": ids, "attention_mask": (ids != 0).long()}


def _wordpieces(removed: Removed) -> Loop:
    dataset = Texts(chain(removed, WordPieces(2), MaskTokens(2)), removed)
    return Loop(loading(removed, dataset, collating(removed, pad_to_longest), batch_size=64, num_workers=2), 7)


class Template(Real):
    """Turns of a chat as one text, with the roles marked."""

    def once(self, chat: Any) -> Any:
        return "".join(f"<|{turn['role']}|> {turn['content'].strip()} <|end|> " for turn in chat["turns"])


class Chats(Endless):
    """Lines of JSON, parsed when they are asked for."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.lines, pick = [], random.Random(2)
        for _ in range(60):
            turns = [
                {"role": ("user", "bot")[k % 2], "content": text} for k, text in enumerate(sentences(pick, 6, 10, 60))
            ]
            scores = [pick.random() for _ in range(300)]
            self.lines.append(json.dumps({"turns": turns, "scores": scores}))
        self.parsed = [json.loads(line) for line in self.lines]

    def __getitem__(self, i: int) -> Any:
        if "decode::json.line" in self.removed:
            return self.transform(self.parsed[i % 60])
        with annotate.stage("decode", "json.line"):
            chat = json.JSONDecoder().decode(self.lines[i % 60])
        return self.transform(chat)


def _chats(removed: Removed) -> Loop:
    """A CPU trains, and the training thread loads as well."""
    dataset = Chats(chain(removed, Template(1), WordPieces(2)), removed)
    return Trained(loading(removed, dataset, pad_to_longest, batch_size=16, num_workers=0), 6)


class Clean(Lengthwise):
    def once(self, text: Any) -> Any:
        kept = "".join(letter for letter in text.lower() if letter.isalnum() or letter.isspace())
        return " ".join(kept.split())


class Lines(IterableDataset[Any]):
    """Lines of compressed files, each DataLoader worker its own files, through a buffer that shuffles them."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        self.transform, self.removed = transform, removed
        text = "\n".join(sentences(random.Random(3), 300, 20, 120))
        self.files = [cached(f"lines/{k}.gz", lambda: gzip.compress(text.encode(), 6)) for k in range(4)]
        self.kept = text.splitlines()

    def __iter__(self) -> Iterator[Any]:
        worker, buffer = get_worker_info(), []
        pick = random.Random(worker.id if worker else 0)
        for line in self._lines(worker.id if worker else 0):
            buffer.append(line)
            if len(buffer) >= 100:
                place = pick.randrange(100)
                buffer[place], buffer[-1] = buffer[-1], buffer[place]
                yield self.transform(buffer.pop())

    def _lines(self, number: int) -> Iterator[str]:
        while True:
            lines, data = self.kept, self.files[number % 4].read_bytes()
            if "decode::gzip" not in self.removed:
                with annotate.stage("decode", "gzip"):
                    lines = gzip.decompress(data).decode().splitlines()
            yield from lines
            number += 1


def _lines(removed: Removed) -> Loop:
    dataset = Lines(chain(removed, Clean(2), WordPieces(2)), removed)
    return Loop(loading(removed, dataset, pad_to_longest, batch_size=48, num_workers=2), 6)


class Negatives(Real):
    """Items that the user has not seen."""

    def once(self, click: Any) -> Any:
        seen = set(click["history"])
        drawn: list[int] = []
        while len(drawn) < 40:
            item = random.randrange(50000)
            if item not in seen:
                drawn.append(item)
        return {**click, "negatives": drawn}


class HashFeatures(Real):
    def once(self, click: Any) -> Any:
        hashed = [hash((name, value)) % 100003 for name, value in click["features"].items()]
        return {**click, "hashed": hashed}


class Clicks(IterableDataset[Any]):
    """A log of a recommender, which makes its batches itself."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __iter__(self) -> Iterator[Any]:
        pick = random.Random(1)
        histories = [[pick.randrange(50000) for _ in range(50)] for _ in range(500)]
        while True:
            batch = [self.transform(self._click(pick, histories)) for _ in range(256)]
            yield {name: torch.tensor([click[name] for click in batch]) for name in ("history", "negatives", "hashed")}

    def _click(self, pick: random.Random, histories: list[list[int]]) -> dict[str, Any]:
        features = {f"field{k}": pick.randrange(1000) for k in range(20)}
        return {"history": pick.choice(histories), "features": features}


def as_it_is(batch: Any) -> Any:
    return batch


def _clicks(removed: Removed) -> Loop:
    dataset = Clicks(chain(removed, Negatives(2), HashFeatures(2)))
    return Loop(loading(removed, dataset, as_it_is, batch_size=None, num_workers=3), 5)


class ByUser(BatchSampler):
    """Rows of one user come in one batch; the users are weighed anew each time."""

    def __init__(self, removed: Removed) -> None:
        self.given = list(range(96)) if "sampler::ByUser" in removed else None
        self.rows: dict[int, list[int]] = {user: list(range(user * 12, user * 12 + 12)) for user in range(5000)}

    def __len__(self) -> int:
        return 10**5

    def __iter__(self) -> Iterator[list[int]]:
        while self.given is not None:
            yield self.given
        while True:
            weights = [1 / (1 + user % 97) for user in self.rows]
            total = sum(weights)
            users = random.choices(list(self.rows), [weight / total for weight in weights], k=8)
            users.sort(key=lambda user: (len(self.rows[user]), -user))
            yield [row for user in users for row in self.rows[user]]


class EncodeColumns(Real):
    """Text to numbers, one column after the other."""

    def once(self, row: Any) -> Any:
        numbers: list[float] = []
        for name, value in row.items():
            if name.startswith("date"):
                year, month, day = value.split("-")
                numbers.append(int(year) * 372 + int(month) * 31 + int(day))
            elif name.startswith("class"):
                numbers.append(sum(map(ord, value)) % 50)
            else:
                numbers.append(float(value) if value else 0.0)
        return numbers


class Standardise(Real):
    def once(self, numbers: Any) -> Any:
        return torch.tensor([(number - 4.5) / (1.5 + k % 3) for k, number in enumerate(numbers)])


class Rows(Endless):
    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        row = {f"date{k}": f"20{10 + k}-0{k + 1}-1{k}" for k in range(4)} | {f"class{k}": WORDS[k] for k in range(8)}
        self.row = row | {f"x{k}": str(k / 7) for k in range(24)}

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.row), i % 2


def _columns(removed: Removed) -> Loop:
    dataset = Rows(chain(removed, EncodeColumns(2), Standardise(2)), removed)
    return Trained(loading(removed, dataset, batch_sampler=ByUser(removed), num_workers=2), 5)


class Atom:
    """A Python object with a few attributes, as chemistry libraries have them."""

    def __init__(self, number: int) -> None:
        self.number, self.charge, self.place = number, number % 3 - 1, (0.1 * number, 0.2, 0.3)
        self.bonds = [(number + k, k % 2 + 1) for k in range(1, 4)]


class AddHydrogens(Real):
    def once(self, atoms: Any) -> Any:
        return [*atoms, *(Atom(1) for atom in atoms if atom.charge < 1)]


class Neighbourhoods(Lengthwise):
    """Atoms by the number of steps from each."""

    def once(self, atoms: Any) -> Any:
        for atom in atoms:
            around = {place for place, _ in atom.bonds}
            atom.around = sorted(around | {further for place in around for further in (place + 1, place + 2)})
        return atoms


class Molecules(Endless):
    """Pickles by key, as an LMDB holds them; the batch is a list of objects."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.stored = {f"{k:05}".encode(): pickle.dumps([Atom(n) for n in range(30 + k % 40)]) for k in range(200)}
        self.kept = [pickle.loads(stored) for stored in self.stored.values()]

    def __getitem__(self, i: int) -> Any:
        if "decode::pickle.loads" in self.removed:
            return self.transform(self.kept[i % 200])
        return self.transform(pickle.loads(self.stored[f"{i % 200:05}".encode()]))


def _molecules(removed: Removed) -> Loop:
    dataset = Molecules(chain(removed, AddHydrogens(1), Neighbourhoods(2)), removed)
    return Loop(loading(removed, dataset, as_it_is, batch_size=12, num_workers=2), 5)


class ShiftPolygons(Lengthwise):
    def once(self, sample: Any) -> Any:
        x, y = random.randrange(20), random.randrange(20)
        return [{**area, "polygon": [(across + x, down + y) for across, down in area["polygon"]]} for area in sample]


class BoxesOfPolygons(Lengthwise):
    def once(self, sample: Any) -> Any:
        for area in sample:
            across, down = zip(*area["polygon"], strict=True)
            area["box"] = (min(across), min(down), max(across), max(down))
        return sample


class Polygons(Endless):
    """Annotations of pictures as dicts of lists, sent as they are beside small pictures.

    No two of a batch have as many areas: so no two have the same object, which pickle sends once, without a transform.
    """

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        circle = [(int(90 * np.cos(k / 10)), int(90 * np.sin(k / 10))) for k in range(60)]
        self.areas = [{"label": k, "crowd": False, "polygon": circle} for k in range(20)]

    def __getitem__(self, i: int) -> Any:
        return torch.full((3, 64, 64), float(i % 255)), self.transform(self.areas[: 5 + i % 16])


def pictures_and_targets(samples: list[Any]) -> Any:
    pictures, targets = zip(*samples, strict=True)
    return torch.stack(pictures), list(targets)


def _polygons(removed: Removed) -> Loop:
    dataset = Polygons(chain(removed, ShiftPolygons(2), BoxesOfPolygons(2)), removed)
    return Loop(
        loading(removed, dataset, pictures_and_targets, batch_size=16, num_workers=3, persistent_workers=True), 6
    )


PIPELINES: Final = (
    Pipeline(
        "wordpieces_2",
        "fourth",
        ("transform::WordPieces", "transform::MaskTokens", "collate::pad_to_longest"),
        _wordpieces,
    ),
    Pipeline("chats_0", "fourth", ("decode::json.line", "transform::WordPieces"), _chats),
    Pipeline("lines_2", "fourth", ("decode::gzip", "transform::Clean", "transform::WordPieces"), _lines),
    Pipeline("clicks_3", "fourth", ("transform::Negatives", "transform::HashFeatures", "transfer"), _clicks),
    Pipeline(
        "columns_2", "fourth", ("sampler::ByUser", "transform::EncodeColumns", "transform::Standardise"), _columns
    ),
    Pipeline("molecules_2", "fourth", ("decode::pickle.loads", "transform::Neighbourhoods", "transfer"), _molecules),
    Pipeline("polygons_3", "fourth", ("transform::ShiftPolygons", "transform::BoxesOfPolygons", "transfer"), _polygons),
)
