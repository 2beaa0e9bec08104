"""What was counted over the window, per step: `steps` are those that it was counted over. A loop may be without one of
them, and has no more samples in each step for that.
"""

from __future__ import annotations

from tb_dataplugin.analyses.results import Results


def samples_per_step(results: Results, batches: float, steps: int) -> float | None:
    """As received: the last batch of an epoch has fewer samples than the others. `batches`: per step."""
    assert results.settings is not None
    if results.throughput is not None and results.throughput.item != "batch":
        return results.throughput.samples / steps
    return None if results.settings.batch_size is None else results.settings.batch_size * batches


def pageable_ns(results: Results, steps: int) -> float | None:
    """Copies of which the trace does not say from what memory they come count for nothing."""
    copies = [copies.host_ns * copies.pageable / copies.count for copies in results.copies if copies]
    return sum(copies) / steps if any(copies) else None
