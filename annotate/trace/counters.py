"""Samples of the host as counter events of the trace."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from annotate.host.sampler import Sample
from annotate.trace.clock import Clock

_CATEGORY: Final = "host"
_quoted: Final = lru_cache(maxsize=256)(json.dumps)


def counter_events(samples: Iterable[Sample], clock: Clock, thread: tuple[int, int]) -> bytes:
    """The events as JSON text, each with a comma behind it."""
    texts = []
    head, place = f'{{"ph":"C","cat":"{_CATEGORY}","name":', f'"pid":{thread[0]},"tid":{thread[1]}'
    for sample in samples:
        ts = clock.ts_ns(sample.time)
        args = ", ".join([f"{_quoted(series)}: {round(value, 3)!r}" for series, value in sample.values.items()])
        texts.append(
            f'{head}{_quoted(sample.counter)},{place},"ts":{ts // 1000}.{ts % 1000:03d},"args":{{{args}}}}},\n'
        )
    return "".join(texts).encode()
