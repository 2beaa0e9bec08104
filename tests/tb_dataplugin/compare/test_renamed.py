"""Files that have another name on the other side."""

from __future__ import annotations

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.lines import compare_lines
from tb_dataplugin.compare.not_judged import not_judged
from tb_dataplugin.compare.own_lines import own_lines
from tb_dataplugin.compare.quantity import Quantity
from tb_dataplugin.compare.renamed import loop_elsewhere, renamed_files
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb
from tests.tb_dataplugin.compare.test_flame_lines import RETURN, SLEEP, side

PLACES = dict[str, dict[str, float]]
LOOP = "training thread outside the data wait"


def run(places: PLACES, script: str = "") -> Run:
    """One step of 1 s, with 1000 stack samples of the training thread: shares by file and "function: text"."""
    tree, lines = pb.LineTree(), []
    for file, functions in (*places.items(), *([(script, {"<module>: main()": 1.0})] if script else ())):
        for named, share in functions.items():
            function, _, text = named.partition(": ")
            at = len(tree.names)
            tree.names.extend([function, f"/me/{file}", text])
            for column, value in ((tree.function, at), (tree.file, at + 1), (tree.source, at + 2)):
                column.append(value)
            tree.total_us.append(1e6 * share)
            tree.origin.append("user")
    for file, functions in places.items():
        for named, share in functions.items():
            function, _, text = named.partition(": ")
            line = pb.Line(function=function, file=f"/me/{file}", source=text, place=f"{file}:5", line=5, share=share)
            line.text, line.time_us = f"`{text}` at {file}:5", 1e6 * share
            lines.append(line)
    part = pb.PartLines(name="other", samples=1000, time_us=1e6, tree=tree, lines=lines)
    return Run("run", (pb.Capture(steps=pb.Steps(count=1), lines=pb.Lines(training_thread=part, training=[part])),))


BEFORE: PLACES = {"train.py": {"main: loss.backward()": 0.6, "main: loss = model(x)": 0.4}}
COPY: PLACES = {"new.py": {"main: loss.backward()": 0.9, "main: loss = model(x)": 0.1}}
OTHER: PLACES = {"new.py": {"fit: loss.backward()": 0.9, "check: print(loss)": 0.1}}
TIME = Quantity("time", "time", "time", 1e6, 1e6, 0.0, None, "", "not_significant")


def test_a_copy_of_a_script_is_compared_by_functions_and_texts() -> None:
    first, second = [run(BEFORE, "train.py")], [run(COPY, "new.py")]
    assert renamed_files(first, second) == {"new.py": "train.py"}
    (part,) = compare_lines(first, second)
    assert [(row.name, row.outcome) for row in part.functions] == [("main", "identical")]
    assert {row.name: row.outcome for row in part.lines} == {
        "`loss.backward()` at new.py:5": "more",
        "`loss = model(x)` at new.py:5": "less",
    }
    assert [(row.place_before, row.place_after) for row in part.functions] == [("train.py:5", "new.py:5")]
    changes = {line.name: line.change_us for line in own_lines(first, second, "step", TIME)}
    assert changes == {  # a name is of the side that has more
        "`loss.backward()` at new.py:5": pytest.approx(3e5),
        "`loss = model(x)` at train.py:5": pytest.approx(-3e5),
    }
    (said,) = not_judged(first, second, "step", (), ())
    assert said.text.endswith("its lines are compared by their function and text")


def test_the_lines_of_a_loop_in_a_script_that_is_no_copy_are_not_listed_as_new_and_gone() -> None:
    first, second = [run(BEFORE, "train.py")], [run(OTHER, "new.py")]
    assert not renamed_files(first, second)
    assert loop_elsewhere(first, second, {}) == {"train.py", "new.py"}
    (part,) = compare_lines(first, second)
    assert not part.functions and not part.lines
    assert part.text == "the training loop is in another script"
    assert not own_lines(first, second, "step", TIME)
    (said,) = not_judged(first, second, "step", (), ())
    assert said.text.endswith("its lines are not compared")


def test_lines_of_other_files_are_still_compared() -> None:
    model: PLACES = {"model.py": {"Net.forward: x = conv(x)": 0.5}}
    (part,) = compare_lines([run(BEFORE | model, "train.py")], [run(OTHER | model, "new.py")])
    assert [row.name for row in part.functions] == ["Net.forward"]


def test_a_file_that_both_sides_have_is_renamed_to_none() -> None:
    (part,) = compare_lines([run(BEFORE)], [run(BEFORE | OTHER)])
    assert not renamed_files([run(BEFORE)], [run(BEFORE | COPY)])
    assert {row.name: row.outcome for row in part.functions if row.name != "main"} == {"fit": "new", "check": "new"}


def test_of_two_files_that_are_equally_like_one_none_is_taken() -> None:
    twice = COPY | {"newer.py": COPY["new.py"]}
    assert not renamed_files([run(BEFORE)], [run(twice)])


def test_code_in_no_function_is_known_by_its_lines() -> None:
    before: PLACES = {"train.py": {"<module>: out = net(x)": 0.6, "<module>: save(out)": 0.4}}
    copy: PLACES = {"new.py": {"<module>: out = net(x)": 0.6, "<module>: keep(out)": 0.4}}
    other: PLACES = {"new.py": {"<module>: x = x + 1": 1.0}}
    assert renamed_files([run(before)], [run(copy)]) == {"new.py": "train.py"}
    assert not renamed_files([run(before)], [run(other)])


@pytest.mark.parametrize("function", ["main", "<module>", "main.<locals>.<lambda>"])
def test_what_any_script_has_makes_no_copy_of_one(function: str) -> None:
    """Strangers' scripts for other data: both have a main, which takes steps."""
    steps = {f"{function}: loss.backward()": 0.3, f"{function}: optimizer.step()": 0.2}
    photos = {"photos.py": steps | {f"{function}: loss = cross_entropy(net(x), y)": 0.5}}
    prices = {"prices.py": steps | {f"{function}: loss = (model(row) - price).abs().mean()": 0.5}}
    first, second = [run(photos, "photos.py")], [run(prices, "prices.py")]
    assert not renamed_files(first, second)
    (part,) = compare_lines(first, second)
    assert part.text == "the training loop is in another script"


def test_with_functions_of_their_own_main_marks_none() -> None:
    one: PLACES = {"photos.py": {"main: x = crop(x)": 0.5, "crop: return x": 0.5}}
    other: PLACES = {"prices.py": {"main: x = crop(x)": 0.5, "scale: return x": 0.5}}
    copy: PLACES = {"new.py": {"main: y = crop(x)": 0.5, "crop: return y": 0.5}}
    assert not renamed_files([run(one)], [run(other)])
    assert renamed_files([run(one)], [run(copy)]) == {"new.py": "photos.py"}


def test_a_package_of_another_name_is_another_package() -> None:
    places = [{f"site-packages/{name}/load.py": {"decode: x = 1": 1.0}} for name in ("one", "two")]
    assert not renamed_files([run(places[0])], [run(places[1])])


def test_the_flame_graph_joins_a_function_of_a_renamed_file() -> None:
    before, after = side((18, SLEEP, 5000), (19, RETURN, 100)), side((19, RETURN, 110))
    for one, file in ((before, "/me/old.py"), (after, "/me/new.py")):
        names = one.lines.pipeline.tree.names
        names[list(names).index("/me/train.py")] = file
    flame = compare([before], [after]).flames[0]
    assert len(flame.depth) == 1 and flame.before[0] > flame.after[0] > 0
    assert flame.names[flame.place[0]] == "old.py:18 (before)"
