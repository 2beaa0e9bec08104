from __future__ import annotations

from tb_dataplugin.export.paragraphs import noted
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.width import as_wide_as

TABLE = (Column("count", 7, 1), Column("self", 9), Column("p95", 8, 2), Column("wait", 8))


def test_columns_that_matter_least_leave_first() -> None:
    def kept(room: int) -> list[str]:
        return [column.head for column in with_room(TABLE, room)]

    assert kept(32) == ["count", "self", "p95", "wait"]
    assert kept(31) == ["count", "self", "wait"]
    assert kept(23) == ["self", "wait"]
    assert kept(3) == ["self", "wait"], "what matters most stays, whatever the width"


def test_cells_stand_below_their_heads() -> None:
    table = with_room((*TABLE, Column("  who", 7, align="<")), 39)
    row = cells(table, {"count": "12", "self": "3.40", "p95": "1", "wait": "5%", "  who": "  me"})
    assert heads(table) == "  count     self     p95    wait  who  "
    assert row == "     12     3.40       1      5%  me   "


def test_a_note_goes_below_its_numbers_where_it_has_no_room_beside_them() -> None:
    numbers = f"  {'window':<22}{'2.79 s':>10}   "
    with as_wide_as(60):
        assert list(noted(numbers, "20 steps, 139 ms each on average")) == [
            f"{numbers}20 steps, 139 ms each",
            f"{'':37}on average",
        ]
    with as_wide_as(50):
        assert list(noted(numbers, "20 steps")) == [numbers.rstrip(), "      20 steps"]
        assert list(noted(numbers, "")) == [numbers]
