"""Where we fail on purpose. The one place that knows names of annotate's insides: a name that is gone fails loudly."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, Final

from tests.harm.cells import Cell


class Fault(Exception):
    """A fault of ours."""


CAPTURE: Final = Cell("map", "ours", "after", marks="loader")
"""Records a loop without workers."""
STEPS: Final = Cell("map", "ours", "after", marks="steps")
WORKERS: Final = Cell("map_workers", "ours", "after", marks="loader")
ITERABLE: Final = Cell("iterable_workers", "ours", "after", marks="steps")
BESIDE: Final = Cell("map", "user_in_ours", "record", marks="loader")
PARTS: Final = Cell("map", "ours", "after", marks="parts")
MONITOR: Final = Cell("map", "monitor", marks="steps")
MONITORED_WORKERS: Final = Cell("map_workers", "monitor", marks="steps")

_WHERE: Final[dict[str, tuple[Cell, tuple[str, ...]]]] = {
    "marking": (
        PARTS,
        (
            "_registry:register",
            "_stage:stage.__enter__",
        ),
    ),
    "beginning and ending": (
        CAPTURE,
        (
            "_session:Session.begin",
            "_session:Session.end",
            "_session:Session.refresh",
            "_session:Session._time",
            "_session:Session.describe_loaders",
            "_session:Session.what_is_missing",
            "_session:_install_process_start",
            "_spans:load_marker",
            "_spans:hand_out",
            "_patching:Patches.follow",
            "_patching:Patches._replace",
            "_patching:Patches.set_attribute",
            "_patching:Patches.set_global",
            "_timed:replacement",
            "_decoders:install",
            "_decoders:_install_pil",
            "_files:install",
            "_dataset:time_dataset",
            "_compose:time_transform",
            "_compose:time_held",
            "_loader:time_loader",
            "_loader:describe",
            "_torch_profiler:another_is_open",
            "_torch_profiler:results_are_whole",
            "_torch_profiler:OtherProfilers.install",
            "_profile:Profile._advance",
            "_profile:Profile._follow_schedule",
            "_profile:Profile._close_window",
            "_profile:Profile.save",
            "_profile:_cost_of_a_marker_us",
            "_clock:Anchors.begin",
            "_clock:Anchors.end",
            "_clock:Anchors.clock",
            "_ledger:Ledger.open",
            "_ledger:Ledger.close",
            "_ledger:Ledger.args_of",
            "_sampler:HostSampler.start",
            "_sampler:HostSampler.stop",
            "_sampler:HostSampler._run",
            "_sampler:take",
            "_sampler:counter_events",
            "_host:describe_host",
            "_host:host_name",
            "_writer:check_writable",
            "_writer:write_trace",
            "_writer:_gzip",
            "_merge:WorkerRows.read",
            "_merge:WorkerRows.events",
            "_merge:WorkerRows.notes",
        ),
    ),
    "steps": (
        STEPS,
        (
            "_session:Session.step_by",
            "_profile:_span",
            "_profile:Profile.leave_out_last_step",
        ),
    ),
    "while it records": (
        CAPTURE,
        (
            "_recorder:size_of",
            "_recorder:_read_cpu",
            "_decoders:_is_decoded",
            "_files:_wrap",
        ),
    ),
    "another profiler": (
        BESIDE,
        (
            "_profile:Profile.window_lost",
            "_torch_profiler:OtherProfilers._beginning",
            "_torch_profiler:OtherProfilers._ending",
        ),
    ),
    "following workers": (
        WORKERS,
        (
            "_workers:WorkerCapture.begin",
            "_workers:WorkerCapture.end",
            "_workers:WorkerCapture.open_window",
            "_workers:WorkerCapture.close_window",
            "_workers:WorkerCapture.hook_for_the_session",
            "_workers:WorkerCapture.pids",
            "_workers:WorkerCapture.why_lost",
            "_workers:WorkerCapture._follow",
            "_workers:WorkerCapture._can_follow",
            "_workers:WorkerCapture._hooks",
            "_workers:workers_are_threads",
            "_spool:Spool.__init__",
            "_spool:Spool.open_window",
            "_spool:Spool.close_window",
            "_spool:Spool.in_work",
            "_spool:Spool.clear",
            "_spool:Spool.remove",
            "_batches:Batches.arrive",
            "_batches:Batches.close",
            "_batches:Batches.take_note",
            "_batches:Batches.forget",
            "_batches:Iteration.draw",
            "_batches:Iteration.arrive",
            "_batches:Iteration.consume",
            "_batches:TaggingIterator.__init__",
            "_parcel:Tagged.__init__",
            "_patching:Patches.without_globals",
            "_merge:read_worker_file",
            "_merge:WorkerRows._spans",
            "_merge:WorkerRows._arrows",
        ),
    ),
    "in a worker": (
        ITERABLE,
        (
            "_worker:begin",
            "_worker:Worker.__init__",
            "_worker:Worker.poll",
            "_worker:Worker._open",
            "_worker:Worker.still_on",
            "_worker:Worker._close",
            "_worker:Worker.begin",
            "_worker:Worker.finish",
            "_worker:Worker._cost",
            "_worker:Worker._flush",
            "_parcel:Parcel.__init__",
            "_spool:view_control",
            "_spool:StateFile.__init__",
            "_spool:StateFile.write",
            "_spool:SpoolFile.__init__",
            "_spool:SpoolFile.write_names",
            "_spool:SpoolFile.write",
            "_costs:Meter.__init__",
            "_costs:Meter.begin",
            "_costs:between",
            "_host:library_threads",
            "_recorder:attach",
            "_recorder:cost_ns",
            "_recorder:take_rows",
            "_patching:Patches.make_methods_again",
            "_patching:Patches.set_globals_again",
        ),
    ),
    "monitor": (
        MONITOR,
        (
            "_monitor:Monitor.follow",
            "_monitor:Monitor.stop",
            "_monitor:_find",
            "_monitor:_install",
            "_monitor:_time",
            "_monitor:_hooked",
            "_watch:Lines.measures",
            "_watch:Lines.add",
            "_watch:Lines.format",
            "_watch:print_line",
            "_watch:Watching.__init__",
            "_watch:Watching.consume",
            "_watch:Watch._measured",
            "_tally:start",
            "_tally:stop",
            "_tally:hook",
            "_tally:hooks",
        ),
    ),
    "monitor with workers": (
        MONITORED_WORKERS,
        (
            "_watch:Watching.send",
            "_watch:Watching.receive",
            "_watch:_arrived",
            "_tally:begin",
            "_tally:Worker.__init__",
            "_tally:Worker.begin",
            "_tally:Worker.finish",
            "_tally:Watched.__init__",
            "_tally:Tallied.__init__",
        ),
    ),
}
"""By what the program is doing: a cell in which each of the functions is called, and the functions, by their module in
annotate. Each stands for a hook: it raises at every call. Those that call the user's code in the place of the user are
left out: they could not fail before without the user's code being left out too."""

INTERRUPTED: Final = (
    "_session:Session.begin",
    "_session:Session.end",
    "_patching:Patches.follow",
    "_torch_profiler:OtherProfilers.install",
    "_profile:Profile._advance",
    "_profile:Profile._close_window",
    "_writer:write_trace",
    "_merge:WorkerRows.read",
    "_sampler:HostSampler.start",
    "_workers:WorkerCapture._follow",
    "_workers:WorkerCapture.open_window",
    "_spool:Spool.__init__",
    "_spool:Spool.remove",
    "_monitor:Monitor.follow",
    "_watch:Lines.add",
)
"""Where Ctrl-C comes as well."""

FAULTS: Final[dict[str, Cell]] = {name: cell for cell, names in _WHERE.values() for name in names}


def install(name: str, *, interrupted: bool, marker: str) -> None:
    """Have a function of ours raise from now on, in this process and those forked by it.

    Args:
        name: of `FAULTS`.
        interrupted: Ctrl-C comes while the function runs, once; otherwise it raises a `Fault`, at each call.
        marker: a file that is there when it has happened.
    """
    owner, attribute, function = find(name)

    def failing(*args: Any, **kwargs: Any) -> Any:
        if interrupted:
            if not os.path.exists(marker):  # noqa: PTH110
                os.close(os.open(marker, os.O_CREAT | os.O_WRONLY))
                raise KeyboardInterrupt
            return function(*args, **kwargs)
        os.close(os.open(marker, os.O_CREAT | os.O_WRONLY))
        raise Fault("on purpose")

    replacement = wraps(function)(failing) if isinstance(function, Callable) else failing  # type: ignore[arg-type]
    if isinstance(owner, type):
        setattr(owner, attribute, replacement)
        return
    for module in list(sys.modules.values()):  # wherever it has been imported by name
        if module.__name__.partition(".")[0] == "annotate" and vars(module).get(attribute) is function:
            setattr(module, attribute, replacement)


def find(name: str) -> tuple[Any, str, Callable[..., Any]]:
    """Who has the function, by which name, and the function itself.

    Raises:
        LookupError: there is none of this name any more.
    """
    module_name, _, path = name.partition(":")
    try:
        owner: Any = import_module(f"annotate.{module_name}")
        *parents, attribute = path.split(".")
        for parent in parents:
            owner = vars(owner)[parent]
        return owner, attribute, vars(owner)[attribute]
    except (ImportError, KeyError) as error:
        raise LookupError(
            f"annotate.{name} is gone ({type(error).__name__}: {error}): name what has taken its place in {__file__}"
        ) from None
