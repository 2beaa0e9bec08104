"""Hidden threads of libraries in DataLoader workers that compete for CPUs: what other numbers of workers would take."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.whatif.loop import Loop

COMPETE = (
    "Libraries run hidden threads in the DataLoader workers, and they compete for CPUs: fewer or more workers may take "
    "far less time for a batch, or more, by how much the capture does not show. The interval reaches down to a step "
    "without any data wait. Limit these threads first, and capture again."
)


def compete_otherwise(new: Loop, loop: Loop) -> bool:
    """Whether main threads, which may spin for hidden threads that have no CPU, compete with others in `new`."""
    return loop.threads_compete and new.settings.workers != loop.settings.workers


def notes_on_threads(new: Loop, loop: Loop) -> Iterator[str]:
    if compete_otherwise(new, loop):
        yield COMPETE
