"""Which comparisons an HTML report carries, and that they are those of `compare`."""

from __future__ import annotations

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.export import as_html
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.export.comparisons import Pair, comparisons, given_pairs, shown_pairs, suggested_pairs
from tb_dataplugin.pipeline import analyse_file, as_report
from tb_dataplugin.report.report_pb2 import Capture
from tests.conftest import GOLDEN


@pytest.fixture(scope="module")
def program() -> list[Capture]:
    """Two versions of one program."""
    names = ("v100_resnet50_workers0", "v100_resnet50_workers4")
    return [analyse_file(GOLDEN / f"{name}.pt.trace.json.gz", name).capture for name in names]


@pytest.fixture(scope="module")
def stranger() -> Capture:
    return analyse_file(GOLDEN / "annotate_workers2.pt.trace.json.gz", "x").capture


def named(capture: Capture, name: str) -> Capture:
    copy = Capture()
    copy.CopyFrom(capture)
    copy.name = name
    return copy


def test_what_was_taken_first_is_before(program: list[Capture]) -> None:
    assert suggested_pairs(program, [1, 2]) == [Pair((0,), (1,)), Pair((0,), (1,))]
    assert suggested_pairs(program, [2, 1]) == [Pair((1,), (0,)), Pair((1,), (0,))]


def test_nothing_is_suggested_of_another_program_or_where_nothing_is_known_of_the_time(
    program: list[Capture], stranger: Capture
) -> None:
    assert suggested_pairs([program[0], stranger], [1, 2]) == [None, None]
    assert suggested_pairs(program, []) == [None, None]
    assert suggested_pairs(program, [1, 0]) == [None, None]


def test_each_pair_is_compared_once(program: list[Capture]) -> None:
    [(pair, comparison)] = comparisons(program, suggested_pairs(program, [1, 2]))
    assert pair.as_ids() == {"before": ["0"], "after": ["1"]}
    assert comparison == as_dict(compare([program[0]], [program[1]]))


def test_what_a_page_has_no_room_for_is_named_and_counted(
    program: list[Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    for room, count in ((10_000_000, 1), (100, 0)):
        monkeypatch.setattr(as_html, "MAX_BYTES", room)
        monkeypatch.setattr(as_html, "LEAST_ROOM", 0)
        page = as_html.as_html(as_report(program), [], "x")
        assert page.count('"comparison":') == count
        assert '"suggestions": [{"before":["0"],"after":["1"]' in page
        files = " ".join(one.file for one in program)
        assert (f'"command":"tb-dataplugin compare {files}"' in page) is (count == 0)
        assert as_html.without_comparison(page) == (0 if count else 2)


def test_repeated_runs_are_compared_as_a_whole_first(program: list[Capture]) -> None:
    first, second = program
    captures = [named(first, "a/1"), named(second, "b/1"), named(first, "a/2"), named(second, "b/2")]
    found = list(comparisons(captures, suggested_pairs(captures, [1, 3, 2, 4])))
    (first_pair, comparison), *others = found
    assert first_pair == Pair((0, 2), (1, 3))
    assert [len(side["files"]) for side in comparison["before"]] == [2]
    assert all(len(pair.before) == len(pair.after) == 1 for pair, _ in others)


def test_folders_that_were_named_are_compared_first(program: list[Capture], stranger: Capture) -> None:
    """Alternating runs, each in a folder of its own: no run beside another has the other version."""
    versions = zip(("after", "before"), reversed(program), strict=True)
    captures = [named(one, f"{side}/r{number}/x") for side, one in versions for number in (1, 2)]
    captures += [named(stranger, f"other/r{number}/x") for number in (1, 2)]
    taken, folders = [3, 5, 2, 4, 1, 6], [[0, 1], [2, 3], [4, 5]]
    given = given_pairs(captures, folders, taken)
    assert given == [Pair((2, 3), (0, 1))]
    assert given_pairs(captures, folders, []) == [Pair((0, 1), (2, 3))]
    assert given_pairs(captures, [[0, 1, 2, 3], [4, 5]], taken) == []
    (pair, comparison), *_ = comparisons(captures, suggested_pairs(captures, taken), given)
    assert pair == given[0]
    assert comparison == as_dict(compare([captures[2], captures[3]], [captures[0], captures[1]]))
    for capture, at in zip(captures, taken, strict=True):
        capture.window_unix_us = at
    page = as_html.as_html(as_report(captures), [], "x", folders=folders)
    assert '"repeated_runs": [{"folder":"after","ids":["0","1"]},{"folder":"before","ids":["2","3"]}' in page
    assert '{"before":["2","3"],"after":["0","1"],"comparison":' in page


def test_repeated_runs_in_folders_of_their_own_are_compared_as_a_whole_first(program: list[Capture]) -> None:
    """Also where the command named the folder above them."""
    versions = zip(("before", "after"), program, strict=True)
    captures = [named(one, f"{side}/r{number}/x") for side, one in versions for number in (1, 2)]
    pairs = suggested_pairs(captures, [1, 2, 3, 4])
    assert pairs == [Pair((0, 1), (2, 3))] * 4
    assert [pair for pair, _ in comparisons(captures, pairs)] == pairs[:1]


def test_folders_that_were_named_are_what_the_page_opens_with(program: list[Capture]) -> None:
    """Three versions: each is shown with the one before it, and the first with the one after it."""
    captures = [named(program[0], f"{side}/x{number}") for side in "abc" for number in (1, 2)]
    taken, folders = [1, 2, 3, 4, 5, 6], [[4, 5], [0, 1], [2, 3]]
    given = given_pairs(captures, folders, taken)
    first, second = Pair((0, 1), (2, 3)), Pair((2, 3), (4, 5))
    assert given == [first, second]
    other = Pair((0,), (4,))
    assert shown_pairs([other] * 6, [other, *given], given) == [first] * 4 + [second] * 2


def test_every_capture_of_many_has_a_comparison_and_siblings_come_first(program: list[Capture]) -> None:
    """Taken one after the other, as by somebody who tries one change after the other."""
    first, second = program
    change = [
        (f"change{number}/{side}/x", one) for number in range(12) for side, one in zip("ab", program, strict=True)
    ]
    captures = [named(second, "elsewhere/x"), *(named(one, name) for name, one in change), named(first, "other/y/x")]
    pairs = suggested_pairs(captures, range(1, 1 + len(captures)))
    made = [pair for pair, _ in comparisons(captures, pairs)]
    assert made[:12] == [Pair((number,), (number + 1,)) for number in range(1, 25, 2)]
    assert shown_pairs(pairs, made) == pairs
    assert {number for pair in made for number in pair.numbers} == set(range(len(captures)))


def test_a_capture_whose_own_comparison_had_no_room_is_shown_with_another_of_it() -> None:
    own, other = Pair((0,), (1,)), Pair((1,), (2,))
    assert shown_pairs([own, other, other], [own]) == [own, own, other]
    assert shown_pairs([None, None], []) == [None, None]


def test_the_worst_capture_has_its_timeline_where_not_all_have_room(
    program: list[Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("v100_resnet50_workers4", "v100_resnet50_workers0")
    found = [analyse_file(GOLDEN / f"{name}.pt.trace.json.gz", name) for name in names]
    whole = as_html.as_html(as_report([found[1].capture]), [found[1].timeline], "x")
    one = len(as_html._timelines([found[1].capture], [found[1].timeline], len(whole))[0])
    captures, sources = [each.capture for each in found], [each.timeline for each in found]
    room = 0
    while not any(kept := [len(slices) > 20 for slices in as_html._timelines(captures, sources, room)]):
        room += 20_000
        assert room < 2 * one
    assert kept == [False, True]  # the device of the loop without workers is idle for longer
