"""A loop in Python over pixels or tokens takes much of a stage."""

from __future__ import annotations

import re
from typing import Final

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.patterns import costly, finding_about
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals

PIXELS: Final = "pixels = np.asarray(image)\nresult = table[pixels]  # one array operation, instead of {place}"
TOKENS: Final = "ids = [vocabulary[t] for t in tokens]  # once per text, stored beside it, instead of {place}"
NUMBERS: Final = (
    "self.values = torch.tensor([list(map(float, row)) for row in rows])  # once, in __init__; "
    "then a slice of it, instead of {place}"
)

_OVER_TOKENS: Final = re.compile(
    r"\b(?:\w*vocab\w*|\w*tok(?:en)?s?|words?|text|sentence|stoi)\b|\.(?:split|encode)\(|\bord\("
)
_OVER_NUMBERS: Final = re.compile(r"\b(?:float|int)\(")


@rule(title="Python for each pixel or token", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    found = costly(signals, "elements")
    if found is None:
        return None
    is_list, loops = " for " in found.source, "a loop" if found.lines == 1 else "loops"
    return finding_about(
        signals,
        found,
        what=f"is {loops} in Python over {'the elements of a list' if is_list else 'pixels'}",
        advice="Process all of them at once with numpy or torch, or prepare the result once and store it: one "
        "iteration of a Python loop takes as long as some hundred additions in an array.",
        code=_example(found.source, is_list=is_list).format(place=found.place),
    )


def _example(source: str, *, is_list: bool) -> str:
    """ "" where the line does not say what its elements are."""
    if not is_list:
        return PIXELS
    if _OVER_TOKENS.search(source):
        return TOKENS
    return NUMBERS if _OVER_NUMBERS.search(source) else ""
