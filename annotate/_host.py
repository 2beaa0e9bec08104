"""Facts of the machine and the libraries for the trace's metadata. Whatever the system does not tell is left out."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import sys
from pathlib import Path
from typing import Final

from annotate.trace_format import HostMetadata

_LIBRARIES: Final = (
    "torch", "torchvision", "torchaudio", "torchdata", "numpy", "PIL", "cv2", "albumentations", "scipy", "datasets",
    "webdataset", "lightning", "accelerate",
)  # fmt: skip


def host_name() -> str:
    return socket.gethostname() or "localhost"


def describe_host() -> HostMetadata:
    """Cores and quota, memory and shared memory in bytes, torch's threads."""
    facts: HostMetadata = {"name": host_name(), "cores": usable_cores()}
    quota = cpu_quota(Path("/sys/fs/cgroup"))
    if quota is not None:
        facts["cpu_quota"] = quota
    with contextlib.suppress(AttributeError, OSError, ValueError):
        facts["memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(AttributeError, OSError):
        shm = os.statvfs("/dev/shm")
        facts["shm_bytes"] = shm.f_frsize * shm.f_blocks
    torch = sys.modules.get("torch")
    if torch is not None:
        facts["torch_threads"] = int(torch.get_num_threads())
    return facts


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_quota(root: Path) -> float | None:
    """The tightest cgroup CPU quota that holds for this process, in cores; None when there is none.

    Version 2 has ``cpu.max`` ("200000 100000" or "max 100000") in every group on the way down, version 1
    ``cpu.cfs_quota_us`` beside ``cpu.cfs_period_us``.
    """
    quotas: list[float] = []
    for folder in _cgroup_folders(root):
        text = _read(folder / "cpu.max") or " ".join(
            [_read(folder / "cpu.cfs_quota_us") or "max", _read(folder / "cpu.cfs_period_us") or ""]
        )
        with contextlib.suppress(ValueError, ZeroDivisionError):
            allowed, period = (float(word) for word in text.split())
            if allowed > 0:
                quotas.append(allowed / period)
    return min(quotas, default=None)


def _cgroup_folders(root: Path) -> list[Path]:
    folders = [root, root / "cpu"]
    for line in (_read(Path("/proc/self/cgroup")) or "").splitlines():
        _, _, path = line.partition("::")
        if path:
            inner = root / path.strip("/")
            folders += [inner, *(p for p in inner.parents if p.is_relative_to(root))]
    return folders


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def describe_versions() -> dict[str, str]:
    """Versions of Python and of the loaded libraries that matter to a data pipeline."""
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            versions[name] = str(version)
    return versions
