"""Tests in several processes (`pytest -n 2`): which stay together, and which run alone."""

from __future__ import annotations

import fcntl
import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TOGETHER = ("harm", "browser", "packaging")
"""Folders whose tests share servers that are slow to start: one process runs all of a folder. Else it is by file."""

FIRST = (
    *("tests/harm/", "tests/browser/", "tests/annotate/test_launch.py", "tests/packaging/"),
    *("tests/tb_dataplugin/compare/test_power.py", "tests/annotate/test_monitor.py"),
    *("tests/tb_dataplugin/tb/test_real_tensorboard.py", "tests/annotate/test_public_scripts.py"),
    *("tests/benchmarks/test_on_device.py", "tests/annotate/test_worker_capture.py"),
    *("tests/annotate/test_worker_matrix.py", "tests/annotate/test_worker_losses.py"),
)
"""What takes longest: begun first, so that no process is left with it at the end. Then files with many tests."""

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
            return scope(nodeid)

    config.option.loadscopereorder = False  # the order is ours
    return ByFileOrFolder(config, log)


def scope(nodeid: str) -> str:
    """The file or folder whose tests stay together."""
    path = nodeid.partition("::")[0]
    return next((f"tests/{folder}/" for folder in TOGETHER if path.startswith(f"tests/{folder}/")), path)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The order in which files and folders are handed to the processes."""
    if is_one_of_several(config):
        items[:] = longest_first(items)


def longest_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """By `FIRST`, then by the number of tests. Within a file or folder they stay in their order."""
    scopes: dict[str, list[pytest.Item]] = {}
    for item in items:
        scopes.setdefault(scope(item.nodeid), []).append(item)
    rank = {name: number for number, name in enumerate(FIRST)}
    names = sorted(scopes, key=lambda name: (rank.get(name, len(FIRST)), -len(scopes[name])))
    return [item for name in names for item in scopes[name]]


def pytest_collection_finish(session: pytest.Session) -> None:
    """What has been imported stays: the garbage collector need not look at it again, in no process that is forked."""
    gc.collect()
    gc.freeze()


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
