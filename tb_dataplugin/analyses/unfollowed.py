"""DataLoaders that the program iterates and the capture does not follow: what their batches take is not in it.

Such a one may be what fills the queue that the training thread waits for: a thread iterates it, and the loop that
annotate follows iterates the queue.
"""

from __future__ import annotations

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.model.trace import PipelineInfo


def unfollowed_workers(results: Results) -> int | None:
    """How many DataLoader workers of these were there; 0: not known. None: nothing shows such a DataLoader."""
    pipeline = results.trace.info.pipeline
    if pipeline is None:
        return None
    recorded = {worker.pid for worker in pipeline.workers}
    named = pipeline.training_thread.loader_worker_pids if pipeline.training_thread else ()
    return len(set(named) - recorded) or (0 if _draws_indices(results, pipeline) else None)


def _draws_indices(results: Results, pipeline: PipelineInfo) -> bool:
    """Another thread does, and the loop iterates no DataLoader."""
    if any(loader.num_workers is not None for loader in pipeline.loaders):
        return False
    spans, events = results.trace.stage_spans, results.trace.events
    rows = spans.row[spans.is_kind("sampler")]
    return bool((events.track[rows] != results.trace.training_track).any())
