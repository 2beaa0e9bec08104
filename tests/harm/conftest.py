from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harm.cells import Cell
from tests.harm.lab import Lab
from tests.side_by_side import is_one_of_several


def cells_of(items: list[pytest.Item]) -> list[Cell]:
    """The cells that the tests to be run are about, in their order."""
    specs = [getattr(item, "callspec", None) for item in items]
    return [spec.params["cell"] for spec in specs if spec is not None and "cell" in spec.params]


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Two servers that fork a process for each run. All cells are begun in order, so that no core waits for a test.

    Where other tests run beside, they have the other cores: a run is begun when its test is, and no two at a time.
    """
    if is_one_of_several(request.config):
        with Lab(at_a_time=1) as lab:
            yield lab
        return
    with Lab() as lab:
        for cell in cells_of(request.session.items):
            lab.try_cell(cell)
        yield lab
