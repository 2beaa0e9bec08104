"""A look at the machine before the checks: is there a device, does a plain torch.profiler record it, is it in use."""

from __future__ import annotations

import dataclasses
import os
import platform
import time
from collections.abc import Iterator
from typing import Any, Final

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from annotate.host.nvml import Nvml
from benchmarks.on_device_checks.rows import Row, not_possible, same
from benchmarks.on_device_checks.setting import Machine, Setting

NO_DEVICE: Final = "torch sees no CUDA device"
BUSY_PERCENT: Final = 5.0
LEAST_FREE_GB: Final = 1.5


def run(setting: Setting, part: str) -> Iterator[Row | dict[str, Any]]:
    del setting, part
    machine = Machine(
        torch=str(torch.__version__), python=platform.python_version(), cores=len(os.sched_getaffinity(0))
    )
    reason = _why_no_device()
    if reason:
        yield dataclasses.asdict(dataclasses.replace(machine, no_device=reason))
        yield not_possible("machine, CUDA device", reason)
        return
    others, no_nvml = _others_percent()  # before this process itself uses the device
    properties = torch.cuda.get_device_properties(0)
    free, total = torch.cuda.mem_get_info(0)
    machine = dataclasses.replace(
        machine,
        name=properties.name,
        capability=f"{properties.major}.{properties.minor}",
        cuda=str(torch.version.cuda),
        memory_gb=round(total / 1e9, 1),
        free_gb=round(free / 1e9, 1),
        devices=torch.cuda.device_count(),
        others_percent=others,
        no_nvml=no_nvml,
    )
    if free < LEAST_FREE_GB * 1e9:
        reason = f"the device has {free / 1e9:.1f} GB free, less than {LEAST_FREE_GB} GB"
        yield dataclasses.asdict(dataclasses.replace(machine, no_device=reason))
        yield not_possible("machine, CUDA device", reason)
        return
    yield dataclasses.asdict(machine)  # known also where what follows crashes
    yield same("machine, CUDA device works", 1024, _counted())
    yield from _profiler_rows(machine)
    yield _quiet_row(others, no_nvml)


def _why_no_device() -> str:
    if not torch.cuda.is_available():
        return NO_DEVICE
    if torch.version.hip is not None:
        return "the device is no NVIDIA device (torch is built for ROCm)"
    try:
        torch.zeros(1, device="cuda").add_(1).item()
    except Exception as error:  # no kernel image for this device, memory full, a driver that is too old
        return f"torch cannot use the CUDA device: {str(error).partition(chr(10))[0][:200]}"
    return ""


def _counted() -> int:
    return int(torch.ones(1024, device="cuda").sum().item())


def _profiler_rows(machine: Machine) -> Iterator[Row | dict[str, Any]]:
    """Kernels that a plain torch.profiler records: containers without the rights for it, and some that emulate a kernel
    of Linux, record none.
    """
    planned = 8
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(wait=0, warmup=1, active=1, repeat=1),
    ) as prof:
        work = torch.ones(1 << 20, device="cuda")
        for _ in range(2):
            for _ in range(planned):
                work.mul_(1.0001)
            torch.cuda.synchronize()
            prof.step()
    kernels = sum(1 for event in prof.events() or () if "CUDA" in str(event.device_type))
    if kernels < planned:
        reason = f"torch.profiler alone records {kernels} of {planned} kernels on this machine"
        yield dataclasses.asdict(dataclasses.replace(machine, no_kernels=reason))
        yield not_possible("machine, torch.profiler records kernels", reason)
    else:
        yield same("machine, torch.profiler records kernels", "yes", "yes")


def _others_percent() -> tuple[float | None, str]:
    """Utilisation of device 0 over about a second, and why it is not known.

    The first reading of this process comes after its own small kernel, so readings go on until that is forgotten.
    """
    try:
        nvml = Nvml()
    except (OSError, AttributeError) as error:
        return None, str(error)
    try:
        time.sleep(1.2)
        values = []
        for _ in range(5):
            values.append(nvml.utilisation().get("device 0", 0.0))
            time.sleep(0.15)
        return max(values), ""
    except OSError as error:  # a slice of a device (MIG) does not tell
        return None, str(error)
    finally:
        nvml.close()


def _quiet_row(others: float | None, no_nvml: str) -> Row:
    name = "machine, device idle before the checks"
    if others is None:
        return not_possible(name, f"NVML does not tell: {no_nvml}")
    if others > BUSY_PERCENT:
        return not_possible(name, f"other programs use the device ({others:.0f}%): times are less exact")
    return Row(name, f"at most {BUSY_PERCENT:g}", others, "%", "", "ok")
