"""Every word that a trace may carry has its line in the tables that people read."""

from __future__ import annotations

from pathlib import Path

import annotate.trace_format as trace_format
from tb_dataplugin.analyses.occupancy import TOO_SHORT_NS
from tb_dataplugin.export.terminal import COLORS
from tb_dataplugin.words import COUNTERS, STAGE_KINDS


def test_every_stage_kind_has_words_and_a_terminal_color() -> None:
    assert sorted(term.id for term in STAGE_KINDS) == sorted(trace_format.STAGE_KINDS)
    assert all(term.label and term.meaning and 16 <= COLORS[term.id] <= 255 for term in STAGE_KINDS)


def test_no_two_stage_kinds_share_a_terminal_color() -> None:
    assert len({term.terminal for term in STAGE_KINDS}) == len(STAGE_KINDS)


def test_every_counter_has_words() -> None:
    assert {term.id for term in COUNTERS} == trace_format.COUNTERS.keys()


def test_page_and_report_call_the_same_calls_too_short_to_tell() -> None:
    page = Path(__file__).parents[2] / "frontend/src/model/costs.ts"
    assert f"const TOO_SHORT_US = {TOO_SHORT_NS // 1000};" in page.read_text(encoding="utf-8")
