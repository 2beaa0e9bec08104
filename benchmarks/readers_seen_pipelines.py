"""The datasets of `readers_seen`: one for each library, as its documentation reads a file."""

from __future__ import annotations

from benchmarks import readers_seen_arrays as arrays
from benchmarks import readers_seen_files as files
from benchmarks.readers_seen_base import Pipeline

PIPELINES: dict[str, Pipeline] = {
    "h5py": arrays.h5py_pipeline,
    "h5py (file held)": arrays.h5py_held_pipeline,
    "soundfile": arrays.soundfile_pipeline,
    "librosa": arrays.librosa_pipeline,
    "av": arrays.av_pipeline,
    "decord": arrays.decord_pipeline,
    "cv2.VideoCapture": arrays.video_capture_pipeline,
    "pyarrow.parquet": files.parquet_pipeline,
    "parquet (file held)": files.parquet_rows_pipeline,
    "zarr": arrays.zarr_pipeline,
    "torch.load": files.torch_load_pipeline,
    "safetensors": files.safetensors_pipeline,
    "safe_open (held)": files.safe_open_pipeline,
    "tokenizers": files.tokenizers_pipeline,
    "transformers": files.transformers_pipeline,
    "pandas": files.pandas_pipeline,
    "json.load": files.json_pipeline,
    "json.loads": files.json_lines_pipeline,
    "orjson": files.orjson_pipeline,
    "pickle": files.pickle_pipeline,
    "nibabel": arrays.nibabel_pipeline,
    "pydicom": arrays.pydicom_pipeline,
    "tifffile": arrays.tifffile_pipeline,
    "rasterio": arrays.rasterio_pipeline,
    "numpy.load": arrays.numpy_load_pipeline,
    "numpy npz": arrays.npz_pipeline,
    "numpy.fromfile": arrays.fromfile_pipeline,
    "numpy.memmap": arrays.memmap_pipeline,
    "lmdb": files.lmdb_pipeline,
    "zipfile": files.zipfile_pipeline,
    "tarfile": files.tarfile_pipeline,
    "sqlite3": files.sqlite3_pipeline,
    "fsspec (local)": files.fsspec_pipeline,
    "fsspec (memory)": files.fsspec_memory_pipeline,
    "Path.read_bytes": files.read_bytes_pipeline,
}
