"""A large Kineto trace out of a small real one, by repeating its window along the time axis.

python benchmarks/grow_trace.py SMALL.json.gz BIG.json.gz COPIES
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any


def grow(small: Path, big: Path, copies: int) -> None:
    """Copy k is shifted by k windows; step numbers, correlations and flow ids go on counting. Metadata stand once."""
    trace = json.loads(gzip.decompress(small.read_bytes()))
    events = trace.pop("traceEvents")
    timed = [event for event in events if event.get("ph") != "M" and "ts" in event]
    spans = [event for event in timed if event["ph"] == "X" and event.get("cat") not in ("Trace", "overhead")]
    period = max(event["ts"] + event["dur"] for event in spans) - min(event["ts"] for event in spans) + 100
    ids = [event.get("id", 0) for event in timed] + [event.get("args", {}).get("correlation", 0) for event in timed]
    id_period = 1 + max(one for one in ids if isinstance(one, int))
    with gzip.open(big, "wt", compresslevel=1) as file:
        file.write(json.dumps(trace)[:-1] + ', "traceEvents": [\n')
        file.write(",\n".join(json.dumps(event) for event in events if event.get("ph") == "M"))
        for copy in range(copies):
            file.write(",\n" + ",\n".join(json.dumps(moved(event, copy, period, id_period)) for event in timed))
        file.write("\n]}\n")


def moved(event: dict[str, Any], copy: int, period: float, id_period: int) -> dict[str, Any]:
    event = event | {"ts": event["ts"] + copy * period}
    name = str(event.get("name"))
    if name.startswith("ProfilerStep#"):
        event["name"] = f"ProfilerStep#{int(name[13:]) + 1000 * copy}"
    if isinstance(event.get("args", {}).get("correlation"), int):
        event["args"] = event["args"] | {"correlation": event["args"]["correlation"] + copy * id_period}
    if isinstance(event.get("id"), int):
        event["id"] += copy * id_period
    return event


if __name__ == "__main__":
    grow(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
