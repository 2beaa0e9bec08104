from __future__ import annotations

from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden" / "traces"


@pytest.fixture
def golden() -> Path:
    """The folder of real traces."""
    return GOLDEN
