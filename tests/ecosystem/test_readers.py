"""Libraries that read and decode: each gives what it gives without us, and its calls have names."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.readers_seen import see
from benchmarks.readers_seen_pipelines import PIPELINES

EXPECTED = {
    "h5py": {"read::h5py.File", "read::h5py.Group", "decode::h5py.Dataset"},
    "h5py (file held)": {"read::h5py.Dataset"},
    "soundfile": {"decode::soundfile.read", "read::soundfile.SoundFile"},
    "librosa": {"decode::librosa.load"},
    "av": {"read::av.open", "decode::av.InputContainer.decode", "decode::av.VideoFrame.to_ndarray"},
    "decord": {"read::decord.VideoReader", "decode::decord.VideoReader.get_batch"},
    "cv2.VideoCapture": {"read::cv2.VideoCapture", "decode::cv2.VideoCapture.read"},
    "pyarrow.parquet": {"decode::pyarrow.parquet.read_table", "decode::pyarrow.Table.to_pandas"},
    "parquet (file held)": {"decode::pyarrow.parquet.ParquetFile.read_row_group"},
    "zarr": {"decode::zarr.Array"},
    "torch.load": {"decode::torch.load"},
    "safetensors": {"decode::safetensors.torch.load_file"},
    "safe_open (held)": {"decode::safetensors.get_tensor"},
    "tokenizers": {"transform::tokenizers.encode"},
    "transformers": {"transform::TokenizersBackend"},
    "pandas": {"decode::pandas.read_csv"},
    "orjson": {"decode::orjson.loads"},
    "nibabel": {"read::nibabel.load", "decode::nibabel.get_fdata"},
    "pydicom": {"decode::pydicom.dcmread", "decode::pydicom.pixel_array"},
    "tifffile": {"decode::tifffile.imread", "read::tifffile.TiffFile"},
    "rasterio": {"read::rasterio.open", "decode::rasterio.read"},
    "sqlite3": {"read::sqlite3.connect", "read::sqlite3.execute"},
    "fsspec (local)": {"read::fsspec.open"},
    "fsspec (memory)": {"read::fsspec.cat_file"},
}


@pytest.mark.parametrize("library", EXPECTED)
def test_a_library_has_its_spans_and_gives_what_it_gave(library: str, tmp_path: Path) -> None:
    try:
        seen = see(library, PIPELINES[library], tmp_path, 6)
    except ImportError as error:
        pytest.skip(str(error))
    assert EXPECTED[library] <= set(seen.stages), seen.stages
    assert seen.same


def test_lmdb_is_the_one_that_cannot_be_seen(tmp_path: Path) -> None:
    """Its classes are written in C, and can neither be changed nor derived from: `docs/readers.md` says what to do."""
    pytest.importorskip("lmdb")
    seen = see("lmdb", PIPELINES["lmdb"], tmp_path, 6)
    assert seen.stages == {}
    assert seen.same
    assert any("LMDB" in note for note in seen.notes)
