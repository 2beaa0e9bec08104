"""Where we fail on purpose. The one place that knows names of annotate's insides: a name that is gone fails loudly.

Functions that keep their own faults in (`saying.guard` around their body) are not replaced whole: that would take the
guard away with them. Their steps are.
"""

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
STANDING: Final = Cell("map", "user", marks="loader")
STANDING_WORKERS: Final = Cell("map_workers", "user", marks="loader")
AUTO: Final = Cell("map", "user", marks="auto")
LAUNCHED: Final = Cell("map", "none", marks="run")
LAUNCHED_BESIDE: Final = Cell("map", "user", marks="run")
WATCH: Final = Cell("map", "none", marks="watch")
WATCHED_WORKERS: Final = Cell("map_workers", "none", marks="watch")
MONITOR: Final = Cell("map", "monitor", marks="steps")
MONITORED_WORKERS: Final = Cell("map_workers", "monitor", marks="steps")

WHERE: Final[dict[str, tuple[Cell, tuple[str, ...]]]] = {
    "marking": (PARTS, ("hooks.marked:_reference",)),
    "beginning and ending": (
        CAPTURE,
        (
            "capture.session:Session.begin",
            "capture.session:Session.refresh",
            "capture.session:Session._time",
            "host.garbage:start",
            "host.garbage:total_ns",
            "capture.session:Session.describe_loaders",
            "capture.session:Session.unread",
            "capture.session:_install_process_start",
            "recording.switch:load_marker",
            "hooks.patching:Patches.follow",
            "hooks.patching:Patches.set_attribute",
            "hooks.patching:Patches.set_global",
            "hooks.stand_ins:replacement",
            "hooks.readers:install",
            "hooks.readers:_install",
            "hooks.readers.registered:hooks",
            "hooks.readers.timing:replacement_of",
            "hooks.patching:Patches.add_home",
            "hooks.patching:Patches.watch",
            "hooks.patching:_parts",
            "hooks.held:time_functions",
            "hooks.hugging_face:time_functions",
            "hooks.datasets:time_dataset",
            "hooks.transforms:time_transform",
            "hooks.loaders:time_loader",
            "hooks.loaders:describe",
            "capture.torch_profiler:another_is_open",
            "capture.torch_profiler:results_are_whole",
            "capture.torch_profiler:OtherProfilers.install",
            "capture.profiling:Profile._advance",
            "capture.profiling:Profile._follow_schedule",
            "capture.profiling:Profile._close_window",
            "capture.profiling:Profile.save",
            "recording.training_thread:cost_of_a_marker_us",
            "recording.operator_cost:_probe",
            "trace.clock:Anchors.begin",
            "trace.clock:Anchors.end",
            "trace.clock:Anchors.clock",
            "recording.training_thread:Ledger.open",
            "recording.training_thread:Ledger.rows",
            "trace.arguments:Arguments.of",
            "host.sampler:HostSampler.start",
            "host.sampler:HostSampler._sample",
            "host.sampler:take",
            "host.interpreter_lock:address",
            "host.watcher_process:WatcherProcess.__init__",
            "host.watching:Watch._next",
            "host.watcher_process:WatcherProcess.ask",
            "host.watcher_process:WatcherProcess.written",
            "host.watching:Watch._watch_beside",
            "host.watcher_process:WatcherProcess._start",
            "host.watcher_process:WatcherProcess.end",
            "trace.thread_states:thread_samples",
            "trace.stacks:line_samples",
            "recording.definitions:places",
            "recording.definitions:_code_of",
            "trace.counters:counter_events",
            "host.facts:describe_host",
            "trace.writer:check_writable",
            "trace.writer:write_trace",
            "trace.merge:WorkerRows.read",
            "trace.merge:WorkerRows.events",
            "recording.training_thread:Ledger._pack",
            "recording.training_thread:Ledger._costs",
        ),
    ),
    "steps": (
        STEPS,
        ("capture.session:Session.step_by", "hooks.wrappers:path_to_loaders", "capture.handing_over:cost_of"),
    ),
    "while it records": (
        CAPTURE,
        (
            "recording.sizes:size_of",
            "recording.span_recorder:read_cpu",
            "hooks.readers.files:_wrap",
        ),
    ),
    "another profiler": (
        BESIDE,
        (
            "capture.profiling:Profile.window_lost",
            "capture.torch_profiler:OtherProfilers._beginning",
            "capture.torch_profiler:OtherProfilers._ending",
        ),
    ),
    "following workers": (
        WORKERS,
        (
            "workers.capturing:WorkerCapture.open_window",
            "workers.capturing:WorkerCapture.close_window",
            "workers.capturing:WorkerCapture.hook_for_the_capture",
            "workers.capturing:WorkerCapture.wants",
            "workers.capturing:WorkerCapture.place",
            "workers.capturing:WorkerCapture.accepts",
            "workers.capturing:WorkerCapture.listener",
            "host.watching:tracer",
            "workers.capturing:WorkerCapture.begun",
            "workers.passes:Passes.begun",
            "workers.capturing:WorkerCapture.pids",
            "capture.session:Session.forks_workers",
            "workers.capturing:WorkerCapture.why_lost",
            "workers.following:_follow",
            "workers.following:_new_iteration",
            "workers.following:worker_hooks",
            "workers.spool:Spool.__init__",
            "workers.spool:Spool.open_window",
            "workers.spool:Spool.close_window",
            "workers.spool:Spool.clear",
            "workers.following:_arrived",
            "workers.capturing:Epoch.drawn",
            "workers.capturing:Epoch.arrived",
            "workers.capturing:Epoch.consumed",
            "workers.capturing:Batches.close",
            "workers.capturing:Batches.take_note",
            "workers.batches:Iteration.draw",
            "workers.batches:TaggingIterator.__init__",
            "workers.transport:Tagged.__init__",
            "hooks.patching:Patches.without_globals",
            "trace.worker_files:read_worker_files",
        ),
    ),
    "in a worker": (
        ITERABLE,
        (
            "workers.worker_side:begin",
            "workers.worker_side:Worker.__init__",
            "workers.spans_content:SpansContent.begin",
            "workers.spans_content:SpansContent.started",
            "workers.spans_content:SpansContent.finish",
            "workers.spans_content:SpansContent._start",
            "workers.spans_content:SpansContent._turn_to",
            "workers.spool:Ring.__init__",
            "workers.spool:Ring.file_for",
            "workers.spans_content:SpansContent.still_on",
            "workers.spans_content:SpansContent._write",
            "workers.spans_content:SpansContent._cost",
            "workers.worker_side:Worker.begin",
            "workers.worker_side:Worker.finish",
            "workers.transport:Parcel.__init__",
            "workers.spool:view_control",
            "workers.spool:StateFile.__init__",
            "workers.spool:StateFile.write",
            "workers.spool:SpoolFile.__init__",
            "workers.spool:SpoolFile.write",
            "host.meter:Meter.begin",
            "host.meter:between",
            "host.facts:library_threads",
            "recording.span_recorder:attach",
            "recording.span_recorder:cost_ns",
            "recording.span_recorder:take_rows",
            "hooks.patching:Patches._make_methods_again",
            "hooks.patching:Patches.set_globals_again",
        ),
    ),
    "under the user's profiler": (
        STANDING,
        (
            "capture.standing:Standing.install",
            "capture.standing:Standing.look_at",
            "capture.standing:Standing.prepare",
            "capture.standing:Standing.start",
            "capture.standing:Standing.stop",
            "capture.standing:Standing.keep",
            "capture.standing:Standing.merge",
            "capture.standing_session:StandingSession.begin",
            "capture.standing_session:StandingSession.describe_loaders",
            "capture.standing:names_handed_out",
            "capture.window:Window.__init__",
            "capture.window:Window.begin",
            "capture.window:Window.open",
            "capture.window:Window.close",
            "capture.window:Window.recorded",
            "capture.window:Recorded.metadata",
            "capture.missing:what_is_missing",
            "trace.writer:merge_trace",
            "workers.capturing:Snapshot.__init__",
            "workers.capturing:Batches.copy",
            "workers.standing:StandingWorkers.begin",
            "workers.standing:StandingWorkers.end",
            "workers.standing:StandingWorkers.describe",
            "workers.standing:StandingWorkers.open_window",
            "workers.standing:StandingWorkers.wants",
            "workers.standing:StandingWorkers.accepts",
            "workers.standing:StandingWorkers.listener",
            "workers.standing:StandingEpoch.drawn",
            "workers.loaders:Loaders.iterated",
            "workers.loaders:is_annotated",
            "recording.boundaries:Boundaries.open",
            "recording.boundaries:Boundaries.batch",
            "recording.boundaries:Boundaries.close",
            "recording.boundaries:Boundaries.found",
            "recording.optimizer_steps:remove_hook",
            "workers.following:hook_class",
        ),
    ),
    "under the user's profiler, with workers": (
        STANDING_WORKERS,
        (
            "workers.standing:StandingWorkers._made_spool",
            "workers.standing:StandingWorkers._let_go",
            "workers.standing:StandingEpoch.consumed",
            "workers.spool:Spool.keep",
            "workers.spool:Spool.arm",
            "workers.spool:Spool.rest",
            "workers.kept:Kept.files",
            "workers.transport:LeanParcel.__init__",
        ),
    ),
    "annotate.auto": (AUTO, ("workers.following:hook_all_classes",)),
    "under `tb-dataplugin run`": (
        LAUNCHED,
        (
            "launch.begin:_begin",
            "launch.begin:read_order",
            "launch.notes:Notes.write",
            "launch.waiting:Waiting.warm_up",
            "launch.recording:Recording._taken",
            "launch.recording:Recording._prepare",
            "launch.recording:Recording._warm_up",
            "launch.recording:Recording._is_enough",
            "launch.recording:activities_in_use",
            "launch.recording:settled",
            "trace.writer:pack_trace",
        ),
    ),
    "under `tb-dataplugin run`, beside a profiler of the program's": (
        LAUNCHED_BESIDE,
        ("launch.recording:Recording.window_lost", "launch.recording:Recording.wrote"),
    ),
    "monitor": (
        MONITOR,
        (
            "monitoring.monitor:Monitor.wants",
            "monitoring.monitor:Monitor.listener",
            "monitoring.monitor:Monitor.begun",
            "monitoring.monitor:Monitor.stop",
            "monitoring.monitor:_find",
            "workers.following:_install",
            "monitoring.next_calls:time_next",
            "monitoring.monitor:measuring",
            "monitoring.lines:Lines.add",
            "monitoring.lines:Lines.format",
            "monitoring.lines:print_line",
            "monitoring.lines:WatchedEpoch.__init__",
            "monitoring.lines:Watch._note",
            "recording.sums:start",
            "recording.sums:stop",
        ),
    ),
    "watch": (
        WATCH,
        (
            "whole_run.recorder:Recorder._header",
            "whole_run.recorder:Recorder._write_interval",
            "whole_run.follower:RunFollower.wants",
            "whole_run.follower:RunFollower.stop",
            "whole_run.iterating:RunIterator._came",
            "whole_run.iterating:RunIterator._came_none",
            "whole_run.tally:Tally.add_between",
            "whole_run.series:Series.measured",
            "recording.sums:samples",
            "host.lock_share:LockShare.begin",
            "host.lock_share:LockShare.turn",
            "host.lock_share:LockShare.end",
            "whole_run.machine:Machine.open",
            "whole_run.run_file:RunFile.add",
        ),
    ),
    "watch with workers": (
        WATCHED_WORKERS,
        (
            "whole_run.follower:RunFollower.place",
            "whole_run.recorder:Recorder._away",
            "whole_run.recorder:wait_until_gone",
            "whole_run.iterating:RunEpoch.arrived",
            "whole_run.lying_ready:counter_of",
            "recording.sums:attempts",
        ),
    ),
    "monitor with workers": (
        MONITORED_WORKERS,
        (
            "monitoring.monitor:Monitor.place",
            "monitoring.lines:WatchedEpoch.drawn",
            "monitoring.lines:WatchedEpoch.arrived",
            "monitoring.lines:WatchedEpoch.consumed",
            "workers.sums_content:SumsContent.__init__",
            "workers.sums_content:SumsContent.begin",
            "workers.sums_content:SumsContent.started",
            "workers.sums_content:SumsContent.finish",
        ),
    ),
}
"""By what the program is doing: a cell in which each of the functions is called, and the functions, by their module in
annotate. Each stands for a hook: it raises at every call. Those that call the user's code in the place of the user are
left out: they could not fail before without the user's code being left out too."""

INTERRUPTED: Final = (
    "capture.session:Session.begin",
    "hooks.patching:Patches.follow",
    "capture.torch_profiler:OtherProfilers.install",
    "capture.profiling:Profile._advance",
    "capture.profiling:Profile._close_window",
    "trace.writer:write_trace",
    "trace.merge:WorkerRows.read",
    "host.sampler:HostSampler.start",
    "host.watcher_process:WatcherProcess._start",
    "host.watcher_process:WatcherProcess.end",
    "workers.following:_follow",
    "workers.capturing:WorkerCapture.open_window",
    "workers.spool:Spool.__init__",
    "launch.waiting:Waiting.warm_up",
    "launch.recording:Recording._is_enough",
    "monitoring.monitor:Monitor.listener",
    "monitoring.lines:Lines.add",
)
"""Where Ctrl-C comes as well."""

FAULTS: Final[dict[str, Cell]] = {name: cell for cell, names in WHERE.values() for name in names}


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
