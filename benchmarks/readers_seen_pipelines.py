"""The datasets of `readers_seen`: one for each library, as its documentation reads a file."""

from __future__ import annotations

import io
import json
import pickle
import random
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

SIDE = 512
COUNT = 6


Pipeline = Callable[[Path], Any]


def dataset(name: str, read: Callable[[int], Any]) -> Any:
    """A dataset whose items are what `read` gives, of a class of its own; `read` is held by the class, not by it."""

    def __getitem__(self: object, index: int) -> Any:  # noqa: N807
        return read(index)

    def __len__(self: object) -> int:  # noqa: N807
        return COUNT

    return type(name, (), {"__getitem__": __getitem__, "__len__": __len__, "__module__": __name__})()


def pixels(seed: int = 0, side: int = SIDE) -> np.ndarray[Any, Any]:
    """Neither constant nor noise: it compresses as pictures do."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.integers(0, 3, (side, side, 3)), axis=0).astype(np.uint8)


def records(seed: int, count: int = 400) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [{"id": i, "text": "x" * rng.randrange(40), "box": [rng.random() for _ in range(4)]} for i in range(count)]


def h5py_pipeline(folder: Path) -> Any:
    import h5py

    with h5py.File(folder / "x.h5", "w") as file:
        for i in range(COUNT):
            file.create_dataset(f"image{i}", data=pixels(i), chunks=(64, 64, 3), compression="gzip")

    def read(index: int) -> Any:
        with h5py.File(folder / "x.h5", "r") as file:
            return torch.from_numpy(file[f"image{index}"][:])

    return dataset("Images", read)


def h5py_held_pipeline(folder: Path) -> Any:
    import h5py

    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("images", data=np.stack([pixels(i) for i in range(COUNT)]))
    held = h5py.File(folder / "x.h5", "r")
    images = held["images"]
    return dataset("Images", lambda index: images[index])


def zarr_pipeline(folder: Path) -> Any:
    import zarr

    array = zarr.create_array(
        store=str(folder / "x.zarr"), shape=(COUNT, SIDE, SIDE, 3), chunks=(1, 256, 256, 3), dtype="u1"
    )
    for i in range(COUNT):
        array[i] = pixels(i)
    held = zarr.open(str(folder / "x.zarr"), mode="r")
    return dataset("Images", lambda index: torch.from_numpy(held[index]))


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


def soundfile_pipeline(folder: Path) -> Any:
    import soundfile

    for i in range(COUNT):
        soundfile.write(folder / f"{i}.flac", np.sin(np.arange(32_000) / (10 + i)), 16_000)
    return dataset("Sounds", lambda index: soundfile.read(folder / f"{index}.flac", dtype="float32")[0])


def librosa_pipeline(folder: Path) -> Any:
    import librosa
    import soundfile

    for i in range(COUNT):
        soundfile.write(folder / f"{i}.flac", np.sin(np.arange(32_000) / (10 + i)), 16_000)
    return dataset("Sounds", lambda index: librosa.load(folder / f"{index}.flac", sr=None)[0])


def _video(path: Path) -> None:
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=24)
        stream.width = stream.height = SIDE
        stream.pix_fmt = "yuv420p"
        for i in range(24):
            for packet in stream.encode(av.VideoFrame.from_ndarray(pixels(i), format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def av_pipeline(folder: Path) -> Any:
    import av

    _video(folder / "x.mp4")

    def read(index: int) -> Any:
        with av.open(str(folder / "x.mp4")) as container:
            return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]

    return dataset("Clips", read)


def decord_pipeline(folder: Path) -> Any:
    import decord

    _video(folder / "x.mp4")

    def read(index: int) -> Any:
        reader = decord.VideoReader(str(folder / "x.mp4"))
        return reader.get_batch(list(range(index, index + 8))).asnumpy()

    return dataset("Clips", read)


def video_capture_pipeline(folder: Path) -> Any:
    import cv2

    _video(folder / "x.mp4")

    def read(index: int) -> Any:
        capture = cv2.VideoCapture(str(folder / "x.mp4"))
        frames = []
        while True:
            ok, frame = capture.read()
            if not ok:
                break
            frames.append(frame)
        capture.release()
        return frames

    return dataset("Clips", read)


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


def nibabel_pipeline(folder: Path) -> Any:
    import nibabel

    volume = np.cumsum(np.random.default_rng(0).integers(0, 9, (64, 64, 32)), axis=0).astype(np.int16)
    for i in range(COUNT):
        nibabel.save(nibabel.Nifti1Image(volume + i, np.eye(4), dtype=np.int16), folder / f"{i}.nii.gz")
    return dataset("Volumes", lambda index: nibabel.load(folder / f"{index}.nii.gz").get_fdata(dtype=np.float32))


def pydicom_pipeline(folder: Path) -> Any:
    import pydicom
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

    for i in range(COUNT):
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = SecondaryCaptureImageStorage, generate_uid()
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        image = FileDataset(str(folder / f"{i}.dcm"), {}, file_meta=meta, preamble=b"\0" * 128)
        image.Rows = image.Columns = 512
        image.SamplesPerPixel, image.PhotometricInterpretation, image.PixelRepresentation = 1, "MONOCHROME2", 0
        image.BitsAllocated, image.BitsStored, image.HighBit = 16, 16, 15
        image.PixelData = np.arange(512 * 512, dtype=np.uint16).tobytes()
        image.save_as(folder / f"{i}.dcm")
    return dataset("Scans", lambda index: pydicom.dcmread(folder / f"{index}.dcm").pixel_array)


def tifffile_pipeline(folder: Path) -> Any:
    import tifffile

    for i in range(COUNT):
        tifffile.imwrite(folder / f"{i}.tif", pixels(i), compression="zlib")
    return dataset("Images", lambda index: tifffile.imread(folder / f"{index}.tif"))


def rasterio_pipeline(folder: Path) -> Any:
    import rasterio
    from rasterio.transform import from_origin

    profile = {"driver": "GTiff", "height": SIDE, "width": SIDE, "count": 3, "dtype": "uint8", "compress": "deflate"}
    for i in range(COUNT):
        with rasterio.open(folder / f"{i}.tif", "w", transform=from_origin(0, 0, 1, 1), **profile) as file:
            file.write(pixels(i).transpose(2, 0, 1))

    def read(index: int) -> Any:
        with rasterio.open(folder / f"{index}.tif") as file:
            return file.read()

    return dataset("Images", read)


def numpy_load_pipeline(folder: Path) -> Any:
    for i in range(COUNT):
        np.save(folder / f"{i}.npy", pixels(i))
    return dataset("Arrays", lambda index: torch.from_numpy(np.load(folder / f"{index}.npy")))


def npz_pipeline(folder: Path) -> Any:
    for i in range(COUNT):
        np.savez_compressed(folder / f"{i}.npz", image=pixels(i))
    return dataset("Arrays", lambda index: np.load(folder / f"{index}.npz")["image"])


def fromfile_pipeline(folder: Path) -> Any:
    for i in range(COUNT):
        pixels(i).tofile(folder / f"{i}.bin")
    return dataset("Arrays", lambda index: np.fromfile(folder / f"{index}.bin", np.uint8).reshape(SIDE, SIDE, 3))


def memmap_pipeline(folder: Path) -> Any:
    np.stack([pixels(i) for i in range(COUNT)]).tofile(folder / "x.bin")

    def read(index: int) -> Any:
        images = np.memmap(folder / "x.bin", np.uint8, "r", shape=(COUNT, SIDE, SIDE, 3))
        return torch.from_numpy(images[index].astype(np.float32))

    return dataset("Arrays", read)


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


PIPELINES: dict[str, Pipeline] = {
    "h5py": h5py_pipeline,
    "h5py (file held)": h5py_held_pipeline,
    "soundfile": soundfile_pipeline,
    "librosa": librosa_pipeline,
    "av": av_pipeline,
    "decord": decord_pipeline,
    "cv2.VideoCapture": video_capture_pipeline,
    "pyarrow.parquet": parquet_pipeline,
    "parquet (file held)": parquet_rows_pipeline,
    "zarr": zarr_pipeline,
    "torch.load": torch_load_pipeline,
    "safetensors": safetensors_pipeline,
    "safe_open (held)": safe_open_pipeline,
    "tokenizers": tokenizers_pipeline,
    "transformers": transformers_pipeline,
    "pandas": pandas_pipeline,
    "json.load": json_pipeline,
    "json.loads": json_lines_pipeline,
    "orjson": orjson_pipeline,
    "pickle": pickle_pipeline,
    "nibabel": nibabel_pipeline,
    "pydicom": pydicom_pipeline,
    "tifffile": tifffile_pipeline,
    "rasterio": rasterio_pipeline,
    "numpy.load": numpy_load_pipeline,
    "numpy npz": npz_pipeline,
    "numpy.fromfile": fromfile_pipeline,
    "numpy.memmap": memmap_pipeline,
    "lmdb": lmdb_pipeline,
    "zipfile": zipfile_pipeline,
    "tarfile": tarfile_pipeline,
    "sqlite3": sqlite3_pipeline,
    "fsspec (local)": fsspec_pipeline,
    "fsspec (memory)": fsspec_memory_pipeline,
    "Path.read_bytes": read_bytes_pipeline,
}
