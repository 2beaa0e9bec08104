"""What a trace says of its stages, by the reader of the other side."""

from __future__ import annotations

from pathlib import Path

from tb_dataplugin.pipeline import analyse_file


def self_times(trace: Path) -> dict[str, float]:
    """Self time by stage, microseconds."""
    times: dict[str, float] = {}
    for stage in analyse_file(trace).capture.stages:
        name = stage.path[-1]
        times[name] = times.get(name, 0.0) + stage.self_us
    return times
