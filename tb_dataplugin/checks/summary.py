"""The Markdown of a test's checks, and the file of a CI job that takes it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tb_dataplugin.export.compare_markdown import compare_markdown, literal
from tb_dataplugin.export.report_markdown import report_markdown
from tb_dataplugin.pipeline import as_report
from tb_dataplugin.report.report_pb2 import Capture, Comparison

VARIABLE = "GITHUB_STEP_SUMMARY"


def summary_markdown(
    title: str, checks: Sequence[str], comparisons: Sequence[Comparison], captures: Sequence[Capture]
) -> str:
    """The checks, then the comparisons; where there are none, what the captures say."""
    lines = [f"## Data pipeline of {literal(title)}", "", *(f"- {literal(check)}" for check in checks), ""]
    details = [compare_markdown(comparison) for comparison in comparisons]
    return "\n".join([*lines, *(details or [report_markdown(as_report(captures))])]) + "\n"


def append_summary(text: str, environment: Mapping[str, str]) -> str:
    """Returns why it could not be written; "" where it was, or where no job asks for one."""
    name = environment.get(VARIABLE)
    if not name:
        return ""
    try:  # one call, since the processes of a test run may share the file
        descriptor = os.open(Path(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(descriptor, text.encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)
    except OSError as error:
        return f"cannot write the summary to {name}: {error.strerror or type(error).__name__}"
    return ""
