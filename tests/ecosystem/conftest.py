from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.ecosystem.observe")


def pytest_configure(config: pytest.Config) -> None:
    """Libraries may warn; that ours adds nothing to it is what `observe.harms` asks."""
    config.addinivalue_line("filterwarnings", "default")
