"""What to change, in words: each finding with its advice, code, gain and evidence."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.export.paragraphs import heading, wrap
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.words import GAIN_BOUND, as_sentence


def finding_lines(capture: pb.Capture, style: Style) -> Iterator[str]:
    if not capture.findings:
        return
    yield from heading("What to change   (by severity, then by what they may save)", style)
    if capture.gains_sentence:
        yield from wrap(capture.gains_sentence, " ")
    for number, finding in enumerate(capture.findings, 1):
        yield from map(style.bold, wrap(f"{finding.title}  [severity: {finding.severity}]", f" {number}. ", "    "))
        yield from wrap(finding.advice, "    ")
        yield from (f"      {line}" for line in finding.code.splitlines())
        gains = finding.HasField("gain_us_per_step")
        why = [fact.text for fact in finding.evidence if gains and fact.kind.startswith(GAIN_BOUND)]
        yield from wrap(" ".join(as_sentence(text) for text in (finding.gain_text, *why)), "    ")
        facts = [fact.text for fact in finding.evidence if fact.text not in why]
        yield from wrap("Evidence: " + "; ".join(facts) + ".", "    ")
        if finding.confidence_reason:
            yield from wrap(f"{finding.confidence.capitalize()}, not measured: {finding.confidence_reason}", "    ")
