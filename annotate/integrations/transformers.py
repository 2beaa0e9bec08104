"""Hugging Face transformers: a callback for its Trainer.

Trainer(..., callbacks=[annotate.integrations.transformers.DataPipelineCallback("runs/exp1")])
"""

from __future__ import annotations

import os
from typing import Any

from annotate.integrations.driving import Driver, missing

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise missing("transformers", "annotate.integrations.transformers", error) from None


class DataPipelineCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Records some steps of each ``trainer.train()`` as `annotate.profile` does, one trace file per window in `logdir`.

    A step ends with the optimizer's step: with ``gradient_accumulation_steps=4`` it has four batches. The Trainer
    fetches a step's batches before ``on_step_begin``, so a step begins with the data wait for its own batches. After
    a resume, in which the Trainer may fetch batches to skip them, the first step is left out.

    Args:
        logdir: folder of the run; created when it does not exist.
        profile_keywords: those of `annotate.profile` (``wait``, ``warmup``, ``active``, ``repeat``, ...).

    Raises:
        ValueError, TypeError: a keyword is out of range.

    The Trainer tells its callbacks nothing when a training fails: such a capture ends with the program, with the next
    training, or with `close`.
    """

    def __init__(self, logdir: str | os.PathLike[str], **profile_keywords: Any) -> None:
        self._driver = Driver(type(self).__name__, logdir, profile_keywords)

    @property
    def trace_files(self) -> list[str]:
        """Paths of the files written so far, oldest first."""
        return self._driver.trace_files

    def close(self, error: BaseException | None = None) -> None:
        """End the capture that is on, after a training that failed. Harmless when none is."""
        self._driver.leave(error)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._driver.enter()
        self._driver.follow(kwargs.get("train_dataloader"))
        if getattr(state, "global_step", 0):
            self._driver.leave_out_step("the first step after a resume")

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._driver.batch_begins()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._driver.batch_ends()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._driver.leave()
