from __future__ import annotations

from tests.tb_dataplugin.findings.cases import abstentions, finding_in, finding_of, reading


def test_many_small_reads_ask_for_packed_records() -> None:
    builder = reading(50_000)
    assert finding_in(builder, "small_reads").gain_us_per_step == 800
    assert finding_of(builder, "leading_stage") is None


def test_large_reads_are_told_as_the_leading_stage() -> None:
    assert finding_of(reading(10**7), "small_reads") is None
    assert finding_in(reading(10**7), "leading_stage").stage == "read::file"
    assert "small_reads" in abstentions(reading(None))
