"""What `make test` leaves to `make test-thorough`: more cases of a test whose other cases are run."""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="all cases, also those that `make test` leaves out")


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """For a test that tries many alike by itself: whether it is to try all of them."""
    return bool(request.config.getoption("--thorough"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marked `thorough`: a case that is left out. Marked `one_of(n)`: of each n cases in their order the first is run.

    Whoever names a case (`test_x.py::test_y[case]`) gets it.
    """
    if config.getoption("--thorough") or any("[" in argument for argument in config.args):
        return
    kept, left = [], []
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        sampled = item.get_closest_marker("one_of")
        left_out = item.get_closest_marker("thorough") or (sampled and seen[test] % sampled.args[0])
        seen[test] += 1
        (left if left_out else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)
