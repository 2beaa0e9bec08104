"""The part of the report about samples that were replayed: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from tb_dataplugin.analyses.replayed_samples import ReplayedSample
from tb_dataplugin.findings.line_texts import line_text
from tb_dataplugin.findings.replay_sentences import cause_of, replayed_text
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import maybe_us, us


def replayed_report(sample: ReplayedSample, no_cpu: float) -> pb.ReplayedSample:
    return pb.ReplayedSample(
        index=sample.index,
        warm_us=us(sample.warm_ns),
        loads=sample.loads,
        cold_us=maybe_us(sample.cold_ns),
        captured_us=maybe_us(sample.captured_ns),
        fastest_us=us(sample.fastest_ns),
        cpu_us=maybe_us(sample.cpu_ns),
        usual_us=maybe_us(sample.usual_ns),
        cause=cause_of(sample, no_cpu),
        text=replayed_text(sample, no_cpu),
        stage=sample.stage.name,
        stage_share=sample.stage_share,
        line=line_text(sample.line) if sample.line else "",
        line_share=sample.line.share if sample.line else 0.0,
        files=sample.files,
    )
