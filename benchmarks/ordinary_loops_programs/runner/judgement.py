"""What the report says first, and whether that is what was planted.

HIT: the verdict's stage, the largest of wait_by_stage_us and the first finding that names a stage are all the planted
one, or an accepted name; or the first finding's or the verdict's words name the cause, where a program allows it.
"half": some of the three. Planted in the loop's own body: HIT unless the verdict is data-bound, or a finding is high
that is not about lines of that body.
Healthy: the same; INVALID if the clocks put next() above 2% of 1,000 steps.
"""

from __future__ import annotations

import re
from typing import Any

DATA_BOUND = frozenset({"read", "cpu", "transfer", "sampler", "wrapper"})
HEALTHY_SHARE, HEALTHY_STEPS = 0.02, 1000
OF_THE_STEP = "slow_step_line"
"""The rule about lines of the loop's own body."""
NO_STAGE = ("other", "unrecorded")
LEFT_OF_WAIT, LEFT_OF_WINDOW = 0.02, 0.005
"""`other` and `unrecorded` are to stay under one of them, each."""


def reading(capture: dict[str, Any]) -> dict[str, Any]:
    """What the report says first, three ways, of one capture of `report --format json`."""
    verdict, loader = capture["verdict"], capture.get("loader", {})
    evidence = (e for e in verdict.get("evidence", []) if e.get("in_sentence") and e.get("stage"))
    stage = next((e["stage"] for e in evidence if e.get("kind") == "wait_by_stage"), "")
    by = loader.get("wait_by_stage_us", {})
    top = max(by, key=by.get) if by else ""
    findings = capture.get("findings") or [{}]
    first = next((f for f in findings if f.get("stage")), findings[0])  # "no workers" and the like name none
    n = capture.get("steps", {}).get("count") or 1
    wait, window = loader.get("wait_us"), capture.get("window_us")
    return {
        "bound": verdict.get("bound"),
        "sentence": verdict.get("sentence"),
        "verdict_stage": stage,
        "top": top,
        "top_share": by[top] / wait if by and wait else None,
        "by_all": {k: x / 1e3 / n for k, x in by.items()},
        "self_all": _self_times(capture, n),
        "sum_ok": (abs(sum(by.values()) - wait) < 1) if by and wait else None,
        "no_stage": {name: by.get(name, 0) / wait for name in NO_STAGE} if by and wait else None,
        "first": first.get("stage") or first.get("rule", ""),
        "first_rule": first.get("rule", ""),
        "first_severity": first.get("severity", ""),
        "first_text": f"{findings[0].get('title', '')} {findings[0].get('advice', '')}",
        "findings": [
            [f.get("severity"), f.get("rule"), f.get("stage", ""), f.get("title")] for f in capture.get("findings", [])
        ],
        "share": wait / window if wait is not None and window else None,
        "window_ms": (window or 0) / 1e3,
        "steps": n,
        "first_batch_ms": (loader.get("first_batch_wait_us") or 0) / 1e3,
        "wait_source": loader.get("wait_source"),
        "limited": [s.get("limited_by") for s in capture.get("stages", []) if f"{s['kind']}::{s['label']}" == top],
        "diagnostics": [[d["code"], d["message"]] for d in capture.get("diagnostics", [])],
    }


def _self_times(capture: dict[str, Any], steps: int) -> dict[str, float]:
    """Per stage, its self time in ms per step: in all workers, whether waited for or not."""
    found: dict[str, float] = {}
    for stage in capture.get("stages", []):
        name = f"{stage['kind']}::{stage['label']}"
        found[name] = found.get(name, 0.0) + stage["self_us"] / 1e3 / steps
    return found


def is_complete(read: dict[str, Any]) -> bool:
    """Whether as much of the data wait has a stage as is meant to."""
    parts = (read.get("no_stage") or {}).values()
    return all(part <= LEFT_OF_WAIT or part * (read["share"] or 0) <= LEFT_OF_WINDOW for part in parts)


def judge(window: dict[str, Any], read: dict[str, Any]) -> tuple[str, str, float | None]:
    """Of a program with a planted delay: verdict, reason, what the report measured of it in ms per step."""
    declared = window["declared"]
    if declared["place"] == "host":
        return (*_judge_host(read), None)

    def fits(stage: str) -> bool:
        return bool(stage) and any(re.fullmatch(accepted, stage) for accepted in declared["accept"])

    words, said_first = declared["words"], read["first_text"] + " " + (read["sentence"] or "")
    in_words = bool(words) and bool(re.search(words, said_first, re.IGNORECASE))
    measured = sum(ms for stage, ms in read["by_all"].items() if fits(stage))
    verdict, first, top = fits(read["verdict_stage"]), fits(read["first"]) or in_words, fits(read["top"])
    if in_words and not verdict and not (top and read["verdict_stage"]):  # the cause is named in words
        return "HIT", "by the first finding's words", measured
    if verdict and top and (first or not read["findings"]):
        return "HIT", "", measured
    said = []
    if not verdict:
        said.append(f"verdict {read['verdict_stage'] or 'bound ' + str(read['bound'])}")
    if not top:
        said.append(f"most wait {read['top'] or '-'} {100 * (read['top_share'] or 0):.0f}%")
    if not first:
        said.append(f"1st finding {read['first'] or 'none'}")
    half = "half: " if verdict or first or top else ""
    return "MISS", half + "; ".join(said), measured


def self_time(window: dict[str, Any], read: dict[str, Any]) -> float | None:
    """The planted stages' own time in ms per step by the report; None where no stage of that name has any."""
    accepted = window["declared"]["accept"]
    times = [ms for stage, ms in read["self_all"].items() if any(re.fullmatch(one, stage) for one in accepted)]
    return sum(times) if times else None


def _judge_host(read: dict[str, Any]) -> tuple[str, str]:
    if read["bound"] in DATA_BOUND:
        return "MISS", f"bound {read['bound']}: {read['verdict_stage'] or read['top']}"
    high = [f for f in read["findings"] if f[0] == "high" and f[1] != OF_THE_STEP]
    if high:
        return "MISS", f"high finding: {high[0][3]}"
    return "HIT", f"bound {read['bound']}"


def judge_healthy(plain: dict[str, Any], read: dict[str, Any]) -> tuple[str, str]:
    if plain["share"] > HEALTHY_SHARE or plain["batches"] < HEALTHY_STEPS:
        return "INVALID", f"not healthy by the clocks: {100 * plain['share']:.1f}% of {plain['batches']} steps"
    high = [f for f in read["findings"] if f[0] == "high"]
    if read["bound"] in DATA_BOUND or high:
        return "MISS", f"bound {read['bound']}" + (f"; high: {high[0][3]}" if high else "")
    rules = [f[1] for f in read["findings"]]
    return "HIT", f"bound {read['bound']}" + (f"; findings {', '.join(rules)}" if rules else "")
