"""The datasets of `readers_seen` that read records: tables, texts, pickles, archives, databases."""

from __future__ import annotations

import io
import json
import pickle
import random
import sqlite3
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.readers_seen_base import COUNT, dataset, pixels, records


def _table(folder: Path, seed: int) -> Any:
    import pyarrow as pa

    rows = records(seed, 2000)
    return pa.table({"id": [r["id"] for r in rows], "text": [r["text"] for r in rows]})


def parquet_pipeline(folder: Path) -> Any:
    import pyarrow.parquet as pq

    for i in range(COUNT):
        pq.write_table(_table(folder, i), folder / f"{i}.parquet")
    return dataset("Tables", lambda index: pq.read_table(folder / f"{index}.parquet").to_pandas())


def parquet_rows_pipeline(folder: Path) -> Any:
    import pyarrow.parquet as pq

    pq.write_table(_table(folder, 0), folder / "x.parquet", row_group_size=250)
    held = pq.ParquetFile(folder / "x.parquet")
    return dataset("Tables", lambda index: held.read_row_group(index % held.num_row_groups))


def torch_load_pipeline(folder: Path) -> Any:
    for i in range(COUNT):
        torch.save({"image": torch.from_numpy(pixels(i)), "label": i}, folder / f"{i}.pt")
    return dataset("Tensors", lambda index: torch.load(folder / f"{index}.pt", weights_only=True)["image"])


def safetensors_pipeline(folder: Path) -> Any:
    from safetensors.torch import load_file, save_file

    for i in range(COUNT):
        save_file({"image": torch.from_numpy(pixels(i))}, folder / f"{i}.safetensors")
    del load_file
    import safetensors.torch

    return dataset("Tensors", lambda index: safetensors.torch.load_file(folder / f"{index}.safetensors")["image"])


def safe_open_pipeline(folder: Path) -> Any:
    import safetensors
    from safetensors.torch import save_file

    save_file({f"image{i}": torch.from_numpy(pixels(i)) for i in range(COUNT)}, folder / "x.safetensors")
    held = safetensors.safe_open(str(folder / "x.safetensors"), framework="pt")
    return dataset("Tensors", lambda index: held.get_tensor(f"image{index}"))


def tokenizers_pipeline(folder: Path) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    texts = [" ".join(f"word{n}" for n in random.Random(i).choices(range(500), k=400)) for i in range(COUNT)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=600, show_progress=False))
    return dataset("Texts", lambda index: tokenizer.encode(texts[index]).ids)


def transformers_pipeline(folder: Path) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    texts = [" ".join(f"word{n}" for n in random.Random(i).choices(range(500), k=400)) for i in range(COUNT)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=600, show_progress=False))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="x")
    return dataset("Texts", lambda index: fast(texts[index], return_tensors="pt")["input_ids"])


def pandas_pipeline(folder: Path) -> Any:
    import pandas as pd

    for i in range(COUNT):
        pd.DataFrame({"id": range(2000), "x": np.arange(2000) / 7}).to_csv(folder / f"{i}.csv")
    return dataset("Tables", lambda index: pd.read_csv(folder / f"{index}.csv").to_numpy())


def json_pipeline(folder: Path) -> Any:
    for i in range(COUNT):
        (folder / f"{i}.json").write_text(json.dumps(records(i)))

    def read(index: int) -> Any:
        with open(folder / f"{index}.json") as file:
            return json.load(file)

    return dataset("Records", read)


def json_lines_pipeline(folder: Path) -> Any:
    lines = [json.dumps(records(i)) for i in range(COUNT)]
    return dataset("Records", lambda index: json.loads(lines[index]))


def orjson_pipeline(folder: Path) -> Any:
    import orjson

    lines = [json.dumps(records(i)).encode() for i in range(COUNT)]
    return dataset("Records", lambda index: orjson.loads(lines[index]))


def pickle_pipeline(folder: Path) -> Any:
    for i in range(COUNT):
        (folder / f"{i}.pkl").write_bytes(pickle.dumps(records(i)))

    def read(index: int) -> Any:
        with open(folder / f"{index}.pkl", "rb") as file:
            return pickle.load(file)

    return dataset("Records", read)


def lmdb_pipeline(folder: Path) -> Any:
    import lmdb

    env = lmdb.open(str(folder / "x.lmdb"), map_size=1 << 26)
    with env.begin(write=True) as txn:
        for i in range(COUNT):
            txn.put(str(i).encode(), pixels(i).tobytes())

    def read(index: int) -> Any:
        with env.begin(buffers=False) as txn:
            return txn.get(str(index).encode())

    return dataset("Arrays", read)


def zipfile_pipeline(folder: Path) -> Any:
    with zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(COUNT):
            archive.writestr(str(i), pixels(i).tobytes())
    held = zipfile.ZipFile(folder / "x.zip")
    return dataset("Members", lambda index: held.read(str(index)))


def tarfile_pipeline(folder: Path) -> Any:
    with tarfile.open(folder / "x.tar", "w") as archive:
        for i in range(COUNT):
            member = tarfile.TarInfo(str(i))
            member.size = pixels(i).nbytes
            archive.addfile(member, io.BytesIO(pixels(i).tobytes()))

    def read(index: int) -> Any:
        with tarfile.open(folder / "x.tar") as archive:
            member = archive.extractfile(str(index))
            return member and member.read()

    return dataset("Members", read)


def sqlite3_pipeline(folder: Path) -> Any:
    with sqlite3.connect(folder / "x.db") as connection:
        connection.execute("create table images (id integer primary key, data blob)")
        connection.executemany("insert into images values (?, ?)", [(i, pixels(i).tobytes()) for i in range(COUNT)])
    connection.close()

    def read(index: int) -> Any:
        connection = sqlite3.connect(folder / "x.db")
        (data,) = connection.execute("select data from images where id = ?", (index,)).fetchone()
        connection.close()
        return data

    return dataset("Rows", read)


def fsspec_pipeline(folder: Path) -> Any:
    import fsspec

    for i in range(COUNT):
        (folder / str(i)).write_bytes(pixels(i).tobytes())

    def read(index: int) -> Any:
        with fsspec.open(f"file://{folder / str(index)}", "rb") as file:
            return file.read()

    return dataset("Objects", read)


def fsspec_memory_pipeline(folder: Path) -> Any:
    import fsspec

    system = fsspec.filesystem("memory")
    for i in range(COUNT):
        system.pipe_file(f"/{folder.name}/{i}", pixels(i, 1024).tobytes())
    return dataset("Objects", lambda index: system.cat_file(f"/{folder.name}/{index}"))


def read_bytes_pipeline(folder: Path) -> Any:
    for i in range(COUNT):
        (folder / str(i)).write_bytes(pixels(i).tobytes())
    return dataset("Files", lambda index: (folder / str(index)).read_bytes())
