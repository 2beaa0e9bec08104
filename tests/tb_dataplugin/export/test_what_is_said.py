"""What the text says of a capture, and what it leaves out."""

from __future__ import annotations

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.report import report_pb2 as pb


def test_the_summary_counts_the_findings_of_a_plain_capture() -> None:
    capture = pb.Capture(mode="unannotated", name="a", findings=[pb.Finding(title="Slow"), pb.Finding(title="Slower")])
    row = as_text(pb.Report(captures=[capture]), only_summary=True).splitlines()[2]
    assert "       2  plain capture: Slow" in row


def test_the_recording_cost_of_the_whole_capture_is_not_said_of_some_steps() -> None:
    cost = pb.Environment(recorder_overhead_us=10, marker_count=5)
    capture = pb.Capture(mode="train", name="a", window_us=100, environment=cost)
    assert "recording cost" in as_text(pb.Report(captures=[capture]))
    capture.selection.sentence = "Step 3 only."
    assert "recording cost" not in as_text(pb.Report(captures=[capture]))
