from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder

SAMPLES = 60
EACH = 100.0


def dataset(draws: Callable[[int], int], parts: int = 2, samples: int = SAMPLES) -> TraceBuilder:
    """Each sample reads and transforms so often; the training thread waits for all of it."""
    counts = [draws(number) for number in range(samples)]
    whole = EACH * sum(counts) + 10 * samples
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": samples}])
    builder.step(0, 1.2 * whole).wait(0, whole)
    now = 0.0
    for number, count in enumerate(counts):
        builder.add("user_annotation", "sample::Slides", now, EACH * count + 5, index=number)
        for draw in range(count):
            for part, name in enumerate(("read::file", "transform::Crop")[:parts]):
                builder.add("user_annotation", name, now + EACH * draw + 40 * part + 5, 40, index=number)
        now += EACH * count + 10
    return builder


def until_one_fits(chance: float) -> Callable[[int], int]:
    dice = random.Random(3)

    def draws(_: int) -> int:
        return next(count for count in range(1, 1000) if dice.random() < chance)

    return draws


@pytest.mark.parametrize("chance", [0.15, 0.25, 0.5])
def test_a_dataset_that_draws_until_a_sample_fits_is_named(chance: float) -> None:
    said = finding_in(dataset(until_one_fits(chance)), "samples_drawn_again")
    assert said.stage == "sample::Slides" and "samples for each that it returns" in said.title
    assert any("read::file, transform::Crop are called equally often, 1 to " in fact for fact in evidence_of(said))


def test_the_bound_is_the_time_of_all_draws_but_the_last() -> None:
    counts = list(map(until_one_fits(0.25), range(SAMPLES)))
    said = finding_in(dataset(counts.__getitem__), "samples_drawn_again")
    spare = sum(EACH * (count - 1) for count in counts)
    assert said.gain_us_per_step == pytest.approx(spare, rel=0.05)


@pytest.mark.parametrize(
    "draws",
    [
        lambda number: 8,  # frames of a clip
        lambda number: 1 + number % 9,  # clips of any length
        lambda number: 1 if number % 2 else 2,  # half of the samples are a pair
        lambda number: 1,
    ],
)
def test_frames_pairs_and_views_are_no_draws(draws: Callable[[int], int]) -> None:
    assert finding_of(dataset(draws), "samples_drawn_again") is None


def test_one_part_alone_or_few_samples_do_not_show_it() -> None:
    assert finding_of(dataset(until_one_fits(0.25), parts=1), "samples_drawn_again") is None
    assert finding_of(dataset(until_one_fits(0.25), samples=12), "samples_drawn_again") is None
