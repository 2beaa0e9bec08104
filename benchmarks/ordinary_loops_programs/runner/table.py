"""The results as lines of a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.ordinary_loops_programs.runner.judgement import is_complete

HEADING = (
    "shape, seed, truth's place, truth ms and reported ms per step, error, verdict names, first finding, "
    "most data wait, its share | data wait %: un-annotated steady state, clocks in the window, report | "
)
WINDOW_OFF = 0.05
ENDS_SHOWN = 0.0005
NEAR = 0.1


def line(result: dict[str, Any]) -> str:
    report, window = result.get("report"), result.get("window")
    left = f"{result['shape']:24} {result['seed']:>2} "
    shares = " ".join(
        [
            _percent((result.get("plain") or {}).get("share")),
            _percent((window or {}).get("share")) + _ends(window or {}),
            _percent((report or {}).get("share")),
        ]
    )
    reason = reason_of(result)
    if not report or not window:
        return f"{left} {shares}  {result['verdict']}  {reason}"
    if result["healthy"]:
        return f"{left} {report['bound'] or '-':9} {shares}  {result['verdict']:7} {reason}"
    measured, error = result.get("measured_ms"), result.get("error")
    own = f"~{window['own_ms']:.1f}".rjust(8) if window.get("own_ms") else " " * 8
    cells = [
        f"{window['declared']['place'][:26]:26} {window['truth_ms']:7.2f}{own}",
        "   -   " if measured is None else f"{measured:7.2f}",
        "   -  " if error is None else f"{100 * error:+5.0f}%",
        f"{_named(report)[:26]:26} {report['first'][:24]:24} {report['top'][:24]:24} {_percent(report['top_share'])}",
    ]
    return f"{left} {' '.join(cells)} | {shares} | {result['verdict']:4} {reason}"


def reason_of(result: dict[str, Any]) -> str:
    """The reason, with a remark where the report's window is not the one of the clocks."""
    reason = str(result.get("reason", ""))
    off = (result.get("window") or {}).get("clock_window_off")
    if off and abs(off) > WINDOW_OFF:
        return f"{reason} [window {100 * off:+.0f}% against the clocks]"
    return reason


def summary(results: Sequence[dict[str, Any]]) -> list[str]:
    """One line for the planted, one for the healthy: of those there are."""
    lines = []
    planted = [r for r in results if not r["healthy"]]
    if planted:
        half = sum(r.get("reason", "").startswith("half") for r in planted)
        timed = [r["within_10"] for r in planted if "within_10" in r]
        lines.append(
            f"planted: {_count(planted, 'HIT')} HIT, {_count(planted, 'MISS')} MISS of {len(planted)}; "
            f"half right {half}; within 10% of the clocks {sum(timed)} of {len(timed)}"
        )
        selves = [r["self_ms"] / r["window"]["worked_ms"] - 1 for r in planted if "self_ms" in r]
        near = sum(abs(off) <= NEAR for off in selves)
        lines.append(
            f"own time of the planted stage within 10% of the clocks around its calls: {near} of {len(selves)}"
        )
        read = [r["report"] for r in planted if r.get("report")]
        whole = sum(map(is_complete, read))
        lines.append(f"other and unrecorded below 2% of the data wait or 0.5% of the window: {whole} of {len(read)}")
    healthy = [r for r in results if r["healthy"]]
    if healthy:
        lines.append(
            f"healthy: {_count(healthy, 'HIT')} HIT, {_count(healthy, 'MISS')} MISS, "
            f"{_count(healthy, 'INVALID')} INVALID of {len(healthy)}"
        )
    return lines


def markdown(results: Sequence[dict[str, Any]], about: str) -> str:
    blocks = [about]
    planted = [r for r in results if not r["healthy"]]
    if planted:
        head = [
            "program",
            "seed",
            "planted",
            "clocks, ms a step",
            "reported",
            "error",
            "calls: clocks, self time",
            "verdict names",
            "first finding",
        ]
        head += ["most data wait", "other, unrecorded: of the data wait", "judged", "why"]
        blocks.append(_table(head, [_planted_cells(r) for r in planted]))
    healthy = [r for r in results if r["healthy"]]
    if healthy:
        head = ["healthy pipeline", "seed", "data wait %, un-annotated", "by the clocks", "reported", "judged", "why"]
        blocks.append(_table(head, [_healthy_cells(r) for r in healthy]))
    return "\n\n".join([*blocks, "\n".join(f"- {text}" for text in summary(results))]) + "\n"


def _planted_cells(result: dict[str, Any]) -> list[str]:
    window, report = result.get("window"), result.get("report")
    cells = [result["shape"], str(result["seed"])]
    if window and report:
        measured, error = result.get("measured_ms"), result.get("error")
        cells += [
            f"{window['declared']['place']}: {window['declared']['about']}",
            f"{window['truth_ms']:.2f}" + (f" (own turn {window['own_ms']:.2f})" if window.get("own_ms") else ""),
            "" if measured is None else f"{measured:.2f}",
            "" if error is None else f"{100 * error:+.0f}%",
            f"{window['worked_ms']:.2f}, {result['self_ms']:.2f}" if "self_ms" in result else "",
            _named(report),
            report["first"],
            f"{report['top']} {_percent(report['top_share']).strip()}%" if report["top"] else "",
            ", ".join(f"{100 * part:.1f}%" for part in (report.get("no_stage") or {}).values()),
        ]
    else:
        cells += [""] * 9
    return [*cells, result["verdict"], reason_of(result)]


def _healthy_cells(result: dict[str, Any]) -> list[str]:
    shares = [_percent((result.get(k) or {}).get("share")).strip() for k in ("plain", "window", "report")]
    return [result["shape"], str(result["seed"]), *shares, result["verdict"], reason_of(result)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def _named(report: dict[str, Any]) -> str:
    return str(report["verdict_stage"] or f"bound {report['bound']}")


def _count(results: Sequence[dict[str, Any]], verdict: str) -> int:
    return sum(r["verdict"] == verdict for r in results)


def _percent(share: float | None) -> str:
    return "  -  " if share is None else f"{100 * share:5.1f}"


def _ends(window: dict[str, Any]) -> str:
    """`59.0+14.1`: the loop's data wait, and the time in the next() that ends an epoch."""
    return f"+{100 * window['ends_share']:4.1f}" if window.get("ends_share", 0) >= ENDS_SHOWN else "     "
