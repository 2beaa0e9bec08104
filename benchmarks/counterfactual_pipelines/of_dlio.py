"""The seventh group, from DLIO, the benchmark that MLPerf Storage runs: its own dataset, reader and DataLoader.

Points of `benchmarks/dlio_attached/configurations.py`, scaled down so that a step takes 8 to 60 ms: what is read and
what is computed by the same factor, where that suits. Runs in DLIO's environment (`make .venv-dlio/.installed`).

Written without a look at the model of `whatif`, at its documentation or at any prediction.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed
from benchmarks.counterfactual_pipelines.stored_kit import stored

ROOT: Final = Path(__file__).resolve().parents[2]
PYTHON: Final = ROOT / ".venv-dlio" / "bin" / "python"
STAND_INS: Final = ROOT / "benchmarks" / "dlio_attached" / "stand_ins"


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Bytes and seconds, per record and per step."""

    name: str
    files: int
    samples_per_file: int = 1
    record_bytes: int
    record_bytes_stdev: int = 0
    resized_bytes: int = 0
    """What a sample is handed on as; 0: as long as its record."""
    batch_size: int
    workers: int
    prefetch_size: int = 2
    """Batches of all DataLoader workers together."""
    compute_s: float
    is_cold: bool = False
    """No file stays in the page cache."""

    def settings(self, folder: str) -> dict[str, dict[str, Any]]:
        """As DLIO's configuration files have them."""
        return {
            "dataset": {
                "format": "npz",
                "data_folder": folder,
                "num_files_train": self.files,
                "num_samples_per_file": self.samples_per_file,
                "record_length": self.record_bytes,
                "record_length_stdev": self.record_bytes_stdev,
                "record_length_resize": self.resized_bytes,
            },
            "reader": {
                "data_loader": "pytorch",
                "batch_size": self.batch_size,
                "read_threads": self.workers,
                "prefetch_size": self.prefetch_size,
                "sample_shuffle": "seed",
            },
            "train": {"computation_time": self.compute_s},
            "output": {"folder": folder},
        }


UNET3D: Final = Workload(  # of the H100: a 48th of its bytes and of its time
    name="unet3d",
    files=42,
    record_bytes=146_600_628 // 48,
    record_bytes_stdev=68_341_808 // 48,
    resized_bytes=2_097_152 // 48,
    batch_size=7,
    workers=1,
    compute_s=0.323 / 48,
    is_cold=True,
)
RESNET50: Final = Workload(  # of the H100: a tenth of its batch, a 16th of its time
    name="resnet50",
    files=160,
    record_bytes=114_660,
    resized_bytes=150_528,
    batch_size=40,
    workers=2,
    prefetch_size=4,
    compute_s=0.224 / 16,
)
COSMOFLOW: Final = Workload(  # of the H100: four of its batches of 1
    name="cosmoflow",
    files=40,
    record_bytes=2_828_486,
    record_bytes_stdev=71_311,
    batch_size=4,
    workers=0,
    compute_s=0.0035 * 4,
)
BERT: Final = Workload(  # of the V100: an 80th of its time; files of 32 records in place of 313,532
    name="bert",
    files=8,
    samples_per_file=32,
    record_bytes=2500,
    batch_size=48,
    workers=1,
    prefetch_size=3,
    compute_s=0.968 / 80,
)


def _build(workload: Workload, removed: Removed) -> Loop:
    sys.path[:0] = [] if str(STAND_INS) in sys.path else [str(STAND_INS)]
    from benchmarks.counterfactual_pipelines import dlio_loading

    return Loop(dlio_loading.build(workload, _files(workload), removed), 1e3 * workload.compute_s)


def _files(workload: Workload) -> list[Path]:
    """As DLIO's generator writes them: sides drawn around the root of the record's length, any bytes."""
    pick = np.random.default_rng(10)
    side = workload.record_bytes**0.5
    sides = np.maximum(1, pick.normal(side, workload.record_bytes_stdev / 2 / side, (workload.files, 2)).astype(int))
    names = [f"dlio/{workload.name}/img_{number:04}_of_{workload.files}.npz" for number in range(workload.files)]
    return [
        stored(name, partial(npz, number, height, width, workload.samples_per_file))
        for number, (name, (height, width)) in enumerate(zip(names, sides.tolist(), strict=True))
    ]


def npz(number: int, height: int, width: int, samples: int) -> bytes:
    records = np.random.default_rng(number).integers(255, size=(height, width, samples), dtype=np.uint8)
    stream = io.BytesIO()
    np.savez(stream, x=records, y=[0] * samples)
    return stream.getvalue()


def _pipeline(workload: Workload, *parts: str) -> Pipeline:
    name = f"dlio_{workload.name}_{workload.workers}"
    return Pipeline(name, "seventh", parts, partial(_build, workload), python=PYTHON)


PIPELINES: Final = (
    _pipeline(UNET3D, "read::file", "decode::numpy.NpzFile"),
    _pipeline(RESNET50, "decode::numpy.NpzFile", "collate::default_collate", "transfer"),
    _pipeline(COSMOFLOW, "decode::numpy.NpzFile", "collate::default_collate"),
    _pipeline(BERT, "decode::numpy.NpzFile", "decode::numpy.load"),
)
