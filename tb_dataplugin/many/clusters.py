"""Clusters by what users write for them: ``dask://host``, ``ray://host``."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final, TypeAlias

from tb_dataplugin.many.mapping import Engine
from tb_dataplugin.many.on_dask import Scheduler, dask_engine
from tb_dataplugin.many.on_ray import RayCluster, ray_engine

Cluster: TypeAlias = Scheduler | RayCluster

WAYS: Final = "write dask, dask://HOST[:PORT], dask:///FOLDER/scheduler.json, ray, or ray://HOST[:PORT]"


def parse_cluster(text: str) -> Cluster:
    """Raises ValueError, with what to write."""
    way, slashes, rest = text.partition("://")
    if way not in ("dask", "ray") or (slashes and not rest):
        raise ValueError(f"{text!r} is no cluster: {WAYS}")
    return Scheduler.at(rest) if way == "dask" else RayCluster.at(rest)


def engine_on(cluster: Cluster, jobs: int | None = None) -> AbstractContextManager[Engine]:
    """`jobs`: workers of a cluster that is started here. Raises BadRequest where there is no cluster to be had."""
    return ray_engine(cluster, jobs) if isinstance(cluster, RayCluster) else dask_engine(cluster, jobs)
