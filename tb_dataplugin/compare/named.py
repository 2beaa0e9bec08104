"""Captures of loops over several DataLoaders, each as one of the same loader.

A report is about the one that its loop waits for longest, which may be another one as soon as that is mended: then
settings and samples of two captures would be of two loaders, and no change of the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from tb_dataplugin.report import report_pb2 as pb

_SETTINGS = (
    "dataset", "num_workers", "batch_size", "prefetch_factor", "pin_memory", "persistent_workers", "in_order",
    "start_method",
)  # fmt: skip


def of_one_loader(
    before: Sequence[pb.Capture], after: Sequence[pb.Capture]
) -> tuple[Sequence[pb.Capture], Sequence[pb.Capture]]:
    """As they are where all are about the same one, as far as that shows: a batch size may be what was changed."""
    as_named = [_as_named(capture) for capture in before], [_as_named(capture) for capture in after]
    for names in (("dataset", "batch_size"), ("dataset",)):
        for sides in ((before, after), as_named):
            if len({tuple(getattr(each.loader, name) for name in names) for side in sides for each in side}) < 2:
                return sides
    return before, after


def _as_named(capture: pb.Capture) -> pb.Capture:
    if not capture.loader.HasField("named"):
        return capture
    made = pb.Capture()
    made.CopyFrom(capture)
    loader, named, rates = made.loader, made.loader.named, made.throughput
    theirs, mine = named.settings, pb.LoaderSettings(name=named.settings.name)
    _copy(loader, mine)
    others = [mine if each == theirs else each for each in loader.other_settings]
    del loader.other_settings[:]
    loader.other_settings.extend(others)
    _copy(theirs, loader)
    loader.item = named.item
    for name in ("samples", "samples_per_batch"):
        rates.ClearField(name)
        if named.HasField(name):
            setattr(rates, name, getattr(named, name))
    rates.item = named.item
    loader.ClearField("named")
    return made


def _copy(source: pb.Loader | pb.LoaderSettings, target: pb.Loader | pb.LoaderSettings) -> None:
    for name in _SETTINGS:
        field = source.DESCRIPTOR.fields_by_name[name]
        target.ClearField(name)  # type: ignore[arg-type]
        if not field.has_presence or source.HasField(name):  # type: ignore[arg-type]
            setattr(target, name, getattr(source, name))
