"""Settings of an evaluation's DataLoader are compared as the loop's are, and its advice is known to be followed."""

from __future__ import annotations

from tb_dataplugin.compare import compare
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.report import report_pb2 as pb
from tests.tb_dataplugin.findings.cases import capture_of
from tests.tb_dataplugin.findings.rules.test_workers_started_again import evaluating

NAME = "the other DataLoader of Val"


def side(lives_on: bool, *more: pb.LoaderSettings, name: str = "run_1.1") -> pb.Capture:
    capture = capture_of(evaluating(kept=True, lives_on=lives_on))
    capture.name = name
    capture.loader.other_settings.extend(more)
    return capture


def changed(before: pb.Capture, after: pb.Capture) -> list[tuple[str, str, str]]:
    return [(one.name, one.before, one.after) for one in compare([before], [after]).settings]


def promised(before: pb.Capture, after: pb.Capture) -> list[str]:
    return [fact.text for fact in compare([before], [after]).evidence if fact.kind == "promise" and NAME in fact.text]


def test_a_report_has_each_other_loaders_settings_once_however_often_it_is_made_anew() -> None:
    capture = capture_of(evaluating())
    (other,) = capture.loader.other_settings
    assert (other.dataset, other.num_workers, other.persistent_workers) == ("Val", 1, False)
    (found,) = [one for one in capture.findings if one.rule == "workers_started_again"]
    assert found.of_loader == other


def test_a_setting_of_an_evaluations_loader_is_a_change_that_says_whose_it_is() -> None:
    found = compare([side(False)], [side(True)])
    (setting,) = found.settings
    assert (setting.name, setting.before, setting.after) == (f"persistent_workers of {NAME}", "no", "yes")
    assert f"Persistent DataLoader workers of {NAME} no to yes" in " ".join(compare_text(found).split())
    assert changed(side(True), side(True)) == []


def test_advice_for_it_that_was_followed_stands_beside_its_waits() -> None:
    (text,) = promised(side(False), side(True))
    assert "start anew for each of 4 passes over it, inside steps of the loop (" in text and "): saves up to" in text
    assert f"after, {NAME} has persistent_workers=True, as it advises. Waits for it: 40.0 ms" in text
    assert "in 4 steps before" in text and "in 4 steps after" in text
    assert promised(side(False), side(False)) == promised(side(True), side(False)) == []


def test_one_more_loader_is_no_changed_setting_and_neither_is_another_order() -> None:
    clicks, slower = (pb.LoaderSettings(name="DataLoader", dataset="Clicks", num_workers=number) for number in (1, 2))
    assert changed(side(False), side(False, clicks)) == []
    assert changed(side(False, clicks), side(False, clicks, slower)) == []
    assert changed(side(False, clicks, slower), side(False, slower, clicks)) == []
    both = side(False, clicks, clicks), side(False, clicks, slower)
    assert changed(*both) == [("num_workers of the other DataLoader of Clicks (2 of 2)", "1", "2")]


def test_what_one_side_did_not_record_is_no_change() -> None:
    known = pb.LoaderSettings(name="DataLoader", dataset="Clicks", prefetch_factor=2)
    assert changed(side(False, known), side(False, pb.LoaderSettings(name="DataLoader", dataset="Clicks"))) == []


def test_of_loaders_with_one_dataset_it_is_not_known_whose_the_waits_are() -> None:
    twin = pb.LoaderSettings(name="MyLoader", dataset="Val", num_workers=0)
    (text,) = promised(side(False, twin), side(True, twin))
    assert "as it advises" in text and "Waits for it" not in text
