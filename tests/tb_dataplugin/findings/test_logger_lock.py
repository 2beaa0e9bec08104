"""Lines of the step that feed a thread which holds Python's lock."""

from __future__ import annotations

import pytest

from tests.tb_dataplugin.analyses.test_step_lines import step_of
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of, results_of
from tests.tb_dataplugin.findings.logger_cases import LOGGER, logging_run


def test_lines_that_call_the_same_are_one_with_what_an_operator_in_them_takes_of_the_lock() -> None:
    step = step_of(results_of(logging_run()))
    (line,) = step.lines
    assert [row.place.line for row in line.rows] == [41, 40]
    assert line.own.share == pytest.approx(0.45, abs=0.01)
    assert line.part.share == pytest.approx(0.8, abs=0.01)
    assert step.compute.share == pytest.approx(0.1, abs=0.01), "waiting for the lock is no work of the model"


def test_their_finding_has_all_of_them_and_the_waiting_that_they_cause() -> None:
    capture = capture_of(logging_run())
    finding = capture.findings[0]
    assert finding.title == (
        "board.add_images (train.py:40, 41) takes 80.0% of the step, with the waiting for Python's lock (GIL) that "
        "it causes"
    )
    assert finding.gain_us_per_step == pytest.approx(8000, rel=0.02)
    assert "(80.0% of it" in finding.gain_text
    assert finding.confidence == "measured"
    assert "the thread 'Thread-1' (tensorboard.summary.writer.event_file_writer)" in finding.advice
    assert "interpreter_lock" not in [each.rule for each in capture.findings]
    assert "80.0% of the step goes to board.add_images, called in step at train.py:40, 41" in capture.verdict.sentence
    assert "; board.add_images (train.py:40, 41) gives it its work" in capture.verdict.sentence


def test_the_thread_is_named_by_what_it_runs_and_has_its_hottest_line() -> None:
    texts = evidence_of(finding_in(logging_run(), "slow_step_line"))
    assert any("45.0% of the step" in text and "train.py:40, 41" in text for text in texts)
    assert any("event_file_writer.py:244" in text and "of what the thread 'Thread-1' runs" in text for text in texts)


def test_a_thread_of_another_library_is_not_fed_by_them() -> None:
    builder = logging_run(sampled="/lib/site-packages/crawler/threads.py", waits=15)
    finding = finding_in(builder, "interpreter_lock")
    assert "the thread 'Thread-1' (crawler.threads)" in finding.title
    assert finding.gain_us_per_step == pytest.approx(1500, rel=0.05)
    line = finding_in(builder, "slow_step_line")
    assert line.gain_us_per_step == pytest.approx(8000, rel=0.02), "what is waited in them would go as well"
    assert "causes" not in line.title


def test_a_thread_of_the_users_own_is_named_by_its_function() -> None:
    finding = finding_in(logging_run(sampled="/home/me/writer.py"), "interpreter_lock")
    assert "the thread 'Thread-1' (_AsyncWriterThread.run at writer.py:244)" in finding.title
    assert "Move what the thread 'Thread-1'" in finding.advice


def test_where_the_threads_stacks_are_unknown_a_loggers_lines_that_wait_for_it_are_likely_its_cause() -> None:
    finding = finding_in(logging_run(sampled=""), "slow_step_line")
    assert finding.gain_us_per_step == pytest.approx(8000, rel=0.02)
    assert finding.confidence == "likely" and "inferred" in finding.confidence_reason
    assert finding_of(logging_run(sampled=""), "interpreter_lock") is None


def test_code_to_copy_is_the_line_itself() -> None:
    code = finding_in(logging_run(), "slow_step_line").code
    assert code == 'if step % 100 == 0:\n    board.add_images("41", out, n)'
    assert finding_in(logging_run(sampled=LOGGER, called="x = board.add_images"), "slow_step_line").code == ""
