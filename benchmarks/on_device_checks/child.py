"""The process of one check: `python -m benchmarks.on_device_checks.child ORDER`, where ORDER is the runner's JSON.

What is found goes line by line into the file that the order names, so that a crash loses nothing that was found before.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import IO, Any

from benchmarks.on_device_checks.rows import failed
from benchmarks.on_device_checks.setting import Setting


def main(order: dict[str, Any]) -> None:
    given = order["setting"]
    setting = Setting(**{**given, "work": Path(given["work"]), "captures": Path(given["captures"])})
    with open(order["answers"], "a", encoding="utf-8") as answers:
        _no_core_files()
        for module, part in order["parts"]:
            _run(module, setting, part, answers)
            _say(answers, ended=part)


def _run(module: str, setting: Setting, part: str, answers: IO[str]) -> None:
    try:
        check = importlib.import_module(module if "." in module else f"benchmarks.on_device_checks.{module}")
        for found in check.run(setting, part):
            if isinstance(found, dict):
                _say(answers, facts=found)
            else:
                _say(answers, row=found.to_dict())
    except Exception as error:
        traceback.print_exc()
        first = str(error).strip().partition("\n")[0]
        _say(answers, row=failed(f"{module}, {part}", f"{type(error).__name__}: {first}"[:300]).to_dict())


def _say(answers: IO[str], **found: Any) -> None:
    print(json.dumps(found), file=answers, flush=True)


def _no_core_files() -> None:
    """A crash with a device's memory mapped would write gigabytes."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
