"""What to do about a transform whose time is in one function of a library: that is compiled code already, and no array
operation makes it faster.
"""

from __future__ import annotations

import re
from typing import Final

from tb_dataplugin.units import plural

_ADVICE: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r"^scipy\.signal\.(?:\w+\.)*(?:convolve2d|correlate2d|convolve|correlate)$"),
        "{name} is compiled code that multiplies every pixel by the whole kernel. Use a smaller kernel, or two filters "
        "in one dimension each where the kernel is separable (scipy.ndimage.convolve1d), cv2.filter2D, or for a large "
        "kernel scipy.signal.fftconvolve; where it grows a mask, cv2.dilate or scipy.ndimage.maximum_filter.",
    ),
    (
        re.compile(r"^scipy\.ndimage\.(?:\w+\.)*\w*(?:convolve|correlate)\w*$"),
        "{name} is compiled code. Use a smaller kernel, filters in one dimension each where the kernel is separable, "
        "or cv2.filter2D.",
    ),
    (
        re.compile(
            r"^(?:scipy\.ndimage|skimage\.transform|cv2|PIL)\.(?:\w+\.)*(?:zoom|rotate|affine_transform|resize|warp)$"
        ),
        "{name} is compiled code. Work on a smaller image (crop or scale before it), with a simpler interpolation "
        "(order=1 or 0), or once per batch on the device.",
    ),
    (
        re.compile(r"^(?:re|regex)\."),
        "{name} is compiled code. Search with one pattern in place of several, or clean the text once, beforehand.",
    ),
    (
        re.compile(r"^(?:numpy|np|scipy|cv2|PIL|skimage|torch|torchvision|torchaudio|librosa|pandas)\."),
        "{name} is a library's own code. Call it less often or on less data (after a crop, in a smaller type), once "
        "per batch, or do it once and store the result.",
    ),
)
"""By what is called, the first that fits."""


def callee_advice(name: str) -> str:
    """`name`: ``scipy.signal.convolve2d``; "" for none, and for functions that there is no advice on."""
    return next((advice.format(name=name) for pattern, advice in _ADVICE if pattern.search(name)), "")


_WAITS: Final = re.compile(r"(?:^|\.)(?:get|recv|result|wait|join)$")
"""Calls that wait for another thread or process: of queues, pipes, futures, events. What has no Python code of its own,
as a dict's ``get``, is not seen as a call.
"""


def waits_for_another(name: str, unfollowed_workers: int | None = None, *, is_followed: bool = False) -> str:
    """Of code around the loader; "" where it does not wait. `unfollowed_workers`: of a DataLoader that may make what it
    waits for, as `Signals` has it. `is_followed`: DataLoader workers with records build the loop's batches, and their
    stages have their parts of the data wait already: this is beside them.
    """
    if not _WAITS.search(name):
        return ""
    if unfollowed_workers is not None:
        its = f" ({plural(unfollowed_workers, 'DataLoader worker')})" if unfollowed_workers else ""
        return (
            f"It waits in {name} for what another thread or process makes, and the program iterates a DataLoader that "
            f"this capture does not follow{its}, so what takes long is not recorded. Pass that DataLoader to "
            "annotate.loader(...) before it is iterated, leave prof.steps(...) where it is, and capture again: the "
            "report then has its stages, their lines and its DataLoader workers."
        )
    if is_followed:
        return (
            f"It waits in {name} for what another thread does with the batches, beside waiting for the DataLoader: do "
            "that in the dataset or the collate function, where DataLoader workers do it side by side, or on the "
            "device; or make it shorter. Mark its parts with annotate.stage to see which takes how long."
        )
    return (
        f"It waits in {name} for what another thread or process makes: make that faster, or let several processes make "
        "it (a DataLoader's workers are such): threads of one process share one interpreter's lock. Where a DataLoader "
        "makes it already, pass that to annotate.loader(...) before it is iterated, and capture again: the report then "
        "has its stages."
    )
