"""Lines for TensorBoard's log, with names in them escaped."""

from __future__ import annotations

import logging
import sys

from tb_dataplugin.errors import traceback_text
from tb_dataplugin.shown import shown

logger = logging.getLogger("tensorboard")


def log_failure(doing: str) -> None:
    """An unforeseen error, with its traceback for whoever looks for the cause."""
    error = sys.exc_info()[1]
    where = traceback_text(error) if error else ""
    logger.error("Data Pipeline: %s failed\n%s", shown(doing), shown(where.rstrip(), keep="\n"))
