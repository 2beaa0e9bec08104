"""The built wheel in empty environments without torch, at both ends of what TensorBoard 2.20 and 2.21 allow."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import GOLDEN

ROOT = Path(__file__).parent.parent.parent

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(900)]

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
ENDS = {
    "oldest": ["tensorboard==2.20.0", "protobuf==3.19.6", "setuptools<82"],
    "newest": ["tensorboard==2.21.0", "protobuf<8"],
}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the files that git knows, so that nothing lying about in the checkout gets in."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if name.split("/")[0] in ("annotate", "tb_dataplugin") or "/" not in name:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name, follow_symlinks=False)
    run(*PIP, "wheel", "-q", "--no-deps", "--wheel-dir", str(out), str(source))
    return next(out.glob("*.whl"))


def run(*command: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env={**kept, **environment}, cwd="/")
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session", params=[pytest.param("oldest", marks=pytest.mark.thorough), "newest"])
def bin_dir(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel and what it asks for, and nothing else."""
    home = tmp_path_factory.mktemp(request.param)
    venv.create(home)
    python = str(home / "bin" / "python")
    run(*PIP, "--python", python, "install", "-q", "--no-compile", str(wheel), *ENDS[request.param])
    return home / "bin"


@pytest.fixture
def url(bin_dir: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [str(bin_dir / "tensorboard"), "--logdir", str(GOLDEN), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://localhost:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def get(url: str, seconds: float = 60) -> bytes:
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                if answer.status == 200:
                    content: bytes = answer.read()
                    return content
        except OSError:
            pass
        assert time.monotonic() < deadline, f"{url} did not answer"
        time.sleep(0.2)


def test_there_is_no_torch_and_nothing_needs_it(bin_dir: Path) -> None:
    script = "import annotate, tb_dataplugin.pipeline, sys; assert 'torch' not in sys.modules; import torch"
    done = subprocess.run([str(bin_dir / "python"), "-c", script], capture_output=True, text=True, cwd="/")
    assert "No module named 'torch'" in done.stderr


def test_the_report_works(bin_dir: Path) -> None:
    trace = str(GOLDEN / "v100_resnet50_workers0.pt.trace.json.gz")
    report = json.loads(run(str(bin_dir / "tb-dataplugin"), "report", trace, "--format", "json"))
    assert report["captures"][0]["devices"][0]["idle_us"] == 461_335
    assert "is idle for 44.0%" in run(str(bin_dir / "tb-dataplugin"), "report", trace)


def test_an_output_without_unicode_gets_ascii(bin_dir: Path) -> None:
    trace = str(GOLDEN / "v100_resnet50_workers0.pt.trace.json.gz")
    run(str(bin_dir / "tb-dataplugin"), "report", trace, PYTHONIOENCODING="ascii", PYTHONUTF8="0").encode("ascii")


def test_tensorboard_lists_the_tab_and_serves_it(url: str) -> None:
    listing = json.loads(get(f"{url}/data/plugins_listing"))
    assert listing["data_pipeline"]["tab_name"] == "Data Pipeline"
    base = f"{url}/data/plugin/data_pipeline"
    assert b"render" in get(f"{base}/index.js")
    assert get(f"{base}/index.css")
    report = json.loads(get(f"{base}/report?id=v100_resnet50_workers4"))
    assert report["captures"][0]["loader"]["exposed_wait_us"] == 7_117
