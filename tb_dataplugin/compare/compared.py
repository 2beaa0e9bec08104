"""What the verdict of a comparison is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tb_dataplugin.compare.other_loaders import OtherWait
from tb_dataplugin.compare.own_lines import OwnLine
from tb_dataplugin.compare.quantity import Quantity
from tb_dataplugin.compare.settings import SettingChange
from tb_dataplugin.compare.sides import Unit
from tb_dataplugin.findings.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Compared:
    """All that the verdict is made of. `why_not`: what makes the sides different programs, "" where nothing does."""

    unit: Unit
    runs: int
    """On the side that has more."""
    sharing: tuple[float, float] | None
    """Logarithm of how much longer stages took for waiting for a CPU, before and after; None where little."""
    same_content: bool
    why_not: str
    time: Quantity | None
    parts: Sequence[Quantity]
    stages: Sequence[Quantity]
    settings: Sequence[SettingChange]
    not_judged: tuple[Evidence, ...] = ()
    promises: tuple[Evidence, ...] = ()
    """What findings before the change said that it would save, beside what it saved."""
    waiting: tuple[float, float] | None = None
    """The same of all that stages do, sleeping included: what a change of the whole may be by. None: as `sharing`."""
    own_lines: tuple[OwnLine, ...] = ()
    """Lines of the training thread that certainly changed."""
    crowded: str = ""
    """Which side other programs are known to have made wait for a CPU, by its report; "" where none."""
    cut_off: str = ""
    """Which side has a file without its end, and what that leaves; "" where none."""
    within_epoch: bool = False
    """A considerable part of the time is starts and ends of epochs that are left out: the total is without them."""
    too_few: str = ""
    """How many steps it takes, and which sides have fewer; "" where none."""
    others: tuple[OtherWait, ...] = ()
    """Waits for other DataLoaders inside some steps: no other time has them."""
    rank: int | None = None
    """Where a side has several: the one that is compared."""

    @property
    def within(self) -> str:
        return " within an epoch" if self.within_epoch else ""

    @property
    def quantities(self) -> list[Quantity]:
        return [
            *([self.time] if self.time else []),
            *self.parts,
            *self.stages,
            *(other.quantity for other in self.others),
        ]
