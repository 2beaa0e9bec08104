"""The steps of action.yml, run as GitHub's runner does: by bash, with inputs in the environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tb_dataplugin.cli.test_compare_command import run as trace

ACTION = yaml.safe_load((Path(__file__).parents[3] / "action.yml").read_text())
SHELL = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""What ``shell: bash`` stands for."""


@dataclass(frozen=True)
class Job:
    """A workspace, and what stands for `python`."""

    folder: Path

    @property
    def summary(self) -> Path:
        return self.folder / "summary.md"

    @property
    def installed(self) -> str:
        """Arguments of each ``python``."""
        path = self.folder / "python.txt"
        return path.read_text() if path.exists() else ""

    def run(self, **given: str) -> subprocess.CompletedProcess[str]:
        """The action with these inputs: its steps until one fails; the last one that ran."""
        inputs = {name: facts.get("default", "") for name, facts in ACTION["inputs"].items()} | given
        assert set(inputs) == set(ACTION["inputs"])
        done: subprocess.CompletedProcess[str] | None = None
        for step in ACTION["runs"]["steps"]:
            assert step["shell"] == "bash"
            if wanted(step.get("if", ""), inputs):
                done = self._step(step, inputs)
                if done.returncode:
                    break
        assert done is not None
        return done

    def _step(self, step: Mapping[str, Any], inputs: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        script = self.folder / "step.sh"
        assert "${{" not in step["run"], "an input in the script would be run"
        script.write_text(step["run"])
        path = os.pathsep.join((str(self.folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
        own = {name: filled(value, inputs) for name, value in step.get("env", {}).items()}
        environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(self.summary), "CI": "true", **own}
        return subprocess.run(
            [*SHELL, str(script)],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )


def filled(text: str, inputs: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda match: inputs[match[1]], text)


def wanted(condition: str, inputs: Mapping[str, str]) -> bool:
    """Of the one form that the action has."""
    if not condition:
        return True
    match = re.fullmatch(r"inputs\.([a-z-]+) != ''", condition)
    assert match is not None, condition
    return bool(inputs[match[1]])


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/python.txt\n')
    python.chmod(0o755)
    return Job(tmp_path)


@pytest.fixture
def fast(tmp_path: Path) -> str:
    return str(trace(tmp_path, "a_1.1", 500))


@pytest.fixture
def slow(tmp_path: Path) -> str:
    return str(trace(tmp_path, "b_2.1", 1000))


def test_a_run_that_is_no_slower_passes_and_writes_the_summary(job: Job, fast: str, slow: str) -> None:
    job.summary.write_text("of an earlier step\n")
    done = job.run(before=slow, after=fast)
    assert done.returncode == 0, done.stderr
    first, *rest = job.summary.read_text().splitlines()
    assert first == "of an earlier step" and any("Faster" in line for line in rest)
    assert job.installed == "-m pip install --quiet tb-dataplugin\n"


def test_a_run_that_is_slower_fails_with_the_summary_written(job: Job, fast: str, slow: str) -> None:
    done = job.run(before=fast, after=slow)
    assert done.returncode == 1 and "more than the 5.0% allowed" in done.stderr
    assert "transform::Crop" in job.summary.read_text()
    assert job.run(before=fast, after=slow, **{"fail-if-slower": "200%"}).returncode == 0


def test_what_is_inconclusive_is_as_the_input_says(job: Job, fast: str) -> None:
    other = str(trace(job.folder, "c_3.1", 505, seed=1))
    assert job.run(before=fast, after=other).returncode == 0
    assert job.run(before=fast, after=other, inconclusive="fail").returncode == 1


def test_what_cannot_be_read_fails_in_one_line(job: Job, fast: str) -> None:
    done = job.run(before=str(job.folder / "nothing"), after=fast)
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_without_a_package_nothing_is_installed(job: Job, fast: str) -> None:
    assert job.run(before=fast, after=fast, package="").returncode == 0
    assert job.installed == ""


@pytest.mark.parametrize("text", ["$(touch {0}/run)", "`touch {0}/run`", "'; touch {0}/run; '", "--version"])
def test_an_input_is_never_run_and_never_an_option(job: Job, fast: str, text: str) -> None:
    done = job.run(before=text.format(job.folder), after=fast, package="")
    assert done.returncode == 2
    assert not (job.folder / "run").exists()
