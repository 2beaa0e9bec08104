"""Which code a result is of."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit() -> str:
    """The commit that is checked out, with a "+" where files that git knows were changed; "unknown" without git."""
    try:
        head, changed = _git("rev-parse", "--short", "HEAD"), _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if changed else "")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    return done.stdout.strip()
