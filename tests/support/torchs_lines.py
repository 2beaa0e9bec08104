"""What torch's profiler writes to stderr by itself: no test is about it."""

from __future__ import annotations

import re
from typing import Final

_OWN: Final = re.compile(
    r"USDT:"  # when it starts and stops
    r"|\[W\d+ .*(?:Profiler|kineto)"
    r"|ERROR: External init callback"  # outside the main thread
    r"|ERROR:.* gpuGetDeviceCount failed"  # a build for CUDA, without a device
)


def is_torchs_own(line: str) -> bool:
    return _OWN.match(line) is not None
