"""Tensors in files: ``torch.load`` and safetensors."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Reader, hooks_on, in_sample

_TENSORS: Final = {f"safe_open.{name}": f"safetensors.{name}" for name in ("get_tensor", "get_tensors")}


def _frameworks(module: str) -> Reader:
    names = {name: f"{module}.{name}" for name in ("load_file", "load")}
    return Reader(module, hooks_on(module, "decode", names, when=in_sample))


READERS: Final = (
    Reader("torch", hooks_on("torch", "decode", {"load": "torch.load"}, when=in_sample)),
    Reader("safetensors", hooks_on("safetensors", "decode", _TENSORS, when=in_sample)),
    *(_frameworks(f"safetensors.{name}") for name in ("torch", "numpy")),
)
