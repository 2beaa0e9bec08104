from __future__ import annotations

import os
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

pytest_plugins = ["tests.side_by_side", "tests.thorough"]

GOLDEN = Path(__file__).parent / "golden" / "traces"


@pytest.fixture(autouse=True, scope="session")
def _no_cache_of_the_user() -> Iterator[None]:
    """Tests neither fill the user's cache nor are answered from it; those of the cache name a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TB_DATAPLUGIN_CACHE", "off")
        yield


@pytest.fixture
def golden() -> Path:
    """The folder of real traces."""
    return GOLDEN
