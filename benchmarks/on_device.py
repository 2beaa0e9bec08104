"""Ours against the truth on a machine with an NVIDIA device: one command, at most nine minutes.

    python benchmarks/on_device.py --out DIR [--seconds 480] [--quick]

Runs a small convolutional network, with delays planted in its data pipeline and its loop, and compares the report with
clocks in the user's code, with CUDA events and with NVML; runs DataLoader workers under an active CUDA profiler;
measures what recording costs. From a checkout: nothing needs to be installed but torch and the viewer's light
dependencies.

Prints the table (check, truth, ours, difference, verdict, reason), and writes DIR/table.txt, DIR/table.json and small
captures in DIR/captures. Without a device the checks that need one say so and the others run. Each check has its own
process: one that crashes is a line of the table.

Exit status: 0: no check is off; 1: one is; 2: bad usage, or a Python package is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

if __package__ in (None, ""):  # run as a file: the packages of this checkout come first
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.on_device_checks.catalogue import CHECKS, MACHINE, Item, Part
from benchmarks.on_device_checks.rows import Row, not_possible
from benchmarks.on_device_checks.runner import Outcome, run_parts
from benchmarks.on_device_checks.setting import Machine, Setting
from benchmarks.on_device_checks.table import Table, as_text, lines, write

PACKAGES: Final = {
    "torch": "torch",
    "numpy": "numpy",
    "google.protobuf": "protobuf",
    "msgspec": "msgspec",
    "isal": "isal",
}
"""What the processes of the checks import -> what pip calls it."""
LEAST, MOST = 20.0, 540.0


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if not LEAST <= options.seconds <= MOST:
        return _usage(f"--seconds {options.seconds:g}: give {LEAST:.0f} to {MOST:.0f}")
    missing = [package for module, package in PACKAGES.items() if not _is_there(module)]
    if missing:
        names = " ".join(missing)
        return _usage(
            f"this Python ({sys.executable}) lacks {', '.join(missing)}: {sys.executable} -m pip install {names}"
        )
    out = Path(options.out)
    try:
        (out / "captures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return _usage(f"--out {out}: {error.strerror or error}")
    with tempfile.TemporaryDirectory(prefix="on_device-", ignore_cleanup_errors=True) as work:
        table = run(Path(work), out.resolve(), options.seconds, options.quick)
    write(table, out)
    print()
    print(as_text(table), end="")
    return 1 if table.count("off") else 0


def run(work: Path, out: Path, seconds: float, quick: bool) -> Table:
    """All checks within `seconds`; rows are printed as they come."""
    deadline = time.monotonic() + seconds
    setting = Setting(work=work, captures=out / "captures", device="cpu", quick=quick, seconds=seconds)
    outcome = run_parts(MACHINE.name, [Item(MACHINE, part) for part in MACHINE.parts], setting, deadline)
    machine = _machine(outcome)
    setting = replace(setting, device=machine.device)
    rows, logs = list(outcome.rows), [outcome.log]
    _print(MACHINE.name, rows)
    wanted = [Item(check, part) for check in CHECKS for part in check.parts if part.in_quick or not quick]
    impossible = [not_possible(item.title, why) for item in wanted if (why := _why_not(item.part, machine))]
    _print("not possible", impossible)
    possible = [item for item in wanted if not _why_not(item.part, machine)]
    for name, items in _processes(possible, setting):
        outcome = run_parts(name, items, setting, deadline)
        logs.append(outcome.log)
        _print(name, outcome.rows)
        rows += outcome.rows
    kept = tuple(sorted(path.name for path in setting.captures.iterdir() if path.name.endswith(".json.gz")))
    return Table(_facts(machine), (*rows, *impossible), tuple(logs), kept)


def _processes(items: list[Item], setting: Setting) -> list[tuple[str, list[Item]]]:
    """What shares one: each check by itself; all in the quick form without a device, where starting takes longest."""
    if setting.quick and setting.device == "cpu":
        return [("all", items)]
    return [(check.name, mine) for check in CHECKS if (mine := [item for item in items if item.check is check])]


def _machine(outcome: Outcome) -> Machine:
    """A look at the device that itself crashed leaves a machine without one."""
    known = {field.name for field in fields(Machine)}
    found: dict[str, Any] = {name: value for name, value in outcome.facts.items() if name in known}
    if "no_device" not in found:
        found["no_device"] = f"the look at the machine {outcome.log.ended}"
    return Machine(**found)


def _why_not(part: Part, machine: Machine) -> str:
    """Why this machine cannot do the part; "" where it can."""
    if not part.needs:
        return ""
    if machine.no_device:
        return machine.no_device
    return machine.no_kernels if part.needs == "kernels" else ""


def _facts(machine: Machine) -> dict[str, Any]:
    return {field.name: getattr(machine, field.name) for field in fields(Machine)}


def _print(title: str, rows: Sequence[Row]) -> None:
    print(f"{title}:" if rows else f"{title}: nothing")
    for line in lines(rows)[2:]:
        print(f"  {line}")
    sys.stdout.flush()


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def _usage(text: str) -> int:
    print(f"on_device.py: {text}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the table and the captures")
    parser.add_argument("--seconds", type=float, default=480, help="time for everything; %(default)s")
    parser.add_argument("--quick", action="store_true", help="few steps and parts: a test of this program itself")
    return parser


if __name__ == "__main__":
    sys.exit(main())
