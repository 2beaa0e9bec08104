"""What to do about a slow decoder: by the library that decodes, since a table has no smaller image."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Final

_IMAGE: Final = "Decode less: a smaller image, a faster decoder, or images decoded once and stored."
_VIDEO: Final = "Decode only the frames that are used, at the size that is used, or store clips decoded once."
_SOUND: Final = "Decode only the excerpt that is used, at the rate that is used, or store it decoded once."
_TABLE: Final = (
    "Read only the columns and rows that a sample needs (row groups, a memory-mapped format), or read the table once, "
    "where the dataset is made, and keep it."
)
_RECORD: Final = (
    "Parse each file once, where the dataset is made, and keep what a sample needs; or convert the records to a binary "
    "format with random access (Arrow, .npy), so that a sample reads only its own."
)
_ARRAY: Final = (
    "Read each sample in one piece: a .npy file or a chunk of its own, without compression or with a lighter one. Open "
    "an archive of many samples {once}, not once per sample. Memory-mapped files "
    "(np.load(path, mmap_mode='r')) read only what is used."
)
_ARCHIVE: Final = (
    "Store the arrays as .npy files, which np.load reads in one piece: an .npz is unpacked piece by piece, with a "
    "checksum over all of it, even where it is not compressed."
)
_VOLUME: Final = "Decode only the part or the frames that are used, or convert the volumes once to uncompressed arrays."

_ADVICE: Final[dict[str, str]] = {
    **dict.fromkeys(("PIL", "cv2", "torchvision.io", "imageio", "skimage", "turbojpeg", "kornia_rs"), _IMAGE),
    **dict.fromkeys(
        ("av", "decord", "torchcodec", "cv2.VideoCapture", "torchvision.io.read_video", "torchvision.io.VideoReader"),
        _VIDEO,
    ),
    **dict.fromkeys(("soundfile", "librosa", "torchaudio", "scipy.io.wavfile"), _SOUND),
    **dict.fromkeys(("pandas", "polars", "pyarrow", "fastparquet"), _TABLE),
    **dict.fromkeys(("json", "orjson", "ujson", "pickle", "msgpack", "yaml", "pyarrow.json"), _RECORD),
    **dict.fromkeys(("numpy", "zarr", "h5py", "numcodecs", "torch", "safetensors"), _ARRAY),
    "numpy.NpzFile": _ARCHIVE,
    **dict.fromkeys(("pydicom", "nibabel", "tifffile", "rasterio", "SimpleITK", "itk"), _VOLUME),
}
"""By the label of the stage, or as many of its first words."""

JPEG: Final = frozenset((".jpg", ".jpeg", ".jpe", ".jfif"))

_CODE: Final = {
    "PIL": "image.draft('RGB', (width, height))  # if not done yet: of JPEG files, before load(), a smaller scale",
    "cv2.imread": "cv2.imread(path, {flag})  # {how}",
    "cv2.imreadmulti": "cv2.imreadmulti(path, flags={flag})  # {how}",
    "cv2.imdecode": "cv2.imdecode(buffer, {flag})  # {how}",
    "numpy.NpzFile": "np.save(path, array)  # once; np.load(path) for each sample",
}
_GREY: Final = ("cv2.IMREAD_REDUCED_GRAYSCALE_2", "JPEG: decodes at half the size")
_COLOUR: Final = (
    "cv2.IMREAD_REDUCED_COLOR_2",
    "JPEG: decodes at half the size; IMREAD_REDUCED_GRAYSCALE_2 where only grey is used",
)
"""OpenCV decodes other formats whole, and scales them down then."""

_CROPS: Final = re.compile("crop", re.IGNORECASE)
_SCALES: Final = re.compile(
    r"resi[zs]e|(?<!gr[ae]y)(?<!mel)(?<!mel_)scale|shrink|thumbnail|zoom|downsampl", re.IGNORECASE
)
_SHORTENS: Final = re.compile(r"max_?size|trim|truncat|excerpt|subsampl", re.IGNORECASE)
_CALLS_SCALING: Final = re.compile(r"\b(?:resize|rescale|thumbnail|zoom|interpolate)\b", re.IGNORECASE)


def decoder_advice(label: str, once: str = "once") -> str:
    """For a decode stage; "" for a library that nothing is known of. `once`: how often each process opens a file."""
    return _most_specific(_ADVICE, label).format(once=once)


def decodes_pictures(label: str) -> bool:
    """Images, or frames of a video: of those a decoder may leave out parts."""
    return decoder_advice(label) in (_IMAGE, _VIDEO)


def decoder_code(label: str, files: Iterable[str], source: str = "") -> str:
    """`files`: see `have_no_jpeg`. `source`: the hottest line of the stage, "" where none is known."""
    flag, how = _GREY if "GRAYSCALE" in source else _COLOUR
    code = _most_specific(_CODE, label).format(flag=flag, how=how)
    return "" if "JPEG" in code and have_no_jpeg(files) else code


def is_crop(label: str) -> bool:
    """By its name."""
    return bool(_CROPS.search(label))


def keeps_a_part(label: str, called: str) -> bool:
    """By its name, or by what its hottest line calls: what it returns is its input, smaller, and nothing else that is
    made of it (a spectrogram, labels, an encoding). `called`: its hottest line.
    """
    by_name = any(pattern.search(label) for pattern in (_CROPS, _SCALES, _SHORTENS))
    return by_name or bool(_CALLS_SCALING.search(called))


def decode_less(label: str, called: str) -> str:
    """Of a transform that returns less than it gets, what a decoder may leave out. `called`: its hottest line."""
    if is_crop(label):
        return "decode only that part, with a decoder that crops or scales while it decodes"
    if _SCALES.search(label) or _CALLS_SCALING.search(called):
        return "decode at a smaller scale"
    return "decode no more than that (at a smaller scale, a part of it, fewer channels)"


def have_no_jpeg(files: Iterable[str]) -> bool:
    """Of the files that slow samples read, as far as these are known; False where none is."""
    ends = {PurePath(file).suffix.casefold() for file in files} - {""}
    return bool(ends) and ends.isdisjoint(JPEG)


def _most_specific(table: dict[str, str], label: str) -> str:
    words = label.split(".")
    starts = (".".join(words[:count]) for count in range(len(words), 0, -1))
    return next((table[start] for start in starts if start in table), "")
