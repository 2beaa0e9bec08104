"""pandas: ``read_csv`` and its like."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Reader, hooks_on

_FORMATS: Final = (
    "csv", "table", "fwf", "json", "parquet", "feather", "orc", "pickle", "hdf", "excel", "html", "xml", "sql",
    "sql_query", "sql_table", "stata", "sas", "spss",
)  # fmt: skip

READERS: Final = (Reader("pandas", hooks_on("pandas", "decode", {f"read_{f}": f"pandas.read_{f}" for f in _FORMATS})),)
