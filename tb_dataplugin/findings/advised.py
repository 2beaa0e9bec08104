"""Settings that findings advise, for `whatif` to predict beside its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tb_dataplugin.findings.finding import NamedFinding
from tb_dataplugin.whatif.loop import Settings


def advised_settings(findings: Iterable[NamedFinding], now: Settings) -> tuple[Settings, ...]:
    """Each once, in the order of the findings."""
    changes = [named.finding.change for named in findings if named.finding.change is not None]
    advised = [
        replace(
            now,
            workers=now.workers if change.workers is None else change.workers,
            prefetch=now.prefetch if change.prefetch is None else change.prefetch,
            in_order=now.in_order if change.in_order is None else change.in_order,
        )
        for change in changes
    ]
    return tuple(settings for settings in dict.fromkeys(advised) if settings != now)
