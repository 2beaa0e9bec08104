"""Collate copies what need not be copied."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.patterns import FILLS_SLICES, costly, finding_about
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals


@rule(title="Copies in collate", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    found = costly(signals, "copies")
    if found is None:
        return None
    return finding_about(
        signals,
        found,
        what="is copying",
        advice="Copy once: torch.stack or a tensor of the batch's shape that is filled; torch.from_numpy shares an "
        "array's memory, where torch.tensor copies it, number by number from a list.",
        code=_code(found.source),
    )


def _code(source: str) -> str:
    """The line, with what does not copy where that is known."""
    if "torch.tensor(np." in source:
        return source.replace("torch.tensor(np.", "torch.from_numpy(np.")
    if ".clone()" in source:
        return f"{source.replace('.clone()', '')}  # torch.stack copies anyway"
    if FILLS_SLICES.search(source):
        return "batch[i, : len(sample)] = torch.from_numpy(sample)  # where the dataset returns arrays, not lists"
    return "torch.stack([torch.from_numpy(sample) for sample in samples])"
