"""What each call of a stage gets: the call just before it, within one sample and one enclosing call.

Where a sample goes through a stage more than once (two views of a picture, six crops of it), what comes first in time
is no input of what comes next. Such calls have a known input only as far as each follows its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Final, TypeVar

import numpy as np

from tb_dataplugin.analyses.stages import OF_VALUE, Path, StageTree, samples_of
from tb_dataplugin.model.beside_events import SpanFacts

_NONE: Final = -1
"""No call is before it."""
_UNKNOWN: Final = -2
"""Which call is before it is not certain."""
_ALL: Final = -1
"""In the place of a stage's number: of all calls."""

MOST_EARLIER: Final = 64
"""Stages that are looked back at: no one's list of transforms is as long, but a trace may have thousands in a row."""

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Of all calls of one stage under one chain of parents, in the whole capture.

    `feeding`: how many calls get what a call of each other stage returns. `earlier`: how many get what has gone through
    each other stage, of the last `MOST_EARLIER`. `quotients`: bytes out over bytes in, where both were measured; by
    stage of `earlier`, of the calls behind that; under the empty path, of all. `samples`: how many samples these are
    of. `gap_ns`: median time in between, of code without such a stage; None where no input is known. `is_first`: no
    other transform is before it in the enclosing call, in any of these.
    """

    calls: int = 0
    feeding: Mapping[Path, int] = field(default_factory=dict)
    earlier: Mapping[Path, int] = field(default_factory=dict)
    quotients: Mapping[Path, tuple[float, ...]] = field(default_factory=dict)
    samples: Mapping[Path, int] = field(default_factory=dict)
    gap_ns: float | None = None
    is_first: bool = True


def find_inputs(tree: StageTree, facts: SpanFacts, beside: Collection[Path] = ()) -> Mapping[Path, Inputs]:
    """`beside`: stages that make something else, beside the value: what comes next does not get that."""
    walk = _Walk(tree, beside)
    followed = walk.followed()
    return dict(_gathered(tree, facts, walk, followed))


class _Walk:
    """Through all calls in the order of their starts, those that hold others before what they hold."""

    def __init__(self, tree: StageTree, beside: Collection[Path]) -> None:
        self._tree = tree
        holding = {path[:-1] for path in tree.paths if len(path) > 1 and path[-1].kind == path[-2].kind == "transform"}
        self._holds = [path in holding for path in tree.paths]
        self._is_beside = [path in beside for path in tree.paths]
        self._parent, self._node = tree.parent.tolist(), tree.node.tolist()
        self._start_ns, self._end_ns = tree.start_ns.tolist(), tree.end_ns.tolist()
        self._last: dict[int, int] = {}  # by call, the last one right inside it so far
        self._end: dict[int, int] = {}  # the end of that, or of what is beside the value
        self._nth: dict[int, int] = {}  # of the calls of its stage right inside the same call
        self._calls: Counter[tuple[int, int]] = Counter()  # by call and stage, how many are right inside it
        self._begun: dict[int, int] = {}  # by call, the stage of the first transform inside
        self.input: dict[int, int] = {}  # by call, the one that made what it gets
        self.source: dict[int, int] = {}  # the same, or the one around that which returns it
        self.gap_ns: dict[int, int] = {}
        self.not_first: set[int] = set()  # stages that have another transform before them

    def followed(self) -> list[int]:
        """The calls that hold no other, in order: `input`, `source` and `gap_ns` are known of them."""
        tree = self._tree
        of_value = np.array([path[-1].kind in OF_VALUE for path in tree.paths], dtype=np.bool_)
        inner = np.flatnonzero(of_value[tree.node] & (tree.parent >= 0))
        order = inner[np.lexsort((tree.depth[inner], tree.start_ns[inner], tree.track[inner]))].tolist()
        for span in order:
            key = self._parent[span], self._node[span]
            self._nth[span] = self._calls[key]
            self._calls[key] += 1
        for span in order:
            self._follow(span)
        return [span for span in order if not self._holds[self._node[span]] and span in self.input]

    def _follow(self, span: int) -> None:
        parent, node = self._parent[span], self._node[span]
        before, is_held = self._last.get(parent), self._holds[self._node[parent]]
        start, begin = self._start_ns[span], self._start_ns[parent]
        gap = max(0, start - self._end.get(parent, begin))
        self._end[parent] = self._end_ns[span]
        if self._is_beside[node]:
            return
        self.gap_ns[span] = gap + (self.gap_ns.get(parent, 0) if before is None and is_held else 0)
        if before is None:
            self.input[span] = self.input.get(parent, _NONE) if is_held else _NONE
            self.source[span] = self.source.get(parent, _NONE) if is_held else _NONE
        elif self._is_pair(before, span):
            self.input[span], self.source[span] = self._made_by(before), before
        else:
            self.input[span] = self.source[span] = _UNKNOWN
        self._last[parent] = span
        is_own = self._tree.paths[node][-1].kind == "transform" and not self._holds[node]
        if is_own and self._begun.setdefault(self._scope(span), node) != node:
            self.not_first.add(node)

    def _scope(self, span: int) -> int:
        """The call in which the value goes from one to the next, past those that only hold others."""
        span = self._parent[span]
        while self._holds[self._node[span]] and self._parent[span] >= 0:
            span = self._parent[span]
        return span

    def _is_pair(self, before: int, span: int) -> bool:
        """Whether the later of two neighbours gets what the other returns: not where that is one of several of its
        stage, unless each of these has its own behind it.
        """
        parent, nth = self._parent[span], self._nth
        calls, own = self._calls[parent, self._node[before]], self._calls[parent, self._node[span]]
        if calls == own:
            return nth[before] == nth[span] and self._node[before] != self._node[span]
        return calls == 1 and nth[span] == 0

    def _made_by(self, span: int) -> int:
        """The innermost call that made what this one returns."""
        while self._holds[self._node[span]]:
            last = self._last.get(span)
            if last is None:  # a transform that is applied to some samples only
                return self.input[span]
            if self._calls[span, self._node[last]] > 1:
                return _UNKNOWN
            span = last
        return span


def _gathered(tree: StageTree, facts: SpanFacts, walk: _Walk, followed: list[int]) -> Iterator[tuple[Path, Inputs]]:
    node, sample = tree.node.tolist(), samples_of(tree).tolist()
    chains = _chains(node, walk, followed)
    by_node: dict[int, list[int]] = defaultdict(list)
    for span in followed:
        by_node[node[span]].append(span)
    for number, spans in by_node.items():
        known = [span for span in spans if walk.input[span] >= 0]
        quotients: dict[int, list[float]] = defaultdict(list)
        samples: dict[int, set[int]] = defaultdict(set)
        for span in known:
            quotient = _quotient(facts, walk, span)
            if quotient is None or tree.paths[node[walk.input[span]]][-1].kind == "read":  # of a file, compressed
                continue
            for one in (_ALL, *chains[span]):
                quotients[one].append(quotient)
                samples[one].add(sample[span])
        yield (
            tree.paths[number],
            Inputs(
                calls=len(spans),
                feeding=_by_path(tree, Counter(node[walk.input[span]] for span in known)),
                earlier=_by_path(tree, Counter(one for span in known for one in chains[span])),
                quotients=_by_path(tree, {one: tuple(values) for one, values in quotients.items()}),
                samples=_by_path(tree, {one: len(values) for one, values in samples.items()}),
                gap_ns=median(walk.gap_ns[span] for span in known) if known else None,
                is_first=number not in walk.not_first,
            ),
        )


def _chains(node: list[int], walk: _Walk, followed: list[int]) -> dict[int, tuple[int, ...]]:
    """By call, the last stages that the value has gone through. Few chains differ: calls share them."""
    chains: list[tuple[int, ...]] = [()]
    longer: dict[tuple[int, int], int] = {}  # by number of a chain, and a stage
    of_span: dict[int, int] = {}
    for span in followed:
        before = walk.input[span]
        if before < 0:
            of_span[span] = 0
            continue
        key = of_span[before], node[before]
        if key not in longer:
            longer[key] = len(chains)
            chains.append((*(one for one in chains[key[0]] if one != key[1]), key[1])[-MOST_EARLIER:])
        of_span[span] = longer[key]
    return {span: chains[number] for span, number in of_span.items()}


def _quotient(facts: SpanFacts, walk: _Walk, span: int) -> float | None:
    own = int(facts.bytes[span])
    of_source, of_input = int(facts.bytes[walk.source[span]]), int(facts.bytes[walk.input[span]])
    before = of_source if of_source > 0 else of_input
    return own / before if own > 0 and before > 0 else None


def _by_path(tree: StageTree, numbered: Mapping[int, _Value]) -> dict[Path, _Value]:
    return {() if number == _ALL else tree.paths[number]: value for number, value in numbered.items()}
