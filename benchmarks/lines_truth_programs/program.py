"""One case: records a window of a program with planted lines, and writes what the clocks said beside the trace."""

from __future__ import annotations

import inspect
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.host import watching
from annotate.recording import switch
from benchmarks.lines_truth_programs import planted

WORKERS: Final = 2
BATCH: Final = 4


class Samples(Dataset[Any]):
    def __init__(self, transform: planted.Timed | None) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Any:
        return torch.zeros(1) if self.transform is None else self.transform(index)


def transform_of(case: str) -> planted.Timed:
    made: planted.Timed = (planted.made_inside() if case == "Local" else getattr(planted, case))()
    return made


def hot_line(case: str, transform: planted.Timed) -> tuple[str, int]:
    """File and line of what is planted."""
    if case == "Cell":
        return planted.CELL_FILE, _line_in(planted.CELL.splitlines(), "# HOT")
    if case in ("Installed", "Packaged"):
        return str(planted.installed().__file__), _line_in(planted.INSTALLED.splitlines(), "# HOT")
    if case in ("Lambda", "Local"):
        lines, first = Path(planted.__file__).read_text().splitlines(), 1
        return planted.__file__, _line_in(lines, f"# HOT {case}")
    lines, first = inspect.getsourcelines(type(transform))
    return planted.__file__, first - 1 + _line_in(lines, "# HOT")


def _line_in(lines: list[str], mark: str) -> int:
    return next(number for number, line in enumerate(lines, 1) if mark in line)


def record(case: str, place: str, seconds: float, folder: Path) -> list[float]:
    """Seconds in each part, and in the whole call, by the clocks."""
    transform = transform_of(case)
    if place == "inside":
        watching.Watch.reads_stacks = property(lambda _: False)  # type: ignore[assignment,method-assign]
        place = "here"
    if place == "training":
        return _in_the_training_thread(transform, seconds, folder)
    workers = 0 if place in ("here", "replay") else WORKERS
    method = place if place in ("fork", "spawn", "forkserver") else "fork"
    loader = annotate.loader(
        DataLoader(
            Samples(transform),
            batch_size=BATCH,
            num_workers=workers,
            multiprocessing_context=method if workers else None,
            persistent_workers=place == "persistent",
        )
    )
    if place == "replay":
        annotate.replay(loader, folder, batches=round(seconds / 0.04), progress=False)
        return _sum([transform(0) for _ in range(100)])
    seen: list[list[Any]] = []
    with annotate.profile(folder, wait=8, warmup=2, active=round(seconds / 0.04 * max(1, workers) * 0.7)) as prof:
        for batch in prof.steps(loader):
            if switch.RECORDING:
                seen.append(batch)
            if prof.trace_files:
                break
    return _sum(seen)


def _in_the_training_thread(transform: planted.Timed, seconds: float, folder: Path) -> list[float]:
    loader = DataLoader(Samples(None), batch_size=1)
    seen: list[list[float]] = []
    with annotate.profile(folder, wait=2, warmup=2, active=round(seconds / 0.01)) as prof:
        for _ in prof.steps(loader):
            times = transform(0)
            if switch.RECORDING:
                seen.append(times)
            if prof.trace_files:
                break
    return _sum(seen)


def _sum(times: list[list[Any]]) -> list[float]:
    """By part; an entry is a number, or a tensor of a batch's."""
    return [sum(float(torch.as_tensor(entry).sum()) for entry in part) for part in zip(*times, strict=True)]


def main() -> None:
    case, place, seconds, folder = sys.argv[1], sys.argv[2], float(sys.argv[3]), Path(sys.argv[4])
    begin = time.perf_counter()
    times = record(case, place, seconds, folder)
    file, line = hot_line(case, transform_of(case))
    share = times[0] / times[-1]
    facts = {"file": file, "line": line, "share": share, "seconds": time.perf_counter() - begin}
    (folder / "truth.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
