"""All ranks of a run in the report: ns to us, nothing else."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.ranks import OwnerRow, RankRow, RunOfRanks, clock_sentence, verdict_of
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import us
from tb_dataplugin.shown import encodable

HINT: Final = (
    "No captures here are known to be of several ranks of one run. Capture all ranks into the same folder, or each "
    "into a folder of its own beside the others', with the same wait, warmup and active on each; each capture then "
    "says its rank. `tb-dataplugin ranks FOLDER` joins the captures of FOLDER, also those in folders below it."
)


def ranks_report(run: RunOfRanks) -> pb.Ranks:
    return pb.Ranks(
        run=encodable(run.name),
        rank_time_us=run.whole_us,
        lost_us=run.lost_us,
        collectives=run.collectives,
        matched_by=run.joined_by,
        rows=map(_row, run.rows),
        owners=(_owner(run, row) for row in run.owners),
        clocks=(
            pb.RankClock(
                rank=clock.rank, ahead_us=us(clock.ahead_ns), error_us=us(clock.error_ns), applied=clock.is_applied
            )
            for clock in run.clocks
            if clock.is_known
        ),
        waste=(pb.RankWaste(kind=one.kind, share=one.share, sentence=encodable(one.sentence)) for one in run.waste),
        missing=run.missing,
        sentence=encodable(verdict_of(run)),
        clock_sentence=clock_sentence(run),
        note_texts=map(encodable, run.notes),
    )


def unknown_ranks(run: str, why: str) -> pb.Ranks:
    """Of a run of which no capture can be joined with others."""
    return pb.Ranks(run=encodable(run), sentence=f"The ranks of this run could not be read: {why}.")


def _row(row: RankRow) -> pb.RankRow:
    return pb.RankRow(
        rank=row.rank,
        host=encodable(row.host),
        capture=encodable(row.capture),
        steps=row.steps,
        step_us=row.step_us,
        data_wait_us=row.data_wait_us,
        exposed_wait_us=row.exposed_us,
        inherited_us=row.inherited_us,
        owned_us=row.owned_us,
        cause=encodable(row.cause),
        gil_share=row.lock_share,
    )


def _owner(run: RunOfRanks, row: OwnerRow) -> pb.LostOwner:
    return pb.LostOwner(
        rank=row.rank,
        host=encodable(row.host),
        cause=encodable(row.cause),
        lost_us=row.lost_us,
        share=run.share_of(row),
        pattern=row.pattern,
        times_others=row.times_others,
    )
