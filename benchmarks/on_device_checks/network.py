"""A small residual network of plain torch, its training step, and kernels that hide the time of launching it."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil
from typing import Final, cast

import torch
from torch import nn

from benchmarks.on_device_checks.setting import DeviceKind

_MATRIX: Final = 2048
_LEAST_GATE_S: Final = 0.008
_AHEAD: Final = 4.0
"""Launching takes longer under a profiler than in the warm-up, from which the gate's length is taken."""


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.first_norm = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.second, self.second_norm = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(x + self.second_norm(self.second(inner)))


class SmallResNet(nn.Module):
    """Any image size."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.head = nn.Linear(width, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.blocks(self.stem(images)).mean((-2, -1))
        return cast(torch.Tensor, self.head(x))


class Trainer:
    """One optimizer step per `step`. On a device `gate` first queues kernels that run while the host launches the rest,
    so that the device has no gap from the gate's start to the step's end.
    """

    def __init__(self, device: DeviceKind) -> None:
        self.device: Final = device
        torch.backends.cudnn.benchmark = False  # it would try algorithms for the first steps
        on_device = device == "cuda"
        if not on_device:
            torch.set_num_threads(1)  # more of them only wait for one another in so small a network
        self.model: Final = SmallResNet(*((32, 2) if on_device else (4, 1))).to(device)
        self.optimizer: Final = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.launch_s = 0.0
        """Host time to launch a step, without a profiler."""
        self.gate_kernels = 0
        if on_device:
            self._left = torch.randn(_MATRIX, _MATRIX, device=device)
            self._right = torch.randn(_MATRIX, _MATRIX, device=device)
            self._out = torch.empty_like(self._left)

    def step(self, images: torch.Tensor) -> torch.Tensor:
        """The loss, on the device; does not wait for it."""
        target = torch.zeros(len(images), dtype=torch.long, device=images.device)
        loss = nn.functional.cross_entropy(self.model(images), target)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        self.optimizer.step()
        return loss

    def gate(self) -> None:
        for _ in range(self.gate_kernels):
            torch.mm(self._left, self._right, out=self._out)

    def warm_up(self, images: torch.Tensor) -> float:
        """Load all libraries, choose the gate's length; seconds that a step with its gate takes."""
        images = images.to(self.device)
        for _ in range(4 if self.device == "cuda" else 2):
            self.step(images)
        if self.device == "cpu":
            return _timed(lambda: self.step(images))
        torch.cuda.synchronize()
        self.launch_s = min(_timed(lambda: self.step(images)) for _ in range(3))
        torch.cuda.synchronize()
        gate_s = max(_LEAST_GATE_S, _AHEAD * self.launch_s)
        self.gate_kernels = max(1, ceil(gate_s / self._matrix_s()))
        return min(self._whole_step_s(images) for _ in range(3))

    def _matrix_s(self) -> float:
        """Of one kernel of the gate, at the device's full clock."""
        self.gate_kernels = 20
        self.gate()
        torch.cuda.synchronize()
        kernels = self.gate_kernels
        return min(self._synchronised(self.gate) for _ in range(3)) / kernels

    def _whole_step_s(self, images: torch.Tensor) -> float:
        def whole() -> None:
            self.gate()
            self.step(images)

        return self._synchronised(whole)

    @staticmethod
    def _synchronised(work: Callable[[], object]) -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        return time.perf_counter() - begin


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
