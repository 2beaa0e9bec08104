"""Which of some values stand out as the large ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def standing_out(values: Sequence[float]) -> list[int]:
    """Places of the larger ones, where the variance within larger and smaller ones is least (Otsu's threshold)."""
    if len(values) < 2:
        return []
    known = np.array(values, dtype=np.float64)
    order = np.argsort(-known, kind="stable")
    above, many = np.cumsum(known[order])[:-1], np.arange(1, len(known))
    between = many * (len(known) - many) * (above / many - (known.sum() - above) / (len(known) - many)) ** 2
    return sorted(order[: int(between.argmax()) + 1].tolist())
