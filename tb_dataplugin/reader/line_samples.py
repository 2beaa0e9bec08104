"""The stacks that were sampled, in the `dataPipeline` value of a trace."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
import numpy as np

from annotate.trace_format import LINES_VERSION, LINES_VERSION_NATIVE, THREAD_WAITS_FOR_LOCK, LineSampler
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.limits import MOST_LABEL, MOST_SAMPLED_NODES, MOST_SETTINGS, MOST_WORKERS
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.model.line_samples import Caller, Frame, LineSamples, NativeFacts, Origin, SampledStacks, Stacks
from tb_dataplugin.reader.decimals import LONGEST_NS

MOST_US: Final = 9e15
MOST_PATH: Final = 4096
_PACKAGES: Final = ("/site-packages/", "/dist-packages/", "\\site-packages\\")

Number = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
Index = Annotated[int, msgspec.Meta(ge=-1, lt=2**31)]
Time = Annotated[float, msgspec.Meta(ge=-MOST_US, le=MOST_US)]


class Frames(msgspec.Struct):
    function: list[Index] = []
    file: list[Index] = []
    line: list[Index] = []
    first: list[Index] = []
    source: list[Index] = []
    native: list[Index] = []


class Native(msgspec.Struct):
    samples: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] = 0
    joined: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] = 0
    cpu_us: Annotated[float, msgspec.Meta(ge=0, le=MOST_US)] = 0.0
    left_out: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] = 0
    why_not: tuple[str, ...] = ()


class Nodes(msgspec.Struct):
    parent: list[Index] = []
    frame: list[Index] = []


class Thread(msgspec.Struct):
    pid: Number
    tid: Number
    start_us: Time
    training: bool = False
    since_us: list[Annotated[int, msgspec.Meta(ge=0, le=10**12)]] = []
    stack: list[Index] = []
    state: list[Index] = []


class Lines(msgspec.Struct):
    version: int = LINES_VERSION
    sampler: LineSampler = "outside"
    names: list[str] = []
    frames: Frames = msgspec.field(default_factory=Frames)
    stacks: Nodes = msgspec.field(default_factory=Nodes)
    threads: tuple[Thread, ...] = ()
    holders: tuple[Thread, ...] = ()
    holder_names: tuple[str, ...] = ()
    clock_error_us: Annotated[float, msgspec.Meta(ge=0, le=MOST_US)] = 0.0
    cpu_us: Annotated[float, msgspec.Meta(ge=0, le=MOST_US)] | None = None
    unread: Number = 0
    left_out: Number = 0
    libraries: list[str] = []
    recorder: str = ""
    unseen: tuple[str, ...] = ()
    why_not: str = ""
    native: Native | None = None


class CallerRecord(msgspec.Struct):
    function: str
    file: str
    first: Number = 0
    generator: bool = True
    steps_inside: Number = 0
    steps: Number = 0


_NONE: Final = Stacks((), int64([]), int64([]))


def read_line_samples(lines: Lines, origin_ns: int, diagnostics: DiagnosticsCollector) -> LineSamples:
    """What does not fit together is left out, which is a diagnostic."""
    unseen = tuple(text[:MOST_PATH] for text in lines.unseen[:MOST_SETTINGS])
    if lines.version > LINES_VERSION_NATIVE:
        why = f"they have version {lines.version}, and this is {LINES_VERSION_NATIVE}: upgrade tb-dataplugin"
        return LineSamples(_NONE, (), why_not=why, unseen=unseen)
    if lines.why_not or not _is_tree(lines):
        if not lines.why_not:
            diagnostics.add("bad_line_samples", "The sampled stacks are not valid; the capture is read without them")
        return LineSamples(_NONE, (), why_not=lines.why_not[:MOST_PATH] or "they are not valid", unseen=unseen)
    nodes = len(lines.stacks.parent)
    whole = [thread for thread in lines.threads[:MOST_WORKERS] if _is_whole(thread, nodes, origin_ns)]
    if len(whole) < len(lines.threads):
        message = "Sampled stacks of a thread are not valid: columns differ in length, or name what is not there"
        diagnostics.add("bad_line_samples", message, len(lines.threads) - len(whole))
    return LineSamples(
        stacks=Stacks(tuple(_frames(lines)), int64(lines.stacks.parent), int64(lines.stacks.frame)),
        threads=tuple(_thread(thread, origin_ns) for thread in whole),
        holders={
            name[:MOST_LABEL]: _thread(holder, origin_ns)
            for name, holder in zip(lines.holder_names[:MOST_SETTINGS], lines.holders, strict=False)
            if _is_whole(holder, nodes, origin_ns)
        },
        is_outside=lines.sampler == "outside",
        clock_error_ns=round(lines.clock_error_us * 1e3),
        cost_ns=None if lines.cpu_us is None else round(lines.cpu_us * 1e3),
        unread=max(0, lines.unread),
        left_out=max(0, lines.left_out),
        unseen=unseen,
        native=None if lines.native is None else _native(lines.native),
    )


def _native(facts: Native) -> NativeFacts:
    reasons = tuple(why[:MOST_PATH] for why in facts.why_not[:MOST_SETTINGS])
    return NativeFacts(facts.samples, facts.joined, round(facts.cpu_us * 1e3), facts.left_out, reasons)


def read_caller(caller: CallerRecord) -> Caller:
    return Caller(
        caller.function[:MOST_LABEL],
        caller.file[:MOST_PATH],
        caller.first,
        caller.generator,
        caller.steps_inside,
        caller.steps,
    )


def _is_tree(lines: Lines) -> bool:
    """Whether every index is in its table, and every parent before its children: no stack goes round in a circle."""
    frames, nodes = lines.frames, lines.stacks
    columns = (frames.function, frames.file, frames.line, frames.first)
    if len({len(column) for column in columns}) != 1 or len(nodes.parent) != len(nodes.frame):
        return False
    if not nodes.parent or len(nodes.parent) > MOST_SAMPLED_NODES:
        return False
    parent, frame = int64(nodes.parent), int64(nodes.frame)
    named = int64([*frames.function, *frames.file])
    if len(frames.source) not in (0, len(frames.file)) or max(frames.source, default=-1) >= len(lines.names):
        return False
    return bool(
        (parent < np.arange(len(parent))).all()
        and (frame >= 0).all()
        and (frame < len(frames.function)).all()
        and (named >= 0).all()
        and (named < len(lines.names)).all()
    )


def _is_whole(thread: Thread, nodes: int, origin_ns: int) -> bool:
    if not thread.stack or not len(thread.stack) == len(thread.since_us) == len(thread.state):
        return False
    if abs(round(thread.start_us * 1e3) - origin_ns) + sum(thread.since_us) * 1000 > LONGEST_NS:
        return False
    return max(thread.stack) < nodes and max(thread.state) <= THREAD_WAITS_FOR_LOCK


def _frames(lines: Lines) -> list[Frame]:
    frames, names = lines.frames, lines.names
    folders = tuple(f"{folder.rstrip('/')}/" for folder in lines.libraries[:MOST_SETTINGS] if folder.strip("/"))
    recorder = f"{lines.recorder}/" if lines.recorder else "\0"
    origins: dict[str, Origin] = {name: _origin(name, folders, recorder) for name in {names[f] for f in frames.file}}
    sources, native = frames.source or [-1] * len(frames.file), frozenset(frames.native)
    columns = zip(frames.function, frames.file, frames.line, frames.first, sources, strict=True)
    return [
        Frame(
            function=names[function][:MOST_LABEL],
            file=names[file][:MOST_PATH],
            line=max(0, line),
            first=max(0, first),
            origin="native" if row in native else origins[names[file]],
            source=names[source][:MOST_LABEL] if source >= 0 else "",
        )
        for row, (function, file, line, first, source) in enumerate(columns)
    ]


def _origin(file: str, folders: tuple[str, ...], recorder: str) -> Origin:
    if file.startswith(recorder):
        return "recorder"
    installed = file.startswith((*folders, "<frozen ")) or any(part in file for part in _PACKAGES)
    return "library" if installed or not file else "user"


def _thread(thread: Thread, origin_ns: int) -> SampledStacks:
    start = round(thread.start_us * 1e3) - origin_ns
    return SampledStacks(
        pid=thread.pid,
        tid=thread.tid,
        is_training=thread.training,
        time_ns=start + np.cumsum(int64(thread.since_us)) * 1000,
        stack=int64(thread.stack),
        state=int64(thread.state),
    )
