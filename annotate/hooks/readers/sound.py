"""soundfile and librosa."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Reader, hooks_on

_LOAD: Final = {"load": "librosa.load"}

READERS: Final = (
    Reader(
        "soundfile",
        (
            *hooks_on("soundfile", "decode", {"read": "soundfile.read", "SoundFile.read": "soundfile.SoundFile.read"}),
            *hooks_on("soundfile", "read", {"SoundFile.__init__": "soundfile.SoundFile", "info": "soundfile.info"}),
        ),
    ),
    Reader("librosa", (*hooks_on("librosa", "decode", _LOAD), *hooks_on("librosa.core", "decode", _LOAD))),
    Reader("librosa.core.audio", hooks_on("librosa.core.audio", "decode", _LOAD)),
)
"""librosa hands its functions out lazily: the last of the three is where ``librosa.load`` is looked up."""
