"""The report for a terminal or a log: sentence, numbers, pictures, tables, in at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_dataplugin.export.costs import (
    Line,
    cost_lines,
    host_limit_lines,
    limited_lines,
)
from tb_dataplugin.export.findings_text import finding_lines
from tb_dataplugin.export.gaps_text import gap_lines
from tb_dataplugin.export.harmless import harmless
from tb_dataplugin.export.lines_text import line_lines
from tb_dataplugin.export.paragraphs import UNBROKEN, heading, more, noted, page, title, wrap
from tb_dataplugin.export.samples_text import replayed_lines, slow_sample_lines
from tb_dataplugin.export.stages_text import stage_lines
from tb_dataplugin.export.summary_text import rank_words, summary_lines
from tb_dataplugin.export.terminal import PLAIN, Style
from tb_dataplugin.export.width import columns
from tb_dataplugin.export.workers_text import worker_lines
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.brief import with_folder
from tb_dataplugin.report.items import items
from tb_dataplugin.report.rows import worst_first
from tb_dataplugin.units import TimeUnit, count, duration, in_unit, percent, plural, significant, unit_for
from tb_dataplugin.words import MODES, cause_label, label_of

BAR, SHORTEST_BAR = 40, 8
MAX_STEPS = 12


def as_text(report: pb.Report, style: Style = PLAIN, *, only_summary: bool = False, whole_runs: str = "") -> str:
    """Every capture, one below the other; several of them begin with one line each, and the worst comes first.

    Args:
        only_summary: those lines alone.
        whole_runs: what is said of them (`runs_text`), below those lines.
    """
    captures = [capture for capture, _ in worst_first(harmless(report).captures)]
    return page(_sections(captures, style, only_summary, whole_runs), style)


def _sections(captures: Sequence[pb.Capture], style: Style, only_summary: bool, whole_runs: str) -> Iterator[str]:
    if only_summary or len(captures) > 1:
        yield from [*_table(summary_lines(captures), style), ""][1:]
    if whole_runs:
        yield whole_runs
    for capture in () if only_summary else captures:
        yield from (*_capture(capture, style), "")


def _capture(capture: pb.Capture, style: Style) -> Iterator[str]:
    facts = (
        label_of(MODES, capture.mode),
        rank_words(capture),
        f"torch {capture.torch_version}" if capture.torch_version else "",
        capture.host,
    )
    yield from title(" · ".join((with_folder(capture.name, capture.file), *filter(None, facts))), style)
    if capture.HasField("selection"):
        yield from wrap(capture.selection.sentence, "", "  ")
    yield from map(style.bold, wrap(capture.verdict.sentence, ""))
    for fact in capture.verdict.evidence:
        if not fact.in_sentence and fact.kind != "data_wait":  # the rows below have it
            yield from wrap(fact.text, "  ")
    for doubt in capture.doubts:
        yield from wrap(f"Doubtful: {doubt.sentence}", "", "  ")
    yield ""
    yield from _numbers(capture)
    for section in (
        _replayed,
        _idle_causes,
        _steps,
        stage_lines,
        _lines,
        worker_lines,
        _slow_samples,
        gap_lines,
        finding_lines,
    ):
        yield from section(capture, style)
    yield from _diagnostics(capture, style)


def _numbers(capture: pb.Capture) -> Iterator[str]:
    window = capture.window_us

    def line(name: str, value: str, *notes: str) -> str:
        return "\n".join(noted(f"  {name:<22}{value:>10}   ", ", ".join(filter(None, notes))))

    steps = capture.steps
    of = f" of {steps.batches_each}" if steps.batches_each else ""
    each = f"{plural(steps.count, 'step')}{of}, {duration(steps.mean_us)} each on average, p95 {duration(steps.p95_us)}"
    yield line("window", duration(window), each if capture.HasField("steps") else "the whole trace: it has no steps")
    for device in capture.devices:
        gaps = f"{plural(device.gap_count, 'gap')}, longest {duration(device.longest_gap_us)}"
        note = f" ({device.idle_note})" if device.idle_note else ""
        share = f"{percent(_share(device.idle_us, window))} of the window{note}"
        yield line(f"device {device.id} idle", duration(device.idle_us), share, gaps, device.name)
    if capture.HasField("loader"):
        yield from _loader_numbers(capture, line)
    if capture.HasField("throughput"):
        yield from _rates(capture, line)
    if capture.HasField("headspace"):
        yield from _headspace(capture.headspace, line)
    yield from host_limit_lines(capture, line)
    yield from cost_lines(capture, line)
    if capture.environment.HasField("recording_cost_us"):
        cost = capture.environment
        yield line("recording cost", duration(cost.recording_cost_us), cost.recording_cost_text)


def _loader_numbers(capture: pb.Capture, line: Line) -> Iterator[str]:
    loader, window = capture.loader, capture.window_us
    share = f"{percent(_share(loader.wait_us, window))} of the window"
    waits = (
        f"{plural(loader.wait_count, 'wait')}, p50 {duration(loader.wait_p50_us)}, max {duration(loader.wait_max_us)}"
    )
    yield line("data wait", duration(loader.wait_us), share, waits, _steady_share(loader.steady_state))
    if loader.HasField("exposed_wait_us"):
        exposed = f"{percent(_share(loader.exposed_wait_us, window))} of the window"
        yield line("  exposed", duration(loader.exposed_wait_us), exposed, "the device was idle")
        yield line("  hidden", duration(loader.hidden_wait_us), "the device was busy")
    if not capture.devices:
        yield from limited_lines(loader.limited_by_us)
    if loader.steady_state.state not in ("", "steady"):
        yield from wrap(loader.steady_state.sentence, "  ")
    if loader.HasField("first_batch_wait_us"):
        includes = "includes iter(loader)" if loader.has_iter else "without iter(loader)"
        whose = f"of {loader.first_batch_of}" if loader.first_batch_of else ""
        number = max(1, loader.first_batch_count)
        each = f"on average of {count(number)} epochs" if number > 1 else ""
        yield line("  first batch", duration(loader.first_batch_wait_us / number), each, includes, whose)
    if loader.HasField("num_workers"):
        size = f"batches of {loader.batch_size}" if loader.HasField("batch_size") else ""
        replayed = capture.mode == "replay" and loader.num_workers
        note = "of the replayed loader; the replay used none" if replayed else ""
        yield line("DataLoader workers", count(loader.num_workers), note, size, loader.dataset)


def _steady_share(steady: pb.SteadyState) -> str:
    """Where the sentence below does not have it."""
    is_said = steady.state not in ("", "steady") and "95% interval" in steady.sentence
    if is_said or not steady.HasField("share_low"):
        return ""
    ends = f"95% interval {percent(steady.share_low)} to {percent(steady.share_high)}"
    return f"steady state {percent(steady.share)} of a step ({ends})"


def _rates(capture: pb.Capture, line: Line) -> Iterator[str]:
    rates, codes = capture.throughput, {note.code for note in capture.diagnostics}
    step = "training step and waiting for other ranks" if capture.world_size > 1 else "training step"
    has = {"rates_with_others": "another DataLoader", "rates_with_lone_step": "its one long step"}
    within = [what for code, what in has.items() if code in codes]
    step = f"{step} with {' and '.join(within)}" if within else step
    has_both = rates.HasField("read_per_s") and rates.HasField("prepare_per_s")
    both = f" (both by turns {significant(rates.load_per_s)})" if has_both else ""
    alone = {
        "reading": rates.read_per_s if rates.HasField("read_per_s") else None,
        "preparation": rates.prepare_per_s if rates.HasField("prepare_per_s") else None,
        "around the loader": rates.around_per_s if rates.HasField("around_per_s") else None,
        step: rates.device_per_s if rates.HasField("device_per_s") else None,
    }
    known = [
        f"{name} {significant(rate)}{both if name == 'preparation' else ''}"
        for name, rate in alone.items()
        if rate is not None
    ]
    limits = f"; {rates.slowest_text}" if rates.slowest_text else ""
    notes = (f"each by itself: {', '.join(known)}{limits}{_from_queue(rates)}",) if known else ()
    yield line(f"{items(rates.item)} per second", significant(rates.samples_per_s), *notes)


def _from_queue(rates: pb.Throughput) -> str:
    """Why more of them were used than could be prepared, where they were."""
    known = [getattr(rates, name) for name in ("read_per_s", "prepare_per_s") if rates.HasField(name)]
    is_less = bool(known) and min(known) < rates.samples_per_s
    return "; the first batches were ready before the window began" if is_less else ""


def _headspace(headspace: pb.Headspace, line: Line) -> Iterator[str]:
    """What the loop alone could do."""
    if headspace.HasField("samples_per_s"):
        rate, own = headspace.samples_per_s, headspace.own_samples_per_s
        between = f"{significant(rate.low)} to {significant(rate.high)}"
        yield line(
            "  without the loader",
            significant(rate.value),
            f"95% interval {between}",
            f"with it {significant(own.value)}",
        )
    yield from wrap(headspace.sentence, "  ")


def _idle_causes(capture: pb.Capture, style: Style) -> Iterator[str]:
    for device in capture.devices:
        causes = {cause.name: time for cause, time in device.idle_by_cause_us.ListFields() if time}
        if not causes:
            continue
        unit, longest = unit_for(causes.values()), max(causes.values())
        yield from heading(f"Why device {device.id} is idle ({unit.name}, share of the window)", style)
        for cause, time in sorted(causes.items(), key=lambda part: -part[1]):
            share = percent(_share(time, capture.window_us))
            numbers = f"  {cause_label(cause):<20}{in_unit(time, unit):>9}{share:>9}  "
            bar = style.paint(cause, _bar([(time, style.full)], longest, _bar_width(len(numbers))))
            yield f"{numbers}{bar}".rstrip()
            if cause == "launch" and device.idle_queued_us:
                queued, share = device.idle_queued_us, percent(_share(device.idle_queued_us, capture.window_us))
                numbers = f"  {'  not started yet':<20}{in_unit(queued, unit):>9}{share:>9}  "
                yield from noted(numbers, "launched but not started")
            if cause in device.limited_by_us:
                yield from limited_lines(device.limited_by_us[cause])


def _steps(capture: pb.Capture, style: Style) -> Iterator[str]:
    if not capture.steps.items:
        return
    items = capture.steps.items[:MAX_STEPS]
    unit = unit_for(step.duration_us for step in items)
    longest = max(step.duration_us for step in items)
    glyphs = _idle_glyphs(capture, style) if capture.devices else {"data_wait": style.dark}
    tokens = {glyph: cause for cause, glyph in glyphs.items()} | {style.full: "kernel"}
    rows = [_step_row(step, unit) for step in items]
    width = _bar_width(max(len(numbers) + len(waited) for numbers, waited in rows))
    yield from heading(f"Steps ({unit.name})   {_step_legend(capture, glyphs, style) if width else ''}", style)
    for step, (numbers, waited) in zip(items, rows, strict=True):
        parts = _device_parts(step, glyphs, style) if capture.devices else _host_parts(step, style)
        bar = style.paint_bar(f"{_bar(parts, longest, width):<{width}}", tokens)
        yield f"{numbers}{bar}{waited}" if width else f"{numbers}{waited.lstrip()}"
    yield from more(len(capture.steps.items) - len(items), "steps")
    if capture.steps.counted:
        yield from wrap(f"steps: {capture.steps.counted}", "  ")
    if capture.steps.sawtooth.sentence:
        yield from wrap(capture.steps.sawtooth.sentence, "  ")


def _step_row(step: pb.Step, unit: TimeUnit) -> tuple[str, str]:
    """What stands before its bar, and behind it."""
    waited = f"  data wait {in_unit(step.data_wait_us, unit)}" if step.HasField("data_wait_us") else ""
    return f"  step {step.number:<6}{in_unit(step.duration_us, unit):>9}  ", waited


def _step_legend(capture: pb.Capture, glyphs: dict[str, str], style: Style) -> str:
    """What the bars are made of; nothing is called data wait where that is unknown."""
    if not capture.devices:
        is_known = capture.HasField("loader")
        waits = {"data wait": style.dark} if is_known else {}
        named = {**waits, "rest of the step" if is_known else "whole step": style.light}
    else:
        causes = {f"idle: {cause_label(cause)}": glyph for cause, glyph in glyphs.items()}
        named = {"device busy": style.full, **causes, "idle: other" if causes else "idle": style.light}
    return "  ".join(f"{glyph} {name}".replace(" ", UNBROKEN) for name, glyph in named.items())


def _idle_glyphs(capture: pb.Capture, style: Style) -> dict[str, str]:
    """The data wait, if it kept the device idle, and the largest other cause have separate glyphs in the steps."""
    causes: dict[str, float] = {}
    for step in capture.steps.items:
        for cause, time in step.idle_by_cause_us.ListFields():
            causes[cause.name] = causes.get(cause.name, 0.0) + time
    ranked = sorted(filter(causes.get, causes), key=lambda cause: (cause != "data_wait", -causes[cause]))
    return dict(zip(ranked, (style.dark, style.medium) if "data_wait" in ranked else (style.medium,), strict=False))


def _device_parts(step: pb.Step, glyphs: dict[str, str], style: Style) -> list[tuple[float, str]]:
    idle = {cause.name: time for cause, time in step.idle_by_cause_us.ListFields()}
    named = [(idle.get(cause, 0.0), glyph) for cause, glyph in glyphs.items()]
    other = max(0.0, step.duration_us - step.device_busy_us - sum(time for time, _ in named))
    return [(step.device_busy_us, style.full), *named, (other, style.light)]


def _host_parts(step: pb.Step, style: Style) -> list[tuple[float, str]]:
    return [(step.data_wait_us, style.dark), (step.duration_us - step.data_wait_us, style.light)]


def _lines(capture: pb.Capture, style: Style) -> Iterator[str]:
    if capture.lines.samples:
        yield from heading("Hottest lines   share of the time inside the stage", style)
        yield from line_lines(capture)


def _slow_samples(capture: pb.Capture, style: Style) -> Iterator[str]:
    yield from _table(slow_sample_lines(capture), style)


def _replayed(capture: pb.Capture, style: Style) -> Iterator[str]:
    yield from _table(replayed_lines(capture), style)


def _table(lines: Iterator[str], style: Style) -> Iterator[str]:
    """Lines of which the first is the heading."""
    for first in lines:
        yield from heading(first, style)
        yield from lines


def _diagnostics(capture: pb.Capture, style: Style) -> Iterator[str]:
    if not capture.diagnostics and not capture.abstained:
        return
    yield from heading("Missing data and warnings", style)
    for note in capture.diagnostics:
        times = f" ({count(note.count)} times)" if note.count > 1 else ""
        yield from wrap(f"{note.message}{times}", "  - ", "    ")
    for check in capture.abstained:
        yield from wrap(f"Inconclusive: {check.title}. {check.reason}", "  - ", "    ")


def _bar_width(beside: int) -> int:
    """With `beside` columns of text in its line; 0 where the rest is too little for a picture."""
    room = min(BAR, columns() - beside)
    return room if room >= SHORTEST_BAR else 0


def _bar(parts: Sequence[tuple[float, str]], longest: float, width: int) -> str:
    """Parts end on the rounded sums, so that rounding never adds up."""
    bar, reached = "", 0.0
    for value, glyph in parts:
        reached += value
        bar += glyph * (round(reached / longest * width) - len(bar) if longest else 0)
    return bar


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
