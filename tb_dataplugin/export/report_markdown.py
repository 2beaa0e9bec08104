"""A report as Markdown: for the summary of a CI job, an issue, or a comment."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.export.compare_markdown import literal
from tb_dataplugin.export.harmless import harmless
from tb_dataplugin.export.run_markdown import MOST_FINDINGS, MOST_STAGES, by_data_wait, more, run_name, run_section
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.items import items
from tb_dataplugin.report.rows import loop_wait, wide_interval
from tb_dataplugin.shown import shown
from tb_dataplugin.units import UNKNOWN, count, duration, percent, significant
from tb_dataplugin.watchfile.stepless import NO_STEP


def report_markdown(report: pb.Report) -> str:
    report = harmless(report)
    sections = [
        *map(run_section, sorted(report.whole_runs, key=by_data_wait)),
        *map(_no_step, report.runs_without_steps),
        *map(_ranks, report.ranks),
        *map(_capture, report.captures),
    ]
    return "\n".join(line for section in sections for line in section)


def _no_step(run: pb.RunWithoutSteps) -> Iterator[str]:
    name = run_name(run.run, run.rank if run.HasField("rank") else None)
    yield f"### {literal(shown(name))}: {NO_STEP}"
    yield ""
    yield literal(f"{run.reason_text[:1].upper()}{run.reason_text[1:]}.")
    yield ""


def _ranks(ranks: pb.Ranks) -> Iterator[str]:
    yield f"### Ranks of {literal(ranks.run)}: {literal(ranks.sentence)}"
    yield ""
    yield "| rank | step | data wait | inherited | owned | cause |"
    yield "|---:|---:|---:|---:|---:|---|"
    worst = sorted(ranks.rows, key=lambda row: (-row.owned_us, -row.inherited_us))
    for row in worst[:MOST_STAGES]:
        step = duration(row.step_us) if row.HasField("step_us") else UNKNOWN
        wait = duration(row.data_wait_us) if row.HasField("data_wait_us") else UNKNOWN
        times = f"{step} | {wait} | {duration(row.inherited_us)} | {duration(row.owned_us)}"
        yield f"| {row.rank} | {times} | {literal(row.cause)} |"
    yield from more(len(ranks.rows) - MOST_STAGES, "more rank")
    for waste in ranks.waste:
        yield f"- {literal(waste.sentence)}"
    yield ""


def _capture(capture: pb.Capture) -> Iterator[str]:
    yield f"### {literal(capture.name)}: {literal(capture.verdict.sentence)}"
    yield ""
    for doubt in capture.doubts:
        yield f"**Doubtful.** {literal(doubt.sentence)}"
        yield ""
    yield from _numbers(capture)
    for finding in capture.findings[:MOST_FINDINGS]:
        yield f"- **{literal(finding.title)}** ({literal(finding.gain_text)}): {literal(finding.advice)}"
    yield from more(len(capture.findings) - MOST_FINDINGS, "more finding")
    if capture.gains_sentence:
        yield ""
        yield literal(capture.gains_sentence)
    yield ""
    yield from _stages(capture)


def _numbers(capture: pb.Capture) -> Iterator[str]:
    facts = []
    if capture.HasField("steps"):
        of = f" of {capture.steps.batches_each}" if capture.steps.batches_each else ""
        facts.append(f"step {duration(capture.steps.mean_us)} ({count(capture.steps.count)} steps{of})")
    if capture.HasField("loader") and capture.window_us:
        ends = f"steady state {ends} of a step" if (ends := wide_interval(capture)) else ""
        known = "; ".join(filter(None, (loop_wait(capture), ends)))
        share = percent(capture.loader.wait_us / capture.window_us)
        facts.append(f"data wait {share} of the window{f' ({known})' if known else ''}")
    if capture.devices and capture.window_us:
        device = capture.devices[0]
        note = f" ({device.idle_note})" if device.idle_note else ""
        facts.append(f"device idle {percent(device.idle_us / capture.window_us)}{note}")
    if capture.HasField("throughput"):
        facts.append(f"{significant(capture.throughput.samples_per_s)} {items(capture.throughput.item)}/s")
    if facts:
        yield literal("; ".join(facts)) + "."
        yield ""


def _stages(capture: pb.Capture) -> Iterator[str]:
    rows = sorted(capture.stages, key=lambda stage: -stage.self_us)
    if not rows:
        return
    yield "| stage | calls | self time | p50 | p95 |"
    yield "|---|---:|---:|---:|---:|"
    for stage in rows[:MOST_STAGES]:
        times = f"{duration(stage.self_us)} | {duration(stage.p50_us)} | {duration(stage.p95_us)}"
        yield f"| {literal(f'{stage.kind}::{stage.label}')} | {count(stage.count)} | {times} |"
    yield from more(len(rows) - MOST_STAGES, "more stage")
    yield ""
