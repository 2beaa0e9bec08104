"""Work whose result is the same for every sample is done for each."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.line_patterns import Pattern
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_signals import PatternSignal
from tb_dataplugin.findings.patterns import costly, finding_about
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals

WHAT: Final[dict[Pattern, str]] = {
    "import": "is importing, for every sample",
    "regex": "is compiling a regular expression, for every sample",
    "kernel": "is building a kernel, window or grid, for every sample",
    "load": "is loading a file, for every sample",
}

ADVICE: Final[dict[Pattern, str]] = {
    "import": "Import at the top of the file.",
    "regex": "Compile it once, at the top of the file, and use the compiled pattern: re.sub(pattern, ...) looks up its "
    "cache each time, and compiles again once that is full.",
    "kernel": "Build it once, in __init__, or keep it by its size (functools.cache).",
    "load": "Load it once, in __init__ or in {first} sample, and keep it.",
}


@rule(title="The same work for each sample", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    found = costly(signals, *WHAT)
    if found is None:
        return None
    advice = _advice(signals, found.pattern)
    return finding_about(signals, found, what=WHAT[found.pattern], advice=advice, code=_code(found))


def _advice(signals: Signals, pattern: Pattern) -> str:
    return ADVICE[pattern].format(first="the worker's first" if signals.num_workers else "the first")


def _code(found: PatternSignal) -> str:
    """The line itself, where it belongs."""
    where = "at the top of the file" if found.pattern in ("import", "regex") else "in __init__"
    if found.pattern == "regex":
        return f"PATTERN = re.compile(...)  # {where}, for {found.place}"
    return f"{found.source}  # once, {where}: now {found.place}" if found.source else ""
