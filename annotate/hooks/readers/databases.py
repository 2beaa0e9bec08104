"""sqlite3, and LMDB by its binding in Python; that in C allows no hook.

The classes of sqlite3 are written in C and cannot be changed. A connection that is opened in a sample while something
records is of a subclass, and so are its cursors; those of the user's own factory are left alone.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from annotate.hooks.patching import Patches
from annotate.hooks.readers.reader import Hook, Reader, hooks_on
from annotate.hooks.readers.timing import read, timed
from annotate.hooks.stand_ins import Method, TimedGlobal, timed_subclass
from annotate.recording import switch

_STEPS: Final = ("execute", "executemany", "fetchone", "fetchmany", "fetchall")
_FACTORY: Final = 5
"""The place of ``factory`` among the arguments of ``sqlite3.connect``."""


class _TimedConnect(TimedGlobal):
    """``sqlite3.connect``."""

    __slots__ = ("_factory",)

    def __init__(self, target: Method, factory: type) -> None:
        super().__init__(target, switch.hand_out("read", "sqlite3.connect"), "sqlite3", "connect")
        self._factory = factory

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not switch.RECORDING or not switch.in_sample():
            return self.target(*args, **kwargs)
        if len(args) <= _FACTORY and "factory" not in kwargs:
            kwargs["factory"] = self._factory
        return read("read", self._name, self.target, args, kwargs)


def _install(patches: Patches) -> None:
    sqlite3: Any = sys.modules["sqlite3"]
    cursor_class = timed_subclass(sqlite3.Cursor, {name: _timed_step(sqlite3.Cursor, name) for name in _STEPS})
    cursor_of = sqlite3.Connection.cursor

    def cursor(self: Any, factory: Any = cursor_class) -> Any:
        return cursor_of(self, factory)

    short_cuts = {name: _through_a_cursor(name) for name in ("execute", "executemany")}
    connection_class = timed_subclass(sqlite3.Connection, {"cursor": cursor, **short_cuts})
    patches.set_global(sqlite3, "connect", _TimedConnect(sqlite3.connect, connection_class))


def _timed_step(cursor_class: type, name: str) -> Method:
    hook = Hook("sqlite3", f"Cursor.{name}", "read", f"sqlite3.{name}")
    return timed(getattr(cursor_class, name), hook, switch.hand_out("read", hook.label))


def _through_a_cursor(name: str) -> Method:
    """A connection's own ``execute``, which in C makes a cursor without asking ``cursor()``."""

    def short_cut(self: Any, *args: Any) -> Any:
        return getattr(self.cursor(), name)(*args)

    short_cut.__name__ = name
    return short_cut


def _note_lmdb(patches: Patches) -> None:
    patches.note(
        "LMDB was imported, and what its binding in C reads has no span. Mark it with "
        'annotate.stage("read", "lmdb") around txn.get(...).'
    )


READERS: Final = (
    Reader("sqlite3", install=_install),
    Reader("lmdb.cpython", install=_note_lmdb),
    Reader(
        "lmdb.cffi",
        (
            Hook("lmdb.cffi", "Environment.__init__", "read", "lmdb.open"),
            *hooks_on("lmdb.cffi", "read", {f"Transaction.{name}": f"lmdb.{name}" for name in ("get", "cursor")}),
        ),
    ),
)
