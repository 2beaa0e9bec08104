"""Samples of the host as counter events of the trace."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from annotate.host.sampler import Sample
from annotate.trace.clock import Clock

_CATEGORY: Final = "host"


def counter_events(samples: Iterable[Sample], clock: Clock, thread: tuple[int, int]) -> bytes:
    """The events as JSON text, each with a comma behind it."""
    texts = []
    for sample in samples:
        ts = clock.ts_ns(sample.time)
        args = json.dumps({series: round(value, 3) for series, value in sample.values.items()})
        texts.append(
            f'{{"ph":"C","cat":"{_CATEGORY}","name":{json.dumps(sample.counter)},"pid":{thread[0]},"tid":{thread[1]},'
            f'"ts":{ts // 1000}.{ts % 1000:03d},"args":{args}}},\n'
        )
    return "".join(texts).encode()
