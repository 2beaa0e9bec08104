"""Which checks there are, in the order of their importance: a budget that runs out cuts the last ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Need = Literal["", "device", "kernels"]
"""What a part needs: nothing, a CUDA device, or a device whose kernels torch.profiler records."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a check that ends, crashes or hangs by itself.

    `seconds`: its time limit. `without_us`: nothing of ours runs in it, so that its crash is no fault of ours.
    `in_quick`: also run by ``--quick``.
    """

    name: str
    needs: Need = ""
    seconds: float = 40
    without_us: bool = False
    in_quick: bool = True


@dataclass(frozen=True, slots=True)
class Check:
    """`module`: below this package, or with its full name; its ``run(setting, part)`` yields rows. `fresh`: on a device
    each part has a process of its own; otherwise one process does all parts until one of them kills it, and a second
    one goes on behind that.
    """

    name: str
    module: str
    parts: tuple[Part, ...]
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A part with its check."""

    check: Check
    part: Part

    @property
    def title(self) -> str:
        return f"{self.check.name}, {self.part.name}"


MACHINE: Final = Check("machine", "machine", (Part("look", seconds=90),))

CHECKS: Final = (
    Check(
        "planted",
        "planted",
        (
            Part("nothing", "kernels"),
            Part("decode", in_quick=False),
            Part("transform"),
            Part("collate", in_quick=False),
            Part("host", "kernels"),
            Part("item", "kernels"),
            Part("pageable", "kernels"),
        ),
    ),
    Check(
        "copies",
        "copies",
        tuple(
            Part(f"{memory} {how}", "kernels", 30)
            for memory in ("pageable", "pinned")
            for how in ("blocking", "non_blocking")
        ),
    ),
    Check("clocks", "clocks", (Part("workers"), Part("device", "kernels"))),
    Check("pinning", "pinning", (Part("pin_memory", "device", 50),)),
    Check(
        "workers",
        "worker_batches",
        (
            Part("fork without us", seconds=50, without_us=True),
            Part("fork", seconds=50),
            Part("spawn without us", seconds=70, without_us=True, in_quick=False),
            Part("spawn", seconds=70, in_quick=False),
        ),
        fresh=True,
    ),
    Check("utilisation", "utilisation", (Part("NVML", "kernels", 45),)),
    Check("cost", "cost", (Part("no workers", seconds=90), Part("2 workers", seconds=90, in_quick=False)), fresh=True),
)
