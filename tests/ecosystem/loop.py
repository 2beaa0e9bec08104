"""A training program of nobody's: iterates one pipeline, prints a hash of its batches.

python -m tests.ecosystem.loop MODULE TITLE FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import tests.ecosystem  # noqa: F401  (before the libraries)
from tests.ecosystem import cells


def main() -> None:
    module, title, folder = sys.argv[1:]
    batches, count = cells.train_plainly(cells.find(module, title), Path(folder))
    print("batches", count, batches)


if __name__ == "__main__":
    main()
