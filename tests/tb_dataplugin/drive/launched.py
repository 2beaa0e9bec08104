"""Programs by themselves, and the same ones under `tb-dataplugin run`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support import warm

ROOT: Final = Path(__file__).parents[3]
LIMIT_S: Final = 100.0
OURS: Final = "tb-dataplugin: "


@dataclass(frozen=True, slots=True)
class Seen:
    """What is to be seen of a program from outside."""

    status: int
    out: str
    err: str
    """Without our line."""
    line: str
    """Ours, at the end; empty where there is none."""


def environment(**more: str) -> dict[str, str]:
    """With this tree first for Python: also for the program, which the plain one gets as well."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def plain(command: Sequence[str], **keywords: Any) -> Seen:
    return _seen(list(command), **keywords)


def forked(command: Sequence[str], *, cwd: Path, env: dict[str, str] | None = None) -> Seen:
    """`plain` for a program that needs torch, in a fork of a Python that has imported it."""
    done = warm.run(command, cwd=cwd, env=env or environment(), timeout=LIMIT_S)
    return Seen(done.returncode, done.stdout, *split(done.stderr))


def launched(command: Sequence[str], *options: str, logdir: Path, **keywords: Any) -> Seen:
    return _seen([*tool("run", "--logdir", str(logdir), *options), "--", *command], **keywords)


def tool(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tb_dataplugin", *arguments]


def _seen(command: list[str], *, env: dict[str, str] | None = None, **keywords: Any) -> Seen:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, env=env or environment(), check=False, **keywords
    )
    return Seen(done.returncode, done.stdout, *split(done.stderr))


def split(err: str) -> tuple[str, str]:
    """What a program and what we have written on stderr."""
    lines = err.splitlines(keepends=True)
    line = lines.pop()[len(OURS) :].strip() if lines and lines[-1].startswith(OURS) else ""
    return "".join(lines), line
