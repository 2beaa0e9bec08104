"""Lines for TensorBoard's log, with names in them escaped."""

from __future__ import annotations

import logging
import traceback

from tb_dataplugin.shown import shown

logger = logging.getLogger("tensorboard")


def log_failure(doing: str) -> None:
    """An unforeseen error, with its traceback for whoever looks for the cause."""
    logger.error("Data Pipeline: %s failed\n%s", shown(doing), shown(traceback.format_exc().rstrip(), keep="\n"))
