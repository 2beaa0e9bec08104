"""Asks a running torch for a trace: our side of Kineto's protocol for profiling on demand.

A torch that was started with ``KINETO_USE_DAEMON=1`` asks the abstract datagram socket ``dynolog``, every five to ten
seconds, whether it is to record. A message is its body's size (8 bytes), its type (32 bytes) and the body: ``ctxt`` (a
process registers) is answered by ``ctxt`` with an int 1; ``req`` (int kinds, int n, int64 job, n pids from the process
upwards) by ``req`` with a configuration, or with nothing.
"""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from tb_dataplugin.errors import BadRequest

_ADDRESS: Final = b"\0dynolog\0"
_HEAD: Final = struct.Struct("<Q32s")
_REQUEST: Final = struct.Struct("<iiq")
_PID: Final = struct.Struct("<i")
_ACTIVITIES: Final = 2
"""Of the kinds in a request: traces, and not counters."""
_LONGEST: Final = 1 << 16


class Message(NamedTuple):
    """What came over the socket."""

    kind: str
    body: bytes


def packed(message: Message) -> bytes:
    return _HEAD.pack(len(message.body), message.kind.encode()) + message.body


def unpacked(data: bytes) -> Message | None:
    """None: it is not of this protocol."""
    if len(data) < _HEAD.size:
        return None
    size, kind = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    return Message(kind.rstrip(b"\0").decode("ascii", "replace"), body) if size == len(body) else None


def asker(message: Message) -> int | None:
    """The process that asks whether it is to record a trace; None for another message."""
    if message.kind != "req" or len(message.body) < _REQUEST.size + _PID.size:
        return None
    kinds, count, _ = _REQUEST.unpack_from(message.body)
    return _PID.unpack_from(message.body, _REQUEST.size)[0] if kinds & _ACTIVITIES and count > 0 else None


def configuration(file: Path, seconds: float) -> str:
    """For a trace that begins at once. Kineto puts ``_<pid>`` before the name's end."""
    return (
        f"ACTIVITIES_DURATION_MSECS={round(seconds * 1000)}\n"
        "PROFILE_START_TIME=0\nACTIVITIES_WARMUP_PERIOD_SECS=1\n"
        f"ACTIVITIES_LOG_FILE={file}\n"
    )


def written_file(file: Path, pid: int) -> Path:
    """Where Kineto writes a trace that it was asked to write to `file`."""
    return file.with_name(f"{file.stem}_{pid}{file.suffix}")


@contextmanager
def listening() -> Iterator[socket.socket]:
    """The socket. Raises BadRequest when another daemon has it, or the system knows no such sockets."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind(_ADDRESS)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                why = "another daemon (dynolog, or another attach) has the socket `dynolog`; stop it, or ask it"
            else:
                why = f"the socket `dynolog` cannot be opened: {error.strerror or error}"
            raise BadRequest(f"cannot ask torch for a trace: {why}") from None
        yield sock


def ask(sock: socket.socket, pid: int, text: str, until: float) -> bool:
    """Give process `pid` its configuration when it asks, and all others nothing; False: it had not asked by `until`
    (``time.monotonic``).
    """
    while (left := until - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            data, address = sock.recvfrom(_LONGEST)
        except TimeoutError:
            return False
        message = unpacked(data)
        if message is None or not address:
            continue
        is_asked = asker(message) == pid
        body = struct.pack("<i", 1) if message.kind == "ctxt" else text.encode() if is_asked else b""
        with suppress(OSError):  # it is gone
            sock.sendto(packed(Message(message.kind, body)), address)
            if is_asked:
                return True
    return False
