"""`collate`: a collate function whose calls are timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annotate.hooks import batch_tensors
from annotate.hooks.stand_ins import callable_label
from annotate.recording import switch
from annotate.recording.definitions import define

CollateFunction = Callable[[Any], Any]


class Collate:
    """Calls a collate function inside a `collate` span while a window is recorded.

    Pickles whenever the function does; attributes, repr and comparison are the function's.
    """

    __slots__ = ("__weakref__", "_name", "function")

    def __init__(self, function: CollateFunction) -> None:
        self.function = function
        self._name = switch.hand_out("collate", callable_label(function))
        define(switch.HANDED_OUT[self._name], function)

    def __call__(self, batch: Any) -> Any:
        if switch.RECORDING:
            made = switch.call(self._name, self.function, (batch,), {})
            batch_tensors.look_at(made)
            return made
        try:
            return self.function(batch)
        except Exception as error:
            switch.left(self._name, error)
            raise

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # for inspect.signature
            return self.function
        if name in Collate.__slots__ or (name.startswith("__") and name != "__name__"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return repr(self.function)

    def __eq__(self, other: object) -> bool:
        return bool(self.function == (other.function if isinstance(other, Collate) else other))

    def __hash__(self) -> int:
        return hash(self.function)

    def __reduce__(self) -> tuple[type[Collate], tuple[CollateFunction]]:
        return Collate, (self.function,)
