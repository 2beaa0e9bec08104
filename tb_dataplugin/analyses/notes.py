"""What was odd in the file, then what cannot be known, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from annotate.trace_format import TAKEN_ELSEWHERE
from tb_dataplugin.analyses.attribution import DeviceAttribution
from tb_dataplugin.analyses.copies import CopyFigures
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.few_files import few_files_sentence, find_few_files
from tb_dataplugin.analyses.hot_lines import HotLines
from tb_dataplugin.analyses.inner_loop_texts import inner_loops_note
from tb_dataplugin.analyses.inner_loops import find_inner_loops
from tb_dataplugin.analyses.iter_unseen import iter_notes
from tb_dataplugin.analyses.lone_work import find_lone_work
from tb_dataplugin.analyses.other_programs import find_other_programs, own_crowd_sentence, unsure_crowd_sentence
from tb_dataplugin.analyses.profiler_weight import LAUNCHES_ARE_SLOWER, weight_sentence
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stages import FURTHER, StageTree
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.analyses.steps import lacks_whole_step
from tb_dataplugin.analyses.taken_cpus import TakenCpus, find_taken_cpus
from tb_dataplugin.analyses.throughput import LEAST_BATCHES
from tb_dataplugin.analyses.unannotated import alike_notes, unannotated_notes
from tb_dataplugin.analyses.unfollowed import unfollowed_workers
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Diagnostic, Unavailable
from tb_dataplugin.limits import MOST_STAGES
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.units import data_size, duration, percent, plural, plural_of, significant

WORTH_A_WORD = 0.01
"""Share of the window from which time that a rate has in it is named."""

CONTENDED = 0.05
"""Share of its time that a thread waits for a CPU, from which a rate of it says less than it would reach alone."""

NOTHING_CAME = "no data from DataLoader workers"
"""Begins a note, which blames how the loader was annotated: where the loop was over, its workers had nothing to build.
"""

LATER = "annotate.profile(..., wait=..., active=...); under run: --wait, --active; attach: --seconds"
LONGER = "annotate.profile(..., active=...); under run: --active; attach: --seconds"

ALWAYS = ("steps", "devices", "loader", "stages", "throughput")
"""Analyses whose absence is noted for every kind of capture."""


def collect_notes(results: Results, missing: Mapping[str, Unavailable]) -> Iterator[Diagnostic]:
    """`missing`: by analysis, why it found nothing."""
    trace, attribution, ended = results.trace, results.attribution, lacks_whole_step(results.trace)
    yield from trace.diagnostics
    yield from (missing[name].as_diagnostic() for name in ALWAYS if name in missing)
    if results.workers is not None:
        yield from _worker_notes(results.workers, are_chosen=results.selection is not None)
    elif missing["workers"].code == "no_worker_records" and not ended:  # a loader without workers has none to miss
        yield missing["workers"].as_diagnostic()
    if attribution.why_not is not None and results.stages and results.loader is not None and not ended:
        yield attribution.why_not.as_diagnostic()
    if (
        results.steady is not None
        and results.steady.state in ("draining", "filling")
        and not results.steady.is_as_measured
    ):
        yield _not_steady(results.steady)
    few = find_few_files(results)
    if few is not None:
        yield Diagnostic("loader", "few_files", 1, few_files_sentence(few))
    yield from _mixed_notes(trace)
    inner = find_inner_loops(results)
    if inner is not None:
        yield Diagnostic("loader", "inner_loops", 1, inner_loops_note(inner))
    yield from iter_notes(results)
    yield from _cause_notes(attribution.devices)
    yield from _copy_notes(results.devices, results.copies)
    if trace.info.mode == "train":
        if "load" in missing:
            yield missing["load"].as_diagnostic()
        yield from _growth_notes(results)
        yield from _cost_notes(results, missing.get("costs"))
        yield from _sample_notes(results, missing.get("limits"))
        yield from unannotated_notes(results)
        yield from alike_notes(results)
    if "lines" in missing and missing["lines"].code != "not_recorded":
        yield missing["lines"].as_diagnostic()
    yield from _crowd_notes(results)
    yield from _rate_notes(results)
    yield from _line_notes(results.lines)
    weight = results.profiler_weight
    if weight is not None and weight.is_noticed and not weight.is_heavy:
        yield Diagnostic("capture", "profiler_weight", 1, weight_sentence(weight))
    if results.devices and trace.info.mode == "train" and (weight is None or not weight.before):
        yield Diagnostic("capture", "profiler_weight_unknown", 1, LAUNCHES_ARE_SLOWER)
    is_said = "loader" in missing and missing["loader"].code == "fed_by_thread"
    left_out = NOTHING_CAME if ended else TAKEN_ELSEWHERE if is_said else None
    yield from _trace_notes(trace, results.tree, left_out)


def _mixed_notes(trace: Trace) -> Iterator[Diagnostic]:
    """Of a plain capture, where torch's marks are all that is known of its DataLoaders."""
    mixed = trace.info.mixed_loop
    if mixed and (trace.info.pipeline is None or not trace.info.pipeline.loaders):
        most = {
            "with": ". Most steps ask one with workers",
            "without": ". Most steps ask one without: num_workers=0 is said of that one",
        }
        message = f"Some DataLoaders have workers, and some have none, by torch's marks{most.get(mixed, '')}"
        yield Diagnostic("loader", "mixed_loaders", 1, message)


def _crowd_notes(results: Results) -> Iterator[Diagnostic]:
    """CPUs that processes beside the loop's had, where these are, or may be, the program's own."""
    found, workers = find_other_programs(results), unfollowed_workers(results)
    if found is not None and found.own_crowd:
        yield Diagnostic("capture", "own_processes", 1, own_crowd_sentence(found, workers))
    if found is not None and found.unsure_crowd:
        yield Diagnostic("capture", "unknown_processes", 1, unsure_crowd_sentence(found))


def few_batches_sentence(batches: int) -> str:
    return (
        "What reading, preparation and the training step could sustain alone is unknown: the window has "
        f"{plural(batches, 'batch')}, and it takes {LEAST_BATCHES}. Choose more steps, or capture more"
    )


def _rate_notes(results: Results) -> Iterator[Diagnostic]:
    """That rates were measured while CPUs were missing, or other ranks were waited for."""
    rates, costs, taken = results.throughput, results.worker_costs, find_taken_cpus(results)
    each = plural_of(rates.item if rates else "sample")
    if rates is not None and rates.batches is not None:
        yield Diagnostic("throughput", "few_batches", 1, few_batches_sentence(rates.batches))
    if rates is not None and rates.guessed_batches:
        number = plural(rates.guessed_batches, "batch")
        message = (
            f"How many samples {number} had was not recorded. Each counts as a full one, so samples per second are "
            "approximate: an epoch's last batch may have fewer"
        )
        yield Diagnostic("throughput", "guessed_samples", 1, message)
    if rates is not None and rates.is_of_one and results.settings is not None:
        message = (
            f"{each.capitalize()} per second are those of the DataLoader of {results.settings.dataset or 'a dataset'} "
            "alone: steps draw from others as well"
        )
        yield Diagnostic("throughput", "samples_of_one", 1, message)
    delayed = (costs.run_delay or 0.0) if costs and rates and rates.load else 0.0
    step_delayed = taken.delayed if taken and rates and rates.device else 0.0
    who = [
        f"{name} for {percent(share)} of {whole}"
        for name, share, whole in (
            ("DataLoader workers", delayed, "their build time"),
            ("the training thread", step_delayed, f"the time outside the data wait{_of_all(taken)}"),
        )
        if share >= CONTENDED
    ]
    if who:
        first, *more = who
        waits = ", ".join((first.replace(" for ", " waited for a CPU for ", 1), *more))
        message = f"The {each}/s of each part are with waiting for a CPU: {waits}. Without it they would be higher"
        yield Diagnostic("throughput", "contended_rates", 1, message)
    if rates is not None and rates.device and (results.trace.info.world_size or 1) > 1:
        message = (
            f"The training step's {each}/s are with waiting for other ranks in collectives: without that a rank that "
            "waits for them would have more"
        )
        yield Diagnostic("throughput", "rates_with_ranks", 1, message)
    if rates is not None and rates.device and rates.others_ns >= WORTH_A_WORD * results.window.duration_ns:
        share = percent(rates.others_ns / results.window.duration_ns)
        message = f"The training step's {each}/s are with what another DataLoader takes, {share} of the window"
        if _is_built_by_workers(results):
            message += ": the loop's own goes on building meanwhile"
        yield Diagnostic("throughput", "rates_with_others", 1, message)
    yield from _lone_note(results, each)


def _lone_note(results: Results, each: str) -> Iterator[Diagnostic]:
    """Rates are by the clock, all steps in. `each`: what is counted."""
    rates, lone = results.throughput, find_lone_work(results.steps) if results.steps else None
    if rates is None or not rates.device or lone is None or lone.more_ns < WORTH_A_WORD * results.window.duration_ns:
        return
    busy = results.devices[0].busy.total_ns if results.devices else 0
    left = max(busy, rates.consumer_ns - lone.more_ns)
    if left < rates.consumer_ns and left > 0:
        message = (
            f"The training step's {each}/s are by the clock, with step {lone.step}, which takes "
            f"{duration(lone.more_ns / 1e3)} longer than another on average: if it took as long, the rate would be "
            f"{significant(rates.samples / left * 1e9)}"
        )
        yield Diagnostic("throughput", "rates_with_lone_step", 1, message)


def _is_built_by_workers(results: Results) -> bool:
    """Whether DataLoader workers are known to build the training loop's batches."""
    return results.workers is not None and bool((results.workers.batches.table.loader == results.use.main).any())


def _of_all(taken: TakenCpus | None) -> str:
    return " of all recorded steps" if taken is not None and taken.of_all else ""


def _line_notes(lines: HotLines | None) -> Iterator[Diagnostic]:
    check = lines.check if lines else None
    if check is not None and not check.agrees:
        message = (
            f"Sampled lines: the share of {check.stage} by stack samples differs by {abs(check.difference) * 100:.1f} "
            "points from its share by spans, so take the shares of lines as rough. The sampler was kept from its CPU, "
            "or some code hides from it"
        )
        yield Diagnostic("capture", "lines_disagree", 1, message)


def _trace_notes(trace: Trace, tree: StageTree, left_out: str | None) -> Iterator[Diagnostic]:
    """Of the trace as a whole; without the notes that begin so, which are said in other words."""
    if tree.merged:
        message = f"The capture has more than {MOST_STAGES:,} different stages; the others count as {FURTHER.name}"
        yield Diagnostic("file", "limit_stages", tree.merged, message)
    if tree.clipped:
        message = "Stage spans ran past the end of the span they started in; their time is cut there"
        yield Diagnostic("stages", "overlapping_spans", tree.clipped, message)
    if trace.info.pipeline:
        yield from (
            Diagnostic("capture", "capture_note", 1, note)
            for note in trace.info.pipeline.notes
            if left_out is None or not note.startswith(left_out)
        )


def _worker_notes(workers: Workers, *, are_chosen: bool) -> Iterator[Diagnostic]:
    """are_chosen: the window is of some of the recorded steps, so that more of them may do."""
    dropped = sum(times.process.dropped_spans for times in workers.times)
    if dropped:
        message = "Spans of DataLoader workers were dropped at their limit; stage times are too low by that much"
        yield Diagnostic("workers", "dropped_spans", dropped, message)
    if workers.clock_violations:
        message = "Batches arrived before they were finished: the clocks disagree, and times are off by as much"
        yield Diagnostic("workers", "clock_violation", workers.clock_violations, message)
    if workers.from_before:
        yield Diagnostic("workers", "batches_from_before", 1, _from_before(workers, are_chosen=are_chosen))


def _from_before(workers: Workers, *, are_chosen: bool) -> str:
    if workers.from_before == 1:
        got = "how its batch was built: the one that the loop got in it"
    else:
        got = f"how its batches were built: all {workers.from_before} that the loop got in it"
    others = "; stages and build times are of others" if any(times.busy.total_ns for times in workers.times) else ""
    more = "Choose" if are_chosen else "Record"
    steps = f"{more} more steps than num_workers x prefetch_factor, and not the last of an epoch"
    how = f", or record more: {LONGER}" if are_chosen else f": {LONGER}"
    return (
        f"The window does not show {got} had been finished by a DataLoader worker before it began{others}. {steps}{how}"
    )


def _not_steady(steady: SteadyState) -> Diagnostic:
    does, shows = ("empties", "less") if steady.state == "draining" else ("fills", "more")
    message = (
        f"The queue of finished batches {does} in the window, so it shows {shows} data wait than the loop has in the "
        f"long run. Record a later or a longer window: {LATER}"
    )
    return Diagnostic("loader", "not_steady", 1, message)


def _cause_notes(devices: Sequence[DeviceAttribution]) -> Iterator[Diagnostic]:
    """What limits the causes of idle time."""
    if not devices:
        return
    if "launch" not in devices[0].causes:
        message = (
            "No runtime calls of the host were recorded, so every cause of idle time except data wait is unknown: "
            "profile with ProfilerActivity.CPU as well"
        )
        yield Diagnostic("device", "no_host_activity", 1, message)
        return
    unlaunched = sum(device.unlaunched for device in devices)
    if unlaunched:
        message = (
            "The launch of the activity that ended a gap is not in the trace; the cause of such a gap is what the "
            "training thread did in it"
        )
        yield Diagnostic("device", "launch_not_recorded", unlaunched, message)


def _copy_notes(devices: Sequence[DeviceIdle], copies: Sequence[CopyFigures | None]) -> Iterator[Diagnostic]:
    """What is not known of devices and their copies."""
    for device, copied in zip(devices, copies, strict=True):
        if device.kernel_busy_ns is None:
            message = f"No kernels of device {device.device} were recorded, only copies: its compute time is unknown"
            yield Diagnostic("device", "no_kernels", 1, message)
        if copied is None:
            message = f"No copies to device {device.device} were recorded in the window, so their cost is unknown"
            yield Diagnostic("device", "no_copies", 1, message)
        elif not copied.launched:
            message = f"No copy to device {device.device} can be linked to its call: whether it blocked is unknown"
            yield Diagnostic("device", "unlinked_copies", 1, message)


def _cost_notes(results: Results, why_not: Unavailable | None) -> Iterator[Diagnostic]:
    costs = results.worker_costs
    if why_not is not None and results.workers is not None:
        yield why_not.as_diagnostic()
    elif costs is not None and costs.run_delay is None:
        message = (
            "How long DataLoader workers waited for a CPU was not recorded (it is on Linux with schedstat), so blocked "
            "stages cannot be distinguished from stages that waited for a CPU"
        )
        yield Diagnostic("workers", "no_run_delay", 1, message)


def _growth_notes(results: Results) -> Iterator[Diagnostic]:
    for growth in results.growth:
        gained = data_size(growth.after_bytes - growth.before_bytes)
        each = ""
        if results.steps is not None:
            each = f", about {data_size(growth.bytes_per_s * results.steps.mean_ns / 1e9)} per step"
        sizes = f"{gained}, from {data_size(growth.before_bytes)} to {data_size(growth.after_bytes)}{each}"
        message = (
            f"Memory of {growth.who} grows from the first to the last quarter of this window by {sizes}: something "
            "keeps what each step makes, or a cache is being filled. Capture again later: if it still grows, look for "
            "what the loop or the dataset appends to, and use annotate.watch to see it over the whole run"
        )
        yield Diagnostic("capture", "memory_grows", 1, message)


def _sample_notes(results: Results, why_not: Unavailable | None) -> Iterator[Diagnostic]:
    """What samples of threads cannot say. Traces of versions that took none have nothing to explain."""
    samples = results.trace.info.pipeline.thread_samples if results.trace.info.pipeline else None
    if samples is None:
        return
    if why_not is not None:
        yield why_not.as_diagnostic()
    elif samples.why_no_lock:
        message = f"Whether threads waited for Python's lock (GIL) is unknown: {samples.why_no_lock}"
        yield Diagnostic("capture", "gil_unknown", 1, message)
    elif any(not thread.lock_known for thread in samples.threads):
        message = (
            "Whether DataLoader workers waited for Python's lock (GIL) is unknown, as they were not forked; such waits "
            "count as blocked"
        )
        yield Diagnostic("capture", "gil_unknown", 1, message)
    limits = results.limits if results.loader is not None else None
    if limits is not None and limits.outside is None and limits.data_wait is None:
        message = f"The window is too short for samples of what threads wait for: record more steps with {LONGER}"
        yield Diagnostic("capture", "few_thread_samples", 1, message)
