"""What time can go in which the loop waits for another DataLoader, as in an evaluation, while its own builds ahead."""

from __future__ import annotations

from tb_dataplugin.findings.apart_signals import built_ahead_us
from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.needed import needed_with_others_us
from tb_dataplugin.findings.saving import Saving
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import percent
from tb_dataplugin.words import GAIN_BOUND


def saved_elsewhere(signals: Signals, us: float) -> Saving:
    """Of time in which the loop waits for another DataLoader: all of it, but the loop gets no shorter than its own
    DataLoader workers need, which build meanwhile.
    """
    workers, ahead = signals.workers, built_ahead_us(signals.apart)
    if workers is None or not signals.builds_batches_in_workers or not ahead:
        return Saving(us)
    whole = signals.loop_us + ahead
    needed = min(whole, needed_with_others_us(signals, 0.0, 1.0))
    if us <= whole - needed:
        return Saving(us)
    text = (
        f"beyond that the loop waits for its own DataLoader workers, which build meanwhile and need "
        f"{percent(needed / whole)} of the time"
    )
    return Saving(whole - needed, (time(GAIN_BOUND, needed, text, whole="step"),))
