"""What to do about a read stage by what it does: only a library's functions are known to open and read files."""

from __future__ import annotations

from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.analyses.line_waits import WaitedFor, named_wait
from tb_dataplugin.findings.callee_advice import callee_advice
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import ALL_CACHED, HOT_LINE
from tb_dataplugin.units import percent

LIBRARIES: Final = frozenset(
    (
        *("PIL", "av", "boto3", "cv2", "decord", "file", "fsspec", "h5py", "lmdb", "nibabel", "numpy", "open"),
        *("pathlib", "pyarrow", "rasterio", "soundfile", "sqlite3", "tarfile", "tifffile", "torchcodec"),
        *("torchvision", "zarr", "zipfile"),
    )
)
"""First words of the labels that `annotate` gives to reads by itself. All other read stages are the user's own: what
they do is not known, and the files that they open and read have stages inside them."""

_OWN: Final = "This is time in reading code of your own"
_COMPUTES: Final = "It runs on a CPU for {part} of its time: it computes, so other files or storage would not help"
_BLOCKED: Final = (
    " If that is storage, put the files on a faster or local disk, read them ahead, or read fewer and larger ones."
)
_BLOCKED_CACHED: Final = (
    " It does not wait for the contents of files: all bytes read came from the page cache. It may wait to open them."
)
_FETCH: Final = " Fetch several samples by one request, or keep on a local disk what is fetched again."


def is_own(stage: Stage) -> bool:
    return stage.kind == "read" and stage.label.partition(".")[0] not in LIBRARIES


def wait_of_line(signals: Signals, stage: Stage) -> WaitedFor | None:
    """What its hottest line says that it waits for."""
    line = signals.stage_lines.get(stage.name)
    return named_wait(line.source) if line is not None and line.share >= HOT_LINE else None


def reads_files(signals: Signals, stage: Stage) -> bool:
    """Whether its time is that of opening and reading files, or objects, as far as that was recorded."""
    return stage.kind == "read" and not is_own(stage) and wait_of_line(signals, stage) in (None, "network")


def own_read_advice(signals: Signals, stage: Stage, row: StageCalls | None, mark: str) -> str:
    """Args:
    mark: ends it where no line is known.
    """
    line, use = signals.stage_lines.get(stage.name), row.cpu_use if row is not None else None
    computes = row is not None and use is not None and use.limited_by == "cpu" and row.self_us > 0
    begin = _COMPUTES.format(part=percent(use.cpu_us / row.self_us)) if computes and use and row else _OWN
    if line is None or line.share < HOT_LINE:
        return begin + mark
    known = callee_advice(line.calls) if computes else ""
    return f"{begin}. {line.share_of('it')} is {line.text}: begin there.{f' {known}' if known else ''}"


def blocked_advice(signals: Signals, waits_for: WaitedFor | None) -> str:
    """Ends the advice about a reader or decoder that is mostly blocked."""
    if waits_for is not None:
        return _FETCH if waits_for == "network" else ""
    cached = signals.costs.cached if signals.costs else None
    return _BLOCKED if cached is None or cached < ALL_CACHED else _BLOCKED_CACHED
