"""Short programs with us in them, each for one row of the table of harm. Run in a process of its own; returns facts."""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.autograd.profiler
import torch.profiler
from torch.profiler import ProfilerActivity, record_function, tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset

from tests.harm.user_code import ThreadContext

Facts = dict[str, Any]


class Numbers(Dataset[int]):
    """Its items are its indices."""

    def __init__(self, size: int = 20) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        return self.work(index)

    def work(self, index: int) -> int:
        return index


class Warns(Numbers):
    """Warns at one place, at each item."""

    def work(self, index: int) -> int:
        warnings.warn("user: an item", UserWarning, stacklevel=1)
        return index


def counted(record: list[warnings.WarningMessage]) -> list[list[str]]:
    return [[one.category.__name__, str(one.message)] for one in record]


def load(path: Path | str) -> Facts:
    text = Path(path).read_bytes()
    return json.loads(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text)  # type: ignore[no-any-return]


def rows(path: Path | str) -> Facts:
    """What a trace file has of ours."""
    trace = load(path)
    names = [str(event.get("name")) for event in trace["traceEvents"] if event.get("ph") == "X"]
    return {
        "samples": sum(name.startswith("sample::") for name in names),
        "steps": sorted({name for name in names if name.startswith("ProfilerStep#")}),
        "waits": sum(name.startswith(("wait::", "enumerate(DataLoader)")) for name in names),
        "record": "dataPipeline" in trace,
        "user's": names.count("user::body"),
    }


def said(action: Callable[[], object]) -> list[str] | None:
    """The type and text of what `action` raises."""
    try:
        action()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def the_handler_of_tensorboard(folder: Path, workers: int) -> Facts:
    """on_trace_ready writes its file beside ours; then the program exports once more."""
    import annotate

    loader = annotate.loader(DataLoader(Numbers(), batch_size=2, num_workers=workers))
    handler = tensorboard_trace_handler(str(folder / "theirs"))
    seen = []
    with annotate.profile(folder / "ours", wait=1, warmup=1, active=3, on_trace_ready=handler) as prof:
        for batch in prof.steps(loader):
            seen.append(batch.tolist())
            with record_function("user::body"):
                torch.ones(2).sum()
    return {
        "batches": seen,
        "ours": [rows(path) for path in prof.trace_files],
        "theirs": [rows(path) for path in (folder / "theirs").iterdir()],
        "further export": said(lambda: prof.export_chrome_trace(str(folder / "further.json"))),
        "torch's own": _further_export(folder),
    }


def _further_export(folder: Path) -> list[str] | None:
    """What torch says of a second export where we have no part in it."""
    with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as prof:
        torch.ones(2).sum()
    prof.export_chrome_trace(str(folder / "first.json"))
    return said(lambda: prof.export_chrome_trace(str(folder / "second.json")))


def a_handler_that_raises(folder: Path) -> Facts:
    """An exception of the user's on_trace_ready is the user's."""
    import annotate

    def handler(prof: object) -> None:
        raise KeyError("user: handler")

    loader = DataLoader(Numbers(), batch_size=2)
    seen: list[Any] = []

    def loop() -> None:
        with annotate.profile(folder / "ours", wait=1, warmup=1, active=3, on_trace_ready=handler) as prof:
            seen.extend(batch.tolist() for batch in prof.steps(loader))

    return {"raised": said(loop), "batches": len(seen)}


def a_handler_that_looks_at_the_results(folder: Path) -> Facts:
    """key_averages and events in on_trace_ready, as torch's tutorial has it, without an export."""
    import annotate

    tables: list[list[int]] = []

    def handler(prof: Any) -> None:
        tables.append([len(prof.key_averages()), len(prof.events())])

    with annotate.profile(folder / "ours", wait=1, warmup=1, active=3, on_trace_ready=handler) as prof:
        for _ in prof.steps(DataLoader(Numbers(), batch_size=2)):
            torch.ones(2).sum()
    return {"tables": tables, "ours": [rows(path) for path in prof.trace_files]}


def once_per_place(folder: Path, workers: int) -> Facts:
    """A hundred steps with two places that warn at each."""
    import annotate

    loader = annotate.loader(DataLoader(Warns(100), batch_size=1, num_workers=workers))
    with warnings.catch_warnings(record=True) as record:
        warnings.resetwarnings()
        with annotate.profile(folder / "ours", wait=10, warmup=10, active=20, repeat=2) as prof:
            for _ in prof.steps(loader):
                warnings.warn("user: a step", UserWarning, stacklevel=1)
    texts = [text for _, text in counted(record)]
    return {text: texts.count(text) for text in ("user: a step", "user: an item")}


def once_per_place_by_step(folder: Path) -> Facts:
    """The same in a loop that calls step itself, over a monitored loader."""
    import annotate

    loader = annotate.loader(DataLoader(Warns(100), batch_size=1))
    with warnings.catch_warnings(record=True) as record, open("/dev/null", "w") as null:
        warnings.resetwarnings()
        annotate.monitor(loader, every=2, file=null)
        for _ in loader:
            warnings.warn("user: a step", UserWarning, stacklevel=1)
        with annotate.profile(folder / "ours", wait=1, warmup=1, active=20, repeat=2) as prof:
            for _ in loader:
                warnings.warn("user: a later step", UserWarning, stacklevel=1)
                prof.step()
        annotate.monitor(loader, every=0)
    texts = [text for _, text in counted(record)]
    return {text: texts.count(text) for text in ("user: a step", "user: a later step", "user: an item")}


def thread_workers(folder: Path, workers: int, how: str) -> Facts:
    """Twenty batches from workers that are threads."""
    import annotate

    context = ThreadContext()
    loader = DataLoader(Numbers(), batch_size=1, num_workers=workers, multiprocessing_context=context)
    seen: list[int] = []
    if how == "monitor":
        with open("/dev/null", "w") as null:
            annotate.monitor(loader, every=2, file=null)
            seen += [int(batch) for batch in loader]
            annotate.monitor(loader, every=0)
    else:
        annotate.loader(loader)
        with annotate.profile(folder / "ours", wait=1, warmup=1, active=5) as prof:
            seen += [int(batch) for batch in prof.steps(loader)]
    return {
        "batches": seen,
        "sampler": type(loader.batch_sampler).__name__,
        "ours": [type(x).__name__ for x in seen[:1]],
    }


def _wrong(folder: Path) -> dict[str, Callable[[], object]]:
    import annotate

    def steps(thing: Any) -> Callable[[], object]:
        def enter() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with annotate.profile(folder / "ours") as prof:
                    prof.steps(thing)

        return enter

    loader: Any = DataLoader(Numbers())
    wrong: Any = 5
    return {
        "prof.steps(5)": steps(5),
        "prof.steps(None)": steps(None),
        "annotate.dataset(42)": lambda: annotate.dataset(42),
        "annotate.dataset(None)": lambda: annotate.dataset(None),
        "annotate.dataset(loader)": lambda: annotate.dataset(loader),
        "annotate.loader(object())": lambda: annotate.loader(object()),
        "annotate.loader(dataset)": lambda: annotate.loader(Numbers()),
        "annotate.loader(None)": lambda: annotate.loader(None),
        "annotate.compose(5)": lambda: annotate.compose(wrong),
        "annotate.compose([5])": lambda: annotate.compose([wrong]),
        "annotate.collate(5)": lambda: annotate.collate(wrong),
        "annotate.monitor(object())": lambda: annotate.monitor(object()),
        "annotate.replay(object())": lambda: annotate.replay(object(), folder / "ours"),
    }


def wrong_arguments(folder: Path) -> Facts:
    """What each call with a wrong argument raises."""
    return {call: said(action) for call, action in _wrong(folder).items()}


def things_that_work(folder: Path) -> Facts:
    """Loops over other things than loaders, which prof.steps takes."""
    import annotate

    def generator() -> Iterator[int]:
        yield from range(8)

    facts: Facts = {}
    for name, thing in {"list": list(range(8)), "generator": generator(), "range": range(8)}.items():
        with annotate.profile(folder / name, wait=1, warmup=1, active=3) as prof:
            facts[name] = list(prof.steps(thing))
    return facts


class Wrapped(DataLoader[Any]):
    """A loader that makes another dataset of the one that it is given, as HF's Trainer does to drop columns."""

    def __init__(self, dataset: Numbers, **keywords: Any) -> None:
        super().__init__(Renamed(dataset), **keywords)


class Renamed(Dataset[int]):
    """Keeps the items, not the dataset."""

    def __init__(self, dataset: Numbers) -> None:
        self.items = [dataset[index] for index in range(len(dataset))]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> int:
        return self.items[index]


def words(folder: Path, what: str) -> Facts:
    """What we say of a capture that lacks something, at the time of capture."""
    import annotate

    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        kept: Any = annotate.dataset(Numbers()) if what.startswith("a dataset") else None
        makers: dict[str, Callable[[], Any]] = {
            "a dataset that is not in the loop": lambda: Wrapped(kept, batch_size=2),
            "no marker": lambda: DataLoader(Numbers(), batch_size=2),
        }
        loader = makers[what]()
        with annotate.profile(folder / "ours", wait=1, warmup=1, active=8) as prof:
            for _ in loader:
                prof.step()
        notes = [note for path in prof.trace_files for note in load(path)["dataPipeline"]["notes"]]
    return {"warnings": [text for _, text in counted(record) if "annotate" in text], "notes": notes}


def an_unscheduled_profiler(folder: Path, order: str) -> Facts:
    """The user's profiler records from entering to leaving; ours comes or goes before or after."""
    import annotate

    user = torch.profiler.profile(activities=[ProfilerActivity.CPU])
    ours = annotate.profile(folder / "ours", wait=1, warmup=1, active=3)
    return {"refused": _together(user, ours, order), "exported": _exported(user, folder)}


def a_profiler_of_autograd(folder: Path, order: str) -> Facts:
    """The same with the profiler that torch.profiler is made of."""
    import annotate

    user = torch.autograd.profiler.profile(use_kineto=True)
    ours = annotate.profile(folder / "ours", wait=1, warmup=1, active=3)
    return {"refused": _together(user, ours, order), "exported": _exported(user, folder)}


def _exported(user: Any, folder: Path) -> Any:
    user.export_chrome_trace(str(folder / "user.json"))
    return rows(folder / "user.json")["user's"]


def _together(user: Any, ours: Any, order: str) -> list[str] | None:
    """`order` is of four letters: u and o for the user's and ours; capitals enter, small ones leave."""
    refused = None
    is_in = False
    for letter in order:
        match letter:
            case "U":
                user.__enter__()
            case "u":
                user.__exit__(None, None, None)
            case "O":
                try:
                    ours.__enter__()
                    is_in = True
                except RuntimeError as error:
                    refused = [type(error).__name__, str(error)]
            case "o" if is_in:
                ours.__exit__(None, None, None)
                is_in = False
        for _ in range(3):
            with record_function("user::body"):
                torch.ones(2).sum()
            if is_in:
                ours.step()
    return refused


def importing(folder: Path) -> Facts:
    """What an import of annotate changes; runs where it has not been imported."""
    from tests.harm import world

    before = world.look()
    assert "annotate" not in sys.modules
    import annotate

    for name in annotate.__all__:
        getattr(annotate, name)
    return {"changes": world.changes(before, world.look())}
