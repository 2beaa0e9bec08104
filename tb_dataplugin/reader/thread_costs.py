"""What the training thread, its process and that one's child processes spent: a part of the `dataPipeline` value."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from tb_dataplugin.limits import MOST_WORKERS
from tb_dataplugin.model.trace import ThreadCosts

MOST_US: Final = 9e15
"""A later time does not fit into 64 bits of nanoseconds."""

Spent = Annotated[float, msgspec.Meta(ge=0, le=MOST_US)]
Pid = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class ThreadCostsRecord(msgspec.Struct):
    cpu_us: Spent
    run_delay_us: Spent
    gc_us: Spent | None = None
    process_cpu_us: Spent | None = None
    passing_children_cpu_us: Spent | None = None
    lasting_children_cpu_us: Spent | None = None
    loader_worker_pids: list[Pid] = []


def read_thread_costs(record: ThreadCostsRecord) -> ThreadCosts:
    return ThreadCosts(
        cpu_ns=round(record.cpu_us * 1e3),
        run_delay_ns=round(record.run_delay_us * 1e3),
        gc_ns=maybe_ns(record.gc_us),
        process_cpu_ns=maybe_ns(record.process_cpu_us),
        passing_children_ns=maybe_ns(record.passing_children_cpu_us),
        lasting_children_ns=maybe_ns(record.lasting_children_cpu_us),
        loader_worker_pids=tuple(record.loader_worker_pids[:MOST_WORKERS]),
    )


def maybe_ns(time: float | None) -> int | None:
    return None if time is None else round(time * 1e3)
