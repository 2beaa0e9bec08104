"""What an entry of the cache is valid for: one state of one file, one version of this code, one set of options."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import numpy as np

import annotate.trace_format as trace_format
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.options import AnalysisOptions
from tb_dataplugin.reader.epochs import epochs_beside
from tb_dataplugin.reader.opening import Roots, open_trace
from tb_dataplugin.version import VERSION

PROBE_BYTES = 64 * 1024
"""Read at either end of the file. The end of a gzip file has the checksum of all of it."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """One state of a file. `digest` is of its first and last `PROBE_BYTES`, and of what the program left beside it."""

    path: str  # resolved
    size: int
    modified_ns: int
    digest: str


def fingerprint(path: Path, roots: Roots = ()) -> Fingerprint | None:
    """The file as it is now; None for what is not a regular file in one of `roots`, or cannot be read.

    Nothing else is opened: a pipe or a device that is named like a trace would block, or lose what is in it.
    """
    try:
        with open_trace(path, roots) as file:
            facts = os.fstat(file.fileno())
            digest = hashlib.blake2b(file.read(PROBE_BYTES), digest_size=16)
            file.seek(max(0, facts.st_size - PROBE_BYTES))
            digest.update(file.read(PROBE_BYTES))
        digest.update(epochs_beside(path, roots))
        return Fingerprint(str(path.resolve()), facts.st_size, facts.st_mtime_ns, digest.hexdigest())
    except (OSError, UnreadableTrace):
        return None


def cache_key(file: Fingerprint, options: AnalysisOptions) -> str:
    """Names the entry of `file`, analysed by this code with `options`."""
    parts = [asdict(file), asdict(options), code_version()]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=20).hexdigest()


@functools.cache
def code_version() -> str:
    """Changes with every source file of this package, the trace vocabulary, and the libraries that numbers pass."""
    versions = f"{VERSION} {np.__version__} {msgspec.__version__}"
    digest = hashlib.blake2b(versions.encode(), digest_size=16)
    root = Path(__file__).parent.parent
    with contextlib.suppress(OSError):  # packed into an archive: its version must do
        for path in [*sorted(root.rglob("*.py")), Path(trace_format.__file__)]:
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
