"""Keys of the page, beside the vocabularies of `words`."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.words import Term

KEYS: Final = (
    Term("?", "?", "keys and terms; Escape closes them"),
    Term("arrows", "\u2190 \u2192", "from tab to tab, on the tabs"),
    Term("list", "\u2191 \u2193", "from capture to capture, in their list"),
    Term("j k", "j k", "to the next and the previous section of a view"),
    Term("t", "t", "from a table to what it shows in the timeline, and back"),
    Term("w s", "w s", "zoom the timeline in and out"),
    Term("a d", "a d", "move the timeline"),
    Term("0", "0", "the whole window, in the timeline"),
    Term("g", "g", "next idle gap, in the timeline; with Shift the previous one"),
    Term("l", "l", "next shorter idle gap; with Shift the next longer one"),
    Term("n", "n", "next data wait, in the timeline; with Shift the previous one"),
    Term("Enter", "Enter", "next span with that name, in the timeline's search; with Shift the previous one"),
    Term("frames", "\u2190 \u2191 \u2192 \u2193", "from frame to frame, in a flame graph"),
    Term("zoom", "Enter", "zooms to the frame, in a flame graph"),
    Term("caller", "Backspace", "zooms out to the caller, in a flame graph"),
    Term("whole", "Esc", "the whole flame graph"),
)
"""Keys of the page, for its help."""
