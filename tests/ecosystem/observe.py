"""Runs a library's loader in one of the ways that users combine it with annotate; notes what a user would notice."""

from __future__ import annotations

import builtins
import contextlib
import functools
import gc
import gzip
import io
import json
import multiprocessing
import os
import random
import re
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

import annotate
from annotate.trace_format import parse_span_name

WAYS = ("annotated", "loop", "steps", "monitor")
"""Only annotated; recorded with ``prof.step()``, with ``prof.steps(loader)``; watched."""


@dataclass
class Seen:
    batches: list[Any] | None = field(default_factory=list)
    random: list[str] | None = None
    warnings: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    """Our own warnings."""
    refused: str = ""
    """What the TypeError of an annotate function says."""
    record: dict[str, Any] = field(default_factory=dict)
    """The trace's dataPipeline."""
    stages: Counter[str] = field(default_factory=Counter)
    lines: str = ""
    """What the monitor printed."""
    left_behind: Counter[str] = field(default_factory=Counter)
    count: int = 0


def observe(
    make: Callable[[], Any], way: str, folder: Path, batches: int | None = None, enough: Counter[str] | None = None
) -> Seen:
    """One epoch, or its first `batches`, over the loader that `make` builds."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    seen = Seen()
    with _noting_what_stays(seen, enough), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        loader = make()
        with contextlib.closing(_loop(loader, way, folder, seen)) as loop:
            for batch in islice(loop, batches):
                seen.batches.append(canonical(batch))
                seen.count += 1
        seen.random = [repr(torch.rand(1)), repr(random.random()), repr(np.random.rand())]
        del loop, loader
    for warning in caught:
        text = str(warning.message)
        if text.startswith("annotate"):
            seen.said.append(text)
        else:
            seen.warnings[f"{warning.category.__name__}: {text}"] += 1
    return seen


def _loop(loader: Any, way: str, folder: Path, seen: Seen) -> Iterator[Any]:
    if way == "plain":
        yield from loader
    elif way == "annotated":
        yield from _annotated(loader, seen)
    elif way == "monitor":
        yield from _monitored(loader, seen)
    else:
        yield from _recorded(loader, way, folder, seen)


def _annotated(loader: Any, seen: Seen) -> Any:
    try:
        same = annotate.loader(loader)
    except TypeError as error:
        seen.refused = str(error)
        return loader
    assert same is loader
    return same


def _monitored(loader: Any, seen: Seen) -> Iterator[Any]:
    out = io.StringIO()
    try:
        annotate.monitor(loader, every=2, file=out)
    except TypeError as error:
        seen.refused = str(error)
        yield from loader
        return
    try:
        yield from loader
    finally:
        annotate.monitor(loader, every=0)
        seen.lines = out.getvalue()


def _recorded(loader: Any, way: str, folder: Path, seen: Seen) -> Iterator[Any]:
    _annotated(loader, seen)
    with annotate.profile(folder, wait=1, warmup=1, active=4) as prof:
        if way == "steps":
            yield from prof.steps(loader)
        else:
            for batch in loader:
                yield batch
                prof.step()
    if prof.trace_files:
        with gzip.open(prof.trace_files[-1]) as file:
            trace = json.load(file)
        seen.record = trace["dataPipeline"]
        names = (str(event.get("name")) for event in trace["traceEvents"] if event.get("ph") == "X")
        seen.stages = Counter(name for name in names if parse_span_name(name))


@contextlib.contextmanager
def _noting_what_stays(seen: Seen, enough: Counter[str] | None) -> Iterator[None]:
    """What is there afterwards and was not before. What is not `enough` (what the library leaves itself) may take a
    second to go."""
    gc.collect()
    before = _surroundings()
    yield
    annotate.off()  # what stands until the process ends (`capture/standing`) is not left behind
    deadline = time.monotonic() + (0.1 if enough is None else 2)
    gc.collect()
    while (left := _surroundings() - before) - (enough or Counter()) and time.monotonic() < deadline:
        time.sleep(0.02)
        gc.collect()
    seen.left_behind = left


def _surroundings() -> Counter[str]:
    """Everything that a loop could leave in this process, as words."""
    found = [f"thread {re.sub('[0-9]+', '', thread.name)}" for thread in threading.enumerate()]
    found += ["child process" for _ in multiprocessing.active_children()]
    found += ["open file" for _ in os.listdir("/proc/self/fd")]  # noqa: PTH208
    found += [f"temporary {name}" for name in os.listdir(tempfile.gettempdir()) if f"annotate-{os.getpid()}-" in name]  # noqa: PTH208
    found += [f"open() is {open}", f"io.open() is {io.open}", f"warnings: {len(warnings.filters)}"]
    found += [f"torch threads: {torch.get_num_threads()}", f"profiling: {torch.autograd._profiler_enabled()}"]
    assert builtins.open is open
    return Counter(found)


def canonical(batch: Any) -> Any:
    """A batch as nested builtins that compare by value, and tell types apart."""
    kind = type(batch).__name__
    if isinstance(batch, torch.Tensor):
        return kind, str(batch.dtype), batch.detach().as_subclass(torch.Tensor).tolist()
    if isinstance(batch, np.ndarray):
        return kind, str(batch.dtype), batch.tolist()
    if isinstance(batch, Mapping):
        return kind, {key: canonical(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return kind, [canonical(value) for value in batch]
    if hasattr(batch, "to_dict"):
        return kind, canonical(batch.to_dict())
    return kind, batch


@functools.cache
def plainly(make: Callable[[], Any], batches: int | None = None) -> Seen:
    """Without us, twice: what differs between the two (random numbers of threads) is not compared, and None here."""
    first, plain = (observe(make, "plain", Path(), batches) for _ in range(2))
    assert plain.batches
    for name in ("batches", "random"):
        if getattr(first, name) != getattr(plain, name):
            setattr(plain, name, None)
    plain.left_behind |= first.left_behind
    return plain


def harms(plain: Seen, ours: Seen) -> list[str]:
    """What the user has otherwise than without us."""
    found = [
        f"{name}: {getattr(ours, name)} instead of {getattr(plain, name)}"
        for name in ("warnings", "random", "batches")
        if getattr(plain, name) not in (None, getattr(ours, name))
    ]
    if plain.count != ours.count:
        found.insert(0, f"{ours.count} of {plain.count} batches")
    return found + [f"left behind: {thing}" for thing in (ours.left_behind - plain.left_behind).elements()]


def clear(text: str, *words: str) -> None:
    """One line of ours, with these words."""
    assert "\n" not in text.strip()
    assert text.startswith("annotate"), text
    assert "nternal error" not in text, text
    assert len(text) < 400, text
    for word in words:
        assert word in text, f"{word!r} is not in {text!r}"


def harmless(
    make: Callable[[], Any], way: str, folder: Path, batches: int | None = None, *, races: bool = False
) -> Seen:
    """`make`'s loader plain and in one of `WAYS`: the same for the user. What was seen is returned for more.

    Args:
        races: threads of the loader's own draw global random numbers, so that two plain runs differ in them.
    """
    plain = plainly(make, batches)
    ours = observe(make, way, folder, batches, enough=plain.left_behind)
    found = [harm for harm in harms(plain, ours) if not (races and harm.startswith("random: "))]
    assert not found, "\n".join(harm[:600] for harm in found)
    return ours


def recorded(seen: Seen, *stages: str) -> None:
    """Of a way that records: there is a trace, with these stages."""
    assert seen.record, "no trace was written"
    assert not seen.refused
    missing = [stage for stage in stages if stage not in seen.stages]
    assert not missing, f"{missing} not among {sorted(seen.stages)}; notes: {seen.record['notes']}"


def take(loader: Iterable[Any], count: int) -> list[Any]:
    return list(islice(loader, count))
