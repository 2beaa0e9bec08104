"""Processes of this machine."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar, Final

MOST_JOBS: Final = 256


@dataclass(frozen=True, slots=True)
class Processes:
    """At most `jobs` at once. They are started afresh: what this process has open is not theirs."""

    jobs: int
    lost: ClassVar[tuple[type[Exception], ...]] = (BrokenExecutor,)
    remedy: ClassVar[str] = "is there enough memory? Use fewer --jobs"
    is_here: ClassVar[bool] = True

    def executor(self, most: int) -> AbstractContextManager[Executor]:
        return ProcessPoolExecutor(min(self.jobs, most), mp_context=multiprocessing.get_context("spawn"))
