"""torchcodec, PyAV and decord. Opening is `read`, each access to frames or samples `decode`."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader, hooks_on, in_sample

_FRAMES: Final = (
    "get_frame_at", "get_frames_at", "get_frames_in_range", "get_frame_played_at", "get_frames_played_at",
    "get_frames_played_in_range", "get_all_frames",
)  # fmt: skip
_SAMPLES: Final = ("get_all_samples", "get_samples_played_in_range")


def _methods(module: str, library: str, cls: str, names: tuple[str, ...]) -> tuple[Hook, ...]:
    """Opening, indexing, and the methods of a class that decodes."""
    return (
        Hook(module, f"{cls}.__init__", "read", f"{library}.{cls}"),
        Hook(module, f"{cls}.__getitem__", "decode", f"{library}.{cls}"),
        *hooks_on(module, "decode", {f"{cls}.{name}": f"{library}.{cls}.{name}" for name in names}),
    )


_TORCHCODEC: Final = "torchcodec.decoders"

READERS: Final = (
    Reader(
        _TORCHCODEC,
        (
            *_methods(_TORCHCODEC, "torchcodec", "VideoDecoder", _FRAMES),
            *_methods(_TORCHCODEC, "torchcodec", "AudioDecoder", _SAMPLES),
        ),
    ),
    Reader(
        "av",
        (
            Hook("av", "open", "read", "av.open"),
            *hooks_on(
                "av",
                "decode",
                {
                    f"{frame}.{name}": f"av.{frame}.{name}"
                    for frame, name in (
                        ("VideoFrame", "to_ndarray"),
                        ("VideoFrame", "to_image"),
                        ("VideoFrame", "reformat"),
                        ("AudioFrame", "to_ndarray"),
                        ("Packet", "decode"),
                    )
                },
            ),
        ),
    ),
    Reader(
        "av.container",
        (
            Hook("av.container", "InputContainer.decode", "decode", "av.InputContainer.decode", steps=True),
            Hook("av.container", "InputContainer.demux", "read", "av.InputContainer.demux", steps=True),
        ),
    ),
    Reader(
        "decord",
        (
            *_methods("decord", "decord", "VideoReader", ("get_batch", "next")),
            *_methods("decord", "decord", "AudioReader", ("get_batch",)),
            Hook("decord", "VideoReader.__del__", "read", "decord.VideoReader.close", in_sample),
            Hook("decord._ffi.ndarray", "NDArrayBase.asnumpy", "decode", "decord.NDArray.asnumpy", in_sample),
        ),
    ),
)
