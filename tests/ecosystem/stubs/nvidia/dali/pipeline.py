"""As ``nvidia.dali.pipeline``."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any


class Pipeline:
    """Its own threads make batches, `share_outputs` waits for one."""

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        """
        Args:
            make: the batches, in place of DALI's operators.
        """
        self._make = make
        self._batches: queue.Queue[Any] = queue.Queue(2)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        for batch in self._make():
            self._batches.put(batch)
        self._batches.put(None)

    def share_outputs(self) -> Any:
        return self._batches.get()
