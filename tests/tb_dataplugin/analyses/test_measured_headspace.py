"""What steps on copies of batches say: means, intervals, words."""

from __future__ import annotations

import msgspec
import pytest

from tb_dataplugin.analyses.headspace import Headspace, find_headspace
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.findings.headspace_sentence import headspace_evidence, headspace_sentence
from tb_dataplugin.model.trace import HeadspaceSteps, LoaderInfo
from tb_dataplugin.reader.pipeline_info import read_pipeline_info
from tb_dataplugin.report.build_headspace import headspace_report

MS = 1_000_000


def found(settings: LoaderInfo | None) -> Headspace:
    own = tuple(ms * MS for ms in (9, 11, 10, 10, 9, 11, 10, 10))
    headspace = find_headspace(HeadspaceSteps(own, (4 * MS,) * 6, 8, 1024, "host"), settings, None, ())
    assert headspace is not None
    return headspace


def test_means_stand_in_their_intervals() -> None:
    headspace = found(LoaderInfo(batch_size=20, num_workers=2))
    assert headspace.step_ns.value == 4 * MS == headspace.step_ns.low
    assert headspace.own_ns.low < headspace.own_ns.value == 10 * MS < headspace.own_ns.high
    assert headspace.samples_per_s is not None
    assert headspace.samples_per_s.value == pytest.approx(5000)
    assert headspace.times_faster.value == pytest.approx(2.5)


def test_the_evidence_names_both_rates_or_both_steps() -> None:
    known = headspace_evidence(found(LoaderInfo(batch_size=20))).text
    assert known == "measured: the loop alone could do 5,000 samples/s; it does 2,000 with its loader"
    unknown = headspace_evidence(found(None)).text
    assert unknown == "measured: the loop alone could do 4.00 ms per step; it takes 10.0 ms with its loader"


def test_the_report_has_microseconds_and_says_that_the_cpus_were_free() -> None:
    headspace = found(None)
    report = headspace_report(headspace, headspace_sentence(headspace))
    assert report.step_us.value == 4000
    assert not report.HasField("samples_per_s")
    assert "so it used no CPU either" in report.sentence


@pytest.mark.parametrize(
    "record",
    [{"own_us": [1.0], "step_us": [1.0, 2.0]}, {"own_us": [1.0, -2.0], "step_us": [1.0, 2.0]}, {"own_us": [1.0, 2.0]}],
)
def test_a_record_that_is_not_valid_is_left_out(record: object) -> None:
    diagnostics = DiagnosticsCollector()
    value = msgspec.json.decode(msgspec.json.encode({"mode": "train", "headspace": record}))
    assert read_pipeline_info(value, 0, diagnostics) is None
