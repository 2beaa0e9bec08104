from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tb_dataplugin.analyses.code_places import below_stage, inside_stage
from tb_dataplugin.analyses.hot_lines import HotLines
from tb_dataplugin.analyses.line_hits import Hits
from tb_dataplugin.analyses.line_trees import LEAST_SHARE, LineTree, grow, grow_in_order
from tb_dataplugin.model.line_samples import Frame, Origin
from tests.lines_run import lines_run
from tests.tb_dataplugin.findings.cases import capture_of, results_of


def frame(name: str, origin: Origin = "user") -> Frame:
    return Frame(name, f"/home/me/{name}.py", 1, 1, origin)


def tree_of(stacks: dict[str, float], most: int = 400) -> LineTree:
    """`stacks`: "outer;inner" and its time."""
    weights = np.array(list(stacks.values()))
    zeros = np.zeros(len(weights), dtype=np.int64)
    hits = Hits(
        zeros, zeros, zeros, zeros, zeros, zeros.astype(bool), weights, weights / 2, weights / 4, zeros.astype(bool)
    )
    return grow(hits, [[frame(name) for name in stack.split(";")] for stack in stacks], np.arange(len(weights)), most)


def ordered(stacks: list[tuple[int, int, str]], most: int = 400) -> LineTree:
    """`stacks`: thread, time and "outer;inner", each of 10 ns."""
    track, time = (np.array(column, dtype=np.int64) for column in list(zip(*stacks, strict=True))[:2])
    weights, zeros = np.full(len(stacks), 10.0), np.zeros(len(stacks), dtype=np.int64)
    hits = Hits(
        zeros, track, zeros, time, zeros, zeros.astype(bool), weights, weights / 2, weights / 5, zeros.astype(bool)
    )
    distinct = list(dict.fromkeys(stack for *_, stack in stacks))
    place = np.array([distinct.index(stack) for *_, stack in stacks])
    frames = [[frame(name) for name in stack.split(";")] for stack in distinct]
    return grow_in_order(hits, frames, place, ["training thread", "DataLoader worker 7"], most)


def test_in_time_order_only_neighbours_are_one_node() -> None:
    tree = ordered([(0, 40, "a;b"), (0, 10, "a;b"), (0, 20, "a;b"), (0, 30, "a;c")])
    assert [frame.function for frame in tree.frame] == ["a", "b", "c", "b"]
    assert (tree.depth, tree.total_ns, tree.samples) == ((0, 1, 1, 1), (40, 20, 10, 10), (4, 2, 1, 1))
    assert (tree.waited_ns, tree.idle_ns) == ((20, 10, 5, 5), (8, 4, 2, 2))


def test_in_time_order_a_function_that_ran_itself_in_between_calls_again() -> None:
    tree = ordered([(0, 10, "a;b"), (0, 20, "a"), (0, 30, "a;b")])
    assert [frame.function for frame in tree.frame] == ["a", "b", "b"]
    assert tree.self_ns == (10, 10, 10)


def test_in_time_order_each_of_several_threads_stands_above_its_functions() -> None:
    tree = ordered([(1, 10, "a"), (0, 20, "a"), (1, 30, "b")])
    assert [frame.function for frame in tree.frame] == ["training thread", "a", "DataLoader worker 7", "a", "b"]
    assert tree.depth == (0, 1, 0, 1, 1)


def test_in_time_order_the_longest_nodes_are_kept() -> None:
    tree = ordered([(0, time, f"a;f{time // 3}" if time < 60 else f"a;g{time}") for time in range(100)], most=21)
    assert len(tree.frame) == 21 and tree.frame[1].function == "f0"
    assert sum(tree.self_ns) == tree.total_ns[0] == 1000


def lines() -> HotLines:
    found = results_of(lines_run()).lines
    assert found is not None
    return found


def test_a_node_has_the_time_and_the_samples_of_all_stacks_that_go_through_it() -> None:
    tree = tree_of({"a;b": 30, "a;c": 50, "d": 20})
    assert [frame.function for frame in tree.frame] == ["a", "c", "b", "d"]
    assert (tree.depth, tree.total_ns, tree.self_ns) == ((0, 1, 1, 0), (80, 50, 30, 20), (0, 50, 30, 20))
    assert (tree.samples, tree.waited_ns, tree.idle_ns) == ((2, 1, 1, 1), (40, 25, 15, 10), (20, 12, 8, 5))
    assert (tree.left_out, tree.left_out_ns) == (0, 0)


def test_what_is_left_out_is_counted_and_is_its_callers_own_time() -> None:
    tree = tree_of({"a;b": 1000, "a;c;d": LEAST_SHARE * 900})
    assert [frame.function for frame in tree.frame] == ["a", "b"]
    assert tree.self_ns[0] == round(LEAST_SHARE * 900)
    assert (tree.left_out, tree.left_out_ns) == (2, round(LEAST_SHARE * 900))


def test_a_tree_keeps_its_largest_nodes_and_their_callers() -> None:
    tree = tree_of({f"a;f{number}": 100.0 + number for number in range(50)}, most=10)
    assert len(tree.frame) == 10
    assert tree.frame[0].function == "a" and tree.frame[1].function == "f49"
    assert sum(tree.self_ns) == tree.total_ns[0]
    assert tree.left_out == 41


def test_the_tree_of_the_pipeline_has_functions_under_the_stages_that_they_run_in() -> None:
    part = lines().pipeline
    assert part is not None and part.tree is not None
    names = [frame.function.removeprefix("main.<locals>.RandomMask.") for frame in part.tree.frame]
    rows = list(zip(names, part.tree.depth, strict=True))
    assert rows == [
        ("sample::Pets", 0),
        ("transform::RandomMask", 1),
        ("dilate", 2),
        ("convolve2d", 3),
        ("blend", 2),
        ("decode::PIL.Image", 1),
        ("ImageFile.load", 2),
    ]
    assert [frame.origin for frame in part.tree.frame][:4] == ["stage", "stage", "user", "library"]
    assert part.tree.total_ns[0] == pytest.approx(part.time_ns, rel=0.01)
    assert part.rows[0].place.short == "train.py:41"


def test_the_training_thread_is_there_outside_of_its_data_wait() -> None:
    part = lines().training_thread
    assert part is not None
    assert [row.place.short for row in part.rows] == ["train.py:88"]


def test_a_stage_that_is_c_code_has_the_line_that_called_it_and_not_the_whole_program_around_it() -> None:
    outer = [frame("main"), frame("torch", "library"), frame("get", "user"), frame("fetch", "library")]
    assert below_stage([*outer, frame("timed", "recorder")]) == [outer[2]]
    assert below_stage([*outer, frame("timed", "recorder"), frame("mask")]) == [frame("mask")]
    assert below_stage(outer) == outer
    assert below_stage([frame("timed", "recorder")]) == []


def test_the_loop_that_iterates_the_loader_is_no_line_of_a_stage() -> None:
    fetch = Frame("fetch", "/python/site-packages/torch/utils/data/_utils/fetch.py", 54, 1, "library")
    outer = [frame("main"), replace(fetch, function="next"), fetch]
    assert inside_stage(outer) == [fetch]
    assert inside_stage([*outer, frame("timed", "recorder")]) == [fetch]
    assert inside_stage([*outer, frame("get"), frame("timed", "recorder")]) == [fetch, frame("get")]
    assert inside_stage([frame("main"), frame("step")]) == [frame("main"), frame("step")]


def test_the_report_names_each_frame_as_people_do() -> None:
    tree = capture_of(lines_run()).lines.pipeline.tree
    row = [tree.names[label] for label in tree.label].index("RandomMask.dilate")
    assert tree.names[tree.place[row]] == "train.py:41"
    assert tree.names[tree.file[row]] == "/home/me/train.py"
    assert tree.source[row] == -1
    assert tree.samples[row] > 500


def test_why_lines_were_not_sampled_stands_in_the_report() -> None:
    builder = lines_run(4)
    builder.stacks([1.0], [[("f", "/home/me/f.py", 1)]], pid=7, why_not="reading memory is not permitted")
    capture = capture_of(builder)
    assert not capture.HasField("lines")
    [note] = [note for note in capture.diagnostics if note.topic == "lines"]
    assert note.message.endswith("reading memory is not permitted")
