from __future__ import annotations

from tests.tb_dataplugin.findings.cases import PINNED, copying, finding_in, finding_of


def test_pinned_copies_that_block_ask_for_non_blocking() -> None:
    assert "non_blocking" in finding_in(copying(PINNED, True), "blocking_copies").code
    assert finding_of(copying(PINNED, False), "blocking_copies") is None
