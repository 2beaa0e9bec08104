"""Utilisation and memory of NVIDIA devices by NVML, the library that comes with the driver; nothing where it is not."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Final

_LIBRARY: Final = "libnvidia-ml.so.1"


class _Utilisation(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Nvml:
    """The devices that the program may use, numbered as it numbers them."""

    def __init__(self, library: Any = None) -> None:
        """Raises: OSError: the library or the device is missing."""
        self._library = ctypes.CDLL(_LIBRARY) if library is None else library
        self._call("nvmlInit_v2")
        try:
            self.devices: Final = self._devices()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._library.nvmlShutdown()

    def utilisation(self) -> dict[str, float]:
        """Percent of the last sample period of the driver (1/6 to 1 second) in which a kernel ran.

        Raises:
            OSError: a device does not report it.
        """
        found = {}
        for number, device in self.devices.items():
            rates = _Utilisation()
            self._call("nvmlDeviceGetUtilizationRates", device, ctypes.byref(rates))
            found[f"device {number}"] = float(rates.gpu)
        return found

    def memory(self) -> dict[str, float]:
        """Bytes in use, by any process. Raises: OSError: a device does not report it."""
        found = {}
        for number, device in self.devices.items():
            memory = _Memory()
            self._call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
            found[f"device {number}"] = float(memory.used)
        return found

    def _devices(self) -> dict[int, ctypes.c_void_p]:
        """By CUDA's number: CUDA_VISIBLE_DEVICES picks and orders them, by NVML's number or by UUID."""
        count = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        names = [str(number) for number in range(count.value)] if visible is None else visible.split(",")
        found = {}
        for number, name in enumerate(name.strip() for name in names):
            device = ctypes.c_void_p()
            try:
                if name.isdecimal():
                    self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(int(name)), ctypes.byref(device))
                else:
                    self._call("nvmlDeviceGetHandleByUUID", name.encode(), ctypes.byref(device))
            except OSError:  # as CUDA: what follows a device that is not there is not visible
                break
            found[number] = device
        if not found:
            raise OSError("NVML sees no device that this program may use")
        return found

    def _call(self, name: str, *args: Any) -> None:
        status = getattr(self._library, name)(*args)
        if status != 0:
            raise OSError(f"{name}: NVML error {status}")


class DeviceSource:
    """A counter of NVML's; see `sources.Source`."""

    looks_back = False

    def __init__(self, counter: str, values: Any) -> None:
        self.counter = counter
        self._values = values

    def read(self, seconds: float) -> dict[str, float]:
        found: dict[str, float] = self._values()
        return found
