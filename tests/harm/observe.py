"""What was seen of a run, from the lines that it told and from what it left behind."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.harm.drive import LOG, STDERR, STDOUT
from tests.harm.user_code import FLAGS, NAMES
from tests.support.torchs_lines import is_torchs_own

OURS: Final = "annotate"
"""What each sentence of ours has in it, and no other."""

_NUMBERS: Final = re.compile(r"\bpid\(?s?\)? [\d, ]+|\(pid \d+\)|0x[0-9a-f]+")
_WORKER_DIED: Final = re.compile(
    r"DataLoader worker \(pid.*?\) (?:exited unexpectedly|is killed by signal: Killed)[^\n]*"
)
_TEMPORARY: Final = re.compile(r"^((?:pymp|torch|annotate|tmp)[-_]?).*")


@dataclass
class Observation:
    """A run. What is of the user's program must be equal with us and without."""

    batches: list[Any] = field(default_factory=list)
    flags: dict[str, list[float]] = field(default_factory=dict)
    """What the user's code saw: see `user_code.NAMES`."""
    random_numbers: list[Any] = field(default_factory=list)
    """Drawn in the loop's body."""
    random_state: list[str] = field(default_factory=list)
    warnings: list[Any] = field(default_factory=list)
    """Those that were shown: category, text, file and line."""
    raised: list[Any] = field(default_factory=list)
    """Types, text, and the user's frames."""
    changes: dict[str, str] = field(default_factory=dict)
    """Of classes, modules and the process, afterwards."""
    instances: dict[str, str] = field(default_factory=dict)
    """Attributes of the user's objects that are another object afterwards."""
    types: dict[str, str] = field(default_factory=dict)
    profilers: list[Any] = field(default_factory=list)
    """What the user's own profilers recorded and said."""
    open_files: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    at_exit: list[Any] = field(default_factory=list)
    exit_status: int | str = "none"
    processes: list[str] = field(default_factory=list)
    """That had to be killed."""
    temporary_files: list[str] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)
    worker_warnings: list[str] = field(default_factory=list)
    """Of the user's, shown by workers."""
    stdout: str = ""

    our_words: list[Any] = field(default_factory=list)
    """Warnings of ours: category, text, file, and whether it was on stderr."""
    told: dict[str, Any] = field(default_factory=dict)
    """What only a program with us tells: refused, trace files, lines of the monitor, a fault that was hit."""


_FORKSERVER: Final = re.compile(r"main\(\d+(?:, \d+, )?")
"""Of it and the resource tracker, numbers of file descriptors: the next that are free."""
THE_USERS: Final = tuple(name for name in Observation.__dataclass_fields__ if name not in ("our_words", "told"))
"""The fields that must be equal."""


def read(folder: Path, exit_code: int, left: list[str]) -> Observation:
    """What a run in `folder` left."""
    seen = Observation()
    for line in (folder / LOG).read_text().splitlines() if (folder / LOG).exists() else ():
        kind, *facts = json.loads(line)
        _take(seen, kind, facts)
    seen.exit_status = f"signal {-exit_code}" if exit_code < 0 else exit_code
    seen.processes = sorted(_FORKSERVER.sub("main(", command) for command in left)
    seen.temporary_files = sorted(_TEMPORARY.sub(r"\1*", path.name) for path in (folder / "tmp").iterdir())
    seen.stdout = (folder / STDOUT).read_text() if (folder / STDOUT).exists() else ""
    text = (folder / STDERR).read_text(errors="replace") if (folder / STDERR).exists() else ""
    seen.stderr = sorted(_lines(seen, text))
    if (folder / "hit").exists():
        seen.told["hit"] = True
    if "Timeout (" in text:
        seen.exit_status = "hangs"
        seen.told["hangs"] = text[text.index("Timeout (") :]
    return seen


def _take(seen: Observation, kind: str, facts: list[Any]) -> None:
    match kind:
        case "batch":
            seen.batches.append(_without_flags(facts, seen.flags))
        case "body":
            seen.random_numbers.append(facts[0])
        case "warning":
            (seen.our_words if _is_ours(facts[1]) else seen.warnings).append(facts)
        case "raised":
            seen.raised = [facts[0], normal(facts[1]), facts[2] if not _WORKER_DIED.search(facts[1]) else []]
        case "random state":
            seen.random_state = facts
        case "changes":
            seen.changes = facts[0]
        case "instances":
            seen.instances, seen.types = facts
        case "open files":
            seen.open_files = facts[0]
        case "threads":
            seen.threads = facts[0]
        case "at exit":
            seen.at_exit = facts
        case "profiler" | "export failed":
            seen.profilers.append([kind, *facts])
        case _:
            seen.told[kind] = facts


def _without_flags(value: Any, flags: dict[str, list[float]]) -> Any:
    """A batch without the flags in it, which are noted by their names."""
    if isinstance(value, dict):
        return {key: _without_flags(item, flags) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    kept = []
    for item in value:
        if isinstance(item, float) and item >= FLAGS:
            number, seen = divmod(item, FLAGS)
            values = flags.setdefault(NAMES[int(number) - 1], [])
            if seen not in values:
                values.append(seen)
        else:
            kept.append(_without_flags(item, flags))
    return kept


def _is_ours(text: str) -> bool:
    return OURS in text


def _lines(seen: Observation, text: str) -> list[str]:
    """Of stderr: the user's, without frames of tracebacks, and without what torch's profiler says of itself."""
    found: list[str] = []
    for line in text.splitlines():
        if not line or line[0].isspace() or is_torchs_own(line) or line.startswith("annotate: wrote "):
            continue
        if re.match(r".*:\d+: \w*Warning: ", line) and _is_ours(line.partition("Warning: ")[2]):
            seen.our_words.append(["on stderr", line])
        else:
            (seen.worker_warnings if "Warning: user: " in line else found).append(normal(line))
    seen.worker_warnings.sort()
    return found


def normal(text: str) -> str:
    """Without numbers of processes, and without our frames in a traceback that came as text from a worker."""
    text = _WORKER_DIED.sub("DataLoader worker died", text)
    lines: list[str] = []
    skipping = False
    for line in text.splitlines():
        if line.startswith('  File "'):
            skipping = "/annotate/" in line
        elif not line.startswith("    "):
            skipping = False
        if not skipping and not re.fullmatch(r" *[~^]+ *", line):
            lines.append(line)
    return _NUMBERS.sub("<number>", "\n".join(lines))
