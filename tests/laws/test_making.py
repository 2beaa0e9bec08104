"""What reading and preparation sustain alone, and both by turns, whatever workers did."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_dataplugin.analyses.making import Made, Making

EDGE = 1 + 1e-9


def made_of(batches: list[tuple[int, int, int]]) -> Made:
    return Made(*(np.array(column, dtype=np.float64) for column in zip(*batches, strict=True)))


batch = st.tuples(st.integers(0, 4), st.integers(0, 10**9), st.integers(0, 10**9))
pools = st.lists(st.lists(batch, min_size=1, max_size=12), min_size=1, max_size=4)


def check(making: Making) -> None:
    rates = making.rates()
    read, prepare, load = rates
    if load is None:
        assert read is None and prepare is None
        return
    assert all(part is None or load <= part * EDGE for part in (read, prepare))
    if making.in_turn:
        apart = sum(1 / part for part in (read, prepare) if part)
        assert 1 / load <= apart * EDGE, "slower than one worker that is the slowest at both"


@given(pools, st.booleans())
def test_both_by_turns_are_never_faster_than_one_part(found: list[list[tuple[int, int, int]]], in_turn: bool) -> None:
    check(Making(tuple(map(made_of, found)), float(len(found)), in_turn))


def test_workers_that_differ_by_chance_in_one_part_alone_differ_in_both() -> None:
    """Two workers of one loader; each of its parts is held against chance."""
    random, uneven = np.random.default_rng(1), 0
    for _ in range(60):
        slow, quick = (
            Made(np.full(8, 4.0), random.lognormal(3, 0.6, 8), random.lognormal(mean, 0.4, 8)) for mean in (3.3, 2.9)
        )
        making = Making((slow, quick), 2.0, in_turn=True)
        check(making)
        rates = making.rates()
        assert rates.read is not None and rates.prepare is not None and rates.load is not None
        uneven += 1 / rates.load < (1 / rates.read + 1 / rates.prepare) * (1 - 1e-9)
    assert uneven < 10, "hardly ever is one of them slow in reading, and the other in preparing"


def test_a_capture_of_a_few_batches_in_which_only_preparation_differs() -> None:
    read = ([34.9, 37.0, 32.4, 32.5], [68.9, 32.9, 37.8, 32.5, 36.3, 32.5, 8.1])
    prepare = ([415.8, 187.6, 415.3, 148.1], [109.7, 137.1, 135.1, 154.6, 143.9, 138.9, 39.0])
    samples = ([4] * 4, [3, 4, 4, 4, 4, 4, 1])
    pairs = zip(samples, read, prepare, strict=True)
    workers = tuple(Made(np.array(one, float), np.array(two) * 1e6, np.array(three) * 1e6) for one, two, three in pairs)
    rates = Making(workers, 2.0, in_turn=True).rates()
    assert rates.load is not None and rates.prepare is not None and rates.load < rates.prepare
    assert 1 / rates.load == pytest.approx(sum(1 / part for part in rates[:2] if part))
