"""What a window lacks, in sentences for the reader."""

from __future__ import annotations

from annotate.capture import sentences
from annotate.recording.training_thread import Ledger
from annotate.trace.merge import WorkerRows
from annotate.trace_format import parse_span_name


def what_is_missing(unread: list[str], ledger: Ledger, rows: WorkerRows, names: frozenset[str]) -> list[str]:
    """The likeliest cause of each lack only.

    Args:
        unread: what is to be said where no sample was recorded.
        names: of all spans that were recorded.
    """
    stages = [stage for stage in map(parse_span_name, names) if stage is not None]
    if ledger.elsewhere or any(stage.kind == "sample" for stage in stages):  # another thread may have read it
        unread = []
    missing = [*unread, *rows.notes(cause_is_known=bool(unread))]
    if not missing and all(stage.kind == "wait" for stage in stages):
        missing = [sentences.NO_STAGE]
    return missing
