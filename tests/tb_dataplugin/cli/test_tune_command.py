"""Bad usage of `tune`, `verify`, `differential` and `probe-storage` is one line."""

from __future__ import annotations

import pytest

from tb_dataplugin.cli import main


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["tune"], 2, "required: MODULE:NAME"),
        (["tune", "a:b", "--try", "batch_size"], 2, "'batch_size' is not a setting; choose from num_workers"),
        (["tune", "a:b", "--runs", "1"], 2, "--runs must be at least 2"),
        (["tune", "a:b", "--seconds", "0"], 2, "--seconds must be at least 0.01"),
        (["tune", "a:b", "--step-ms", "-1"], 2, "--step-ms must be at least 0"),
        (["tune", "a:b", "--step-cpu", "2"], 2, "--step-cpu must be between 0 and 1"),
        (["tune", "nomodule"], 127, "named as MODULE:NAME (`tb-dataplugin tune train:make_loader`)"),
        (["tune", __file__], 126, f"did you mean `python {__file__}`? A loader is named as MODULE:NAME"),
        (["tune", "nomodule"], 127, "a program as its command behind -- (`tb-dataplugin tune -- python train.py`)"),
        (["tune", "a:b", "--capture", "/nowhere"], 2, "cannot read /nowhere"),
        (["tune", "a:b", "--python", "/nowhere/python"], 2, "cannot start /nowhere/python"),
        (["verify", "/nowhere", "--finding", "1", "--target", "a:b"], 2, "cannot read /nowhere"),
        (["verify", "run"], 2, "required: --finding, --target"),
        (["differential"], 2, "required: MODULE:NAME"),
        (["differential", "a:b", "--rounds", "1"], 2, "--rounds must be between 2 and 1000"),
        (["differential", "a:b", "--seconds", "0"], 2, "--seconds must be at least 0.01"),
        (["differential", "a:b", "--files", "/nowhere"], 2, "cannot read /nowhere"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        assert main(arguments) == status
    except SystemExit as ended:
        assert ended.code == status
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("tune", "The training step is simulated"),
        ("differential", "by leaving them out for real"),
        ("verify", "the training step only takes the time"),
    ],
)
def test_help_is_the_manual(command: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert words in " ".join(capsys.readouterr().out.split())
