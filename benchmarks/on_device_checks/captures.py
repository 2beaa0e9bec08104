"""Captures that are kept: small, and without what names a machine, so that they can become test files."""

from __future__ import annotations

import gzip
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.on_device_checks.rows import Row, not_possible
from tb_dataplugin.api import read_report
from tb_dataplugin.report.report_pb2 import Capture

MOST_BYTES: Final = 300_000
SUFFIX: Final = ".pt.trace.json.gz"
MOST_CAPTURES: Final = 6
LONG_NAME: Final = 5
"""Characters; a shorter name of a host may also be part of a word, and is replaced only where it stands alone."""


def newest(folder: Path) -> Path:
    """The capture that was just written. Raises: FileNotFoundError."""
    paths = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    if not paths:
        raise FileNotFoundError(f"no capture was written (*{SUFFIX})")
    return paths[-1]


def report_on(path: Path) -> Capture:
    """What `tb_dataplugin.read_report` says of one file."""
    capture: Capture = read_report(path)[0]
    return capture


def kept_row(path: Path, folder: Path, name: str) -> Iterator[Row]:
    """Copy a capture without the machine's name and folders; a row only where it was not kept, with the reason."""
    reason = _keep(path, folder, name)
    if reason:
        yield not_possible(f"capture {name}", f"not kept: {reason}")


def _keep(path: Path, folder: Path, name: str) -> str:
    text = anonymous(gzip.decompress(path.read_bytes()))
    packed = gzip.compress(text, 9, mtime=0)
    target = folder / f"{name}{SUFFIX}"
    if len(packed) > MOST_BYTES:
        return f"{len(packed):,} bytes, more than {MOST_BYTES:,}"
    if not target.exists() and len(list(folder.glob(f"*{SUFFIX}"))) >= MOST_CAPTURES:
        return f"there are {MOST_CAPTURES} captures already"
    target.write_bytes(packed)
    return ""


def anonymous(text: bytes) -> bytes:
    """Without the host's name, the user's home and this checkout's folder."""
    root = Path(__file__).resolve().parents[2]
    folders = {str(root): "/checkout", str(Path.home()): "/home", tempfile.gettempdir(): "/tmp"}
    for folder in sorted(folders, key=len, reverse=True):
        if len(folder) > 1:
            text = text.replace(folder.encode(), folders[folder].encode())
    for name in {socket.gethostname(), socket.getfqdn(), os.uname().nodename} - {"", "localhost"}:
        quoted = re.escape(name.encode())
        text = re.sub(rb'"' + quoted + rb'"', b'"host"', text)
        text = re.sub(rb"\b" + quoted + rb"_(?=\d)", b"host_", text)  # as files are called
        if len(name) > LONG_NAME:
            text = text.replace(name.encode(), b"host")
    return text
