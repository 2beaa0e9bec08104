"""pyarrow, and Parquet files."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader, hooks_on

_PARQUET: Final = "pyarrow.parquet"
_IPC: Final = "pyarrow.ipc"

READERS: Final = (
    Reader(
        _PARQUET,
        (
            Hook(_PARQUET, "ParquetFile.__init__", "read", "pyarrow.parquet.ParquetFile"),
            *hooks_on(
                _PARQUET,
                "decode",
                {
                    name: f"pyarrow.parquet.{name}"
                    for name in (
                        "read_table",
                        "read_pandas",
                        "ParquetFile.read",
                        "ParquetFile.read_row_group",
                        "ParquetFile.read_row_groups",
                        "ParquetDataset.read",
                    )
                },
            ),
            Hook(
                _PARQUET, "ParquetFile.iter_batches", "decode", "pyarrow.parquet.ParquetFile.iter_batches", steps=True
            ),
        ),
    ),
    Reader(
        _IPC,
        (
            *hooks_on(_IPC, "read", {"open_file": "pyarrow.ipc.open_file", "open_stream": "pyarrow.ipc.open_stream"}),
            *hooks_on(
                _IPC,
                "decode",
                {
                    f"{cls}.{name}": f"pyarrow.ipc.{name}"
                    for cls in ("RecordBatchFileReader", "RecordBatchStreamReader")
                    for name in ("get_batch", "read_all", "read_next_batch")
                },
            ),
        ),
    ),
    Reader(
        "pyarrow.feather",
        hooks_on(
            "pyarrow.feather",
            "decode",
            {"read_table": "pyarrow.feather.read_table", "read_feather": "pyarrow.feather.read_feather"},
        ),
    ),
    Reader("pyarrow.csv", hooks_on("pyarrow.csv", "decode", {"read_csv": "pyarrow.csv.read_csv"})),
    Reader("pyarrow.json", hooks_on("pyarrow.json", "decode", {"read_json": "pyarrow.json.read_json"})),
    Reader(
        "pyarrow.pandas_compat",
        hooks_on("pyarrow.pandas_compat", "decode", {"table_to_dataframe": "pyarrow.Table.to_pandas"}),
    ),
)
