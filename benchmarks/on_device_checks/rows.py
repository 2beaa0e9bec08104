"""`Row`: one line of the table, and the ways to come to its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast, get_args

Verdict = Literal["ok", "off", "not possible"]
Value = float | str | None


@dataclass(frozen=True, slots=True)
class Row:
    """What one check says.

    X
     percentage of the truth where the check compares shares. `reason`: why it is not possible, or what makes it off.
    """

    check: str
    truth: Value
    ours: Value
    unit: str
    difference: str
    verdict: Verdict
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def row_of(found: Mapping[str, Any]) -> Row:
    """The row that `Row.to_dict` wrote. Raises: KeyError, ValueError: it is none."""
    verdict = found["verdict"]
    if verdict not in get_args(Verdict):
        raise ValueError(f"{verdict!r} is no verdict")
    return Row(
        check=str(found["check"]),
        truth=found["truth"],
        ours=found["ours"],
        unit=str(found["unit"]),
        difference=str(found["difference"]),
        verdict=cast(Verdict, verdict),
        reason=str(found["reason"]),
    )


def not_possible(check: str, reason: str) -> Row:
    return Row(check, None, None, "", "", "not possible", reason)


def failed(check: str, reason: str) -> Row:
    """The check itself came to nothing where it should have: a crash, an exception, a capture without its contents."""
    return Row(check, None, None, "", "", "off", reason)


def close(
    check: str, truth: float, ours: float | None, unit: str, share: float, floor: float, blur: float = 0.0
) -> Row:
    """Ok where ours differs from the truth by at most `share` of the truth, or by at most `floor` (in `unit`).

    `blur`: how much later than they should the truth's clocks may have been read, because the program was waiting for a
    CPU. A larger difference that this could explain is not possible to judge.
    """
    if ours is None:
        return Row(check, truth, None, unit, "", "off", "the report does not have it")
    allowed = max(share * abs(truth), floor)
    difference = ours - truth
    percent = f" ({difference / truth:+.1%})" if abs(truth) > floor else ""
    text = f"{difference:+.3g}{percent}"
    if abs(difference) <= allowed:
        return Row(check, truth, ours, unit, text, "ok")
    if abs(difference) <= allowed + blur:
        reason = (
            f"the machine is busy: the program waited {blur:.3g} {unit} for a CPU, so its clocks are that uncertain"
        )
        return Row(check, truth, ours, unit, text, "not possible", reason)
    return Row(check, truth, ours, unit, text, "off", f"more than the allowed {allowed:.3g} {unit}".rstrip())


def between(
    check: str, low: float, high: float, ours: float, unit: str, share: float, floor: float, blur: float = 0.0
) -> Row:
    """As `close`, where all that is known of the truth is that it lies from `low` to `high`."""
    row = close(check, min(max(low, ours), high), ours, unit, share, floor, blur)
    return replace(row, truth=f"{low:.4g} to {high:.4g}")


def same(check: str, truth: str | int, ours: str | int, reason: str = "differs") -> Row:
    """Ok where both are equal."""
    equal = truth == ours
    return Row(check, truth, ours, "", "none" if equal else "yes", "ok" if equal else "off", "" if equal else reason)


def at_most(check: str, ours: float, bound: float, unit: str, sure: bool = True, detail: str = "") -> Row:
    """Ok where ours is no more than `bound`; off only where that is `sure`.

    `detail` is said beside the value: an interval, the number of rounds.
    """
    over = ours > bound and sure
    reason = f"above {bound:g} {unit}".rstrip() if over else ""
    return Row(
        check,
        f"at most {bound:g}",
        ours,
        unit,
        detail or f"{ours - bound:+.3g}",
        "off" if over else "ok",
        reason,
    )
