"""How long the training step takes without the data wait, and how much of a CPU it keeps busy: from a capture."""

from __future__ import annotations

from pathlib import Path

from tb_dataplugin.pipeline import read_loop
from tb_dataplugin.reader.opening import Roots


def step_from(path: Path, name: str | None = None, roots: Roots = ()) -> tuple[float, float]:
    """Milliseconds for each batch, and the share of it that keeps a CPU busy.

    Raises UnreadableTrace, and NothingToReport for a capture that does not say.
    """
    loop, _ = read_loop(path, name, roots)
    per_batch = float(loop.own_ns.mean()) / max(loop.batches_per_step, 1e-9)
    return per_batch / 1e6, min(1.0, max(0.0, loop.own_cpus))
