"""Shows that two versions of this package report the same numbers, but for renamed fields and intended changes.

    python scripts/compare_reports.py BEFORE AFTER [TRACE or FOLDER ...]

BEFORE and AFTER are roots of the source tree. Each analyses every trace; the reports of BEFORE, in the form of report
schema 2, must have the same fields and names as those of AFTER, and every number within 1e-9 relative. Sentences and
fields that only AFTER has are left out. Differences are grouped by field; those that CHANGELOG.md explains (`INTENDED`)
by its words. Exit status 1 when a difference is left that nothing explains.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
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

KEYS: Final = {
    "findings": ("rule",),
    "abstained": ("rule",),
    "parts": ("name",),
    "stages": ("path", "name"),
    "diagnostics": ("code",),
}
"""Lists whose entries are compared by these fields, not by place."""

BUSY: Final = "workers that are busy all the time | the wait for a finished batch was blamed on `transfer`"

CAPTURE: Final = r"report\.captures\."

INTENDED: Final = (
    ("", CAPTURE + r"workers\.starved_us", "a worker that drains at the end of an epoch | starved | idle"),
    ("", CAPTURE + r"devices\.gaps\.chain\.batch\.lane", "ids of lanes of"),
    ("", CAPTURE + r"loader\.wait_by_stage_us\..*", BUSY),
    ("", CAPTURE + r"devices\.idle_by_stage_us\..*", BUSY),
    ("", CAPTURE + r"devices\.gaps\.stage", BUSY),
    ("", CAPTURE + r"stages\[.*\]\.blame_us", BUSY),
    ("", r"comparison\.parts\[data_wait:.*\].*", BUSY),
    # findings that follow from it
    ("list_as_argument_of_a_stage", CAPTURE + r"findings\[leading_stage\]\.(stage|severity|gain_us_per_step)", BUSY),
    ("annotate_workers2", CAPTURE + r"findings\[float_before_transfer\]", BUSY),
    ("lists_as_devices", CAPTURE + r"abstained\[float_before_transfer\]", BUSY),
    ("", CAPTURE + r"findings\[shrink_first\]\.stage", "the first finding about a stage name the same one"),
    ("", CAPTURE + r"findings\[.*\]\.confidence", 'no finding is then "measured"'),
    ("", r"comparison\.(outcome|diagnostics.*)", "New outcomes: `identical`"),
)
"""Begin of the trace's name, its fields (a pattern) that differ on purpose, and the words of CHANGELOG.md for it."""

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


@dataclass
class Group:
    """Differences in one field, or for one reason."""

    traces: set[str] = field(default_factory=set)
    count: int = 0
    example: str = ""

    def add(self, trace: str, path: str, what: str) -> None:
        self.traces.add(trace)
        self.count += 1
        self.example = self.example or f"{trace}: {path}: {what}"


def main() -> int:
    before, after, *given = map(Path, sys.argv[1:])
    changelog = " ".join((after / "CHANGELOG.md").read_text(encoding="utf-8").split())
    for *_, reason in INTENDED:
        if reason not in changelog:
            sys.exit(f"CHANGELOG.md does not say: {reason}")
    traces = sorted(path for folder in given or DEFAULT_TRACES for path in _traces(folder))
    unlike = numbers = 0
    explained: dict[str, Group] = defaultdict(Group)
    unexplained: dict[str, Group] = defaultdict(Group)
    for trace, old, new in zip(traces, _reports(before, traces), _reports(after, traces), strict=True):
        differences = list(_compare(_in_quantities(old), new, "", ""))
        unlike += bool(differences)
        numbers += _count(old)
        for path, what in differences:
            name = re.sub(r"\[\d+\]", "", path).removeprefix(".")
            why = _reason(trace.name, name)
            group = unexplained[re.sub(r"\[.*?\]", "[]", name)] if why is None else explained[why]
            group.add(trace.name, path, what)
    print(f"{len(traces) - unlike} of {len(traces)} traces have equal reports ({numbers:,} numbers)")
    _print("Intended, by the words of CHANGELOG.md", explained)
    _print("Not explained, by field", unexplained)
    return 1 if unexplained else 0


def _reason(trace: str, name: str) -> str | None:
    for start, pattern, reason in INTENDED:
        if trace.startswith(start) and re.fullmatch(pattern, name):
            return reason
    return None


def _print(title: str, groups: dict[str, Group]) -> None:
    if groups:
        print(f"\n{title}\n  differences  traces")
    for name, group in sorted(groups.items(), key=lambda item: -item[1].count):
        print(f"  {group.count:>11,}  {len(group.traces):>6}  {name}\n{'':23}{group.example}")


def _in_quantities(told: dict[str, Any]) -> dict[str, Any]:
    """A comparison of schema 1 in the form of schema 2; `significant` has become an outcome and is left out."""
    comparison = told.get("comparison")
    if comparison is None or comparison["schema_version"] != 1:
        return told
    parts = [_part(part) for part in comparison["parts"] if part.get("before_us") or part.get("after_us")]
    stages = [_stage(stage) for stage in comparison["stages"]]
    comparison = {**comparison, "parts": parts, "stages": stages}
    if "time" in comparison:
        comparison["time"] = {name: value for name, value in comparison["time"].items() if name != "told_apart"}
    return {**told, "comparison": comparison}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    """Its change was a share of the whole time before, and is relative to the part itself."""
    name = part["name"]
    quantity = {**part, "name": f"data_{name}" if name.startswith("wait:") else name}
    quantity.pop("change", None)
    if part.get("before_us") and "after_us" in part:
        quantity["change"] = part["after_us"] / part["before_us"] - 1
    return quantity


def _stage(stage: dict[str, Any]) -> dict[str, Any]:
    names = {"weight_us": "change_us", "before_calls": "before", "after_calls": "after", "beside": "speed_adjusted"}
    calls = {new: stage[old] for old, new in (*names.items(), ("measure", "measure")) if old in stage}
    quantity = {"name": stage["stage"], "calls": calls}
    quantity |= {name: stage[name] for name in ("before_us", "after_us") if name in stage}
    if "typical" in stage and "change" in stage["typical"]:
        quantity["change"] = stage["typical"]["change"]
    return quantity


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


def _compare(old: Any, new: Any, message: str, path: str) -> Iterator[tuple[str, str]]:
    """Path and what differs there. `message`: the field that holds the value's message."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _compare_fields(old, new, message, path)
    elif isinstance(old, list) and isinstance(new, list) and message in KEYS:
        yield from _compare_by_key(old, new, message, path)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield path, f"{len(old)} entries before, {len(new)} after"
        for place, (left, right) in enumerate(zip(old, new, strict=False)):
            yield from _compare(left, right, message, f"{path}[{place}]")
    elif not _equal(old, new):
        yield path, f"{old!r} before, {new!r} after"


def _compare_by_key(old: list[Any], new: list[Any], message: str, path: str) -> Iterator[tuple[str, str]]:
    befores, afters = ({_key(row, message): row for row in rows} for rows in (old, new))
    for key in sorted(befores.keys() | afters.keys()):
        if key not in afters or key not in befores:
            yield f"{path}[{key}]", "gone" if key not in afters else "new"
        else:
            yield from _compare(befores[key], afters[key], message, f"{path}[{key}]")


def _key(row: dict[str, Any], message: str) -> str:
    parts = [row[name] for name in KEYS[message] if name in row]
    return " > ".join(part if isinstance(part, str) else " > ".join(part) for part in parts)


def _compare_fields(old: dict[str, Any], new: dict[str, Any], message: str, path: str) -> Iterator[tuple[str, str]]:
    for name, value in old.items():
        renamed = RENAMED.get((message, name), name)
        if (message, name) in SENTENCES or name == "schema_version":
            continue
        if renamed not in new:
            yield f"{path}.{renamed}", "gone"
            continue
        changed = VALUES.get((message, name), {}).get(value, value) if isinstance(value, str) else value
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
