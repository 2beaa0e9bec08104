"""Workers of a Dask cluster: one that runs already, or one that is started here for the time of a command."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Final

from tb_dataplugin.errors import BadRequest
from tb_dataplugin.many.mapping import Engine
from tb_dataplugin.version import VERSION

PORT: Final = 8786
"""Where `dask scheduler` listens unless it is told otherwise."""

PATIENCE_S: Final = 20.0
"""For the scheduler to answer, and for the first worker to be there."""

TIMED_OUT: Final = (TimeoutError, asyncio.TimeoutError)  # one class from Python 3.11 on


@dataclass(frozen=True, slots=True)
class Scheduler:
    """`address` as Dask has it, or the `file` that names it; neither: a cluster of this machine's processes."""

    address: str = ""
    file: str = ""

    def __str__(self) -> str:
        return self.address or self.file or "this machine"

    @property
    def is_own(self) -> bool:
        return not self.address and not self.file

    @classmethod
    def at(cls, rest: str) -> Scheduler:
        """`rest`: what follows ``dask://``; "" for a cluster of this machine's processes."""
        if not rest:
            return cls()
        if rest.startswith("/"):
            return cls(file=rest)
        has_port = rest.rpartition(":")[2].isdecimal()
        return cls(f"tcp://{rest}" if has_port else f"tcp://{rest.rstrip(':')}:{PORT}")


@dataclass(frozen=True, slots=True)
class DaskEngine:
    """Dask gives what a lost worker had to another one; what it loses too often (four times, unless the cluster has it
    otherwise) raises KilledWorker.
    """

    client: Any
    lost: tuple[type[Exception], ...]
    remedy: ClassVar[str] = "have Dask workers enough memory? Start them with --nthreads 1 and a higher --memory-limit"
    is_here: ClassVar[bool] = False

    def executor(self, most: int) -> AbstractContextManager[Executor]:
        return contextlib.nullcontext(self.client.get_executor(pure=False))


@contextlib.contextmanager
def dask_engine(scheduler: Scheduler, jobs: int | None = None, patience_s: float = PATIENCE_S) -> Iterator[Engine]:
    """`jobs`: workers of a cluster that is started here. Raises BadRequest where there is no cluster to be had."""
    distributed = _distributed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what happens to traces is said by us
    with contextlib.ExitStack() as ending:
        try:
            client = ending.enter_context(_client(distributed, scheduler, jobs, patience_s, ending))
        except (*TIMED_OUT, OSError, ValueError, RuntimeError) as error:
            why = f"no Dask scheduler answers at {scheduler} ({_one_line(error)})"
            raise BadRequest(f"{why}; check the address, or start one: dask scheduler") from None
        _check(client, scheduler, patience_s)
        yield DaskEngine(client, (distributed.KilledWorker,))


def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError:
        raise BadRequest("cannot use --on: Dask is not installed; pip install 'tb-dataplugin[dask]'") from None
    module: ModuleType = distributed
    return module


def _client(
    distributed: Any, scheduler: Scheduler, jobs: int | None, patience_s: float, ending: contextlib.ExitStack
) -> Any:
    """Not yet entered. A cluster of our own ends with `ending`."""
    own = {"timeout": patience_s, "set_as_default": False}
    if scheduler.address:
        return distributed.Client(scheduler.address, **own)
    if scheduler.file:
        if not Path(scheduler.file).is_file():  # Dask would wait for it
            raise OSError("there is no such file")
        return distributed.Client(scheduler_file=scheduler.file, **own)
    cluster = distributed.LocalCluster(
        n_workers=jobs or os.cpu_count() or 1,
        threads_per_worker=1,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
        scheduler_kwargs={"allowed_failures": 0},  # what was lost is tried again alone, by us
    )
    return distributed.Client(ending.enter_context(cluster), **own)


def _check(client: Any, scheduler: Scheduler, patience_s: float) -> None:
    """Raises BadRequest: there are no workers, or they cannot do our work, or would do another version's."""
    try:
        client.wait_for_workers(1, timeout=patience_s)
    except TIMED_OUT:
        why = f"the Dask scheduler at {scheduler} has no workers"
        raise BadRequest(f"{why}; start some: dask worker {scheduler.address or 'ADDRESS'} --nthreads 1") from None
    remedy = "install the same version where the scheduler and the workers run"
    try:
        versions = {"the scheduler": client.run_on_scheduler(version_here), **client.run(version_here)}
    except Exception as error:
        raise BadRequest(f"the Dask cluster cannot run tb-dataplugin ({_one_line(error)}); {remedy}") from None
    for who, version in versions.items():
        if version != VERSION:
            raise BadRequest(f"{who} has tb-dataplugin {version}, and this is {VERSION}; {remedy}")


def version_here() -> str:
    return VERSION


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
