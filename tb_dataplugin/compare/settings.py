"""What changed in the configuration, as far as it was captured: loader, machine, versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tb_dataplugin.compare.sides import Run
from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import UNKNOWN, data_size
from tb_dataplugin.words import SETTINGS, label_of

LOADER = (
    "num_workers", "batch_size", "prefetch_factor", "pin_memory", "persistent_workers", "in_order", "start_method",
    "dataset",
)  # fmt: skip
WORKERS = "num_workers"
NOT_KNOWN = "not recorded"
SOME = "at least 1"
"""DataLoader workers of a plain capture: torch's marks show that there are some, and not how many."""
MACHINE = ("cores", "cpu_quota", "torch_threads", "memory_bytes", "shm_bytes")


@dataclass(frozen=True, slots=True)
class SettingChange:
    name: str
    before: str
    after: str

    @property
    def is_known(self) -> bool:
        """Whether both sides recorded it, or enough of it: else it may have changed."""
        sides = {self.before, self.after}
        return sides == {"0", SOME} or not any(value == NOT_KNOWN or SOME in value for value in sides)


def compare_settings(before: Sequence[Run], after: Sequence[Run]) -> list[SettingChange]:
    """Settings that differ between the sides. One that a side did not record is no change, except the number of
    DataLoader workers: a plain capture shows whether there are any, at best, so that it may well be another.
    """
    sides = [settings_of(runs) for runs in (before, after)]
    both = sides[0].keys() & sides[1].keys()
    names = [name for name in dict.fromkeys((*sides[0], *sides[1])) if name in both or name == WORKERS]
    changes = [SettingChange(name, sides[0].get(name, NOT_KNOWN), sides[1].get(name, NOT_KNOWN)) for name in names]
    return [one for one in changes if one.before != one.after and UNKNOWN not in (one.before, one.after)]


def settings_of(runs: Sequence[Run]) -> dict[str, str]:
    """Name -> value; runs of one side that differ have all their values."""
    values: dict[str, list[str]] = {}
    for capture in (capture for run in runs for capture in run.captures):
        for name, value in _of_capture(capture):
            if value not in values.setdefault(name, []):
                values[name].append(value)
    return {name: ", ".join(sorted(seen)) for name, seen in values.items()}


def _of_capture(capture: pb.Capture) -> Iterator[tuple[str, str]]:
    yield "mode", capture.mode
    yield from _fields(capture.loader, LOADER)
    if capture.loader.in_workers:
        yield WORKERS, SOME
    if capture.host:
        yield "host", capture.host
    if capture.devices:
        yield "device", capture.devices[0].name or UNKNOWN
    if capture.HasField("world_size"):
        yield "world_size", str(capture.world_size)
    elif capture.HasField("environment"):  # annotate's, which knows of torch.distributed
        yield "world_size", "1"
    yield from _fields(capture.environment, MACHINE)
    for library, version in sorted(capture.environment.versions.items()):
        yield f"{library} (version)", version


def _fields(message: pb.Loader | pb.LoaderSettings | pb.Environment, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        field = message.DESCRIPTOR.fields_by_name[name]
        value = getattr(message, name)
        known = message.HasField(name) if field.has_presence else bool(value)  # type: ignore[arg-type]
        if known:
            yield name, _words(name, value)


def recorded_in(settings: pb.LoaderSettings, names: Sequence[str]) -> dict[str, str]:
    """Name -> value in words, of those that were recorded."""
    return dict(_fields(settings, names))


def _words(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return data_size(value) if name.endswith("_bytes") else f"{value:g}"
    return str(value)


def setting_words(settings: Sequence[SettingChange]) -> str:
    """Those that are known on both sides: `" Settings changed: num_workers 2 to 5."`."""
    known = [setting for setting in settings if setting.is_known and UNKNOWN not in (setting.before, setting.after)]
    if not known:
        return ""
    shown = ", ".join(f"{setting.name} {setting.before} to {setting.after}" for setting in known[:3])
    return f" Settings changed: {shown}{f' and {len(known) - 3} more' if len(known) > 3 else ''}."


def beside_one_process(settings: Sequence[SettingChange]) -> str:
    """Where one side is a rank of several and the other none: `" After is one of 2 ranks, ..."`."""
    for one in settings:
        if one.name == "world_size" and "1" in (one.before, one.after):
            side, ranks = ("Before", one.before) if one.after == "1" else ("After", one.after)
            return f" {side} is one of {ranks} ranks, which waits for the others, too."
    return ""


def setting_evidence(settings: Sequence[SettingChange]) -> list[Evidence]:
    return [
        Evidence(
            "setting",
            f"{label_of(SETTINGS, setting.name)}: {setting.before} before{_how_known(setting.before)}, "
            f"{setting.after} after{_how_known(setting.after)}"
            f"{'' if setting.is_known else '; it may have changed'}",
        )
        for setting in settings
    ]


def _how_known(value: str) -> str:
    return " (number not recorded)" if SOME in value else ""
