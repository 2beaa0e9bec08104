"""Lines of the text report about copies to the device, the DataLoader workers' CPU time and the host's load."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Protocol

from annotate.trace_format import OWN_THREAD
from tb_dataplugin.analyses.occupancy import TOO_SHORT_NS
from tb_dataplugin.export.paragraphs import wrap
from tb_dataplugin.export.width import columns
from tb_dataplugin.findings.thresholds import LIMIT_WORTH_A_WORD
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import count, data_size, duration, percent, plural, ratio, significant
from tb_dataplugin.words import LIMITS

MOST_NAMED = 5


class Line(Protocol):
    """Formats one named number with its notes."""

    def __call__(self, name: str, value: str, *notes: str) -> str: ...


def cost_lines(capture: pb.Capture, line: Line) -> Iterator[str]:
    for device in capture.devices:
        if device.HasField("h2d"):
            yield _copies(device, line)
    if capture.HasField("worker_costs"):
        yield from _workers(capture.worker_costs, line)
    cores = [one.mean for one in capture.host_load if one.counter == "host::cpu"]
    if cores:
        low, high, mean = (percent(share / 100) for share in (min(cores), max(cores), sum(cores) / len(cores)))
        yield line("CPU busy", mean, plural(len(cores), "core"), f"{low} to {high} by core" if low != high else "")


def limit_lines(rows: Sequence[pb.Stage]) -> Iterator[str]:
    """What limits the stages, where that is known; the highest self time first."""
    for limit in LIMITS:
        stages = sorted((row for row in rows if row.limited_by == limit.id), key=lambda row: -row.self_us)
        names = list({row.path[-1]: f"{row.path[-1]}{_limited_share(row)}" for row in reversed(stages)}.values())[::-1]
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            text = f"{limit.label}: {', '.join(names[:MOST_NAMED])}{more}"
            yield from textwrap.wrap(text, columns(), initial_indent="  ", subsequent_indent="    ")
    mixed = {row.path[-1]: _shares(row) for row in sorted(rows, key=lambda row: -row.self_us) if _is_mixed(row)}
    if mixed:
        more = f"; and {len(mixed) - MOST_NAMED} more" if len(mixed) > MOST_NAMED else ""
        named = "; ".join(f"{name} {shares}" for name, shares in list(mixed.items())[:MOST_NAMED])
        yield from wrap(f"mixed: {named}{more}", "  ", "    ")


def profiler_lines(rows: Sequence[pb.Stage]) -> Iterator[str]:
    """Stages whose operators torch's profiler recorded, where that is much of their time."""
    texts = {f"{row.path[-1]}: {row.profiler_text}": None for row in rows if row.profiler_text}
    for text in list(texts)[:MOST_NAMED]:
        yield from wrap(text, "  ", "    ")


def _is_mixed(row: pb.Stage) -> bool:
    """Nothing takes most of it, and its calls are long enough to know."""
    is_known = row.HasField("run_delay_us") and row.HasField("blocked_us")
    return is_known and not row.limited_by and row.self_us * 1e3 >= TOO_SHORT_NS * max(1, row.count)


def _shares(row: pb.Stage) -> str:
    parts = (("ran", row.cpu_self_us), ("waited for a CPU", row.run_delay_us), ("blocked", row.blocked_us))
    said = ((words, time / row.self_us) for words, time in parts)
    return ", ".join(f"{words} {percent(share)}" for words, share in said if share >= LIMIT_WORTH_A_WORD)


def _limited_share(row: pb.Stage) -> str:
    """How much of its self time that is."""
    part = {"cpu": row.cpu_self_us, "no_cpu": row.run_delay_us, "blocked": row.blocked_us}.get(row.limited_by)
    return "" if part is None or not row.self_us else f" {percent(min(1.0, part / row.self_us))}"


def limited_lines(limits: pb.LimitedBy) -> Iterator[str]:
    """What the training thread did in the part named above. "Limited by" would read as what limits the loop."""
    if limits.text:
        text = f"meanwhile, {limits.text}"
        yield from textwrap.wrap(text, columns(), initial_indent="    ", subsequent_indent="      ")


def host_limit_lines(capture: pb.Capture, line: Line) -> Iterator[str]:
    """Of the training thread's time outside the data wait, where no device says why it idles."""
    samples = capture.thread_samples
    limits = samples.host_limited_by_us
    if limits.text and not capture.devices:
        outside = capture.window_us - capture.loader.wait_us
        yield line("outside data wait" if capture.HasField("loader") else "training thread", duration(outside))
        yield from limited_lines(limits)
    if sum(samples.lock_holders_us.values()) >= LIMIT_WORTH_A_WORD * capture.window_us:
        held = sorted(samples.lock_holders_us.items(), key=lambda part: -part[1])
        names = ", ".join(f"{name} {duration(time)}{_of_recorder(name)}" for name, time in held[:MOST_NAMED])
        yield from textwrap.wrap(
            f"who held Python's lock meanwhile: {names}", columns(), initial_indent="    ", subsequent_indent="      "
        )


def _of_recorder(thread: str) -> str:
    return " (the recorder, which no finding counts)" if thread.startswith(OWN_THREAD) else ""


def _copies(device: pb.Device, line: Line) -> str:
    copies = device.h2d
    return line(
        f"copies to device {device.id}",
        duration(copies.copy_us),
        plural(copies.count, "time"),
        f"{count(copies.pageable)} pageable" if copies.pageable else "",
        f"{count(copies.pinned)} pinned" if copies.pinned else "",
        f"{count(copies.blocking)} blocking" if copies.launched else "",
        f"{duration(copies.overlapped_us)} while kernels ran",
        f"{significant(copies.gb_per_s)} GB/s" if copies.HasField("gb_per_s") else "",
    )


def _workers(costs: pb.WorkerCosts, line: Line) -> Iterator[str]:
    if costs.HasField("cpu_share"):
        delayed = f"wait for a CPU {percent(costs.run_delay_share)} of it" if costs.HasField("run_delay_share") else ""
        threads = f"CPU time with hidden threads {ratio(costs.threads)}" if costs.threads > 1.1 else ""
        yield line(
            "DataLoader workers run",
            percent(costs.cpu_share),
            f"of the build time of {plural(costs.batches, 'batch')} built within the window",
            delayed,
            f"blocked {percent(costs.blocked_share)}" if costs.HasField("blocked_share") else "",
            threads,
        )
    if costs.HasField("cached_share"):
        read = f"{data_size(costs.read_chars)} read"
        yield line("  from page cache", percent(costs.cached_share), read)
