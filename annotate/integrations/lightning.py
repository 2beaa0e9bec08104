"""Lightning: a profiler for its Trainer, and a callback. Both work with ``lightning`` and with ``pytorch_lightning``.

    Trainer(profiler=annotate.integrations.lightning.DataPipelineProfiler("runs/exp1"))
    Trainer(callbacks=[annotate.integrations.lightning.DataPipelineCallback("runs/exp1")])

The profiler also knows the data wait of loaders that are not torch's, and the copies to the device. The callback leaves
``Trainer(profiler=...)`` to others; another profiler of torch beside it ends its capture with one warning.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from annotate.hooks.wrappers import label_of
from annotate.integrations.driving import Driver, missing
from annotate.trace_format import FIRST_BATCH

_PACKAGES: Final = ("lightning.pytorch", "pytorch_lightning")


def _package() -> Any:
    """The one that the program has imported, else one that is installed.

    Raises:
        ImportError: there is none.
    """
    for name in (*(name for name in _PACKAGES if name in sys.modules), *_PACKAGES):
        try:
            return import_module(name)
        except ImportError as failed:
            error = failed
    raise missing("lightning", "annotate.integrations.lightning", error) from None


_lightning: Final = _package()
_Profiler: Final[type[Any]] = import_module(f"{_lightning.__name__}.profilers").Profiler
_Callback: Final[type[Any]] = _lightning.Callback

_EPOCH: Final = "run_training_epoch"
_BATCH: Final = "run_training_batch"
_FETCH: Final = ".train_dataloader_next"
_COPY: Final = ".batch_to_device"
"""Names of actions, or their ends, with which a Trainer calls its profiler."""


class _Driven:
    """What a Trainer calls, with a capture behind it.

    Args:
        logdir: folder of the run; created when it does not exist.
        profile_keywords: those of `annotate.profile` (``wait``, ``warmup``, ``active``, ``repeat``, ...).

    Raises:
        ValueError, TypeError: a keyword is out of range.
    """

    def __init__(self, logdir: str | os.PathLike[str], **profile_keywords: Any) -> None:
        super().__init__()
        self._driver = Driver(type(self).__name__, logdir, profile_keywords)

    @property
    def trace_files(self) -> list[str]:
        """Paths of the files written so far, oldest first."""
        return self._driver.trace_files


class DataPipelineProfiler(_Driven, _Profiler):  # type: ignore[misc, valid-type, unused-ignore]
    """Records some steps of each ``trainer.fit`` as `annotate.profile` does, one trace file per window in `logdir`.

    A step is one training batch, also with ``accumulate_grad_batches``; it begins with the data wait for it. A
    validation that runs between two batches is part of the first one's step. Arguments: `_Driven`.
    """

    def __init__(self, logdir: str | os.PathLike[str], **profile_keywords: Any) -> None:
        super().__init__(logdir, **profile_keywords)
        self._was_trained = False
        """The batch that was fetched last has been trained on."""
        self._is_first = True
        """The next batch to be fetched is the first of its epoch."""
        self._label = ""
        """Of the training loader."""

    def setup(self, stage: Any, local_rank: int | None = None, log_dir: str | None = None) -> None:
        super().setup(stage, local_rank, log_dir)
        if stage == "fit":
            self._was_trained, self._is_first, self._label = False, True, ""
            self._driver.enter()

    def teardown(self, stage: Any) -> None:
        driver = vars(self).get("_driver")  # Lightning's __del__ calls this, also where __init__ has raised
        if driver is not None:
            driver.leave()
        super().teardown(stage)

    def start(self, action_name: str) -> None:
        if not self._driver.is_on:
            return
        if action_name.endswith(_FETCH):
            self._fetch_begins()
        elif action_name.endswith(_COPY):
            self._driver.opens("h2d", "batch_to_device")
        elif action_name == _BATCH:
            self._driver.batch_begins()
        elif action_name == _EPOCH:
            self._is_first = True

    def stop(self, action_name: str) -> None:
        if action_name.endswith((_FETCH, _COPY)):
            self._driver.closes()
        elif action_name == _BATCH:
            self._was_trained = True

    @contextmanager
    def profile(self, action_name: str) -> Generator[str, None, None]:
        self.start(action_name)
        try:
            yield action_name
        except BaseException as error:  # Lightning calls no hook of its profiler when a training fails
            if action_name == _EPOCH:
                self._driver.leave(error)
            raise
        finally:
            self.stop(action_name)

    def _fetch_begins(self) -> None:
        """The training loop asks for a batch: the step of the one before ends."""
        if self._was_trained:
            self._was_trained = False
            self._driver.batch_ends()
        if not self._label:
            loader = _training_loader(getattr(self, "_lightning_module", None))
            self._label = "train_dataloader" if loader is None else label_of(loader)
            self._driver.follow(loader)
        self._driver.opens("wait", self._label + (FIRST_BATCH if self._is_first else ""))
        self._is_first = False


def _training_loader(module: Any) -> object:
    """What the training loop iterates; None where this Lightning keeps it elsewhere."""
    try:
        loader: object = module.trainer.train_dataloader
    except Exception:
        return None
    return loader


class DataPipelineCallback(_Driven, _Callback):  # type: ignore[misc, valid-type, unused-ignore]
    """As `DataPipelineProfiler`, where ``Trainer(profiler=...)`` is taken. A step ends in ``on_train_batch_end``."""

    def setup(self, trainer: Any, pl_module: Any, stage: Any) -> None:
        if stage == "fit":
            self._driver.enter()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._driver.follow(getattr(trainer, "train_dataloader", None))

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._driver.batch_begins()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._driver.batch_ends()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._driver.leave(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: Any) -> None:
        self._driver.leave()
