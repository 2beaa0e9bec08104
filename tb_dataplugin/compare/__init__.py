"""Two sides of captures against each other: what differs, by how much, and whether the noise could have made it.

Works on reports, so that the tab and the command line compare what they have in memory, and nothing is measured twice.
"""

from tb_dataplugin.compare.build import compare
from tb_dataplugin.compare.programs import are_other_programs, are_same_program, marks_of, program_numbers
from tb_dataplugin.compare.repeated import (
    Listed,
    RepeatedRuns,
    mixed_runs,
    place_of,
    repeated_runs,
    sides_of_several,
)

__all__ = [
    "Listed",
    "RepeatedRuns",
    "are_other_programs",
    "are_same_program",
    "compare",
    "marks_of",
    "mixed_runs",
    "place_of",
    "program_numbers",
    "repeated_runs",
    "sides_of_several",
]
