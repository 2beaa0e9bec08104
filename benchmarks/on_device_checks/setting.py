"""What a check is given: `Setting`, and the facts of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

DeviceKind = Literal["cuda", "cpu"]


@dataclass(frozen=True, slots=True)
class Setting:
    """`work`: a folder of the whole command, gone at its end; `captures`: where captures are kept; `seconds`: that all
    parts of the check together may take; `quick`: few steps, for a test of this program itself.
    """

    work: Path
    captures: Path
    device: DeviceKind
    quick: bool
    seconds: float

    @property
    def active(self) -> int:
        """Steps to record where nothing else asks for a number."""
        return 6 if self.quick else 12


@dataclass(frozen=True, slots=True)
class Machine:
    """`no_device`: why there is no CUDA device; "" where there is one. `no_kernels`: why a plain torch.profiler records
    no kernels of it; "" where it does. `others_percent`: utilisation of the device by other programs before the checks,
    by NVML; None where NVML does not say.
    """

    torch: str = ""
    python: str = ""
    cores: int = 0
    no_device: str = ""
    name: str = ""
    capability: str = ""
    cuda: str = ""
    memory_gb: float | None = None
    free_gb: float | None = None
    devices: int = 0
    no_kernels: str = ""
    others_percent: float | None = None
    no_nvml: str = ""

    @property
    def device(self) -> DeviceKind:
        return "cpu" if self.no_device else "cuda"
