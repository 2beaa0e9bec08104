"""`stage`: marks any custom code, as a context manager or a decorator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from functools import wraps
from types import TracebackType
from typing import Any, Final, TypeVar, cast

from annotate.hooks import marked
from annotate.hooks.stand_ins import STAGE, callable_label, timed_function
from annotate.recording import switch
from annotate.recording.definitions import define, define_here
from annotate.saying import in_short, report_error
from annotate.trace_format import STAGE_KINDS, StageKind

F = TypeVar("F", bound=Callable[..., Any])


class stage:  # noqa: N801  (reads as a verb where it is used)
    """A span of the given kind around a ``with`` block, or around every call of a decorated function.

        with annotate.stage("h2d"):
            x = x.to(device, non_blocking=True)

        @annotate.stage("transform")
        def dilate(mask): ...

    The label defaults to the kind for a ``with`` block, and to the function's name for a decorator. One stage object
    can be kept, reused, nested, shared between threads and pickled. A decorated generator function gets one span per
    ``next()``: the consumer's time between two of them is not in it. Outside of a recorded window it costs one check.

    Raises:
        ValueError: the kind is none of `annotate.trace_format.STAGE_KINDS`.
        TypeError: an async function is decorated. A coroutine gives way to others while it waits, so its time is not
            its own: mark the synchronous parts inside it with ``with annotate.stage(...)``.
    """

    __slots__ = ("_name", "kind", "label")

    def __init__(self, kind: StageKind, label: str | None = None) -> None:
        if kind not in STAGE_KINDS:
            raise ValueError(
                f"annotate.stage: {in_short(kind)} is not a stage kind. Use one of: {', '.join(STAGE_KINDS)}"
            )
        self.kind: Final = kind
        self.label: Final = label
        self._name = switch.hand_out(kind, label or kind)
        define_here(switch.HANDED_OUT[self._name], 1)
        if marked.on_stage is not None:
            marked.on_stage()

    def __enter__(self) -> stage:
        if switch.RECORDING:
            try:
                switch.thread.open.stages.append((self, switch.opened(self._name)))
            except Exception as error:  # no `guard`: it would be a fifth of what a stage costs
                _report(error)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stages = switch.thread.open.stages
        if not stages:  # not recorded
            if isinstance(exc, Exception):
                switch.left(self._name, exc)
            return
        try:
            if stages[-1][0] is self:
                stages.pop()[1].__exit__(exc_type, exc, traceback)
                return
            for position in range(len(stages) - 1, -1, -1):
                owner, marker = stages[position]
                if owner is self:
                    del stages[position]
                    marker.__exit__(exc_type, exc, traceback)
                    return
        except Exception as error:
            _report(error)

    def __call__(self, function: F) -> F:
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"annotate.stage cannot time the async function {function.__name__!r}: "
                "mark the synchronous parts inside it with `with annotate.stage(...)`"
            )
        if not callable(function) or isinstance(function, type):
            raise TypeError(
                f"annotate.stage decorates functions, not {in_short(function)}. Use `with annotate.stage(...)` "
                "inside it"
            )
        name = switch.hand_out(self.kind, self.label or callable_label(function))
        define(switch.HANDED_OUT[name], function)
        make = _timed_generator if inspect.isgeneratorfunction(function) else timed_function
        timed = make(function, name)
        if not hasattr(function, "__name__"):  # an object: else the name would be that of our function
            timed.__name__ = timed.__qualname__ = callable_label(function)
        setattr(timed, STAGE, timed)
        return cast(F, timed)

    def __reduce__(self) -> tuple[type[stage], tuple[StageKind, str | None]]:
        return stage, (self.kind, self.label)

    def __repr__(self) -> str:
        label = "" if self.label is None else f", {self.label!r}"
        return f"annotate.stage({self.kind!r}{label})"


def _report(error: Exception) -> None:
    report_error("annotate does not record a stage", error)


def _timed_generator(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        resume: Callable[[], Any] = generator.__next__
        while True:
            try:
                if switch.RECORDING:
                    with switch.marker(name):
                        item = resume()
                else:
                    item = resume()
            except StopIteration as stop:
                return stop.value
            except Exception as error:
                if not switch.RECORDING:
                    switch.left(name, error)
                raise
            try:
                sent = yield item
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                resume = _bind(generator.throw, error)
            else:
                resume = generator.__next__ if sent is None else _bind(generator.send, sent)

    return timed


def _bind(method: Callable[[Any], Any], value: object) -> Callable[[], Any]:
    return lambda: method(value)
