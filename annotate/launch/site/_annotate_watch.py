"""Sleeps in a Python process until a DataLoader is iterated, and then has `annotate.launch.begin` look at it.

Standard library only, and little of it: every Python process of the program runs this, launchers and helpers included.
Until torch's DataLoader is imported a finder stands in `sys.meta_path`, and where libraries with loops of their own are
installed (`_OTHERS`) until they are there; from then until the first iteration the methods that make iterators are
looked at. Afterwards nothing of this is left.
Ctrl-C is about the program, also while this is at work: its traceback shows the program's line.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, get_ident

TYPE_CHECKING = False  # that of `typing`, which is not imported, nor anything else: this runs in every Python process
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

FOLDER = "ANNOTATE_RUN"
"""In the environment: the folder by which `tb-dataplugin run` and its processes talk."""
_WATCHED = "torch.utils.data.dataloader"
_METHODS = ("__iter__", "_get_iterator")
_OTHERS = {
    "fastai.data.load": ("DataLoader", _METHODS),
    "torchdata.nodes.loader": ("Loader", ("__iter__",)),
    "spdl.pipeline._builder": ("PipelineBuilder", ("pipe",)),
    "nvidia.dali.pipeline": ("Pipeline", ("share_outputs",)),
}
"""Module -> class in it that is no DataLoader of torch's, and what is called before its first batch is there: fastai's
makes torch's iterators itself, SPDL reads its functions as a pipeline is built."""
_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
"""The folder that holds the package `annotate`."""

_armed: list[tuple[type, str, Any, Any]] = []
"""Class, name, what was there, and what stands there."""
_first: list[Callable[[type], None]] = []
"""Called with DataLoader, before anything else is done to it."""
_absent = object()
_LONGEST_S = 10.0
"""For which a thread waits while another one begins: that one may be kept by what this one holds."""
_lock = allocate_lock()
"""Of the thread that begins."""
_begins: tuple[int, int] | None = None
"""Process and thread that begin now."""
_is_due = False
"""Nobody has begun since something was armed."""


def install() -> None:
    """Begin to watch, where `tb-dataplugin run` or `tune`, ANNOTATE or ANNOTATE_WATCH asks for it."""
    if any(os.environ.get(name) for name in (FOLDER, "ANNOTATE", "ANNOTATE_WATCH", "ANNOTATE_TUNE")):
        if os.environ.get("ANNOTATE_TUNE"):
            import _annotate_settings  # type: ignore[import-not-found]

            _first.append(_annotate_settings.put_in)
        leave_mark("python")
        loaded = sys.modules.get(_WATCHED)
        if loaded is not None and hasattr(loaded, "DataLoader"):
            _arm_module(loaded)
        else:
            sys.meta_path.insert(0, Finder())


def leave_mark(name: str, text: str = "") -> None:
    """Say that this process has come so far, for the line that `run` ends with."""
    folder = os.environ.get(FOLDER)
    try:
        if folder:
            with open(os.path.join(folder, f"{os.getpid()}.{name}"), "w") as mark:
                mark.write(text)
    except OSError:  # whoever reads it is gone
        pass


class Finder:
    """In `sys.meta_path` until torch's DataLoader is there. It finds nothing: it is asked at each import, and the first
    one after the DataLoader's own is in torch's package. So no frame of ours stands around what a module runs.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        module = _imported(_WATCHED)
        if module is not None:
            _take_out(self)
            try:
                _arm_module(module)
            except Exception as error:
                leave_mark("failed", f"{type(error).__name__}: {error}")


class OthersFinder:
    """In `sys.meta_path` after `Finder`, where such libraries are installed: until they are there, or an iteration."""

    def __init__(self, awaited: list[str]) -> None:
        self._awaited = awaited

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        for other in self._awaited:
            owner, methods = _OTHERS[other]
            module = _imported(other, owner)
            if module is not None and _armed:
                self._awaited = [each for each in self._awaited if each != other]
                arm(getattr(module, owner), methods)
        if not self._awaited or not _armed:
            _take_out(self)


def _imported(name: str, owner: str = "DataLoader") -> ModuleType | None:
    """A module with a class of loaders, when it has been imported to its end."""
    module = sys.modules.get(name)
    if module is None or getattr(module.__spec__, "_initializing", False) or not hasattr(module, owner):
        return None
    return module


def _installed(name: str) -> bool:
    """Whether there is a folder for the module's package. Imports nothing."""
    from importlib.machinery import PathFinder

    package, *inner = name.split(".")[:-1]
    spec = PathFinder.find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    return any(os.path.isdir(os.path.join(folder, *inner)) for folder in folders)


def _take_out(finder: object) -> None:
    # A new list: another thread may be in the middle of the old one.
    sys.meta_path = [each for each in sys.meta_path if each is not finder]


def _arm_module(module: ModuleType) -> None:
    global _is_due
    _is_due = True
    leave_mark("torch")
    make_importable()
    cls = module.DataLoader
    for change in _first:
        change(cls)
    arm(cls)
    _put(cls, "__init_subclass__", classmethod(_arm_subclass_of(cls)))
    installed = [name for name in _OTHERS if _installed(name)]
    if installed:
        finder = OthersFinder(installed)
        sys.meta_path.insert(0, finder)
        finder.find_spec("")  # those that were imported before torch


def arm(cls: type, methods: tuple[str, ...] = _METHODS) -> None:
    """Look at these methods of `cls`, which are called before it gives its first batch."""
    for name in methods:
        method = vars(cls).get(name)
        if method is not None and type(method) is type(arm):
            _put(cls, name, _first_iteration(cls, name, method))


def _put(cls: type, name: str, value: Any) -> None:
    _armed.append((cls, name, vars(cls).get(name, _absent), value))
    setattr(cls, name, value)


def _arm_subclass_of(base: type) -> Callable[..., None]:
    """Loaders with methods of their own need not call DataLoader's."""

    def __init_subclass__(cls: type, **keywords: Any) -> None:  # noqa: N807
        super(base, cls).__init_subclass__(**keywords)  # type: ignore[arg-type]
        if _armed:
            arm(cls)

    return __init_subclass__


def _first_iteration(cls: type, name: str, original: Callable[..., Any]) -> Any:
    from functools import wraps

    @wraps(original)
    def make_iterator(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _armed:  # somebody has kept this function
            return original(self, *args, **kwargs)
        is_in_place, is_first = vars(cls).get(name) is make_iterator, False
        try:
            is_first = _begin_once()
        except KeyboardInterrupt:
            if name != "__iter__" or not _has_pythons_ctrl_c():
                raise
            return _interrupted()
        finally:
            disarm()
        method = getattr(cls, name) if is_in_place else original
        try:
            return method(self, *args, **kwargs)
        finally:
            if is_first:
                _let_others_go_on()

    vars(make_iterator)["annotate_asleep"] = _give_way
    return make_iterator


def _give_way() -> Callable[[], None]:
    """The program uses annotate itself, which looks at the same methods: what it is to call at the first iteration."""
    disarm()
    return _begin_alone


def disarm(kept: type | None = None) -> None:
    """Put everything back as it was, but for what others have replaced since.

    Args:
        kept: loaders of this class stay looked at.
    """
    for finder in [each for each in sys.meta_path if type(each) is OthersFinder]:
        _take_out(finder)
    armed = [each for each in _armed if kept is None or not issubclass(each[0], kept)]
    for cls, name, before, value in reversed(armed):
        if vars(cls).get(name) is value:
            if before is _absent:
                delattr(cls, name)
            else:
                setattr(cls, name, before)
    _armed[:] = [each for each in _armed if each not in armed]


def _begin_alone() -> None:
    if _begin_once():
        _let_others_go_on()


def _begin_once() -> bool:
    """In the first thread that iterates a loader. Others wait until it goes on: what they iterated meanwhile, as an
    evaluation in a thread of its own does, would not be followed, and of several that draw from one random generator
    the first stays the first. Whether the calling thread is the one that they wait for.
    """
    global _begins, _is_due
    pid, thread = os.getpid(), get_ident()
    # Not in the middle of it, nor in a child that was forked then.
    if (_begins is not None and (_begins[0] != pid or _begins[1] == thread)) or not _lock.acquire(True, _LONGEST_S):
        return False
    is_first, _is_due, _begins = _is_due, False, (pid, thread)
    try:
        if is_first:
            disarm(kept=getattr(sys.modules.get(_WATCHED), "DataLoader", None))
            _begin()
        return is_first
    except BaseException:
        is_first = False
        raise
    finally:
        disarm()
        if not is_first:
            _let_others_go_on()


def _let_others_go_on() -> None:
    global _begins
    _begins = None
    _lock.release()


def _begin() -> None:
    """A DataLoader is about to be iterated. Ctrl-C waits for the end of this, and is then the program's."""
    worker = sys.modules.get("torch.utils.data._utils.worker")
    if getattr(worker, "_worker_info", None) is not None:  # in a DataLoader worker
        return
    deliver = _hold_ctrl_c()
    try:
        from annotate.own_objects import uncounted

        with uncounted():
            from annotate.launch import begin

            begin.begin()
    except Exception as error:
        leave_mark("failed", f"{type(error).__name__}: {error}")
    finally:
        deliver()


def _hold_ctrl_c() -> Callable[[], None]:
    """Have it wait until what is returned is called, which calls its handler if it came."""
    import signal
    import threading

    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        return lambda: None
    came: list[tuple[int, Any]] = []

    def note(number: int, frame: Any) -> None:
        came.append((number, frame))

    def deliver() -> None:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])

    signal.signal(signal.SIGINT, note)
    return deliver


def _has_pythons_ctrl_c() -> bool:
    import signal

    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _interrupted() -> Any:
    """An iterator that raises KeyboardInterrupt in the frame of the loop that asks it."""
    import signal

    return map(signal.default_int_handler, (signal.SIGINT,), (None,))


def make_importable() -> None:
    """Have ``import annotate`` work, and in new processes as well, where the program's environment lacks it."""
    from importlib.machinery import PathFinder

    if "annotate" not in sys.modules and PathFinder.find_spec("annotate") is None:
        sys.meta_path.append(Home)


class Home:
    """Last in `sys.meta_path`, where the program's environment has no `annotate`: finds ours."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name != "annotate":
            return None
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, [_HOME])
