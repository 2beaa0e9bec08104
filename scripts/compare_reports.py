"""Shows that two versions of this package report the same numbers, but for renamed fields.

    python scripts/compare_reports.py BEFORE AFTER [TRACE or FOLDER ...]

BEFORE and AFTER are roots of the source tree. Each analyses every trace; the reports of BEFORE, with the renames of
report schema 2 applied, must have the same fields and names as those of AFTER, and every number within 1e-9 relative.
Sentences and fields that only AFTER has are left out. Exit status 1 when anything differs.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_TRACES = (ROOT / "tests/golden", ROOT.parent / "shared/traces")
TOLERANCE: Final = 1e-9

RENAMED: Final[dict[tuple[str, str], str]] = {
    ("stages", "starved_us"): "run_delay_us",
    ("batches", "delay_us"): "in_queue_us",
    ("batches", "blocked_us"): "head_of_line_us",
    ("gaps", "data_wait_us"): "exposed_wait_us",
    ("throughput", "limited_by"): "slowest_part",
    ("comparison", "told_apart"): "significant",
    ("time", "told_apart"): "significant",
    ("typical", "told_apart"): "significant",
    ("stages", "weight_us"): "change_us",
    ("stages", "beside"): "speed_adjusted",
}
"""By the message's field in its parent and the old name: the new name."""

VALUES: Final[dict[tuple[str, str], dict[str, str]]] = {
    ("captures", "mode"): {"foreign": "unannotated"},
    ("before", "mode"): {"foreign": "unannotated"},
    ("after", "mode"): {"foreign": "unannotated"},
    ("stages", "limited_by"): {"starved": "no_cpu"},
    ("diagnostics", "topic"): {"blame": "wait_by_stage"},
    ("comparison", "outcome"): {"same": "not_significant"},
    ("settings", "before"): {"foreign": "unannotated"},
    ("settings", "after"): {"foreign": "unannotated"},
}

SENTENCES: Final = {
    ("verdict", "sentence"), ("verdict", "evidence"), ("findings", "title"), ("findings", "advice"),
    ("findings", "code"), ("findings", "evidence"), ("findings", "confidence_reason"), ("abstained", "reason"),
    ("diagnostics", "message"), ("comparison", "sentence"), ("comparison", "evidence"),
    ("settings", "before"), ("settings", "after"),
}  # fmt: skip

KEYS: Final = {"findings": ("rule", "stage"), "abstained": ("rule",)}
"""Lists that are compared by these fields, not by place."""

READER: Final = """
import json, sys
from pathlib import Path
from tb_dataplugin.compare import compare
from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.pipeline import analyse_file, as_report
first = None
for line in sys.stdin:
    path = Path(line.rstrip("\\n"))
    try:
        capture = analyse_file(path, path.name).capture
        first = first or capture
        told = {"report": as_dict(as_report([capture])), "comparison": as_dict(compare([first], [capture]))}
    except DataPipelineError as error:
        told = {"error": type(error).__name__}
    print(json.dumps(told), flush=True)
"""


def main() -> int:
    before, after, *given = map(Path, sys.argv[1:])
    traces = sorted(path for folder in given or DEFAULT_TRACES for path in _traces(folder))
    unlike = 0
    for trace, old, new in zip(traces, _reports(before, traces), _reports(after, traces), strict=True):
        differences = list(_compare(old, new, "", ""))
        unlike += bool(differences)
        print(f"{'differs' if differences else 'equal  '} {_count(old):>7,} numbers  {trace.name}")
        for difference in differences[:20]:
            print(f"    {difference}")
    print(f"{len(traces) - unlike} of {len(traces)} traces have equal reports")
    return 1 if unlike else 0


def _traces(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    return [path for path in folder.rglob("*") if path.suffix in (".gz", ".json") and path.is_file()]


def _reports(root: Path, traces: list[Path]) -> Iterator[Any]:
    done = subprocess.run(
        [sys.executable, "-c", READER],
        input="".join(f"{trace}\n" for trace in traces),
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root.resolve())},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return map(json.loads, done.stdout.splitlines())


def _compare(old: Any, new: Any, message: str, path: str) -> Iterator[str]:
    """`message`: the field that holds the value's message."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _compare_fields(old, new, message, path)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{path}: {len(old)} entries before, {len(new)} after"
        if message in KEYS:
            old, new = (sorted(rows, key=lambda row: [row[name] for name in KEYS[message]]) for rows in (old, new))
        for place, (left, right) in enumerate(zip(old, new, strict=False)):
            yield from _compare(left, right, message, f"{path}[{place}]")
    elif not _equal(old, new):
        yield f"{path}: {old!r} before, {new!r} after"


def _compare_fields(old: dict[str, Any], new: dict[str, Any], message: str, path: str) -> Iterator[str]:
    for name, value in old.items():
        renamed = RENAMED.get((message, name), name)
        if (message, name) in SENTENCES or name == "schema_version":
            continue
        if renamed not in new:
            yield f"{path}.{renamed}: gone"
            continue
        changed = VALUES.get((message, name), {}).get(value, value) if isinstance(value, str) else value
        if (message, name) == ("parts", "name") and isinstance(changed, str):
            changed = f"data_{changed}" if changed.startswith("wait:") else changed
        yield from _compare(changed, new[renamed], name, f"{path}.{renamed}")


def _equal(old: Any, new: Any) -> bool:
    numbers = isinstance(old, (int, float)) and isinstance(new, (int, float))
    return math.isclose(old, new, rel_tol=TOLERANCE) if numbers else bool(old == new)


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    if isinstance(value, list):
        return sum(map(_count, value))
    return int(isinstance(value, (int, float)) and not isinstance(value, bool))


if __name__ == "__main__":
    sys.exit(main())
