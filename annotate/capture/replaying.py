"""`replay`: loads batches in this process as worker 0 would, so that every stage of the pipeline shows in the trace."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from annotate.capture.isolated import isolated_copy
from annotate.capture.profiling import Profile
from annotate.capture.random_state import Snapshot
from annotate.capture.single_samples import Captured, SampleLoads, check_indices, to_compare
from annotate.hooks.collating import Collate
from annotate.needs_torch import need_torch
from annotate.options import CaptureOptions, Lines, absolute
from annotate.saying import in_short, shown
from annotate.trace import writer
from annotate.trace_format import PipelineMetadata

if TYPE_CHECKING:
    from torch.profiler import ProfilerAction

HOW_IT_DIFFERS: Final = (
    "A replay loads the batches one after the other in the main process with one torch thread and no training step: "
    "trust the shares of the stages, not the wall-clock time; several workers run side by side, compete for CPUs and "
    "disk, and pass each batch through shared memory, and files read before may come from the page cache."
)

NOT_ISOLATED: Final = (
    "The dataset cannot be pickled, so the replay shares its inner objects: their state, such as random "
    "generators or caches, goes on from where the replay left it."
)

_NEEDED: Final = ("dataset", "collate_fn", "num_workers", "sampler", "batch_sampler", "generator", "worker_init_fn")


def replay(
    loader: Any,
    logdir: str | os.PathLike[str],
    batches: int = 16,
    *,
    indices: Iterable[int] | None = None,
    progress: bool = True,
    lines: Lines = True,
) -> str:
    """Load the next `batches` batches of `loader` with zero workers, record every stage, and return the trace's path.

    The batches are those that ``iter(loader)`` would give now, in that order, prepared as worker 0 of the loader would
    prepare them: its seed, its worker info, ``worker_init_fn``, one torch thread, its shard of an iterable dataset.
    Settings that zero workers refuse are dropped. The loader and the program's random state are left as they were.
    Each batch is a profiler step.

    Args:
        loader: a DataLoader, annotated or not.
        logdir: folder of the run; created when it does not exist.
        batches: how many to load; fewer when the loader has fewer.
        indices: load these samples of the dataset instead, one after the other, each for about a second, with its files
            in the page cache and once with them from storage. The report says for each why it was slow.
        progress: say on stderr how a replay differs, and on a terminal show how far it is.
        lines: as of `profile`.

    Raises:
        TypeError: `loader` is no DataLoader.
        ValueError: `batches` is not positive, the loader gives no batch, or the dataset has no such sample.
        OSError: the folder cannot be written.
        RuntimeError: another capture is running.
        Exception: whatever the dataset raises, unchanged.
    """
    need_torch("replay")
    if indices is not None:
        return replay_samples(loader, logdir, dict.fromkeys(indices, Captured()), progress=progress, lines=lines)
    _check(loader)
    if batches < 1:
        raise ValueError(f"batches must be at least 1, not {batches}")
    return _recorded(loader, _options(logdir, batches, lines), None, progress)


def replay_samples(
    loader: Any,
    logdir: str | os.PathLike[str],
    samples: Mapping[int, Captured],
    usual: Iterable[int] = (),
    *,
    progress: bool = True,
    lines: Lines = True,
) -> str:
    """`replay` of single samples.

    Args:
        samples: dataset index -> what the capture says that it was named from.
        usual: dataset indices of samples that took there what most do: what they take alone is to be known too.

    Raises: as `replay`.
    """
    _check(loader)
    if _is_iterable(loader):
        raise TypeError(
            f"annotate.replay(indices=...): {type(loader.dataset).__name__} is iterable, so its samples have no index. "
            "Replay whole batches (batches=16)"
        )
    check_indices(samples, loader.dataset)
    others = to_compare(usual, samples, loader.dataset)
    loads = SampleLoads(list(samples.items()), others, in_batches=loader.batch_sampler is not None)
    return _recorded(loader, _options(logdir, len(loads), lines), loads, progress)


def _check(loader: Any) -> None:
    missing = [name for name in _NEEDED if not hasattr(loader, name)]
    if missing:
        raise TypeError(
            f"annotate.replay takes a torch DataLoader, not {in_short(loader)}, which has no "
            f"{', '.join(missing)}. Pass the DataLoader that your loop iterates"
        )


def _options(logdir: str | os.PathLike[str], batches: int, lines: Lines) -> CaptureOptions:
    return CaptureOptions(logdir=absolute(logdir), wait=0, warmup=0, active=batches, mode="replay", lines=lines)


def _recorded(loader: Any, options: CaptureOptions, loads: SampleLoads | None, progress: bool) -> str:
    snapshot = Snapshot(loader)
    try:
        return _replay(loader, options, loads, progress)
    finally:
        snapshot.restore()


def _replay(loader: Any, options: CaptureOptions, loads: SampleLoads | None, progress: bool) -> str:
    base_seed, drawn = _next_indices(loader, options.fewest_recorded if loads is None else 0)
    indices = drawn if loads is None else loads
    count = options.fewest_recorded if indices is None else len(indices)
    if count == 0:
        raise _no_batch(loader)
    writer.check_writable(options.logdir)
    dataset, is_isolated = isolated_copy(loader.dataset)
    stand_in = _zero_worker_loader(loader, dataset, indices)
    notes = (HOW_IT_DIFFERS, *_left_out(loader), *(() if is_isolated else (NOT_ISOLATED,)))
    if progress:
        print(*map(shown, notes[:1]), *(() if is_isolated else (NOT_ISOLATED,)), sep="\n", file=sys.stderr)
    done = 0
    further = PipelineMetadata if loads is None else loads.record
    capture = Profile(options, schedule=_record_all(count), notes=notes, loaders=(loader,), further=further)
    try:
        with _as_worker(loader, stand_in.dataset, base_seed), capture as prof:
            if loader.worker_init_fn is not None:
                loader.worker_init_fn(0)
            for done in _progress(prof.steps(stand_in), count, show=progress and sys.stderr.isatty(), loads=loads):
                if done == count:  # before the step that would begin one step too many
                    break
            else:
                prof.leave_out_step()
    finally:
        if done == 0:  # a trace without a batch says nothing
            for path in capture.trace_files:
                Path(path).unlink(missing_ok=True)
    if done == 0:
        raise _no_batch(loader)
    return capture.trace_files[-1]


class NoBatchError(ValueError):
    """The loader has nothing to load."""


def _no_batch(loader: object) -> NoBatchError:
    return NoBatchError(f"annotate.replay: the {type(loader).__name__} gives no batch; is its dataset empty?")


def _is_iterable(loader: Any) -> bool:
    from torch.utils.data import IterableDataset

    return isinstance(loader.dataset, IterableDataset)


def _next_indices(loader: Any, batches: int) -> tuple[int, list[Any] | None]:
    """The base seed and the first batches of indices that ``iter(loader)`` would draw (None: an iterable dataset).

    In the order of torch's ``_BaseDataLoaderIter.__init__``: the sampler's iterator is made, the base seed is drawn,
    then the first batch is asked for. Running persistent workers keep their seed, and only the sampler starts again.
    """
    import torch

    auto_collation = loader.batch_sampler is not None
    sampler_iterator = None
    if not _is_iterable(loader):
        sampler_iterator = iter(loader.batch_sampler if auto_collation else loader.sampler)
    running = getattr(loader, "_iterator", None) if getattr(loader, "persistent_workers", False) else None
    base_seed = getattr(running, "_base_seed", None)
    if base_seed is None:
        base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
    return int(base_seed), None if sampler_iterator is None else list(islice(sampler_iterator, batches))


def _zero_worker_loader(loader: Any, dataset: Any, indices: list[Any] | SampleLoads | None) -> Any:
    """A loader of zero workers over `dataset`, a copy: its ``worker_init_fn`` and its transforms may change it."""
    import torch
    from torch.utils.data import DataLoader

    keywords: dict[str, Any] = {
        "collate_fn": _collate_of(loader),
        "pin_memory": bool(getattr(loader, "pin_memory", False)) and _has_accelerator(),
        "generator": torch.Generator(),  # so that iter() draws nothing from the seeded state
    }
    if indices is None:
        keywords["batch_size"] = loader.batch_size
        keywords["drop_last"] = bool(loader.drop_last)
    elif loader.batch_sampler is not None:
        keywords["batch_sampler"] = indices
    else:
        keywords["batch_size"] = None
        keywords["sampler"] = indices
    return DataLoader(dataset, num_workers=0, **keywords)


def _collate_of(loader: Any) -> Collate:
    function = loader.collate_fn
    return function if isinstance(function, Collate) else Collate(function)


def _has_accelerator() -> bool:
    import torch

    accelerator = getattr(torch, "accelerator", None)
    return bool(accelerator.is_available() if accelerator is not None else torch.cuda.is_available())


def _left_out(loader: Any) -> list[str]:
    """A sentence on the settings that zero workers refuse, if the loader has any."""
    settings = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout")
    had = [name for name in settings if getattr(loader, name, None)]
    if getattr(loader, "pin_memory", False) and not _has_accelerator():
        had.append("pin_memory")
    return [f"Left out, because it has no meaning here: {', '.join(had)}."] if had else []


def _record_all(count: int) -> Callable[[int], ProfilerAction]:
    from torch.profiler import ProfilerAction

    def schedule(step: int) -> ProfilerAction:
        if step < count - 1:
            return ProfilerAction.RECORD
        return ProfilerAction.RECORD_AND_SAVE if step == count - 1 else ProfilerAction.NONE

    return schedule


@contextmanager
def _as_worker(loader: Any, dataset: Any, base_seed: int) -> Generator[None, None, None]:
    """What ``torch.utils.data._utils.worker._worker_loop`` sets up for worker 0, undone afterwards.

    Random state is not put back here: the caller has a `Snapshot`.
    """
    import torch
    from torch.utils.data._utils import worker

    threads, info = torch.get_num_threads(), worker._worker_info
    torch.set_num_threads(1)
    random.seed(base_seed)
    torch.default_generator.manual_seed(base_seed)  # torch.manual_seed would reseed the devices of the program too
    numpy = sys.modules.get("numpy")
    generate = getattr(worker, "_generate_state", None)
    if numpy is not None and generate is not None:
        numpy.random.seed(generate(base_seed, 0))
    worker._worker_info = worker.WorkerInfo(
        id=0, num_workers=max(1, loader.num_workers), seed=base_seed, dataset=dataset
    )
    try:
        yield
    finally:
        worker._worker_info = info
        torch.set_num_threads(threads)


def _progress(batches: Iterable[object], total: int, *, show: bool, loads: SampleLoads | None) -> Iterator[int]:
    """Counts the batches from 1, drawing a bar on stderr: of `loads` how many samples are done."""
    begin = time.perf_counter()
    done = 0
    try:
        for done, _ in enumerate(batches, 1):
            if show:
                reached, of, what = (done, total, "batches") if loads is None else (*loads.reached, "samples")
                filled = 30 * reached // of
                rate = done / (time.perf_counter() - begin)
                bar = "#" * filled + "." * (30 - filled)
                print(f"\rreplay [{bar}] {reached}/{of} {what}, {rate:.1f} per s", end="", file=sys.stderr, flush=True)
            yield done
    finally:
        if show and done:
            print(file=sys.stderr)
