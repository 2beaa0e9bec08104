"""Facts that tell reasons apart: copies, what batches cost the workers, how busy the machine and each stage was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tb_dataplugin.analyses.attribution import DeviceAttribution
from tb_dataplugin.analyses.copies import CopyFigures, find_copies
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.flow import Flow, find_flow
from tb_dataplugin.analyses.host_load import HostLoad, find_host_load
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.occupancy import Occupancy, find_occupancies
from tb_dataplugin.analyses.stages import Path, StageRow, StageTree
from tb_dataplugin.analyses.syncs import SyncFigures, find_syncs
from tb_dataplugin.analyses.worker_costs import WorkerCosts, find_worker_costs
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Evidence:
    """`copies` per device, None where nothing was copied to it; `occupancy` of the stages whose CPU time is known."""

    copies: tuple[CopyFigures | None, ...]
    costs: WorkerCosts | Unavailable
    load: HostLoad | Unavailable
    flow: Flow
    syncs: SyncFigures | None
    occupancy: Mapping[Path, Occupancy]


def find_evidence(
    trace: Trace,
    tree: StageTree,
    window: Window,
    devices: tuple[DeviceIdle, ...] | Unavailable,
    rows: tuple[StageRow, ...] | Unavailable,
    loader: LoaderWait | Unavailable,
    workers: Workers | Unavailable,
    blamed: tuple[DeviceAttribution, ...],
) -> Evidence:
    costs = find_worker_costs(trace, tree, window)
    known_devices = () if isinstance(devices, Unavailable) else devices
    stages = () if isinstance(rows, Unavailable) else rows
    return Evidence(
        copies=find_copies(trace, window, known_devices),
        costs=costs,
        load=find_host_load(trace, window),
        flow=find_flow(trace, window, loader, workers),
        syncs=find_syncs(trace, window, known_devices, blamed),
        occupancy=find_occupancies(trace, tree, stages, costs),
    )
