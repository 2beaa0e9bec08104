"""The same work on many traces: in processes of this machine, or on a Dask or Ray cluster."""

from tb_dataplugin.many.clusters import Cluster, engine_on, parse_cluster
from tb_dataplugin.many.mapping import Engine, map_traces
from tb_dataplugin.many.processes import MOST_JOBS, Processes

__all__ = ["MOST_JOBS", "Cluster", "Engine", "Processes", "engine_on", "map_traces", "parse_cluster"]
