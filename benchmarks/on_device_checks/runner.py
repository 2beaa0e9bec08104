"""Each check in its own process, with a time limit: a crash is a line of the table, and the next check goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.on_device_checks.catalogue import Item
from benchmarks.on_device_checks.rows import Row, failed, not_possible, row_of
from benchmarks.on_device_checks.setting import Setting
from benchmarks.on_device_checks.table import CheckLog

ROOT: Final = Path(__file__).resolve().parents[2]
CHILD: Final = "benchmarks.on_device_checks.child"
LOG_CHARACTERS: Final = 4_000
_LEAST_SECONDS: Final = 5.0


@dataclass(slots=True)
class Report:
    """What a process wrote: rows, how many parts it ended, and facts that are no row (of the machine)."""

    rows: list[Row] = field(default_factory=list)
    ended: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that one call of `run_parts` found."""

    rows: tuple[Row, ...]
    log: CheckLog
    facts: dict[str, Any]


def run_parts(name: str, items: Sequence[Item], setting: Setting, deadline: float) -> Outcome:
    """Run parts of one or more checks, together called `name`, and stop at `deadline` (time.monotonic, seconds)."""
    begin, rows, facts, logs, ended = time.monotonic(), list[Row](), dict[str, Any](), list[str](), "nothing to run"
    left = list(items)
    while left:
        batch = left[:1] if left[0].check.fresh and setting.device == "cuda" else left
        limit = min(sum(item.part.seconds for item in batch), deadline - time.monotonic())
        if limit < _LEAST_SECONDS:
            rows += [_no_time(item) for item in left]
            break
        report, ended, log = _run_child(name, batch, setting, limit)
        rows += report.rows
        facts.update(report.facts)
        logs.append(log)
        done = report.ended
        if done < len(batch):
            rows.append(_cut(batch[done], ended, out_of_time=time.monotonic() > deadline - 1))
            done += 1
        left = left[done:]
    seconds = time.monotonic() - begin
    return Outcome(tuple(rows), CheckLog(name, seconds, ended, "".join(logs)[-LOG_CHARACTERS:]), facts)


def _no_time(item: Item) -> Row:
    return not_possible(item.title, "the time budget was used up (--seconds)")


def _cut(item: Item, ended: str, out_of_time: bool) -> Row:
    """The row of the part at which a process ended."""
    if out_of_time:
        return _no_time(item)
    if item.part.without_us:
        return not_possible(item.title, f"its process {ended}, with nothing of ours in it")
    return failed(item.title, f"its process {ended}")


def _run_child(name: str, items: Sequence[Item], setting: Setting, limit: float) -> tuple[Report, str, str]:
    """What the process wrote, how it ended in words, and the end of what it printed."""
    answers = setting.work / f"{name}.{time.monotonic_ns()}.jsonl"
    answers.touch()
    parts = [(item.check.module, item.part.name) for item in items]
    order: dict[str, Any] = {"parts": parts, "answers": str(answers)}
    order["setting"] = {
        **asdict(setting),
        "seconds": limit,
        "work": str(setting.work),
        "captures": str(setting.captures),
    }
    log = answers.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", CHILD, json.dumps(order)],
            cwd=setting.work,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # its DataLoader workers end with it
        )
        try:
            status: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return read_answers(answers), in_words(status, limit), _end_of(log)


def _end_of(log: Path) -> str:
    """Without the lines that torch 2.13 prints at both ends of each profile."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith("USDT:"))[-LOG_CHARACTERS:]


def read_answers(path: Path) -> Report:
    """Lines that are no JSON, as a killed process leaves them, are passed over."""
    report = Report()
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found = json.loads(line)
            if "row" in found:
                report.rows.append(row_of(found["row"]))
            elif "facts" in found:
                report.facts.update(found["facts"])
            elif "ended" in found:
                report.ended += 1
    return report


def in_words(status: int | None, limit: float) -> str:
    """How a process ended. `status`: as subprocess has it; None: it was ended at its limit."""
    if status is None:
        return f"was ended after its limit of {limit:.0f} s"
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
    return "ended with exit status 0" if status == 0 else f"ended with exit status {status}"


def environment() -> dict[str, str]:
    """Of the processes of checks: this checkout's packages first, no cache, devices numbered as NVML numbers them."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    ours = {
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "TB_DATAPLUGIN_CACHE": "off",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANNOTATE")}
    return {**kept, **ours}
