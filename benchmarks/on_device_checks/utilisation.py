"""How busy the report says the device is, against CUDA events and against the driver's own counter (NVML)."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch

import annotate
from benchmarks.on_device_checks.captures import newest, report_on
from benchmarks.on_device_checks.machine import BUSY_PERCENT
from benchmarks.on_device_checks.network import Trainer
from benchmarks.on_device_checks.rows import Row, close, not_possible
from benchmarks.on_device_checks.setting import Setting
from benchmarks.on_device_checks.truth import DeviceClock, Span, gaps, mark
from tb_dataplugin.report.report_pb2 import Capture

NVML_POINTS: Final = 12.0
"""Allowed: NVML tells, a few times per second, in which part of the last 1/6 to 1 second a kernel ran."""
EVENT_POINTS: Final = 2.0
IDLE_S: Final = (0.004, 0.03)
COUNTER: Final = "device::utilisation"


@dataclass(frozen=True, slots=True)
class Percent:
    """Mean utilisation by the driver, and who read it; `value` is None where nobody could, `source` says why then."""

    value: float | None
    source: str


def run(setting: Setting, part: str) -> Iterator[Row]:
    del part
    trainer = Trainer("cuda")
    step_s = trainer.warm_up(torch.randn(8, 3, 64, 64))
    period = step_s + sum(IDLE_S) / 2
    active = max(10, round((1.5 if setting.quick else 5.0) / period))
    wait = max(4, round(1.5 / period))  # the counter looks back: it must not see the time before
    before = _quiet()
    with _Watch() as watch:
        busy, window, capture = _observe(setting, trainer, wait, active, watch)
    truth = 100 * (1 - sum(gap.seconds for gap in gaps(busy, window)) / window.seconds)
    device = capture.devices[0] if capture.devices else None
    if device is None or not device.HasField("kernel_busy_us"):
        yield not_possible("utilisation: kernels", "the capture has no kernels")
        return
    ours = 100 * device.kernel_busy_us / capture.window_us
    yield close("utilisation: kernels, by CUDA events", truth, ours, "%", 0.0, EVENT_POINTS)
    counter = _of_capture(capture)
    yield from _nvml_rows(ours, truth, counter, watch.mean(window), before)


def _nvml_rows(ours: float, truth: float, counter: Percent, watched: Percent, before: float | None) -> Iterator[Row]:
    name = "utilisation: kernels, by NVML"
    best = counter if counter.value is not None else watched
    if counter.value is None and watched.value is not None:
        reason = f"{watched.source} tells {watched.value:.0f}%, and the capture has no counter {COUNTER}"
        yield Row("utilisation: NVML in the capture", "yes", "no", "", "yes", "off", reason)
    elif counter.value is None:
        yield not_possible("utilisation: NVML in the capture", counter.source)
    elif watched.value is not None:
        check = f"utilisation: NVML in the capture, by {watched.source}"
        yield close(check, watched.value, counter.value, "%", 0.0, NVML_POINTS)
    if best.value is None:
        yield not_possible(name, best.source)
    elif before is not None and before > BUSY_PERCENT:
        yield not_possible(name, f"other programs use the device ({before:.0f}% before the check)")
    else:
        row = close(name, best.value, ours, "%", 0.0, NVML_POINTS)
        off_truth = abs(truth - ours) <= EVENT_POINTS and row.verdict == "off"
        reason = f"NVML and CUDA events disagree ({best.value:.0f}% and {truth:.0f}%); ours agrees with the events"
        yield not_possible(name, reason) if off_truth else row


def _observe(
    setting: Setting, trainer: Trainer, wait: int, active: int, watch: _Watch
) -> tuple[list[Span], Span, Capture]:
    """Busy spans by events, the recorded window by the user's clock, and the report."""
    folder, images, pause = setting.work / "utilisation", torch.randn(8, 3, 64, 64, device="cuda"), random.Random(1)
    clock, pairs, moments = DeviceClock(), list[tuple[torch.cuda.Event, torch.cuda.Event]](), list[float]()
    ended = 0.0
    with annotate.profile(folder, wait=wait, warmup=2, active=active) as prof:
        for _ in range(wait + 2 + active):
            moments.append(time.perf_counter())
            first = mark()
            trainer.gate()
            trainer.step(images)
            pairs.append((first, mark()))
            torch.cuda.synchronize()
            time.sleep(pause.uniform(*IDLE_S))
            ended = time.perf_counter()  # the last step() also writes the capture
            prof.step()
    clock.close()
    watch.stop()
    busy = [Span(clock.when(first), clock.when(last)) for first, last in pairs]
    return busy, Span(moments[wait + 2], ended), report_on(newest(folder))


def _of_capture(capture: Capture) -> Percent:
    found = [row for row in capture.host_load if row.counter == COUNTER and row.series == "device 0"]
    if found:
        return Percent(found[0].mean, "the capture")
    try:
        from annotate.host.nvml import Nvml

        nvml = Nvml()
    except (OSError, AttributeError) as error:
        return Percent(None, f"NVML does not open: {error}")
    try:
        return Percent(None, f"the capture lacks it, although NVML says {nvml.utilisation()}")
    except OSError as error:  # a slice of a device (MIG)
        return Percent(None, f"NVML does not tell: {error}")
    finally:
        nvml.close()


class _Watch:
    """Reads the driver's utilisation beside the capture, by pynvml or nvidia-smi, where one is there."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []
        self.source, self._read = _reader()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Watch:
        if self._read is not None:
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def mean(self, window: Span) -> Percent:
        inside = [value for moment, value in self.samples if window.begin <= moment <= window.end]
        if not inside:
            return Percent(None, self.source)
        return Percent(sum(inside) / len(inside), self.source)

    def _run(self) -> None:
        assert self._read is not None
        while not self._ended.wait(0.1):
            try:
                self.samples.append((time.perf_counter(), self._read()))
            except Exception as error:  # it stops to tell
                self.source = f"{self.source}: {error}"
                return


def _reader() -> tuple[str, Callable[[], float] | None]:
    try:
        import pynvml
    except ImportError:
        return _nvidia_smi()
    try:
        pynvml.nvmlInit()
        name = _device_name()
        by_index, by_uuid = pynvml.nvmlDeviceGetHandleByIndex, pynvml.nvmlDeviceGetHandleByUUID
        handle = by_index(int(name)) if name.isdecimal() else by_uuid(name)
        pynvml.nvmlDeviceGetUtilizationRates(handle)
    except Exception as error:  # its own error class
        return f"pynvml: {error}", None

    def read() -> float:
        rates: Any = pynvml.nvmlDeviceGetUtilizationRates(handle)
        return float(rates.gpu)

    return "pynvml", read


def _device_name() -> str:
    """Of the first device that CUDA sees, as NVML names it: a number or a UUID."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0].strip() or "0"


def _nvidia_smi() -> tuple[str, Callable[[], float] | None]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return "neither pynvml nor nvidia-smi is there", None
    command = [program, f"--id={_device_name()}", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]

    def read() -> float:
        return float(subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip())

    try:
        read()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return f"nvidia-smi: {error}", None
    return "nvidia-smi", read


def _quiet() -> float | None:
    """Utilisation by others: of an idle second of ours."""
    torch.cuda.synchronize()
    time.sleep(1.2)
    _, read = _reader()
    try:
        return None if read is None else max(read() for _ in range(3))
    except Exception:
        return None
