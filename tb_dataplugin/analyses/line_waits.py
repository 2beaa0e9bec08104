"""What a line waits for, where its text or the library code that it calls names that.

A sleep is C code, which has no frame; a request has frames of the library that makes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from tb_dataplugin.model.line_samples import Frame

WaitedFor = Literal["sleep", "network", "lock", "queue", "process"]

MOSTLY: Final = 0.5
"""Part of a line's time in which its thread is blocked, from which the line is a wait."""

_COMMENT: Final = re.compile(r"(?:^|\s)#.*$")
_TEXTS: Final[dict[WaitedFor, re.Pattern[str]]] = {
    "sleep": re.compile(r"(?<!\w)sleep\("),
    "network": re.compile(
        r"(?<![\w.])(?:requests(?=\.(?:get|post|head|put|request|Session)\()|httpx|aiohttp|urllib3?|boto3|s3|s3fs|gcs|gcsfs|ftplib|paramiko|socket|sock)\."
        r"|(?<!\w)(?:urlopen|urlretrieve)\(|\.(?:recv|recv_into|recvfrom|get_object|download_file(?:obj)?|iter_content)\("
        r"|\b(?:https?|s3|gs|gcs)://"
    ),
    "lock": re.compile(
        r"\.acquire\(|(?<!\w)(?:flock|lockf)\("
        r"|^(?:async\s+)?with\s+(?:[\w.]*[._])?(?:file|r)?lock(?:_\w+)?\s*(?:\(|:|,|\bas\b)",
        re.IGNORECASE,
    ),
    "queue": re.compile(r"(?:queue|(?<![A-Za-z0-9])q)\.(?:get|put)\(", re.IGNORECASE),
    "process": re.compile(r"(?<!\w)subprocess\.\w+\(|(?<!\w)(?:Popen|check_output)\(|\.communicate\(|\bos\.system\("),
}
_FILES: Final[tuple[tuple[WaitedFor, re.Pattern[str]], ...]] = (
    (
        "network",
        re.compile(
            r"/(?:requests|httpx|aiohttp|urllib3|botocore|boto3|s3transfer|s3fs|gcsfs|paramiko|urllib|http)/[\w/]+\.py$"
            r"|/(?:socket|ssl|ftplib)\.py$|/fsspec/(?:asyn|implementations/(?:http|ftp|sftp))\.py$"
        ),
    ),
    ("process", re.compile(r"/subprocess\.py$")),
    ("queue", re.compile(r"/(?:queue|multiprocessing/queues)\.py$")),
    ("lock", re.compile(r"/(?:multiprocessing/synchronize|(?:filelock|portalocker|fasteners)/\w+)\.py$")),
)


def named_wait(source: str) -> WaitedFor | None:
    """By the text of a line; None where that names nothing, or several things."""
    code = _COMMENT.sub("", source).strip()
    found = [what for what, pattern in _TEXTS.items() if pattern.search(code)]
    return found[0] if len(found) == 1 else None


def waits_there(source: str, blocked: float | None) -> bool:
    """Whether a line's time is no work of a CPU, whatever else its text has: ``[sleep(s) or f(x) for x in xs]``. One
    that names a wait may be seen blocked for little of it, where no CPU was free afterwards.

    Args:
        blocked: part of its time in which its thread was blocked; None: not known.
    """
    if blocked is None:
        return named_wait(source) is not None
    return blocked >= MOSTLY or (blocked > 0 and named_wait(source) is not None)


def waited_for(source: str, below: Sequence[Frame]) -> WaitedFor | None:
    """Of a line, and the frames that it called, outermost first: the outermost that tells, as what a request waits
    for inside its library is an event, or a lock.
    """
    for frame in below:
        for what, pattern in _FILES:
            if pattern.search(frame.file):
                return what
    return named_wait(source)
