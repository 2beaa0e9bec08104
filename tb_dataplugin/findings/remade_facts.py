"""What the findings say of a DataLoader that is made anew, for each epoch as a rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.remade import Remade
from tb_dataplugin.findings.evidence import Evidence, number
from tb_dataplugin.units import count

LOADERS_MADE: Final = "loaders_made"
HELD: Final = (
    "If the program holds several DataLoaders that are alike, and iterates one after the other, none is made anew."
)


def made_again(remade: Remade) -> Iterator[Evidence]:
    where = " in the whole run" if remade.whole_run else ""
    text = f"{count(remade.made)} DataLoaders with the same settings, one after another{where}"
    yield number(LOADERS_MADE, remade.made, "count", text)
