from __future__ import annotations

from tests.tb_dataplugin.findings.cases import STEP, evidence_of, finding_in, finding_of, input_bound
from tests.trace_builder import TraceBuilder

WAITING = {"sample::Pets": (0.0, 1.0, 0.2), "read::file": (0.0, 0.9, 0.1)}


def from_disk(disk_busy: float | None, from_storage: float = 0.9) -> TraceBuilder:
    """Workers that wait for what they read."""
    builder = input_bound(stages=WAITING, costs={"read_chars": 1000, "read_bytes": round(1000 * from_storage)})
    return builder if disk_busy is None else builder.counter("host::disk_busy", STEP, sda=disk_busy, sdb=1.0)


def test_workers_that_wait_for_a_busy_disk_get_no_advice_to_be_more() -> None:
    said = finding_in(from_disk(disk_busy=99.0), "storage_bound")
    assert "More DataLoader workers will not help" in said.title and "the disk sda is 99.0% busy" in evidence_of(said)
    assert finding_of(from_disk(disk_busy=99.0), "too_few_workers") is None


def test_storage_with_room_or_unknown_leaves_more_workers_possible() -> None:
    for builder in (from_disk(disk_busy=40.0), from_disk(disk_busy=None)):
        assert finding_of(builder, "storage_bound") is None
        assert finding_in(builder, "too_few_workers").confidence == "possible"


def test_a_busy_disk_that_the_workers_do_not_read_from_is_none_of_theirs() -> None:
    assert finding_of(from_disk(disk_busy=99.0, from_storage=0.0), "storage_bound") is None
    assert finding_in(from_disk(disk_busy=99.0, from_storage=0.0), "too_few_workers").confidence == "likely"
