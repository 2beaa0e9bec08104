"""Tests in several processes (`pytest -n 2`): which stay together, and which run alone."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TOGETHER = ("harm", "browser", "packaging")
"""Folders whose tests share servers that are slow to start: one process runs all of a folder. Else it is by file."""

FOLDER = "TESTS_SIDE_BY_SIDE"
"""Environment variable: where the processes of one run have their locks and temporary files."""


def is_one_of_several(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Not `--dist loadgroup`: with pytest 9.2 and xdist 3.8 it groups nothing."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFileOrFolder(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return next((f"tests/{folder}/" for folder in TOGETHER if path.startswith(f"tests/{folder}/")), path)

    return ByFileOrFolder(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    if is_one_of_several(config):
        return (yield)
    with tempfile.TemporaryDirectory(prefix="tests-", ignore_cleanup_errors=True) as folder:
        os.environ[FOLDER] = folder
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Waits outside of the test's own time limit."""
    if not is_one_of_several(item.config):
        return (yield)
    with _turn(fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH):
        return (yield)


@contextmanager
def _turn(kind: int) -> Iterator[None]:
    """Many tests, or one that is `alone`. Whoever waits is next, so that it does not wait for all the others."""
    folder = Path(os.environ[FOLDER])
    with (folder / "running").open("w") as running:
        with (folder / "next").open("w") as following:
            fcntl.flock(following, fcntl.LOCK_EX)
            fcntl.flock(running, kind)
        try:
            yield
        finally:
            fcntl.flock(running, fcntl.LOCK_UN)  # closing does not: a forked process may have the file open


@pytest.fixture(autouse=True, scope="session")
def _temporary_folder_of_this_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests that ask what is left in the temporary folder see nothing of those in other processes."""
    if not is_one_of_several(request.config):
        yield
        return
    folder = Path(os.environ[FOLDER], os.environ["PYTEST_XDIST_WORKER"])
    folder.mkdir()  # taken away when this process has ended: multiprocessing still cleans up in it then
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", None)
        yield
