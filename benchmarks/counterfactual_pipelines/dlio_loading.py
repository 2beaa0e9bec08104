"""DLIO's own classes, without its benchmark around them: settings, readers, and the DataLoader as DLIO builds it.

Only importable in `.venv-dlio`; `of_dlio` has the pipelines. DLIO's `TorchDataset`, `dlio_sampler` and `NPZReader` are
as they come. What differs from a run of DLIO: no MPI is started, the epochs follow one another without an end, and the
readers below stand in the place that DLIO has for a user's own (`reader_classname`).
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from dlio_benchmark.common.enumerations import DatasetType, FormatType
from dlio_benchmark.data_loader.torch_data_loader import TorchDataset, dlio_sampler
from dlio_benchmark.reader.npz_reader import NPZReader
from dlio_benchmark.utils.config import ConfigArguments, LoadConfig
from dlio_benchmark.utils.utility import DLIOMPI
from torch.utils.data import DataLoader, default_collate

from benchmarks.counterfactual_pipelines import kit
from benchmarks.counterfactual_pipelines.kit import Removed
from benchmarks.counterfactual_pipelines.of_dlio import Workload
from benchmarks.counterfactual_pipelines.stored_kit import drop
from benchmarks.counterfactual_pipelines.street_kit import collating

PIECE: Final = 2**18
"""Bytes of a file that numpy reads at once."""


class ColdNPZReader(NPZReader):  # type: ignore[misc]
    """As if the files were larger than memory together, which MLPerf Storage asks for: none stays in the page cache."""

    def close(self, filename: str) -> None:
        super().close(filename)
        descriptor = os.open(filename, os.O_RDONLY)
        drop(descriptor)
        os.close(descriptor)


class WithoutArrays(NPZReader):  # type: ignore[misc]
    """Opens the archive and reads all of it, in numpy's pieces, and makes no array of it."""

    kept: Any = None

    def open(self, filename: str) -> Any:
        archive = np.load(filename, allow_pickle=True)
        if self.kept is None:
            self.kept = archive["x"]
        archive.zip.fp.seek(0)
        while archive.zip.fp.read(PIECE):
            pass
        return self.kept


class WithoutLoad(NPZReader):  # type: ignore[misc]
    """Opens the file and reads the end of it, where archives have their index; `numpy.load` was called before."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.archives: dict[str, Any] = {}

    def open(self, filename: str) -> Any:
        with Path(filename).open("rb") as file:
            file.seek(-22, os.SEEK_END)
            file.read()
        if filename not in self.archives:
            self.archives[filename] = np.load(filename, allow_pickle=True)
        return self.archives[filename]["x"]


class ColdWithoutArrays(ColdNPZReader, WithoutArrays):
    pass


class ColdFromMemory(ColdNPZReader):
    """Opens the file and reads its first bytes, by which numpy knows what it is; the archive comes from memory."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.kept = {path: Path(path).read_bytes() for path, _ in self.global_index_map.values()}

    def open(self, filename: str) -> Any:
        with Path(filename).open("rb") as file:
            file.read(6)
            return np.load(io.BytesIO(self.kept[filename]), allow_pickle=True)["x"]


class EndlessSampler(dlio_sampler):  # type: ignore[misc]
    """Epoch after epoch."""

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from super().__iter__()


def build(workload: Workload, files: list[Path], removed: Removed) -> DataLoader[Any]:
    arguments = _arguments(workload, files)
    arguments.reader_class = _reader(workload, removed)
    workers = kit.settings.get("num_workers", workload.workers)
    dataset = TorchDataset(
        FormatType.NPZ, DatasetType.TRAIN, 1, arguments.total_samples_train, workers, workload.batch_size
    )
    shuffle, epochs, seed = arguments.sample_shuffle, arguments.epochs, arguments.seed
    return kit.loading(
        removed - {"collate::default_collate"},  # `collating` leaves the sending of new memory
        dataset,
        collating(removed, default_collate),
        batch_size=workload.batch_size,
        sampler=EndlessSampler(0, 1, arguments.total_samples_train, shuffle, epochs, seed),
        num_workers=workload.workers,
        prefetch_factor=math.ceil(arguments.prefetch_size / max(1, workload.workers)),
        pin_memory=True,
        drop_last=True,
        worker_init_fn=dataset.worker_init,
        multiprocessing_context=arguments.multiprocessing_context,
        persistent_workers=True,
    )


def _arguments(workload: Workload, files: list[Path]) -> Any:
    """DLIO's settings are one object of the process; its rank stands there as in a DataLoader worker of DLIO's."""
    ConfigArguments.reset()
    DLIOMPI.reset()
    DLIOMPI.get_instance().set_parent_values(0, 1)
    arguments = ConfigArguments.get_instance()
    LoadConfig(arguments, workload.settings(str(files[0].parent)))
    arguments.derive_configurations([str(path) for path in files], [])
    arguments.reconfigure(1)
    return arguments


def _reader(workload: Workload, removed: Removed) -> Any:
    if "read::file" in removed:
        return ColdFromMemory
    if "decode::numpy.NpzFile" in removed:
        return ColdWithoutArrays if workload.is_cold else WithoutArrays
    if "decode::numpy.load" in removed:
        return WithoutLoad
    return ColdNPZReader if workload.is_cold else NPZReader
