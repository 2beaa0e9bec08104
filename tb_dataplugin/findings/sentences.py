"""The sentence above each table of the report, from the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from annotate.trace_format import StageKind, parse_span_name
from tb_dataplugin.analyses.attribution import DeviceAttribution
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.analyses.occupancy import Occupancy
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stage_summary import StageSummary
from tb_dataplugin.analyses.stage_weight import WORTH_A_WORD, StageWeight
from tb_dataplugin.analyses.stages import Path, StageRow
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.analyses.step_batches import step_batches
from tb_dataplugin.analyses.steps import StepSelection, lacks_whole_step
from tb_dataplugin.analyses.throughput import SlowestPart, Throughput
from tb_dataplugin.analyses.wait_parts import OTHER_LOADER
from tb_dataplugin.analyses.worker_summary import WorkerSummary, ready_share
from tb_dataplugin.findings.apart_sentence import apart_sentence
from tb_dataplugin.findings.apart_signals import ApartSignals, left_out
from tb_dataplugin.findings.begun_texts import before_sentence
from tb_dataplugin.findings.counted import counting_sentence
from tb_dataplugin.findings.detail_texts import slow_kind_sentence
from tb_dataplugin.findings.finding import NamedFinding
from tb_dataplugin.findings.headspace_sentence import headspace_sentence
from tb_dataplugin.findings.limit_texts import DELAY_ESTIMATED
from tb_dataplugin.findings.read_calls import begun_before
from tb_dataplugin.findings.recorded_texts import NOT_PROBED, recorded_text, unknown_text
from tb_dataplugin.findings.recording import RecordingCost, recording_cost
from tb_dataplugin.findings.rhythm import rhythm_sentence
from tb_dataplugin.findings.rivals import Overlap
from tb_dataplugin.findings.steady_sentence import steady_sentence
from tb_dataplugin.findings.verdict import Verdict
from tb_dataplugin.findings.which_loader import loader_names, which_loader
from tb_dataplugin.findings.worker_sentences import LoopShare, quiet_sentence, worker_sentence
from tb_dataplugin.findings.worker_signals import PaceSignals, lived_through
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.units import duration, listed, ordinal, percent, plural
from tb_dataplugin.words import BLOCKED_BY, NO_STAGES, cause_label, label_of

_BUILDING: Final = frozenset[StageKind](("sample", "read", "decode", "transform", "collate", "user"))
SLOWEST: Final[dict[SlowestPart, str]] = {
    "read": "reading",
    "prepare": "preparation",
    "device": "the training step",
    "around": "what is around the loader",
}


@dataclass(frozen=True, slots=True)
class Sentences:
    """ "" where there is nothing to say. `devices` and `workers` are in the order of the results; `limits` and
    `stage_profiler`, `stage_before` are by the stage's path.
    """

    findings: str
    wait: str
    steady: str
    stages: str
    stage_waits: str
    stage_places: str
    limits: Mapping[Path, str]
    sawtooth: str
    devices: tuple[str, ...]
    workers: tuple[str, ...]
    selection: str = ""
    headspace: str = ""
    gains: str = ""
    gains_of: str = ""
    counted: str = ""
    batches_each: str = ""
    quiet_workers: str = ""
    recording: RecordingCost | None = None
    apart: str = ""
    stage_profiler: Mapping[Path, str] = field(default_factory=dict)
    stage_before: Mapping[Path, str] = field(default_factory=dict)
    slowest_part: str = ""
    worker_names: tuple[str, ...] = ()
    first_batch_of: str = ""
    loader_names: Mapping[int, str] = field(default_factory=dict)


def say(
    results: Results,
    verdict: Verdict,
    findings: Sequence[NamedFinding],
    overlaps: Sequence[Overlap] = (),
    apart: ApartSignals | None = None,
    *,
    gives_cpus: bool = False,
    more_in_vain: Callable[[], bool] = lambda: False,
) -> Sentences:
    """`overlaps`: of findings that save the same. `gives_cpus`, `more_in_vain`: as of `worker_sentence`, the latter
    of the training loop's.
    """
    devices = zip(results.devices, results.attribution.devices, strict=True)
    return Sentences(
        findings=_findings(results, verdict, findings),
        gains=" ".join(map(_gains, overlaps)),
        gains_of=_gains_of(findings),
        counted=counting_sentence(results),
        batches_each=step_batches(results),
        wait=_wait(results),
        steady=_steady(results.steady, apart, results.loop.apart.begun) if results.steady else "",
        stages=_stages(results),
        stage_waits=_stage_waits(results),
        stage_places=_stage_places(results.stage_summary) if results.stage_summary else "",
        limits=dict(_limits(results)),
        slowest_part=_slowest_part(results.throughput) if results.throughput else "",
        stage_profiler=dict(_stage_profiler(results)),
        stage_before={path: before_sentence(found) for path, found in begun_before(results).items()},
        sawtooth=rhythm_sentence(results.sawtooth, left_out(apart), _pace(results)) if results.sawtooth else "",
        devices=tuple(_device(device, attributed, results.window) for device, attributed in devices),
        workers=tuple(
            worker_sentence(
                summary,
                results.window,
                _built_share(results, summary.loader, loop := _of_loop(results, summary, apart)),
                which_loader(results, summary.loader),
                loop,
                gives_cpus=gives_cpus,
                more_in_vain=more_in_vain if summary.loader == results.use.main else lambda: False,
            )
            for summary in results.worker_summaries
        ),
        quiet_workers=quiet_sentence(results.worker_summaries),
        worker_names=tuple(_worker_name(results, summary.loader, apart) for summary in results.worker_summaries),
        loader_names=loader_names(results),
        first_batch_of=name_of(own) if (own := which_loader(results, results.use.main)) else "",
        selection=_selection(results.selection, results.window) if results.selection else "",
        headspace=headspace_sentence(results.headspace) if results.headspace else "",
        recording=recording_cost(results),
        apart=apart_sentence(apart).rstrip(),
    )


def _steady(steady: SteadyState, apart: ApartSignals | None, begun: int) -> str:
    starts = apart.starts.epochs if apart is not None and apart.starts is not None else 0
    return steady_sentence(steady, left_out(apart), starts, begun)


def _of_loop(results: Results, summary: WorkerSummary, apart: ApartSignals | None) -> LoopShare | None:
    """None where nothing is told apart, or they are another loader's."""
    flow, loop = results.flow.workers, results.loop
    if apart is None or flow is None or summary.loader != results.use.main or summary.wait_ns is None:
        return None
    if loop.time_ns <= 0:
        return None
    waits = loop.waits.minus(results.use.elsewhere)
    ready = ready_share(results.workers.batches, summary.loader, waits) if results.workers else None
    return LoopShare(
        busy=flow.busy,
        wait=waits.total_ns / loop.time_ns,
        ready=ready,
        left_out=left_out(apart) or apart.names,
        lived_through=lived_through(flow.alive, flow.workers),
    )


def _worker_name(results: Results, number: int, apart: ApartSignals | None) -> str:
    """Of the DataLoader of that number; "" where there is only one."""
    loader = which_loader(results, number)
    if loader is None:
        return ""
    name = name_of(loader).removeprefix("the DataLoader of ")
    pipeline, others = results.trace.info.pipeline, apart.others if apart else ()
    mine = [other for other in others if pipeline and other.loader is pipeline.loaders[number]]
    return f"{name}, an evaluation?" if any(not other.is_look for other in mine) else name


def _selection(selection: StepSelection, window: Window) -> str:
    first, last = selection.chosen.first, selection.chosen.last
    which = f"Step {first}" if first == last else f"Steps {first} to {last}"
    time = f"{_us(window.duration_ns)} of the {_us(selection.whole.duration_ns)} window"
    return f"{which} only: {selection.count} of {plural(selection.recorded_count, 'recorded step')}, {time}."


def _findings(results: Results, verdict: Verdict, findings: Sequence[NamedFinding]) -> str:
    if not findings:
        return _nothing(results, verdict)
    count = plural(len(findings), "finding")
    gains = [named.gain for named in findings if named.gain.us_per_step is not None]
    best = max(gains, key=lambda gain: gain.us_per_step or 0.0, default=None)
    return f"{count}; the gain is unknown." if best is None else f"{count}; the largest {best.text}."


def _gains_of(findings: Sequence[NamedFinding]) -> str:
    """The step that all gains are shares of; "" where that is the mean step, or not one."""
    steps = {named.gain.long_step for named in findings if named.gain.step_share is not None}
    return steps.pop() if len(steps) == 1 else ""


def _gains(overlap: Overlap) -> str:
    which = listed([ordinal(place) for place in overlap.places])
    return (
        f"The {which} finding save the same {overlap.of}: together at most {duration(overlap.us)} per step, not the "
        "sum of their gains."
    )


def _nothing(results: Results, verdict: Verdict) -> str:
    if lacks_whole_step(results.trace):
        return f"Whether there is anything to change is unknown: {verdict.sentence[0].lower()}{verdict.sentence[1:]}"
    if results.loader is None and verdict.bound == "unknown":
        reasons = (note.message for note in results.diagnostics if note.topic == "loader")
        return (
            f"Whether there is anything to change is unknown. {next(reasons, 'No span of a DataLoader was recorded')}."
        )
    # A device that is mostly idle is not fine just because no rule applies.
    head = "Nothing to change" if verdict.bound in ("device", "balanced") else "No rule found anything to change"
    return f"{head}: {verdict.sentence[0].lower()}{verdict.sentence[1:]}"


def _wait(results: Results) -> str:
    """How the three nearly equal numbers relate; "" without a device, where there is only one."""
    loader, devices = results.loader, results.attribution.devices
    if loader is None or loader.exposed_ns is None or loader.hidden_ns is None or not devices:
        return ""
    whole = f"Data wait is {_us(loader.waits.total_ns)}"
    caused = devices[0].by_cause_ns.get("data_wait")
    parts = f"{whole}: {_us(loader.exposed_ns)} exposed (device idle) and {_us(loader.hidden_ns)} hidden (device busy)"
    if caused is None:
        return f"{parts}."
    rest = loader.exposed_ns - caused
    if rest <= 0:
        return f"{parts}. All of the exposed data wait kept the device idle."
    other = f"during the other {_us(rest)}, something else did"
    return f"{parts}. Of the exposed data wait, {_us(caused)} kept the device idle; {other}."


def _stages(results: Results) -> str:
    summary = results.stage_summary
    if summary is None:
        return ""
    row = summary.highest
    if row is None:
        return "Only data wait was recorded: this capture has no stage data."
    calls = plural(row.count, "call")
    share = percent(row.self_ns / summary.self_ns if summary.self_ns else None)
    time = f"{_us(row.self_ns)} in {calls}, {share} of all recorded stage time"
    kind = slow_kind_sentence(next((one for one in results.stage_details if one.stage == row.stage), None))
    return f"{row.stage.name} has the highest self time: {time}.{kind}"


def _pace(results: Results) -> PaceSignals | None:
    pace = results.flow.workers.pace if results.flow.workers else None
    return None if pace is None else PaceSignals.of(pace)


def _stage_places(summary: StageSummary) -> str:
    """Where the self time of all stages was spent."""
    places, self_ns = summary.places, summary.self_ns
    others = places.in_others_ns
    workers, training = plural(places.workers, "DataLoader worker"), self_ns - places.in_workers_ns - others
    parts = (places.in_workers_ns, workers), (training, "the training thread"), (others, "other threads")
    known = [(time, where) for time, where in parts if time > 0]
    if len(known) == 1:
        return f"summed over {workers}" if places.workers else f"in {known[0][1]}"
    return ", ".join(f"{_us(time)} in {where}" for time, where in known)


def _stage_waits(results: Results) -> str:
    """How much of the data wait the stages caused, and what caused the rest."""
    summary, waits = results.stage_summary, results.attribution.wait_by_stage_ns
    if summary is None or waits is None or summary.caused_ns is None or results.loader is None:
        return ""
    whole = results.loader.waits.total_ns
    rows = {row.stage.name for row in results.stages}
    rest: dict[str, int] = {}
    for name, time in waits.items():
        if name not in rows:
            group = "transfer" if name.startswith("transfer::") else name
            rest[group] = rest.get(group, 0) + time
    ranked = sorted(rest.items(), key=lambda part: -part[1])
    others = ", ".join(f"{label_of(NO_STAGES, name)} {percent(time / whole)}" for name, time in ranked)
    stages = f"{percent(summary.caused_ns / whole)} caused by stages"
    return f"{stages}, {others}" if others else stages


def _built_share(results: Results, number: int, loop: LoopShare | None) -> float | None:
    """Of the data wait for that DataLoader, what the stages caused that build batches. `loop`: without what it leaves
    out. None where nobody waited for it, or no stage is known.
    """
    attribution = results.attribution if loop is None else results.loop.attribution
    mine = _waits_for(results, number)
    waits = {
        name: (time if mine is None else time.intersect(mine)).total_ns
        for name, time in attribution.by_stage.items()
        if name != OTHER_LOADER
    }
    stages = {name: parse_span_name(name) for name in waits}
    built = sum(time for name, time in waits.items() if (stage := stages[name]) and stage.kind in _BUILDING)
    return built / whole if (whole := sum(waits.values())) else None


def _waits_for(results: Results, number: int) -> Intervals | None:
    """The data wait for that DataLoader; None where it is not known which waits those are."""
    waits, whose = results.loader.waits if results.loader else EMPTY, results.use.of_wait
    mine = whose == number
    return Intervals(waits.start[mine], waits.end[mine]) if len(whose) == len(waits) and mine.any() else None


def _slowest_part(rates: Throughput) -> str:
    """Neither reading nor preparation limits by itself: whoever builds batches does one after the other."""
    part = rates.slowest_part
    if part is None:
        return ""
    if part in ("read", "prepare") and rates.read is not None and rates.prepare is not None:
        return f"loading limits, most of it {SLOWEST[part]}"
    return f"{SLOWEST[part]} limits"


def _limits(results: Results) -> Iterator[tuple[Path, str]]:
    for row in results.stages:
        spent = results.occupancy.get(row.path)
        if spent is not None and row.self_ns:
            yield row.path, _limit(row, spent)


def _stage_profiler(results: Results) -> Iterator[tuple[Path, str]]:
    for row in results.stages:
        weight = results.stage_weights.get(row.path)
        if weight is not None and weight.unknown:
            text = unknown_text(weight.unknown / row.count, " per call")
            yield row.path, f"{text[0].upper()}{text[1:]}."
        elif weight is not None and weight.share >= WORTH_A_WORD:
            yield row.path, _recorded(weight, row.count)


def _recorded(weight: StageWeight, calls: int) -> str:
    operators, spans = weight.named
    what, part = recorded_text(operators / calls, spans / calls), f"about {percent(weight.share)}"
    least, most = percent(weight.least_share), percent(weight.most_share)
    if spans:
        more = "" if weight.operators is not None else f" {NOT_PROBED[0].upper()}{NOT_PROBED[1:]}."
        part = f"{part} ({least} to {most})" if operators and least != most else percent(weight.share)
        found = f"{part} of its self time, by estimate, is recording {what} per call: runs without it do not have that."
        return f"{found}{more}"
    return (
        f"{what} per call that torch's profiler recorded here are {part} of its self time ({least} to {most}, "
        "estimated): runs without it do not have that, nor do DataLoader workers."
    )


def _limit(row: StageRow, spent: Occupancy) -> str:
    running = f"{percent(spent.cpu_ns / row.self_ns)} of its self time it was running on a CPU"
    if spent.run_delay_ns is None or spent.blocked_ns is None:
        return f"For {running}, for {percent(1 - spent.cpu_ns / row.self_ns)} it was not."
    delayed, blocked = percent(spent.run_delay_ns / row.self_ns), percent(spent.blocked_ns / row.self_ns)
    return (
        f"For {running}, for {delayed} waiting for a CPU ({DELAY_ESTIMATED}), for {blocked} blocked "
        f"({', '.join(BLOCKED_BY)})."
    )


def _device(device: DeviceIdle, attributed: DeviceAttribution, window: Window) -> str:
    name = f"Device {device.device} ({device.name})" if device.name else f"Device {device.device}"
    if not len(device.gaps):
        return f"{name} was never idle in the window."
    idle, reserve = device.gaps.total_ns, device.reserve and f"; {device.reserve}"
    whole = f" of the {_us(window.duration_ns)} window ({percent(idle / window.duration_ns)}{reserve})"
    cause, time = max(attributed.by_cause_ns.items(), key=lambda part: part[1])

    def share(part_ns: float) -> str:
        return percent(part_ns / window.duration_ns)

    early = attributed.queued_ns if cause == "launch" else 0
    parts = f" ({share(time - early)} launched late, {share(early)} launched but not started)" if early else ""
    main = (
        f"For {share(time)} of the window the cause is unknown."
        if cause == "unknown"
        else f"The largest cause is {cause_label(cause)}: {share(time)} of the window{parts}."
    )
    return f"{name} is idle for {_us(idle)}{whole}, in {plural(len(device.gaps), 'gap')}. {main}"


def _us(time_ns: float) -> str:
    return duration(time_ns / 1e3)
