"""What is said of each DataLoader of a run with several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.units import count, duration, percent, plural
from tb_dataplugin.watchfile.by_loader import LoaderTotal, in_steps
from tb_dataplugin.watchfile.outside import Outside
from tb_dataplugin.watchfile.takers import Whose
from tb_dataplugin.watchfile.workers import busy_number

TOGETHER: Final = "of all DataLoaders together"


_BY: Final[dict[Whose, str]] = {
    "own": "",
    "fed": " by another thread than the one that trains",
    "elsewhere": " by a thread that is not the main one",
}


def loader_name(one: LoaderTotal) -> str:
    """``Images, batch_size=64, num_workers=2``, with its number, as in a capture (``Images, number 0, batch_size=64,
    num_workers=2``), where another is like it; ``DataLoader 2`` where nothing is known of it.
    """
    if one.has_others:
        return f"DataLoader {one.number + 1} and all later ones"
    size = f", batch_size={one.batch_size}" if one.batch_size else ""
    number = f", number {one.number}" if one.is_alike else ""
    if not one.dataset:
        return f"DataLoader {one.number + 1}"
    return f"{one.dataset}{number}{size}, num_workers={one.num_workers}"


def loader_text(one: LoaderTotal, outside: Outside | None) -> str:
    """``1,000 batches in 10 epochs, waited for 12.3 s (20.5% of the run); ...``"""
    batches = f"{plural(one.batches, 'batch')} in {plural(one.epochs, 'epoch')}"
    waited = f"{batches}, waited for {duration(one.wait_us)}{_of_run(one.wait_us, outside)}{_BY[one.whose]}"
    return "; ".join((waited, *_more(one)))


def _more(one: LoaderTotal) -> Iterator[str]:
    if one.first_wait_us > 0 and one.first_waits < one.batches - one.unknown:
        each = "" if one.first_waits == 1 else f", {duration(one.first_wait_us / one.first_waits)} each"
        yield f"{duration(one.first_wait_us)} of that for {_first(one.first_waits)}{each}"
    if one.unknown:
        lay = "recorded, or after another DataLoader's"
        yield f"without {count(one.unknown)} of the batches, whose wait is not known ({lay})"
    if one.joined:
        yield f"{count(one.joined)} of the batches came in the steps of another DataLoader"
    if one.busy is not None:
        yield f"its DataLoader workers {busy_number(one.busy)} busy"
    if one.each_between_us is not None:
        each = duration(one.each_between_us)
        mean = each if one.between == 1 else f"{each} each, at most {duration(one.longest_between_us)}"
        yield f"outside of steps before its epochs: {_times(one.between)}, {mean}"


def waits_text(loaders: Sequence[LoaderTotal]) -> str:
    """``92.9% of it for Unlabelled, batch_size=8, num_workers=1, 7.09% for Labelled, ...``: of the steps' data wait; ""
    where they take batches from one DataLoader.
    """
    parts = [(percent(share), loader_name(one)) for one, share in in_steps(loaders)]
    return ", ".join(f"{share}{'' if place else ' of it'} for {name}" for place, (share, name) in enumerate(parts))


def worked_text(loaders: Sequence[LoaderTotal]) -> str:
    """``, of Unlabelled, batch_size=8, num_workers=1``: whose DataLoader workers, stages and samples a run is told of,
    where its steps take batches from several; else "".
    """
    several = in_steps(loaders)
    return f", of {loader_name(several[0][0])}" if several else ""


def others_text(loaders: Sequence[LoaderTotal], outside: Outside | None, least: float) -> str:
    """``other DataLoaders were waited for 4.30 s (12.0% of the run)``; "" for less than `least` of the run, and where
    what the whole is is not known.
    """
    others = [one for one in loaders if not one.is_main and not one.joined]
    wait_us = sum(one.wait_us for one in others)
    if outside is None or not others or wait_us < least * outside.whole_us:
        return ""
    who = "another DataLoader was" if len(others) == 1 else f"{count(len(others))} other DataLoaders were"
    return f"{who} waited for {duration(wait_us)}{_of_run(wait_us, outside)}"


def _of_run(time_us: float, outside: Outside | None) -> str:
    return "" if outside is None else f" ({percent(outside.share_of(time_us))} of the run)"


def _first(epochs: int) -> str:
    return "the first batch of an epoch" if epochs == 1 else f"the first batches of {count(epochs)} epochs"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{count(number)} times"
