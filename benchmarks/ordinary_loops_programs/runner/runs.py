"""One program, one seed: without annotate, with it, and the report on its capture.

The files of a run stay under WORK/NAME.SEED: plain, captured, logdir, report.json.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.ordinary_loops_programs import HEALTHY, file_of
from benchmarks.ordinary_loops_programs.runner.judgement import judge, judge_healthy, reading, self_time
from benchmarks.ordinary_loops_programs.runner.truth import plain_truth, window_truth

ROOT: Final = Path(__file__).resolve().parents[3]
SECONDS: Final = 400
"""A program or a report that takes longer is killed. The longest healthy program takes some 260."""
STEPS, LONG_STEPS = 300, 1000


@dataclass(frozen=True)
class Way:
    """How the programs are run."""

    work: Path
    long: bool = False
    unplanted: bool = False
    nice: int = 5


@dataclass(frozen=True)
class Ended:
    rc: int
    out: str
    err: str
    seconds: float

    @property
    def last_words(self) -> list[str]:
        return self.err.strip().splitlines()[-1:]


def execute(command: Sequence[str], way: Way, environment: Mapping[str, str] | None = None) -> Ended:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(environment or {})}
    began = time.time()
    process = subprocess.Popen(
        ["nice", "-n", str(way.nice), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the group that this started
        out, err = process.communicate()
        return Ended(124, out, err + "\nTIMEOUT", time.time() - began)
    return Ended(process.returncode, out, err, time.time() - began)


def run_one(name: str, seed: int, way: Way) -> dict[str, Any]:
    healthy = name in HEALTHY
    folder = folder_of(name, seed, way.work)
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("plain", "captured"):
        (folder / part).mkdir(parents=True)
    steps = LONG_STEPS if way.long or healthy else STEPS
    program = [sys.executable, str(file_of(name)), *(["--variant", name] if healthy else [])]
    program += ["--seed", str(seed), "--steps", str(steps)]
    result = {"shape": name, "seed": seed, "healthy": healthy, "load": os.getloadavg()[0], "time": time.time()}

    environment = {"ORDINARY_LOOPS_UNPLANTED": "1"} if way.unplanted else {}
    ended = execute([*program, "--out", str(folder / "plain")], way, environment)
    result |= {"plain_s": ended.seconds, "plain_err": ended.err[-3000:]}
    if ended.rc:
        reason = f"the program itself ended with {ended.rc}: {ended.last_words}"
        return result | {"verdict": "BROKEN", "reason": reason}
    result["plain"] = plain_truth(folder / "plain")
    if way.unplanted:
        return result | {"verdict": "-", "reason": "nothing planted"}

    ended = execute([*program, "--out", str(folder / "captured"), "--logdir", str(folder / "logdir")], way)
    result |= {"capture_s": ended.seconds, "capture_err": ended.err[-3000:]}
    if ended.rc:
        reason = f"CRASH: the annotated program ended with {ended.rc}: {ended.last_words}"
        return result | {"verdict": "MISS", "reason": reason}

    report = [sys.executable, "-m", "tb_dataplugin", "report", str(folder / "logdir"), "--format", "json", "--no-cache"]
    ended = execute(report, way)
    result |= {"report_s": ended.seconds, "report_err": ended.err[-3000:]}
    if ended.rc:
        return result | {"verdict": "MISS", "reason": f"report ended with {ended.rc}: {ended.err.strip()[-300:]}"}
    (folder / "report.json").write_text(ended.out)
    return assess(result, folder)


def folder_of(name: str, seed: int, work: Path) -> Path:
    return work / f"{name}.{seed}"


def assess(result: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The judgement alone, from the files of a run."""
    captures = json.loads((folder / "report.json").read_text())["captures"]
    result["plain"] = plain_truth(folder / "plain")
    steps = [step["number"] for step in captures[0]["steps"]["items"]]
    result["window"] = window_truth(folder / "captured", steps, captures[0].get("window_us", 0) / 1e3)
    if len(captures) != 1:
        result["captures"] = len(captures)
    result["report"] = reading(captures[0])
    if result["healthy"]:
        result["verdict"], result["reason"] = judge_healthy(result["plain"], result["report"])
        return result
    result["verdict"], result["reason"], measured = judge(result["window"], result["report"])
    result["measured_ms"] = measured
    truth = result["window"]["truth_ms"]
    if measured is not None and truth > 0:
        # with several workers: from own worker's to any worker's
        low = min(truth, result["window"]["own_ms"] or truth)
        nearer = truth if measured > truth else low if measured < low else measured
        result["error"] = measured / nearer - 1 if nearer else 0.0
        result["within_10"] = abs(result["error"]) <= 0.1
    own, worked = self_time(result["window"], result["report"]), result["window"]["worked_ms"]
    if own is not None and worked > 0:
        result["self_ms"] = own
    return result


def rejudge(results: Sequence[dict[str, Any]], work: Path) -> None:
    for result in results:
        folder = folder_of(result["shape"], result["seed"], work)
        if (folder / "report.json").exists():
            for key in ("error", "within_10", "measured_ms", "self_ms"):
                result.pop(key, None)
            assess(result, folder)
