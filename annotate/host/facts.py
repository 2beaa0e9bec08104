"""Facts of the machine and the libraries for the trace's metadata. Unavailable facts are omitted."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import sys
from pathlib import Path
from typing import Final

from annotate.trace_format import HostMetadata, LibraryThreads

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


def library_threads() -> LibraryThreads:
    """Threads that libraries use in this process, as far as they are known."""
    found: LibraryThreads = {}
    torch, cv2 = sys.modules.get("torch"), sys.modules.get("cv2")
    with contextlib.suppress(Exception):
        if torch is not None:
            found["torch_threads"] = int(torch.get_num_threads())
    with contextlib.suppress(Exception):
        if cv2 is not None:
            found["cv2_threads"] = int(cv2.getNumThreads())
    with contextlib.suppress(KeyError, ValueError):
        found["omp_threads"] = int(os.environ["OMP_NUM_THREADS"])
    return found


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
    for folder in cgroup_folders(root):
        text = _read(folder / "cpu.max") or " ".join(
            [_read(folder / "cpu.cfs_quota_us") or "max", _read(folder / "cpu.cfs_period_us") or ""]
        )
        with contextlib.suppress(ValueError, ZeroDivisionError):
            allowed, period = (float(word) for word in text.split())
            if allowed > 0:
                quotas.append(allowed / period)
    return min(quotas, default=None)


def cgroup_folders(root: Path, own: Path = Path("/proc/self/cgroup")) -> list[Path]:
    """Where a CPU quota of this process may stand: its own group and those around it, of both cgroup versions.

    Args:
        own: lines ``0::/path`` for version 2, ``1:cpu,cpuacct:/path`` for a controller of version 1.
    """
    folders = [root, root / "cpu"]
    for line in (_read(own) or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        for base in [root / controllers, root / "cpu"] if controllers else [root]:
            inner = base / path.strip("/")
            folders += [inner, *(p for p in inner.parents if p.is_relative_to(base))]
    return list(dict.fromkeys(folders))


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
