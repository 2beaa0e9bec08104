"""Six workloads of MLPerf Storage, scaled down so that each runs in under 40 seconds on two cores, and one unscaled.

Record lengths, batch sizes and computation times are those of DLIO's own files, by a factor where they do not suit a
small machine: what a step computes and what it reads are scaled alike, so that the bytes per second of computation, on
which the utilisation depends, stay. Only bert's computation alone is shortened. DLIO runs resnet50, cosmoflow and bert
in TensorFlow; here they are npz files and torch's DataLoader, one sample per file.

Cosmoflow has batches of 1 and steps of 3.5 ms. That is the seventh, and the reason for batches of 24 in the six: of so
short a step, what passes beside loading and computing is several points of DLIO's utilisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EPOCHS: Final = 4
"""The first warms the page cache, the second is recorded, the rest run without a profiler that starts or ends."""
WARM_UP: Final = 2


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Bytes and seconds, per record and per step."""

    name: str
    workload: str
    data: str
    """Folder of the records: workloads that read the same records share it."""
    record_bytes: int
    record_bytes_stdev: int = 0
    resized_bytes: int = 0
    """What a sample is handed on as; 0: as long as its record."""
    batch_size: int
    workers: int
    compute_s: float
    steps: int
    """Of one epoch."""

    @property
    def wait_steps(self) -> int:
        """Until the warm-up of the profiler: that begins in the second epoch."""
        return self.steps + self.steps // 6

    @property
    def active_steps(self) -> int:
        """Recorded; all in the second epoch."""
        return 2 * self.steps // 3

    def overrides(self, folder: str) -> list[str]:
        """Of DLIO's settings, for a run whose data and output lie in `folder`."""
        settings = {
            "framework": "pytorch",
            "dataset.format": "npz",
            "dataset.data_folder": f"{folder}/{self.data}",
            "dataset.num_files_train": self.steps * self.batch_size,
            "dataset.num_samples_per_file": 1,
            "dataset.record_length": self.record_bytes,
            "dataset.record_length_stdev": self.record_bytes_stdev,
            "dataset.record_length_resize": self.resized_bytes,
            "reader.data_loader": "pytorch",
            "reader.batch_size": self.batch_size,
            "reader.read_threads": self.workers,
            "train.computation_time": self.compute_s,
            "train.epochs": EPOCHS,
            "train.total_training_steps": -1,
            "workflow.checkpoint": False,
            "output.folder": f"{folder}/{self.name}/dlio",
        }
        return [f"workload={self.workload}", *(f"++workload.{key}={value}" for key, value in settings.items())]


def _unet3d(device: str, workers: int, compute_s: float) -> Configuration:
    return Configuration(
        name=f"unet3d_{device}",
        workload=f"unet3d_{device}",
        data="unet3d",
        record_bytes=146_600_628 // 8,
        record_bytes_stdev=68_341_808 // 8,
        resized_bytes=2_097_152 // 8,
        batch_size=7,
        workers=workers,
        compute_s=compute_s / 8,
        steps=20,
    )


def _cosmoflow(device: str, workers: int, compute_s: float, batch_size: int = 24) -> Configuration:
    return Configuration(
        name=f"cosmoflow_{device}" + "_short" * (batch_size == 1),
        workload=f"cosmoflow_{device}",
        data="cosmoflow",
        record_bytes=2_828_486,
        record_bytes_stdev=71_311,
        batch_size=batch_size,
        workers=workers,
        compute_s=compute_s * batch_size,
        steps=384 // batch_size,
    )


CONFIGURATIONS: Final = (
    _unet3d("h100", 1, 0.323),
    _unet3d("a100", 2, 0.636),
    Configuration(
        name="resnet50_h100",  # a quarter of the batch of 400, and of its time
        workload="resnet50_h100",
        data="resnet50",
        record_bytes=114_660,
        resized_bytes=150_528,
        batch_size=100,
        workers=2,
        compute_s=0.224 / 4,
        steps=18,
    ),
    _cosmoflow("h100", 0, 0.0035),
    _cosmoflow("a100", 1, 0.00551),
    Configuration(
        name="bert_v100",  # a quarter of the time of a step
        workload="bert_v100",
        data="bert",
        record_bytes=2500,
        batch_size=48,
        workers=0,
        compute_s=0.968 / 4,
        steps=18,
    ),
    _cosmoflow("h100", 0, 0.0035, batch_size=1),
)
