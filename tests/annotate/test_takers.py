"""Whose waits a recorder of ``next()`` has measured: batches may be taken ahead, in a thread that does not train."""

from __future__ import annotations

import io
import json
import queue
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch.optim import optimizer
from torch.utils.data import DataLoader, TensorDataset

import annotate
from annotate.recording import optimizer_steps
from annotate.recording.takers import Counts, Takers, Takings
from annotate.whole_run.points import line_of, numbers_of
from annotate.whole_run.tally import Tally, merged

Step = Callable[[], None]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    annotate.off()
    optimizer_steps.remove_hook()
    assert not hooks()


@pytest.fixture
def takers() -> Iterator[Takers]:
    found = Takers()
    yield found
    found.end()


@pytest.fixture
def step() -> Step:
    return new_step()


def new_step() -> Step:
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.ones(1)
    return cast(Step, torch.optim.SGD([weight], 0.1).step)


def hooks() -> int:
    return len(cast(Any, optimizer)._global_optimizer_post_hooks)


def elsewhere(*functions: Callable[[], Any]) -> None:
    thread = threading.Thread(target=lambda: [function() for function in functions])
    thread.start()
    thread.join()


def take(takers: Takers, takings: Takings, times: int = 1, *, with_gradients: bool = True) -> Callable[[], None]:
    def taken() -> None:
        for _ in range(times):
            takers.took(takings, with_gradients=with_gradients)

    return taken


def test_a_main_thread_that_takes_its_batches_has_nothing_put_into_torch(takers: Takers, step: Step) -> None:
    takings = Takings()
    for _ in range(20):
        take(takers, takings)()
        step()
    assert not hooks() and takings.take() == (0, 0, 0)


def test_batches_that_another_thread_takes_are_of_one_that_is_fed(takers: Takers, step: Step) -> None:
    takings = Takings()
    elsewhere(take(takers, takings, 4))
    for _ in range(20):
        step()
        elsewhere(take(takers, takings))
    assert takings.counts == (24, 0, 23) and takings.counts.whose(24) == "fed"


def test_a_thread_of_the_programs_own_that_trains_on_its_batches_is_not_fed(takers: Takers) -> None:
    """As a trainer that a service starts: two optimizers, and an evaluation beside it that has gradients on."""
    takings, evaluated = Takings(), Takings()
    step, second = new_step(), new_step()

    def train() -> None:
        for _ in range(20):
            take(takers, takings)()
            step()
            elsewhere(take(takers, evaluated))
            second()

    elsewhere(train)
    assert takings.counts.whose(20) == "own" and takings.own == 20 and takings.fed == evaluated.fed == 0


def test_threads_that_train_each_on_its_own_are_not_fed_by_each_other(takers: Takers, step: Step) -> None:
    takings = Takings()
    turns = [threading.Barrier(2) for _ in range(3)]

    def train() -> None:
        for _ in range(20):
            turns[0].wait()
            take(takers, takings)()
            turns[1].wait()
            step()
            turns[2].wait()

    threads = [threading.Thread(target=train) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert takings.fed <= 1 and takings.counts.whose(40) == "own"


def test_who_is_fed_stays_so_where_it_takes_the_batches_of_an_evaluation_itself(takers: Takers, step: Step) -> None:
    takings, evaluated = Takings(), Takings()
    for _ in range(3):
        take(takers, evaluated, 5)()
        for _ in range(30):
            elsewhere(take(takers, takings))
            step()
    assert takings.counts.whose(90) == "fed" and takings.fed >= 60
    assert evaluated.counts.whose(15) == "own"


def test_where_nobody_trains_all_that_is_known_is_that_it_is_not_the_main_thread(takers: Takers) -> None:
    takings = Takings()
    elsewhere(take(takers, takings, 5000, with_gradients=False))
    assert takings.counts == (5000, 0, 0) and takings.counts.whose(5000) == "elsewhere"
    assert takings.counts.whose(20_000) == "own"  # most batches are the main thread's


def test_its_end_takes_the_hook_out(takers: Takers, step: Step) -> None:
    elsewhere(take(takers, Takings()))
    assert hooks() == 1
    step()
    takers.end()
    elsewhere(take(takers, Takings()))
    assert not hooks()


def test_an_optimizer_that_the_program_compiles_is_seen_to_step_without_a_warning() -> None:
    weight, seen = torch.nn.Parameter(torch.zeros(1)), list[int]()
    weight.grad = torch.ones(1)
    assert optimizer_steps.listen(seen.append)
    compiled = torch.compile(torch.optim.SGD([weight], 0.1).step, backend="eager")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            compiled()
    optimizer_steps.ignore(seen.append)
    assert len(seen) == 3 and weight.item() == pytest.approx(-0.3)
    assert not [str(one.message) for one in told if "Dynamo" in str(one.message)]


def tally_of(taken: Counts) -> Tally:
    tally = Tally()
    tally.taken = taken
    for _ in range(10):
        tally.add_step(20_000_000, 15_000_000)
    return tally


@pytest.mark.parametrize(
    ("taken", "said", "tag"),
    [
        (Counts(0, 0, 0), ", data wait 15 ms (75%)", "data_wait_ms"),
        (Counts(10, 10, 0), ", data wait 15 ms (75%)", "data_wait_ms"),
        (Counts(10, 0, 0), ", data wait 15 ms (75%) of a thread that is not the main one", "data_wait_ms"),
        (
            Counts(10, 0, 9),
            ", data wait unknown (another thread than the one that trains takes the batches, and waits 15 ms (75%))",
            "taking_thread_wait_ms",
        ),
    ],
)
def test_the_line_and_the_scalars_of_an_interval_say_whose_wait_it_is(taken: Counts, said: str, tag: str) -> None:
    tally = tally_of(taken)
    assert line_of(tally, 1.0).endswith(f"step 20 ms{said}")
    assert [name for name in numbers_of(tally, 1.0) if name.endswith("wait_ms")] == [tag]


def test_intervals_that_are_merged_keep_who_took_the_batches() -> None:
    lines = [{"from": at, "to": at + 1, "loaders": [tally_of(Counts(10, 1, 9)).facts(0)]} for at in range(2)]
    (numbers,) = merged(*lines)["loaders"]
    assert (numbers["elsewhere"], numbers["own"], numbers["fed"]) == (20, 2, 18)


def loader() -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.arange(160.0)), batch_size=2)


def train_fed(loader: DataLoader[Any], step: Step) -> list[list[float]]:
    """As programs prefetch: a thread iterates the loader into a queue."""
    batches: queue.Queue[Any] = queue.Queue(4)

    def produce() -> None:
        for batch in loader:
            batches.put(batch)
        batches.put(None)

    thread = threading.Thread(target=produce)
    thread.start()
    seen = []
    while (batch := batches.get()) is not None:
        seen.append(batch[0].tolist())
        step()
    thread.join()
    return seen


def test_the_file_of_a_run_that_a_thread_feeds_says_so(tmp_path: Path, step: Step) -> None:
    annotate.watch(logdir=tmp_path, captures=0)
    seen = train_fed(loader(), step)
    annotate.off()
    assert seen == [[2.0 * at, 2.0 * at + 1] for at in range(80)]
    (path,) = tmp_path.glob("*.watch.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    (numbers,) = [each for line in lines if line["kind"] == "interval" for each in line["loaders"]]
    assert numbers["elsewhere"] == 80 and numbers["fed"] >= 70 and "own" not in numbers


def test_a_run_of_the_main_thread_says_nothing_of_threads(tmp_path: Path, step: Step) -> None:
    annotate.watch(logdir=tmp_path, captures=0)
    for _ in loader():
        step()
    assert not hooks()
    annotate.off()
    (path,) = tmp_path.glob("*.watch.jsonl")
    assert not {"elsewhere", "own", "fed"} & {
        name
        for line in map(json.loads, path.read_text().splitlines())
        for each in (line["loaders"] if line["kind"] == "interval" else ())
        for name in each
    }


def test_the_monitor_says_once_whose_times_it_prints(step: Step) -> None:
    out = io.StringIO()
    watched = annotate.monitor(loader(), 10, out)
    train_fed(watched, step)
    annotate.monitor(watched, 0)
    said = "another thread than the one that trains takes the batches: `data wait` and `step` are that thread's"
    assert out.getvalue().count(said) == 1 and out.getvalue().count("annotate.monitor: ") == 1


def test_the_monitor_has_nothing_to_say_of_a_main_thread_that_trains(step: Step) -> None:
    out = io.StringIO()
    watched = annotate.monitor(loader(), 10, out)
    for _ in watched:
        step()
    annotate.monitor(watched, 0)
    assert "annotate.monitor: " not in out.getvalue()
