"""Advice on an iterable dataset before there are more DataLoader workers: each of them has a copy of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.undivided import Undivided, find_undivided
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.model.trace import LoaderInfo

CODE: Final = """info = torch.utils.data.get_worker_info()
part = slice(None) if info is None else slice(info.id, None, info.num_workers)
for item in items[part]: ...  # items: the list of files, shards or rows that it goes through"""

OWN_STATE: Final = """info = torch.utils.data.get_worker_info()
rng = np.random.default_rng(None if info is None else info.seed)  # and draw from it"""

COPIES: Final = (
    "there is nothing to divide. But each DataLoader worker works on a copy, made when it starts, and what the program "
    "changes after that (a replay buffer that it fills) does not reach it: the training changes, and nothing says so"
)

STATE: Final = (
    "If the dataset keeps a generator of random numbers, that draws the same in each worker: make one in __iter__, "
    "from get_worker_info().seed. "
)


ONE: Final = (
    " Have one of them: {why} (by get_worker_info() in __iter__), {so}each of several {goes} through all of it{but}."
)


ASKS: Final = (
    " Have one of them: several are right only where each goes through its own part. Its code asks get_worker_info(), "
    "but not every answer is for that."
)

SEE: Final = (
    "Count an epoch's batches before and after: its code asks get_worker_info(), and if that is not to divide the "
    "data, each DataLoader worker goes through all of it. "
)


@dataclass(frozen=True, slots=True)
class First:
    """`advice` and `code` begin those to have more DataLoader workers; "" where each may have the dataset as it is."""

    advice: str = ""
    code: str = ""


def _in_iter(what: str, code: str) -> str:
    return f"# first, in __iter__: {what}\n{code}\n# then\n"


DIVIDE: Final = _in_iter("a part of the data for each DataLoader worker", CODE)
DRAW: Final = _in_iter("if the dataset keeps a generator, one for each DataLoader worker instead", OWN_STATE)
IF_FIXED: Final = _in_iter("if it goes through a fixed set of items, a part for each DataLoader worker", CODE)


def divide_first(signals: Signals, workers: int) -> First:
    """Before there are so many DataLoader workers."""
    loader, undivided = signals.loader, find_undivided(signals.loader)
    if loader is not None and loader.iterable and loader.drawn:
        text = f"If {loader.dataset or 'the dataset'} draws its items at random, without an end, {COPIES}. "
        has_thought = bool(loader.divided)  # its code asks which worker it runs in
        return First(text) if workers < 2 or has_thought else First(text + STATE, DRAW)
    if workers < 2 or (undivided is None and signals.waste.twins is None):
        return First(SEE) if workers >= 2 and _may_divide(loader) else First()
    each = f"each of {workers} DataLoader workers"
    if signals.waste.twins is not None:
        return First(f"First divide the data, by get_worker_info() in __iter__: else {each} reads all of it. ", DIVIDE)
    assert undivided is not None
    place = f"{undivided.dataset}.__iter__"
    if undivided.may_draw:
        return First(_either(undivided, place, each), IF_FIXED)
    return First(_divide(undivided, place, each, workers), DIVIDE)


def _may_divide(loader: LoaderInfo | None) -> bool:
    """It asks which worker it runs in, and none or one has run."""
    return loader is not None and bool(loader.iterable and loader.divided) and (loader.num_workers or 0) < 2


def first_workers(loader: LoaderInfo) -> tuple[int, str]:
    """How many DataLoader workers to begin with, where a few are enough, and why, as a sentence; "" where the dataset
    has no say in it.
    """
    if not loader.iterable:
        return 2, ""
    if loader.divided:
        return 1, ASKS
    undivided = find_undivided(loader)
    if undivided is None:
        return 1, ""
    dataset, but = undivided.dataset, ", unless it draws at random" if undivided.may_draw else ""
    if undivided.is_certain:
        why = f"nothing in the code of {dataset} divides it among DataLoader workers"
        return 1, ONE.format(why=why, so="so ", goes="would go", but=but)
    return 1, ONE.format(why=f"if {dataset} does not divide itself", so="", goes="goes", but=but)


def _divide(undivided: Undivided, place: str, each: str, workers: int) -> str:
    if undivided.is_certain:
        return (
            f"First divide the data, by get_worker_info() in {place}: nothing in its code does, so {each} would read "
            f"all of it, and an epoch would have every item {workers} times. "
        )
    return (
        f"First see that {place} divides the data, by get_worker_info(): if it does not, {each} reads all of it, and "
        f"an epoch has every item {workers} times. "
    )


def _either(undivided: Undivided, place: str, each: str) -> str:
    """True of a dataset that goes through its items, and of one that draws them."""
    seen = "nothing in its code does" if undivided.is_certain else "if it does not"
    would = "would read" if undivided.is_certain else "reads"
    return (
        f"If {place} goes through a fixed set of items, first see that it divides them, by get_worker_info(): {seen}, "
        f"{'so ' if undivided.is_certain else ''}{each} {would} all of them. If it draws at random, "
        f"{COPIES}. "
    )
