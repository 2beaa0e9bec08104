"""The sixth group, what was measured or played: lectures, tracks, a replay buffer, and boards of chess."""

from __future__ import annotations

import io
import random
import wave
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from scipy.interpolate import CubicSpline
from torch.utils.data import BatchSampler

from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_kit import Endless, Real, Trained, cached, collating


class Babble(Real):
    """Noise of a random loudness."""

    def once(self, sound: Any) -> Any:
        noise = np.random.standard_normal(len(sound))
        return (sound + noise * sound.std() * 10 ** random.uniform(-2, 0)).astype(np.float32)


class MelBands(Real):
    """The spectrum every 10 ms, in 80 bands that grow wider upwards."""

    def __init__(self, times: int = 2) -> None:
        super().__init__(times)
        edges = 700 * (10 ** (np.linspace(0, 2840, 82) / 2595) - 1)
        tones = np.linspace(0, 8000, 257)[:, None]
        rising = (tones - edges[:-2]) / (edges[1:-1] - edges[:-2])
        falling = (edges[2:] - tones) / (edges[2:] - edges[1:-1])
        self.bands = np.minimum(rising, falling).clip(0).astype(np.float32)
        self.window = np.hanning(400).astype(np.float32)

    def once(self, sound: Any) -> Any:
        frames = np.lib.stride_tricks.sliding_window_view(sound, 400)[::160] * self.window
        power = np.abs(np.fft.rfft(frames, 512)).astype(np.float32) ** 2
        return torch.from_numpy(np.log(power @ self.bands + 1e-6))


class Lectures(Endless):
    """Seven seconds of a long WAV file; a batch is one of them."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.files = [cached(f"lectures/{k}.wav", lambda k=k: _lecture(k)) for k in range(3)]  # type: ignore[misc]

    def __getitem__(self, i: int) -> Any:
        with wave.open(str(self.files[i % 3])) as file:
            file.setpos(i * 7919 % 192000)
            data = file.readframes(112000)
        return self.transform(np.frombuffer(data, np.int16).astype(np.float32) / 32768)


def _lecture(number: int) -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(np.random.default_rng(number).integers(-3000, 3000, 320000, dtype=np.int16).tobytes())
    return stream.getvalue()


def _lectures(removed: Removed) -> Loop:
    dataset = Lectures(chain(removed, Babble(2), MelBands(2)), removed)
    return Loop(loading(removed, dataset, batch_size=1, num_workers=1, prefetch_factor=4), 7)


class ResampleTrack(Real):
    """Places at equal times, through a curve that is smooth."""

    def once(self, track: Any) -> Any:
        return CubicSpline(track[:, 0], track[:, 1:])(np.linspace(0, track[-1, 0], 300)).astype(np.float32)


class TurningPoints(Real):
    """Douglas and Peucker: the places that a track of straight lines needs, 24 at most."""

    def once(self, places: Any) -> Any:
        kept, spans = [0, len(places) - 1], [(0, len(places) - 1)]
        while spans and len(kept) < 24:
            first, last = spans.pop(0)
            across = places[last] - places[first]
            apart = places[first + 1 : last] - places[first]
            far = np.abs(apart[:, 0] * across[1] - apart[:, 1] * across[0])
            if len(far) and far.max() > 1e-6:
                middle = first + 1 + int(far.argmax())
                kept.append(middle)
                spans += [(first, middle), (middle, last)]
        turns = np.zeros(len(places), np.float32)
        turns[kept] = 1
        return torch.from_numpy(places), torch.from_numpy(turns)


class Tracks(Endless):
    """Walks of 100 to 220 places, at times that are not equal."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.tracks = _tracks()

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.tracks[i % len(self.tracks)])


@cache
def _tracks() -> list[Any]:
    pick = np.random.default_rng(8)
    return [pick.random((length, 3)).cumsum(0) for length in pick.integers(100, 220, 60)]


def crowd(samples: list[Any]) -> Any:
    """All walkers at once, and for each moment how far any two are apart."""
    places = torch.stack([place for place, _ in samples])
    apart = (places[:, None] - places[None]).square().sum(-1).sqrt()
    nearest = apart.masked_fill(torch.eye(len(places), dtype=torch.bool)[..., None], torch.inf).amin(1)
    return places, torch.stack([turns for _, turns in samples]), nearest


def _walkers(removed: Removed) -> Loop:
    dataset = Tracks(chain(removed, ResampleTrack(2), TurningPoints(2)), removed)
    return Loop(loading(removed, dataset, collating(removed, crowd), batch_size=24, num_workers=4), 9)


MOMENTS: Final = 2**16
SHOWN: Final = 256


class Prioritised(BatchSampler):
    """What surprised most is shown most: sums of priorities in a tree, which each draw walks down and changes."""

    def __init__(self, removed: Removed) -> None:
        self.given = list(range(SHOWN)) if "sampler::Prioritised" in removed else None

    def __len__(self) -> int:
        return 10**5

    def __iter__(self) -> Iterator[list[int]]:
        while self.given is not None:
            yield self.given
        sums, pick = [0.0] * MOMENTS + [1.0] * MOMENTS, random.Random(0)
        for place in range(MOMENTS - 1, 0, -1):
            sums[place] = sums[2 * place] + sums[2 * place + 1]
        while True:
            yield [self._draw(sums, pick) for _ in range(SHOWN)]

    def _draw(self, sums: list[float], pick: random.Random) -> int:
        place, left = 1, pick.random() * sums[1] * 0.999
        while place < MOMENTS:
            place *= 2
            if left > sums[place]:
                left -= sums[place]
                place += 1
        drawn, change = place - MOMENTS, pick.uniform(0.2, 2) - sums[place]
        while place:
            sums[place] += change
            place //= 2
        return drawn


class LastScreens(Real):
    """Four screens up to a moment, the first one again where a life begins."""

    def once(self, moment: Any) -> Any:
        screens, rewards, at = moment
        begins = at - at % 50
        shown = np.stack([screens[max(begins, at - back)] for back in (3, 2, 1, 0)])
        return shown.astype(np.float32) / 255, rewards, at


class Return(Real):
    """What is won until the life ends, what is later for less."""

    def once(self, moment: Any) -> Any:
        shown, rewards, at = moment
        won = 0.0
        for reward in rewards[at : at - at % 50 + 50][::-1]:
            won = reward + 0.97 * won
        return shown, won


class Replays(Endless):
    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.screens, self.rewards = _played()

    def __getitem__(self, i: int) -> Any:
        return self.transform((self.screens, self.rewards, i % 2000))


@cache
def _played() -> tuple[Any, list[float]]:
    pick = np.random.default_rng(2)
    return pick.integers(0, 255, (2000, 28, 28), dtype=np.uint8), pick.random(2000).tolist()


def _replays(removed: Removed) -> Loop:
    dataset = Replays(chain(removed, LastScreens(2), Return(2)), removed)
    return Trained(loading(removed, dataset, batch_sampler=Prioritised(removed), num_workers=1), 8)


MEN: Final = "PNBRQKpnbrqk"
STEPS: Final = {
    "n": [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)],
    "b": [(1, 1), (1, -1), (-1, 1), (-1, -1)],
    "r": [(1, 0), (-1, 0), (0, 1), (0, -1)],
}
STEPS["q"] = STEPS["k"] = STEPS["b"] + STEPS["r"]


class ReadBoard(Real):
    """A position as text (FEN) to the man on each square, by file and rank, and planes for each kind of man."""

    def once(self, text: Any) -> Any:
        men, planes = {}, [[0] * 64 for _ in MEN]
        for down, rank in enumerate(text.split()[0].split("/")):
            across = 0
            for letter in rank:
                if letter.isdigit():
                    across += int(letter)
                    continue
                men[across, down] = letter
                planes[MEN.index(letter)][down * 8 + across] = 1
                across += 1
        return men, torch.tensor(planes, dtype=torch.uint8).reshape(12, 8, 8)


class Attacks(Real):
    """How often each square is attacked, by either side."""

    def once(self, board: Any) -> Any:
        men, planes = board
        attacked = [[0] * 64, [0] * 64]
        for (across, down), man in men.items():
            kind, side = man.lower(), man.islower()
            forward = 1 if side else -1
            for right, low in STEPS.get(kind, [(1, forward), (-1, forward)]):
                for far in range(1, 8 if kind in "brq" else 2):
                    x, y = across + far * right, down + far * low
                    if not (0 <= x < 8 and 0 <= y < 8):
                        break
                    attacked[side][y * 8 + x] += 1
                    if (x, y) in men:
                        break
        return planes, torch.tensor(attacked, dtype=torch.uint8).reshape(2, 8, 8)


class Games(Endless):
    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        pick = random.Random(6)
        self.positions = [_position(pick) for _ in range(300)]

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.positions[i % 300]), i % 3


def _position(pick: random.Random) -> str:
    """Of 22 men: one takes as long as another."""
    squares = pick.choices(MEN, k=22) + ["1"] * 42
    pick.shuffle(squares)
    ranks = "/".join("".join(squares[first : first + 8]) for first in range(0, 64, 8))
    return ranks.replace("1111", "4").replace("11", "2") + " w - - 0 1"


def _games(removed: Removed) -> Loop:
    """A CPU trains, and the training thread loads as well."""
    dataset = Games(chain(removed, ReadBoard(4), Attacks(2)), removed)
    return Trained(loading(removed, dataset, batch_size=24, num_workers=0), 5)


PIPELINES: Final = (
    Pipeline("lectures_1", "sixth", ("transform::Babble", "transform::MelBands"), _lectures),
    Pipeline(
        "walkers_4", "sixth", ("transform::ResampleTrack", "transform::TurningPoints", "collate::crowd"), _walkers
    ),
    Pipeline("replays_1", "sixth", ("sampler::Prioritised", "transform::LastScreens", "transform::Return"), _replays),
    Pipeline("chess_0", "sixth", ("transform::ReadBoard", "transform::Attacks"), _games),
)
