from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harm.lab import Lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """Two servers that fork a process for each run."""
    with Lab() as lab:
        yield lab
