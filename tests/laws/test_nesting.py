from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tb_dataplugin.model.intervals import int64
from tb_dataplugin.model.nesting import Nesting, nest

Span = tuple[int, int]


@st.composite
def nested(draw: st.DrawFn, low: int = 0, high: int = 40, depth: int = 3) -> list[Span]:
    """Properly nested spans within [low, high)."""
    found: list[Span] = []
    at = low
    while at < high and draw(st.booleans()):
        start = draw(st.integers(at, high - 1))
        end = draw(st.integers(start + 1, high))
        found.append((start, end))
        if depth and end - start > 2:
            found += draw(nested(start + 1, end - 1, depth - 1))
        at = end
    return found


def run(spans: list[Span]) -> Nesting:
    return nest(int64([s for s, _ in spans]), int64([e for _, e in spans]))


def deepest(spans: list[Span], moment: int) -> int | None:
    """The slow way: the shortest span that holds the moment."""
    holding = [i for i, (start, end) in enumerate(spans) if start <= moment < end]
    return min(holding, key=lambda i: spans[i][1] - spans[i][0], default=None)


@given(nested(), st.randoms(use_true_random=False))
def test_every_moment_belongs_to_the_deepest_span(spans: list[Span], random: object) -> None:
    random.shuffle(spans)  # type: ignore[attr-defined]
    result = run(spans)
    owner = {
        moment: span
        for start, end, span in zip(result.piece_start, result.piece_end, result.piece_span, strict=True)
        for moment in range(start, end)
    }
    assert owner == {m: deepest(spans, m) for m in range(41) if deepest(spans, m) is not None}
    assert result.clipped == 0


@given(nested())
def test_self_time_is_duration_less_children(spans: list[Span]) -> None:
    result = run(spans)
    for i, (start, end) in enumerate(spans):
        children = [spans[c] for c in range(len(spans)) if result.parent[c] == i]
        assert result.self_ns()[i] == end - start - sum(e - s for s, e in children)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)).map(lambda s: (s[0], s[0] + s[1])), max_size=10))
def test_overlapping_spans_never_count_a_moment_twice(spans: list[Span]) -> None:
    result = run(spans)
    covered = {moment for start, end in spans for moment in range(start, end)}
    assert (result.piece_end[:-1] <= result.piece_start[1:]).all()
    assert int((result.piece_end - result.piece_start).sum()) <= len(covered)


def test_a_span_that_runs_past_its_parent_is_cut_and_counted() -> None:
    result = run([(0, 10), (5, 15)])
    assert result.clipped == 1
    assert result.self_ns().tolist() == [5, 5]
