"""Hugging Face accelerate: its own profiler, with our spans in the trace.

kwargs = annotate.integrations.accelerate.profile_kwargs("runs/exp1", wait=10, warmup=2, active=10)
accelerator = Accelerator(kwargs_handlers=[kwargs])
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
with accelerator.profile() as prof:
    for batch in loader:
        train_step(batch)
        prof.step()
"""

from __future__ import annotations

import os
from typing import Any

from annotate.capture.handler import trace_handler
from annotate.integrations.driving import missing
from annotate.marks import auto

try:
    from accelerate.utils import ProfileKwargs
except ImportError as error:
    raise missing("accelerate", "annotate.integrations.accelerate", error) from None


def profile_kwargs(
    logdir: str | os.PathLike[str], *, wait: int = 10, warmup: int = 2, active: int = 10, repeat: int = 1, **others: Any
) -> ProfileKwargs:
    """accelerate's ``ProfileKwargs`` whose traces go to `logdir` under our names, with every DataLoader followed.

    The profiler is accelerate's (`torch.profiler.profile`): call ``prof.step()`` after each batch.

    Args:
        logdir: folder of the run; created when it does not exist.
        wait, warmup, active, repeat: of torch's schedule.
        others: passed to ``ProfileKwargs`` (``activities``, ``record_shapes``, ...). A ``schedule_option`` replaces
            the four counts.

    Raises:
        TypeError: `logdir` is no path, or ``on_trace_ready`` is given: it is ours.
    """
    if "on_trace_ready" in others:
        raise TypeError(
            "annotate.integrations.accelerate.profile_kwargs sets on_trace_ready itself. For a handler of your own, "
            "call annotate.auto() and pass it to accelerate's ProfileKwargs: its exports carry our spans as well"
        )
    handler = trace_handler(logdir)
    auto()
    schedule = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
    return ProfileKwargs(**{"schedule_option": schedule, **others}, on_trace_ready=handler)
