"""Cases that once harmed a user's program, each named for what must hold."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.harm.cells import EXPORTS, MARKS, PHASES, Cell
from tests.harm.lab import Lab

BESIDE = ("ours_in_user", "ours_outlasts_user", "user_in_ours", "user_outlasts_ours", "two_users_and_ours")


def facts(lab: Lab, script: str, *arguments: Any, with_us: bool = True) -> dict[str, Any]:
    """What a script told; it must have ended well, and left nothing."""
    seen = lab.script(script, *arguments, with_us=with_us)
    assert seen.exit_status == 0, (seen.exit_status, seen.stderr, seen.told)
    assert seen.temporary_files == []
    assert seen.processes == []
    return seen.told["facts"][0]  # type: ignore[no-any-return]


def no_difference(lab: Lab, cell: Cell) -> None:
    found = lab.try_cell(cell).result()
    assert not found, "\n".join(map(str, found))


IN_EVERY_ORDER = [
    *(Cell("map", *values[:2], export=values[2]) for values in product(BESIDE, PHASES, EXPORTS)),
    *(Cell("map_workers", *values, marks="steps") for values in product(BESIDE, ("warmup", "record"))),
]


@pytest.mark.one_of(5)
@pytest.mark.parametrize("cell", IN_EVERY_ORDER, ids=str)
def test_a_profiler_of_the_users_works_in_every_order_with_ours(lab: Lab, cell: Cell) -> None:
    no_difference(lab, cell)


ORDERS = ("UOuo", "UOou", "OUuo", "OUou", "UuOo", "OoUu")


@pytest.mark.one_of(3)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("script", ["an_unscheduled_profiler", "a_profiler_of_autograd"])
def test_a_profiler_that_records_all_the_time_works_in_every_order_with_ours(lab: Lab, script: str, order: str) -> None:
    found = facts(lab, script, order)
    if order.index("U") < order.index("O") < order.index("u"):
        kind, text = found["refused"]
        assert kind == "RuntimeError"
        assert "\n" not in text
    else:
        assert found["refused"] is None
    assert found["exported"] == 3 * (order.index("u") - order.index("U"))


THREADS = [
    *(Cell("thread_workers", profilers, "after") for profilers in ("none", "ours", "monitor", "monitor_and_ours")),
    *(Cell("thread_workers", "ours", "after", marks=marks) for marks in ("parts", "steps")),
    *(Cell("read_ahead", "ours", "after", marks=marks) for marks in MARKS),
]


@pytest.mark.one_of(2)
@pytest.mark.parametrize("cell", THREADS, ids=str)
def test_batches_that_threads_make_are_all_there_and_nothing_untrue_is_said(lab: Lab, cell: Cell) -> None:
    no_difference(lab, cell)


@pytest.mark.parametrize(("workers", "how"), list(product((1, 2), ("ours", "monitor"))))
def test_several_workers_that_are_threads_give_all_of_twenty_batches(lab: Lab, workers: int, how: str) -> None:
    found = facts(lab, "thread_workers", workers, how)
    assert found["batches"] == list(range(20))
    assert found["sampler"] == "BatchSampler"


@pytest.mark.parametrize("workers", [0, 2])
def test_the_handler_of_tensorboard_writes_its_file_and_ours_is_written_too(lab: Lab, workers: int) -> None:
    found = facts(lab, "the_handler_of_tensorboard", workers)
    assert found["batches"] == [[2 * number, 2 * number + 1] for number in range(10)]
    (ours,), (theirs,) = found["ours"], found["theirs"]
    for rows in (ours, theirs):
        assert rows["record"]
        assert rows["waits"]
        assert rows["user's"] == 3
        assert len(rows["steps"]) == 3
    assert theirs["samples"] == ours["samples"]
    assert ours["samples"] or workers


def test_a_further_export_raises_what_torch_raises(lab: Lab) -> None:
    found = facts(lab, "the_handler_of_tensorboard", 0)
    assert found["torch's own"] is not None
    assert found["further export"] == found["torch's own"]


def test_an_exception_of_the_users_handler_is_the_users(lab: Lab) -> None:
    found = facts(lab, "a_handler_that_raises")
    assert found["raised"] == ["KeyError", "'user: handler'"]


def test_a_handler_may_look_at_the_results_without_saving_them(lab: Lab) -> None:
    found = facts(lab, "a_handler_that_looks_at_the_results")
    ((averages, events),) = found["tables"]
    assert averages
    assert events
    assert len(found["ours"]) == 1


@pytest.mark.parametrize("workers", [0, 2])
def test_a_place_that_warns_at_each_of_a_hundred_steps_is_shown_once(lab: Lab, workers: int) -> None:
    found = facts(lab, "once_per_place", workers)
    assert found == {"user: a step": 1, "user: an item": 0 if workers else 1}


def test_a_place_that_warns_is_shown_once_under_monitor_and_step(lab: Lab) -> None:
    found = facts(lab, "once_per_place_by_step")
    assert found == {"user: a step": 1, "user: a later step": 1, "user: an item": 1}


SEEN_BY_THE_USER = [
    *(Cell("map", "ours", "after", marks=marks) for marks in MARKS),
    *(Cell("map", "monitor", marks=marks) for marks in MARKS),
    *(
        Cell(loader, "ours", "after", marks="steps")
        for loader in ("map_workers", "iterable", "iterable_workers", "own_batches", "nested", "own_iter")
    ),
]


@pytest.mark.parametrize("cell", SEEN_BY_THE_USER, ids=str)
def test_the_users_code_sees_its_own_types_while_we_record(lab: Lab, cell: Cell) -> None:
    without, ours = lab.without_us(cell.program()).result(), lab.with_us(cell).result()
    assert ours.flags == without.flags
    assert ours.types == without.types


CALLS = {
    "prof.steps(5)": "int",
    "prof.steps(None)": "None",
    "annotate.dataset(42)": "int",
    "annotate.dataset(None)": "None",
    "annotate.dataset(loader)": "DataLoader",
    "annotate.loader(object())": "object",
    "annotate.loader(dataset)": "Numbers",
    "annotate.loader(None)": "None",
    "annotate.compose(5)": "int",
    "annotate.compose([5])": "int",
    "annotate.collate(5)": "int",
    "annotate.monitor(object())": "object",
    "annotate.replay(object())": "object",
}
"""And the name of what came, which the message must have."""

ADVICE = ("write ", "Did you mean", "Pass ", "pass ", "Give ", "give ", "Use ", "use ", "Call ", "call ")


@pytest.fixture(scope="module")
def refused(lab: Lab) -> dict[str, Any]:
    """By call, what it raised."""
    return facts(lab, "wrong_arguments")


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_argument_is_refused_in_one_line_that_says_what_to_do(refused: dict[str, Any], call: str) -> None:
    raised = refused[call]
    assert raised is not None, "accepted"
    kind, text = raised
    assert kind == "TypeError"
    assert "\n" not in text
    assert len(text) <= 250
    name = call.partition("(")[0].replace("prof.", "")
    assert name in text, "does not say which call"
    assert CALLS[call] in text, "does not say what came"
    assert any(advice in text for advice in ADVICE), "does not say what to do"
    assert " at 0x" not in text


def test_prof_steps_takes_anything_that_can_be_iterated(lab: Lab) -> None:
    found = facts(lab, "things_that_work")
    assert found == {name: list(range(8)) for name in ("list", "generator", "range")}


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("a dataset that is not in the loop", "Numbers"),
        ("no marker", "annotate.loader"),
    ],
)
def test_what_a_capture_lacks_is_said_at_its_time_in_one_warning(lab: Lab, what: str, names: str) -> None:
    found = facts(lab, "words", what)
    (text,) = found["warnings"]
    assert names in text
    assert "limit" not in text
    assert not any("limit" in note for note in found["notes"])


def test_an_import_changes_nothing(lab: Lab) -> None:
    assert facts(lab, "importing", with_us=False) == {"changes": {}}
