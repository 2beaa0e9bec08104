"""One finding's advice, made and measured: a setting beside the settings of the capture, in alternating windows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.errors import BadRequest, NothingToReport
from tb_dataplugin.report.report_pb2 import Capture, Finding
from tb_dataplugin.tune.alternating import Beside, measure_beside
from tb_dataplugin.tune.guarding import free_now, refusal
from tb_dataplugin.tune.repeating import repeats, why_not_tried
from tb_dataplugin.tune.running import CannotRun, Facts, Loop, Window
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.setting import NAMES, PIN, THREADS, WORKERS, Changes, Value, in_effect, number_of, with_change
from tb_dataplugin.units import percent

THREADS_RULE: Final = "oversubscribed"
"""Its advice is a ``worker_init_fn`` that leaves each DataLoader worker one thread."""


@dataclass(frozen=True, slots=True)
class Verified:
    """base: settings of the capture where they are not those of the loader; bound_us: the finding's, per batch."""

    finding: Finding
    base: Changes
    changed: Changes
    beside: Beside
    bound_us: float | None

    @property
    def saved_us(self) -> tuple[float, float, float]:
        """Per batch, and the ends of its 95% interval."""
        windows, ratio = self.beside.before, self.beside.ratio
        step = 1e6 * sum(one.total for one in windows) / sum(one.batches for one in windows)
        return step * (1 - ratio.value), step * (1 - ratio.high), step * (1 - ratio.low)

    @property
    def verdict(self) -> str:
        ratio, (saved, least, _) = self.beside.ratio, self.saved_us
        if ratio.is_slower:
            return "The advice makes the loop slower here."
        if not ratio.is_faster:
            return "No gain beyond the noise was measured."
        if self.bound_us is None:
            return "The advice helps; the finding has no bound to compare it with."
        if least > self.bound_us:
            return "The advice helps more than the finding's bound allows."
        return f"The advice helps: {percent(saved / self.bound_us)} of the finding's bound."


def find(capture: Capture, wanted: str) -> Finding:
    """By its number in the report, from 1, or its rule. Raises BadRequest, or NothingToReport without any finding."""
    findings = list(capture.findings)
    if not findings:
        raise NothingToReport(f"{capture.name} has no findings to verify")
    names = [finding.rule for finding in findings]
    if wanted in names:
        return findings[names.index(wanted)]
    if wanted.isdigit() and 1 <= int(wanted) <= len(findings):
        return findings[int(wanted) - 1]
    listed = ", ".join(f"{number} ({name})" for number, name in enumerate(names, 1))
    raise BadRequest(f"{capture.name} has no finding {wanted}; it has {listed}")


def advised(finding: Finding) -> Changes:
    """The settings that its code sets. Raises NothingToReport for advice that sets none."""
    values = {name: value for name, value in _keywords(finding.code).items() if name in NAMES}
    if finding.rule == THREADS_RULE:
        values[THREADS] = 1
    if not values:
        raise NothingToReport(
            f"{finding.title}: no code beside its advice gives a DataLoader a setting that can be tried from here. "
            "Make the change, capture again, and run `tb-dataplugin compare BEFORE AFTER`"
        )
    return Changes.of(values)


def _keywords(code: str) -> dict[str, Value]:
    """Constants given to DataLoader."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, SystemError):  # the latter: python/cpython#106905
        return {}
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "DataLoader"
    ]
    found: dict[str, Value] = {}
    for keyword in (keyword for call in calls for keyword in call.keywords):
        if keyword.arg and isinstance(keyword.value, ast.Constant):
            value = keyword.value.value
            found[keyword.arg] = value if isinstance(value, (int, float, str, bool)) else None
    return found


def captured_settings(capture: Capture) -> dict[str, Value]:
    """Those of the loader that was captured, as far as they are known."""
    return {field.name: value for field, value in capture.loader.ListFields() if field.name in NAMES}


def both_sides(made: Mapping[str, Value], captured: Mapping[str, Value], advice: Changes) -> tuple[Changes, Changes]:
    """Without and with the advice, as changes of the loader. Raises NothingToReport where it has been followed."""
    base = Changes()
    for name in (WORKERS, *(name for name in captured if name != WORKERS)):
        if name in captured and name in made:
            base = with_change(base, name, captured[name], made)
    changed = base
    for name, value in sorted(advice, key=lambda pair: pair[0] != WORKERS):
        changed = with_change(changed, name, value, made)
    if in_effect(changed, made) == in_effect(base, made):
        raise NothingToReport(f"the capture's loader has {advice.text} already")
    return base, changed


def verify(
    program: Program, capture: Capture, finding: Finding, batches: float, pairs: int, say: Callable[[str], None]
) -> Verified:
    """Raises CannotRun, BadRequest, NothingToReport."""
    advice = advised(finding)
    if advice.get(PIN) and not program.device:
        raise BadRequest(f"{finding.rule}: pinned memory shows in copies to a device only; give --device, such as cuda")
    plain = program.start(Changes())
    facts = plain.facts(1)
    plain.close()
    base, changed = both_sides(facts.made, captured_settings(capture), advice)
    if repeats(changed, facts):
        raise NothingToReport(why_not_tried(facts))
    loop: Loop = program.start(base)
    try:
        beside = _beside(program, loop, facts, base, changed, pairs, say)
    finally:
        loop.close()
    bound = finding.gain_us_per_step / batches if finding.HasField("gain_us_per_step") else None
    return Verified(finding, base, changed, beside, bound)


def _beside(
    program: Program, loop: Loop, facts: Facts, base: Changes, changed: Changes, pairs: int, say: Callable[[str], None]
) -> Beside:
    seen: Window = loop.window()  # fills the page cache, and is not counted
    refused = refusal(changed, facts, seen, free_now())
    if refused:
        raise CannotRun(f"{changed.text} is not tried: {refused}")
    other = program.start(changed)
    try:
        other.window()
        return measure_beside(
            loop,
            other,
            most=pairs,
            in_process=any(not number_of(in_effect(side, facts.made), WORKERS) for side in (base, changed)),
            window=lambda side: side.window(),
            is_late=lambda: False,
            say=lambda number: say(f"{changed.text} beside {base.text}: pair {number + 1} of at most {pairs}"),
        )
    finally:
        other.close()
