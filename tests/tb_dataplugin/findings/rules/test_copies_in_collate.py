from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import staged


@pytest.mark.parametrize(
    ("source", "code"),
    (
        ("x = torch.tensor(np.stack(rows))", "x = torch.from_numpy(np.stack(rows))"),
        ("rows = [row.clone() for row in rows]", "rows = [row for row in rows]  # torch.stack copies anyway"),
        ("x = torch.tensor([list(row) for row in rows])", "torch.stack(["),
        ("for i, ids in enumerate(rows): x[i, : len(ids)] = torch.tensor(ids)", "batch[i, : len(sample)] = torch.from"),
    ),
)
def test_a_copy_in_collate_has_code_that_fits_its_line(source: str, code: str) -> None:
    finding = finding_in(staged("collate::pad", source), "copies_in_collate")
    assert finding.title.endswith("% of pad is copying")
    assert code in finding.code


def test_the_one_copy_that_a_batch_needs_is_no_finding() -> None:
    assert finding_of(staged("collate::pad", "return torch.stack(rows)"), "copies_in_collate") is None


def test_a_copy_elsewhere_is_none_either() -> None:
    assert finding_of(staged("transform::Tokenise", "x = row.clone()"), "copies_in_collate") is None
