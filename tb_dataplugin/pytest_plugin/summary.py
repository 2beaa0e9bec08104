"""The summary of a job of GitHub's: what tests captured, as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tb_dataplugin.export.compare_markdown import compare_markdown
from tb_dataplugin.pytest_plugin.captures import DataPipeline


def append_for_github(seen: Iterable[tuple[str, DataPipeline]]) -> None:
    """To the file that ``GITHUB_STEP_SUMMARY`` names; nothing outside of such a job."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    with Path(file).open("a", encoding="utf-8") as out:
        for name, pipeline in seen:
            out.write(f"### {name}\n\n")
            if pipeline.comparison is not None:
                out.write(compare_markdown(pipeline.comparison))
            else:
                out.write("\n\n".join(pipeline.sentences))
            out.write("\n\n")
