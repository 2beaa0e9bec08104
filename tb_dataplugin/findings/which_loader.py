"""Which DataLoader the loop's findings are about, where the program has several."""

from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.findings.signals import Signals


def loops_loader(signals: Signals) -> str:
    """``the DataLoader of Pets (batches of 8)``: a title says how many workers it has. "" where there is only one."""
    if not signals.has_several_loaders or signals.loader is None:
        return ""
    return name_of(replace(signals.loader, num_workers=None))
