"""tokenizers, and the tokenizers of transformers: text to numbers is a `transform`."""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any, Final

from annotate.hooks.patching import Patches
from annotate.hooks.readers.reader import Reader, hooks_on
from annotate.hooks.readers.timing import read
from annotate.hooks.stand_ins import READER_HOOK, Method
from annotate.recording import switch

_BASE: Final = "transformers.tokenization_utils_base"


def _install(patches: Patches) -> None:
    base = vars(sys.modules[_BASE]).get("PreTrainedTokenizerBase")
    if isinstance(base, type) and "__call__" in vars(base):
        patches.set_attribute(base, "__call__", _timed_call(vars(base)["__call__"]))


def _timed_call(call: Method) -> Method:
    """In a span that carries the tokenizer's own class, as every transform does."""
    names: dict[type, str] = {}

    @wraps(call)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if not switch.RECORDING:
            return call(self, *args, **kwargs)
        name = names.get(type(self))
        if name is None:
            name = names[type(self)] = switch.hand_out("transform", type(self).__name__)
        return read("transform", name, call, (self, *args), kwargs)

    setattr(__call__, READER_HOOK, True)
    return __call__


READERS: Final = (
    Reader(
        "tokenizers",
        hooks_on(
            "tokenizers",
            "transform",
            {f"Tokenizer.{name}": f"tokenizers.{name}" for name in ("encode", "encode_batch", "encode_batch_fast")},
        ),
    ),
    Reader(_BASE, install=_install),
)
