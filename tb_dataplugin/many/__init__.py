"""The same work on many traces: in processes of this machine, or on a Dask cluster."""

from tb_dataplugin.many.mapping import Engine, map_traces
from tb_dataplugin.many.on_dask import Scheduler, dask_engine
from tb_dataplugin.many.processes import MOST_JOBS, Processes

__all__ = ["MOST_JOBS", "Engine", "Processes", "Scheduler", "dask_engine", "map_traces"]
