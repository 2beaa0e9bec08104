"""The rules: one module each in `findings/rules/`, registered by a decorator that states what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND

Check = Callable[[Signals], Finding | Abstention | tuple[Finding, ...] | None]
"""Several findings: one about each of several places."""

About = Literal["samples", "workers", "delivery", "epochs", "others", "copies", "host", "capture"]
"""What a rule is about, in the order of a batch's way; rules run in this order, and then by name. others: DataLoaders
that are not the training loop's.
"""

_PLACE: Final = {about: place for place, about in enumerate(get_args(About))}


@dataclass(frozen=True, slots=True)
class Rule:
    """`title` says what is checked. A rule runs only where a capture has what it needs."""

    name: str
    title: str
    about: About
    check: Check
    replay: bool
    input_bound: bool
    workers: bool

    @property
    def is_about_wait(self) -> bool:
        """What it saves is data wait of steps: neither an epoch's start nor the step itself."""
        return self.about in ("samples", "workers", "delivery")

    def applies(self, signals: Signals) -> bool:
        return (
            (self.replay or signals.mode != "replay")
            and (not self.input_bound or signals.is_input_bound(INPUT_BOUND))
            and (not self.workers or signals.builds_batches_in_workers)
            and not (signals.starts_workers_anew and (self.is_about_wait or self.about == "epochs"))
        )


_registered: Final[dict[str, Rule]] = {}


def rule(
    *, title: str, about: About, replay: bool = False, input_bound: bool = False, workers: bool = False
) -> Callable[[Check], Check]:
    """Registers a check under the name of its module.

    Args:
        title: what is checked, in a few words.
        about: what it is about.
        replay: it also judges replays, which have neither workers nor training.
        input_bound: it only judges captures in which data wait costs a share worth working on.
        workers: it only judges training runs with DataLoader workers.
    """

    def register(check: Check) -> Check:
        name = check.__module__.rpartition(".")[2]
        if name in _registered:
            raise ValueError(f"two rules in {check.__module__}; a rule is one file")
        _registered[name] = Rule(name, title, about, check, replay, input_bound, workers)
        return check

    return register


def registered_rules() -> tuple[Rule, ...]:
    """In the order in which they run."""
    return tuple(sorted(_registered.values(), key=lambda known: (_PLACE[known.about], known.name)))
