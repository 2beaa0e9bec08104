"""Calls of decoders that are exceptions: what makes typical ones shorter says nothing of them.

One file in another format, or a damaged one, can take as long as a hundred others, and cannot be decoded at a smaller
scale as these can. Calls count by their CPU time where that was recorded: what waits for a CPU is no exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.call_kinds import come_evenly, common_ns, slow_calls
from tb_dataplugin.analyses.making import nodes_of
from tb_dataplugin.analyses.stages import Path, StageTree, groups
from tb_dataplugin.model.beside_events import SpanFacts
from tb_dataplugin.model.intervals import Int64Array

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ExceptionalCalls:
    """Of one chain of stages: how many, their self time, and the data wait that they caused (0: unknown)."""

    calls: int
    self_ns: int
    wait_ns: int


def exceptional_decodes(
    tree: StageTree, facts: SpanFacts, counted: BoolArray, waited: Int64Array | None
) -> Mapping[Path, ExceptionalCalls]:
    """By chain of stages that ends with a decoder, where there are any. `waited`: the data wait that each span caused,
    without the spans inside it.
    """
    duration, found = tree.took_ns, {}
    decodes = np.flatnonzero(counted & np.isin(tree.node, nodes_of(tree, "decode")))
    for node, here in groups(tree.node, decodes):
        took = facts.cpu_ns[here] if (facts.cpu_ns[here] >= 0).all() else duration[here]
        slow = slow_calls(took, common_ns(took))
        if not slow.any() or come_evenly(slow, tree.start_ns[here], tree.track[here]):
            continue
        rare = here[slow]
        wait_ns = 0 if waited is None else int(waited[rare].sum())
        found[tree.paths[node]] = ExceptionalCalls(len(rare), int(tree.self_ns[rare].sum()), wait_ns)
    return found
