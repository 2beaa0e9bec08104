"""Drives DLIO: makes the data of a workload, runs it with `annotate` attached, reads what both say."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.dlio_attached.configurations import EPOCHS, WARM_UP, Configuration
from benchmarks.dlio_attached.utilisation import first_named, utilisation

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = Path(__file__).resolve().parent
SECONDS: Final = 120
EPOCHS_AFTER: Final = range(3, EPOCHS + 1)


def make_data(configuration: Configuration, python: Path, work: Path) -> None:
    """Unless an earlier run has made it."""
    folder = work / configuration.data
    if (folder / "complete").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    only_data = ["++workload.workflow.generate_data=True", "++workload.workflow.train=False"]
    _execute([str(python), "-m", "dlio_benchmark.main", *configuration.overrides(str(work)), *only_data], work)
    (folder / "complete").touch()


def run_once(configuration: Configuration, python: Path, work: Path) -> dict[str, Any]:
    """What DLIO and the report say of one run.

    Raises:
        RuntimeError: a program failed, with its last words.
    """
    folder = work / configuration.name
    shutil.rmtree(folder, ignore_errors=True)
    logdir = folder / "logdir"
    window = [configuration.wait_steps, WARM_UP, configuration.active_steps]
    load, began = os.getloadavg()[0], time.time()
    attached = [str(python), str(FOLDER / "attach.py"), str(logdir), *map(str, window)]
    said = json.loads(_execute([*attached, *configuration.overrides(str(work))], work).splitlines()[-1])
    seconds = time.time() - began
    report = [sys.executable, "-m", "tb_dataplugin", "report", str(logdir), "--format", "json", "--no-cache"]
    captures = json.loads(_execute(report, work))["captures"]
    if len(captures) != 1:
        raise RuntimeError(f"{configuration.name}: {len(captures)} captures in place of one")
    (folder / "report.json").write_text(json.dumps(captures[0]), encoding="utf-8")
    output = json.loads((folder / "dlio" / "0_output.json").read_text(encoding="utf-8"))
    measured = utilisation(output, said["next_s"], captures[0], EPOCHS_AFTER)
    return {
        "configuration": configuration.name,
        **asdict(measured),
        "difference": measured.difference,
        "difference_by_definition": measured.difference_by_definition,
        "named": first_named(captures[0]),
        "warnings": said["warnings"],
        "load_average": load,
        "seconds": seconds,
    }


def _execute(command: Sequence[str], work: Path) -> str:
    paths = [str(ROOT), str(FOLDER / "stand_ins")]
    work.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        command,
        cwd=work,  # DLIO leaves folders where it is started
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complained = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the group that this started
        process.communicate()
        raise RuntimeError(f"{Path(command[0]).name} {command[1]} took more than {SECONDS} s") from None
    if process.returncode:
        last = "\n".join(complained.strip().splitlines()[-5:])
        raise RuntimeError(f"{Path(command[0]).name} {command[1]} ended with {process.returncode}:\n{last}")
    return said
