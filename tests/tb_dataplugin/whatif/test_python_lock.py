"""Python's lock, which threads of the program hold: more DataLoader workers do not free the training thread of it."""

from __future__ import annotations

import pytest

from tb_dataplugin.whatif import Change, predict
from tests.tb_dataplugin.whatif.test_simulation import loop


@pytest.mark.parametrize(("workers", "locked", "is_said"), [(3, 0.38, True), (3, 0.01, False), (1, 0.38, False)])
def test_more_workers_leave_the_training_thread_waiting_for_it(workers: int, locked: float, is_said: bool) -> None:
    """A stranger's 54 ms per step became 93 with two workers."""
    notes = predict(loop(2, build_ms=60, own_ms=5, locked=locked), Change(workers=workers)).notes
    assert (
        any(note.startswith("For 38.0% of the window the training thread waits for Python's lock") for note in notes)
        is is_said
    )
