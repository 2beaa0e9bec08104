"""Workers of a Ray cluster: one that runs already, or one that is started here for the time of a command."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Final

from tb_dataplugin.errors import BadRequest
from tb_dataplugin.many.mapping import Engine
from tb_dataplugin.version import VERSION

PORT: Final = 10001
"""Where `ray start --head` listens for clients unless it is told otherwise."""

PATIENCE_S: Final = 20.0
"""For a worker to answer."""

RETRIES: Final = 3
"""What a lost worker had goes to another one so often, in a cluster of others."""

_STORE_BYTES: Final = 100 << 20
"""Of a cluster of our own: what comes back are kilobytes."""


@dataclass(frozen=True, slots=True)
class RayCluster:
    """`address` as Ray's client has it; none: a cluster of this machine's processes."""

    address: str = ""

    def __str__(self) -> str:
        return self.address or "this machine"

    @property
    def is_own(self) -> bool:
        return not self.address

    @classmethod
    def at(cls, rest: str) -> RayCluster:
        """`rest`: what follows ``ray://``; "" for a cluster of this machine's processes."""
        if not rest:
            return cls()
        has_port = rest.rpartition(":")[2].isdecimal()
        return cls(f"ray://{rest}" if has_port else f"ray://{rest.rstrip(':')}:{PORT}")


class RayExecutor(Executor):
    """Each call is a task."""

    def __init__(self, ray: Any, retries: int) -> None:
        self._task = ray.remote(max_retries=retries)(_call)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self._task.remote(fn, args, kwargs).future()
        return future


def _call(work: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return work(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class RayEngine:
    ray: Any
    retries: int
    lost: tuple[type[Exception], ...]
    remedy: ClassVar[str] = "have Ray's workers enough memory?"
    is_here: ClassVar[bool] = False

    def executor(self, most: int) -> AbstractContextManager[Executor]:
        return contextlib.nullcontext(RayExecutor(self.ray, self.retries))


@contextlib.contextmanager
def ray_engine(cluster: RayCluster, jobs: int | None = None, patience_s: float = PATIENCE_S) -> Iterator[Engine]:
    """`jobs`: workers of a cluster that is started here. Raises BadRequest where there is no cluster to be had."""
    ray: Any = _ray()
    with contextlib.ExitStack() as ending:
        ending.callback(ray.shutdown)
        try:
            _begin(ray, cluster, jobs)
        except (OSError, ValueError, RuntimeError) as error:
            why = f"no Ray cluster answers at {cluster} ({_one_line(error)})"
            raise BadRequest(f"{why}; check the address, or start one: ray start --head") from None
        _check(ray, cluster, patience_s)
        errors = ray.exceptions
        lost = (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError)
        yield RayEngine(ray, RETRIES if cluster.address else 0, lost)  # by us, where the cluster is ours


def _ray() -> ModuleType:
    try:
        import ray
    except ImportError:
        raise BadRequest("cannot use --on ray: Ray is not installed; pip install 'tb-dataplugin[ray]'") from None
    module: ModuleType = ray
    return module


def _begin(ray: Any, cluster: RayCluster, jobs: int | None) -> None:
    quiet = {"logging_level": logging.CRITICAL, "log_to_driver": False}  # what happens to traces is said by us
    if cluster.address:
        ray.init(address=cluster.address, **quiet)
        return
    workers = jobs or os.cpu_count() or 1
    ray.init(address="local", num_cpus=workers, include_dashboard=False, object_store_memory=_STORE_BYTES, **quiet)


def _check(ray: Any, cluster: RayCluster, patience_s: float) -> None:
    """Raises BadRequest: there is no worker, or it cannot do our work, or would do another version's."""
    remedy = "install the same version where the workers run"
    try:
        version = ray.get(ray.remote(version_here).remote(), timeout=patience_s)
    except ray.exceptions.GetTimeoutError:
        raise BadRequest(f"no worker of the Ray cluster at {cluster} answers; has it a free CPU?") from None
    except Exception as error:
        raise BadRequest(f"the Ray cluster cannot run tb-dataplugin ({_one_line(error)}); {remedy}") from None
    if version != VERSION:
        raise BadRequest(f"the Ray cluster has tb-dataplugin {version}, and this is {VERSION}; {remedy}")


def version_here() -> str:
    return VERSION


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
