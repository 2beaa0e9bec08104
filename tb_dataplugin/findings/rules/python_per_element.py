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
_OVER_PIXELS: Final = re.compile(r"\b\w*(?:pixel|pix|image|img|rgb|mask|width|height)\w*|\bpx\b", re.IGNORECASE)
_OVER_NUMBERS: Final = re.compile(r"\b(?:float|int)\(")


@rule(title="Python for each pixel or token", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    found = costly(signals, "elements")
    if found is None:
        return None
    loops = "a loop" if found.lines == 1 else "loops"
    return finding_about(
        signals,
        found,
        what=f"is {loops} in Python over {_elements(found.source)}",
        advice="Process all of them at once with numpy or torch, or prepare the result once and store it: one "
        "iteration of a Python loop takes as long as some hundred additions in an array.",
        code=_example(found.source).format(place=found.place),
    )


def _elements(source: str) -> str:
    if " for " in source:
        return "the elements of a list"
    return "pixels" if _OVER_PIXELS.search(source) else "single elements"


def _example(source: str) -> str:
    """ "" where the line does not say what its elements are."""
    if " for " not in source:
        return PIXELS if _OVER_PIXELS.search(source) else ""
    if _OVER_TOKENS.search(source):
        return TOKENS
    return NUMBERS if _OVER_NUMBERS.search(source) else ""
