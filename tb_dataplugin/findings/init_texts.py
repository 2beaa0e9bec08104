"""The user's ``worker_init_fn`` as a part of the starts of DataLoader workers, in words."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.units import duration

PART_OF_START: Final = 0.1
"""Share of a start, below which what ``worker_init_fn`` takes is not mentioned: without it a start takes as long."""

BEFORE: Final = (
    " What worker_init_fn need not do in each worker, such as imports, do before iter(loader): forked workers then "
    "have it."
)


def init_part(init_us: float, start_us: float) -> str:
    """As a sentence goes on behind a comma; "" where it is little of the start, or not recorded."""
    if init_us <= 0 or init_us < PART_OF_START * start_us:
        return ""
    return f"{duration(init_us)} of that in its worker_init_fn"


def init_advice(loader: LoaderInfo, init_us: float, start_us: float) -> str:
    """Begins with a space. "" also where workers inherit nothing of the training process."""
    return BEFORE if init_part(init_us, start_us) and loader.start_method == "fork" else ""
