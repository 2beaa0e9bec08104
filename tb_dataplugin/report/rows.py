"""One line per capture: what of a log directory to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tb_dataplugin.findings.gain import UNKNOWN, UNKNOWN_IN_REPLAY
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.brief import brief_names
from tb_dataplugin.report.items import knows_samples
from tb_dataplugin.units import listed, percent, plural

DOUBTS: Final = {
    "cut_off": "cut off",
    "late_workers": "no data from DataLoader workers",
    "data_loss": "data lost",
    "no_kernels": "no kernels recorded",
    "dropped_spans": "spans dropped",
    "clock_violation": "clocks disagree",
    "no_whole_step": "no whole step",
    "evaluation": "an evaluation?",
    "short_window": "few steps",
    "profiler_weight": "heavy profiler",
    "busy_machine": "busy machine",
    "recorder_load": "recording took CPUs",
    "calm_window": "faster than the steps before",
}
"""What makes a capture doubtful, by its code, in as many words as a row has room for."""

WIDE: Final = 0.5
"""Low end of an interval over its value, up to which a number alone would mislead."""

WAITING: Final = ("queued", "loading")


def row_of(capture: pb.Capture) -> pb.CaptureRow:
    """The numbers of one report, idle as the mean over its devices; `id`, `run` and `name` are the caller's to fill."""
    idles = [device.idle_us for device in capture.devices]
    idle = _share(sum(idles) / len(idles), capture) if idles else None
    wait = _share(capture.loader.wait_us, capture) if capture.HasField("loader") else None
    leading = capture.findings[0] if capture.findings else pb.Finding()
    return pb.CaptureRow(
        state="ready",
        mode=capture.mode,
        idle_share=idle,
        idle_note=next((device.idle_note for device in capture.devices if device.idle_note), ""),
        data_wait_share=wait,
        lost_share=wait if idle is None else idle,
        step_us=capture.steps.mean_us if capture.HasField("steps") else None,
        samples_per_s=capture.throughput.samples_per_s if knows_samples(capture) else None,
        bound=capture.verdict.bound,
        verdict=capture.verdict.sentence,
        finding=leading.title,
        severity=leading.severity,
        gain_text=UNKNOWN if leading.gain_text == UNKNOWN_IN_REPLAY else leading.gain_text,
        gain_us_per_step=leading.gain_us_per_step if leading.HasField("gain_us_per_step") else None,
        gain_step_share=leading.gain_step_share if leading.HasField("gain_step_share") else None,
        gains_of=leading.gain_of,
        loop_wait=loop_wait(capture),
        doubtful=bool(capture.doubts),
        doubt_text=doubt_words(capture),
        rank=capture.rank if capture.HasField("rank") else None,
        world_size=capture.world_size if capture.HasField("world_size") else None,
        host=capture.host,
        window_unix_us=capture.window_unix_us,
        window_us=capture.window_us,
    )


def doubt_words(capture: pb.Capture) -> str:
    """What makes it doubtful; "" where nothing does."""
    return ", ".join(dict.fromkeys(DOUBTS[doubt.code] for doubt in capture.doubts))


def is_cut_off(row: pb.CaptureRow) -> bool:
    """Of a file that ends too early."""
    return DOUBTS["cut_off"] in row.doubt_text.split(", ")


def verdict_in_short(capture: pb.Capture) -> str:
    """The verdict with how sure it is, for a line that has nothing else of the report."""
    doubt, ends, said = doubt_words(capture), wide_interval(capture), capture.verdict.sentence
    if ends and ends not in said:
        names = capture.loader.apart.names
        whole = f"a step without {names}" if names else "a step"
        said += f" In the steady state data wait is {ends} of {whole} (95% interval)."
    return f"{said} Doubtful: {doubt}." if doubt else said


def wide_interval(capture: pb.Capture) -> str:
    """Of the steady state's data wait, ``5.05% to 53.0%``, where less than half of it is possible; "" elsewhere."""
    steady = capture.loader.steady_state
    if not steady.HasField("share_low") or steady.share_low > WIDE * steady.share:
        return ""
    return f"{percent(steady.share_low)} to {percent(steady.share_high)}"


def loop_wait(capture: pb.Capture) -> str:
    """The data wait without what is told apart, ``63.6% without the other DataLoader``; "" where nothing is."""
    apart = capture.loader.apart
    own_us = capture.window_us - apart.wait_us - apart.between_us
    if not apart.names or own_us <= 0:
        return ""
    return f"{percent((capture.loader.wait_us - apart.wait_us) / own_us)} without {apart.names}"


def worst_first(captures: Sequence[pb.Capture]) -> list[tuple[pb.Capture, pb.CaptureRow]]:
    """Each with its row."""
    return sorted(((capture, row_of(capture)) for capture in captures), key=lambda pair: _rank(pair[1]))


def _share(part_us: float, capture: pb.Capture) -> float | None:
    return part_us / capture.window_us if capture.window_us else None


def as_rows(rows: Iterable[pb.CaptureRow]) -> pb.CaptureRows:
    """The worst first; those without a number as they come. Replays train nothing, and come after what does."""
    ordered = sorted(rows, key=_rank)
    waiting = sum(row.state in WAITING for row in ordered)
    return pb.CaptureRows(
        rows=ordered, waiting=waiting, sentence=_sentence(ordered), run_sentences=dict(_run_sentences(ordered))
    )


def _rank(row: pb.CaptureRow) -> tuple[bool, bool, float]:
    return row.state != "ready" or not row.HasField("lost_share"), row.mode == "replay", -row.lost_share


def _run_sentences(rows: list[pb.CaptureRow]) -> Iterator[tuple[str, str]]:
    """Of each run that has a number."""
    of_run: dict[str, list[pb.CaptureRow]] = {}
    for row in rows:
        of_run.setdefault(row.run, []).append(row)
    for run, own in of_run.items():
        if sentence := _sentence(own, least=1):
            yield run, sentence


def _sentence(rows: list[pb.CaptureRow], least: int = 2) -> str:
    """Of the rows that train, `least` or more, in the order of the table; each number beside others of its kind."""
    known = [row for row in rows if row.state == "ready" and row.HasField("lost_share") and row.mode != "replay"]
    if len(known) < least:
        return ""
    left = [row for row in rows if not any(row is other for other in known)]
    with_device = [row for row in known if _has_device(row)]
    without = [row for row in known if not _has_device(row)]
    named = [*known, *(left if len(left) == 1 else ())]
    names = dict(zip(map(id, named), _names(named), strict=True))
    said = [
        f"device idle in {plural(len(with_device), 'capture')}: {_ends(with_device, names)}" if with_device else "",
        f"data wait in {plural(len(without), 'capture')}{' without a device' if with_device else ''}: "
        f"{_ends(without, names)}"
        if without
        else "",
    ]
    text = "; ".join(filter(None, said))
    return f"{text[0].upper()}{text[1:]}{_left_out(left, names)}."


REPLAY: Final = "a replay"
UNREADABLE: Final = "cannot be read"
OF_MANY: Final = {REPLAY: "replays", UNREADABLE: "that cannot be read"}


def _left_out(rows: list[pb.CaptureRow], names: Mapping[int, str]) -> str:
    if len(rows) == 1:
        return f" ({names[id(rows[0])]} not counted: {_why_left(rows[0])})"
    whys = Counter(map(_why_left, rows))
    said = [why if many == 1 and why == REPLAY else f"{many} {OF_MANY.get(why, why)}" for why, many in whys.items()]
    return f" (not counted: {listed(said)})" if rows else ""


def _why_left(row: pb.CaptureRow) -> str:
    if row.state in WAITING:
        return "not analysed yet"
    if row.state != "ready":
        return UNREADABLE
    return REPLAY if row.mode == "replay" else "without such a number"


def _ends(rows: list[pb.CaptureRow], names: dict[int, str]) -> str:
    """``most a, 83.1% of the window, least b, 1.2%``: a rank that others wait for has little, and is not the best;
    ``59.6% of the window in each``
    """
    if len(rows) > 1 and len({f"{percent(row.lost_share)}{_reserve(row)}" for row in rows}) == 1:
        return f"{percent(rows[0].lost_share)}{_reserve(rows[0])} of the window in each"
    most, least = (f"{names[id(row)]}, {percent(row.lost_share)}{_reserve(row)}" for row in (rows[0], rows[-1]))
    return f"{most} of the window" if len(rows) == 1 else f"most {most} of the window, least {least}"


def _reserve(row: pb.CaptureRow) -> str:
    return f" ({row.idle_note})" if row.idle_note else ""


def _has_device(row: pb.CaptureRow) -> bool:
    return row.HasField("idle_share")


def _names(rows: list[pb.CaptureRow]) -> list[str]:
    """By their runs, where these have one each; else without the time of capture that ends a name, as far as the names
    then still differ.
    """
    runs = Counter(row.run for row in rows)
    full = [row.name if row.run in ("", ".") else f"{row.run}/{row.name}" for row in rows]
    brief = brief_names(full)
    lone = [runs[row.run] == 1 and row.run not in ("", ".") for row in rows]
    return [row.run if is_lone else brief[name] for row, name, is_lone in zip(rows, full, lone, strict=True)]
