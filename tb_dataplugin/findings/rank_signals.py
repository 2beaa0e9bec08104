"""The facts about a capture that is of one of several ranks."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.analyses.collectives import share_in_collectives
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.units import percent


def ranks_show(what: str) -> str:
    """What one capture cannot say; nor does it know whether the others are there: a page may say it right below."""
    return f"Ranks or `tb-dataplugin ranks` shows {what}, from captures of several ranks in one folder, or in one each"


@dataclass(frozen=True, slots=True)
class RankSignals:
    """Rank `rank` of `count`. `in_collectives`: share of the window, waiting for other ranks included; None where no
    collective was recorded.
    """

    rank: int | None
    count: int
    in_collectives: float | None

    @property
    def sentence(self) -> str:
        """What the training thread does besides waiting for data, with a space before it; "" where that is not this."""
        if self.in_collectives is None or self.in_collectives < INPUT_BOUND:
            return ""
        part = percent(self.in_collectives)
        return f" For {part} of the window it is in collectives, in which ranks wait for one another."

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """For the verdict; empty where nothing is known."""
        if self.in_collectives is None or self.rank is None:
            return ()
        part = percent(self.in_collectives)
        text = (
            f"rank {self.rank} of {self.count}: in collectives, waiting for other ranks included, for {part} of the "
            f"window; {ranks_show('who waits for whom')}"
        )
        return (share("collectives", self.in_collectives, "window", text),)


def read_ranks(results: Results) -> RankSignals | None:
    """None for a run of one process."""
    info = results.trace.info
    count = info.world_size or 1
    return None if count < 2 else RankSignals(info.rank, count, share_in_collectives(results.trace, results.window))
