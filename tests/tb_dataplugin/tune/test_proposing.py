from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tb_dataplugin.tune.pairs import Ratio
from tb_dataplugin.tune.proposing import Tried, next_proposal
from tb_dataplugin.tune.running import Facts, Forecast
from tb_dataplugin.tune.setting import Changes, with_change
from tests.tb_dataplugin.tune.made_up_loops import FACTS, MADE

TWO = replace(FACTS, made={**MADE, "num_workers": 2, "prefetch_factor": 2})
SAME = Ratio(1.0, 0.95, 1.05, 8)


class Flat:
    """A model that predicts `value`, 0.6 to 1.4 times of it, for numbers of workers, and knows nothing else."""

    def __init__(self, value: float) -> None:
        self.value = value

    def forecast(self, changes: Changes, beside: Changes) -> Forecast | None:
        is_known = changes.get("num_workers") != beside.get("num_workers")
        return Forecast(self.value, 0.6 * self.value, 1.4 * self.value) if is_known else None


def proposals(facts: Facts, *, epochs_end: bool = False, names: tuple[str, ...] = ()) -> Iterator[Changes]:
    """One after the other, where none brings anything."""
    tried: list[Tried] = []
    while (proposal := next_proposal(facts, Changes(), tried, None, epochs_end, names)) is not None:
        tried.append(Tried(proposal.changes, Changes(), SAME, kept=False))
        yield proposal.changes


def values_of(facts: Facts, name: str, *, epochs_end: bool = False, names: tuple[str, ...] = ()) -> set[object]:
    found: set[object] = {changes.get(name) for changes in proposals(facts, epochs_end=epochs_end, names=names)}
    return found - {None}


def test_pinning_is_tried_with_a_device_only() -> None:
    assert values_of(TWO, "pin_memory") == set()
    assert values_of(replace(TWO, device="cuda"), "pin_memory") == {True}


def test_persistent_workers_are_tried_where_epochs_end() -> None:
    assert values_of(TWO, "persistent_workers") == set()
    assert values_of(TWO, "persistent_workers", epochs_end=True) == {True}


def test_threads_are_limited_where_opencv_is_loaded() -> None:
    assert values_of(TWO, "threads_per_worker") == set()
    assert values_of(replace(TWO, opencv=True), "threads_per_worker") == {1}


def test_order_is_given_up_where_torch_can() -> None:
    assert values_of(TWO, "in_order") == {False}
    assert values_of(replace(TWO, takes=frozenset()), "in_order") == set()


def test_the_order_of_an_iterable_dataset_is_given_up_by_request_only() -> None:
    """Each worker has to deliver its part: a window in which quick ones come first does not show the epoch."""
    stream = replace(TWO, iterable=True)
    assert values_of(stream, "in_order") == set()
    assert values_of(stream, "in_order", names=("in_order",)) == {False}
    assert values_of(replace(stream, takes=frozenset()), "in_order", names=("in_order",)) == set()


def test_how_workers_start_is_tried_by_request() -> None:
    name = "multiprocessing_context"
    assert values_of(TWO, name) == set()
    assert values_of(TWO, name, names=(name,)) == {"fork", "forkserver", "spawn"}


def test_more_workers_than_brought_nothing_are_not_tried() -> None:
    numbers = [number for changes in proposals(TWO) if isinstance(number := changes.get("num_workers"), int)]
    assert numbers[0] == 4
    assert all(number <= 4 for number in numbers)


@pytest.mark.parametrize(("value", "proposed"), [(0.9, True), (0.97, False), (1.2, False)])
def test_what_the_windows_would_not_show_is_not_tried(value: float, proposed: bool) -> None:
    found = next_proposal(TWO, Changes(), (), Flat(value), False, ("num_workers",))
    assert (found is not None) is proposed


def test_noisy_windows_ask_for_more() -> None:
    noisy = Ratio(1.0, 0.8, 1.2, 8, scatter=0.2)
    tried = [Tried(Changes.of({"prefetch_factor": 4}), Changes(), noisy, kept=False)]
    assert next_proposal(TWO, Changes(), tried, Flat(0.85), False, ("num_workers",)) is None
    assert next_proposal(TWO, Changes(), tried, Flat(0.6), False, ("num_workers",)) is not None


def test_a_loop_without_workers_has_to_gain_more() -> None:
    assert next_proposal(FACTS, Changes(), (), Flat(0.9), False, ("num_workers",)) is None
    assert next_proposal(FACTS, Changes(), (), Flat(0.8), False, ("num_workers",)) is not None


def test_of_alike_predictions_the_fewest_workers_are_tried_first() -> None:
    found = next_proposal(TWO, Changes(), (), Flat(0.5), False, ())
    assert found is not None
    assert found.changes.as_dict() == {"num_workers": 0}


class NoFreeCpu(Flat):
    """No CPU was free for more DataLoader workers: what they take at least is alike for all, up to `scatter`."""

    def __init__(self, scatter: float) -> None:
        self.scatter = scatter

    def forecast(self, changes: Changes, beside: Changes) -> Forecast | None:
        number = changes.get("num_workers")
        if not isinstance(number, int) or number <= 2:
            return Forecast(1.0, 0.9, 1.1)
        return Forecast(1.0, 0.4 - self.scatter * number, 1.1, crowded=True)


@pytest.mark.parametrize("scatter", [0.001, -0.001])
@pytest.mark.parametrize(("cpus", "number"), [(2, 3), (4, 3), (1, 3)])
def test_where_no_cpu_is_free_few_more_workers_are_measured(cpus: int, number: int, scatter: float) -> None:
    """Which number is the lowest by a hair is chance, and more than there are CPUs are no advice."""
    found = next_proposal(replace(TWO, cpus=cpus), Changes(), (), NoFreeCpu(scatter), False, ("num_workers",))
    assert found is not None
    assert found.changes.as_dict() == {"num_workers": number}


def test_predictions_are_alike_beside_the_fastest_not_by_a_grid() -> None:
    class Close(Flat):
        def forecast(self, changes: Changes, beside: Changes) -> Forecast | None:
            number = changes.get("num_workers")
            value = {3: 0.5373, 4: 0.5293}.get(number, 1.0) if isinstance(number, int) else 1.0
            return Forecast(value, 0.5 * value, 1.5 * value)

    found = next_proposal(TWO, Changes(), (), Close(1.0), False, ("num_workers",))
    assert found is not None
    assert found.changes.as_dict() == {"num_workers": 3}


def test_a_value_as_the_user_has_it_is_no_change() -> None:
    changes = with_change(Changes.of({"num_workers": 4, "prefetch_factor": 4}), "num_workers", 0, TWO.made)
    assert changes.as_dict() == {"num_workers": 0}
    assert with_change(changes, "num_workers", 2, TWO.made) == Changes()
