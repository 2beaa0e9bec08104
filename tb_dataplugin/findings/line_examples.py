"""Code to copy for a slow line of the training step: made of the line itself, or none where nothing would fit it."""

from __future__ import annotations

import ast
import re
from typing import Final

from tb_dataplugin.findings import collecting
from tb_dataplugin.findings.line_signals import StepLineSignal

READ_ONCE: Final = "values = tensor.tolist()  # once, instead of .item() for each element"
COPY_INTO: Final = (
    "with torch.no_grad():\n    for mine, its in zip(snapshot.parameters(), model.parameters()):\n"
    "        mine.copy_(its)"
)
SELDOM: Final = "if step % {every} == 0:\n    {line}"

_OF_ELEMENTS: Final = re.compile(r"\.item\(\).*\bfor\b|\bfor\b.*:$")
_OF_A_MODEL: Final = re.compile(r"\bdeepcopy\((?:\w+\.)*\w*(?:model|net|module|encoder|decoder)\w*\b", re.IGNORECASE)
_EVERY: Final = {"saving": 1000, "output": 100}
"""How often is still often enough, in steps."""


def example(line: StepLineSignal) -> str:
    """ "" where nothing fits."""
    if line.work == "collecting":
        return collecting.FREEZE
    if line.work == "readback":
        return READ_ONCE if _OF_ELEMENTS.search(line.source) else ""
    if line.work == "copying":
        return COPY_INTO if _OF_A_MODEL.search(line.source) else ""
    every = _EVERY.get(line.work)
    return SELDOM.format(every=every, line=line.source) if every and _is_a_call(line.source) else ""


def _is_a_call(source: str) -> bool:
    """A whole statement that leaves nothing behind which later lines need."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call)
