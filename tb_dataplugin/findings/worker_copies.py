"""DataLoader workers have a dataset of their own: what the loop changes in it later, they never see. Said where workers
are advised for the first time, or to live on.
"""

from __future__ import annotations

from typing import Final

NEW: Final = (
    " Each worker has its own copy of the dataset, from when it starts: what the loop changes in it later (a replay "
    "buffer, a curriculum) does not reach it, unless it is in shared memory."
)
KEPT: Final = (
    " They keep their copy of the dataset, too: what the loop changes in it between epochs (a replay buffer, a "
    "curriculum) no longer reaches them, unless it is in shared memory."
)
