from __future__ import annotations

from typing import Any

import pytest

from tests.ecosystem import ledger

pytest.register_assert_rewrite("tests.ecosystem.observe")


def pytest_configure(config: pytest.Config) -> None:
    """Libraries may warn; that ours adds nothing to it is what `observe.harms` asks."""
    config.addinivalue_line("filterwarnings", "default")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what a run that goes on has (`ledger.GO_ON`)."""
    done = ledger.done()
    left_out = [item for item in items if _key(item) in done]
    items[:] = [item for item in items if _key(item) not in done]
    config.hook.pytest_deselected(items=left_out)


def _key(item: pytest.Item) -> tuple[str, ...]:
    called = getattr(item, "callspec", None)
    given: dict[str, Any] = {} if called is None else called.params
    if "pipeline" in given:
        return given["module"], given["pipeline"].title, given["way"]
    return (given["script"].name,) if "script" in given else ()
