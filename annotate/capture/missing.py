"""What a window lacks, in sentences for the reader."""

from __future__ import annotations

from annotate.capture import sentences
from annotate.capture.session import Session
from annotate.recording.training_thread import Ledger
from annotate.trace.merge import WorkerRows
from annotate.trace_format import parse_span_name


def what_is_missing(session: Session, ledger: Ledger, rows: WorkerRows, names: frozenset[str]) -> list[str]:
    """The likeliest cause of each lack only.

    Args:
        names: of all spans that were recorded.
    """
    unread = [] if ledger.elsewhere else session.unread(names)  # another thread may have read it
    missing = [*unread, *rows.notes(cause_is_known=bool(unread))]
    if not missing and not any(stage is not None and stage.kind != "wait" for stage in map(parse_span_name, names)):
        missing = [sentences.NO_STAGE]
    return missing
