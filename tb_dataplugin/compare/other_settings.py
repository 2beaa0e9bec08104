"""Settings of DataLoaders that are not the training loop's, as an evaluation's: of those that both sides have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tb_dataplugin.compare.settings import LOADER, SettingChange, recorded_in
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.words import SETTINGS, label_of

_OF: Final = " of the other DataLoader"
_NAMES: Final = tuple(name for name in LOADER if name != "dataset")

_Key = tuple[str, str]
"""Its class and its dataset's."""


class OtherSettings(NamedTuple):
    """Of a DataLoader that is the `place`-th of `key` on both sides: name -> value, before and after. `has_twin`:
    another one has its dataset.
    """

    key: _Key
    place: int
    who: str
    before: dict[str, str]
    after: dict[str, str]
    has_twin: bool = False


def key_of(settings: pb.LoaderSettings) -> _Key:
    return settings.name, settings.dataset


def compare_other_settings(before: Sequence[Run], after: Sequence[Run]) -> list[SettingChange]:
    """What a side did not record is no change, and neither is another order of the same ones."""
    return [
        SettingChange(f"{name} of {pair.who}", pair.before[name], pair.after[name])
        for pair in paired(before, after)
        for name in _NAMES
        if name in pair.before and name in pair.after and pair.before[name] != pair.after[name]
    ]


def title_of(setting: SettingChange) -> str:
    name, of, who = setting.name.partition(_OF)
    return f"{label_of(SETTINGS, name)}{of}{who}"


def paired(before: Sequence[Run], after: Sequence[Run]) -> Iterator[OtherSettings]:
    """By class and dataset, in the order in which they were annotated; none where a side has more of them."""
    sides = [_of_side(runs) for runs in (before, after)]
    for key, mine in sides[0].items():
        theirs = sides[1].get(key, [])
        if len(mine) != len(theirs):
            continue
        has_twin = any(sum(len(each) for (_, dataset), each in side.items() if dataset == key[1]) > 1 for side in sides)
        is_reordered = sorted(map(_items, mine)) == sorted(map(_items, theirs))
        for place, (was, now) in enumerate(zip(mine, mine if is_reordered else theirs, strict=True)):
            yield OtherSettings(key, place, _who(key, place, len(mine)), was, now, has_twin)


def _items(values: dict[str, str]) -> list[tuple[str, str]]:
    return sorted(values.items())


def _of_side(runs: Sequence[Run]) -> dict[_Key, list[dict[str, str]]]:
    """Runs that differ have all their values; none of those of which captures have more than others."""
    captures: dict[_Key, list[list[dict[str, str]]]] = {}
    for capture in (capture for run in runs for capture in run.captures):
        for key, each in _of_capture(capture).items():
            captures.setdefault(key, []).append(each)
    return {
        key: [_joined(values) for values in zip(*found, strict=True)]
        for key, found in captures.items()
        if len({len(each) for each in found}) == 1
    }


def _joined(captures: Sequence[dict[str, str]]) -> dict[str, str]:
    names = dict.fromkeys(name for values in captures for name in values)
    return {name: ", ".join(sorted({values[name] for values in captures if name in values})) for name in names}


def _of_capture(capture: pb.Capture) -> dict[_Key, list[dict[str, str]]]:
    found: dict[_Key, list[dict[str, str]]] = {}
    for settings in capture.loader.other_settings:
        found.setdefault(key_of(settings), []).append(recorded_in(settings, _NAMES))
    return found


def _who(key: _Key, place: int, of: int) -> str:
    dataset = f" of {key[1]}" if key[1] else ""
    return f"the other DataLoader{dataset}{f' ({place + 1} of {of})' if of > 1 else ''}"
