from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# `make test` tries the same examples everywhere, and no clock decides; HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile(
    "repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

GOLDEN = Path(__file__).parent / "golden" / "traces"

TOGETHER = ("harm", "browser", "packaging")
"""Folders whose tests share servers that are expensive to start: a process of pytest-xdist runs all of a folder."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`--dist loadgroup`: what shares fixtures stays in one process, a file or a folder of `TOGETHER`."""
    tests = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(tests)
        item.add_marker(pytest.mark.xdist_group(path.parts[0] if path.parts[0] in TOGETHER else path.stem))


@pytest.fixture(autouse=True, scope="session")
def _no_cache_of_the_user() -> Iterator[None]:
    """Tests neither fill the user's cache nor are answered from it; those of the cache name a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TB_DATAPLUGIN_CACHE", "off")
        yield


@pytest.fixture(autouse=True, scope="session")
def _temporary_folder_of_this_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests that ask what is left in the temporary folder see nothing of those that run beside them."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="tb-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", None)
        yield
