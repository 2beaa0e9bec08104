"""A loop in Python over pixels or tokens takes much of a stage."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.patterns import costly, finding_about
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals

PIXELS: Final = "pixels = np.asarray(image)\nresult = table[pixels]  # one array operation, instead of {place}"
TOKENS: Final = "ids = [vocabulary[t] for t in tokens]  # once per text, stored beside it, instead of {place}"


@rule(title="Python for each pixel or token", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    found = costly(signals, "elements")
    if found is None:
        return None
    is_tokens = " for " in found.source
    return finding_about(
        signals,
        found,
        what="is a loop in Python over " + ("the elements of a list" if is_tokens else "pixels"),
        advice="Process all of them at once with numpy or torch, or prepare the result once and store it: one "
        "iteration of a Python loop takes as long as some hundred additions in an array.",
        code=(TOKENS if is_tokens else PIXELS).format(place=found.place),
    )
