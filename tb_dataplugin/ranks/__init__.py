"""All ranks of a run together: who waits for whom in collectives, and why."""

from tb_dataplugin.ranks.summary import OwnerRow, RankRow, RunOfRanks, summarise
from tb_dataplugin.ranks.table import RankTable, tabulate_rank
from tb_dataplugin.ranks.verdict import clock_sentence, verdict_of

__all__ = [
    "OwnerRow",
    "RankRow",
    "RankTable",
    "RunOfRanks",
    "clock_sentence",
    "summarise",
    "tabulate_rank",
    "verdict_of",
]
