"""The datasets of `readers_seen` that read arrays: pictures, volumes, sound, video."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.readers_seen_base import COUNT, SIDE, dataset, pixels


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
