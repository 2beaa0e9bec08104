"""Makes the data that the training scripts of this folder read: `python prepare_data.py DIR` writes DIR/data.

Small files of the kinds that the public scripts download: class folders of JPEGs, annotations, masks, text, sound, tables,
shards. The same bytes at each call.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import sys
import tarfile
import wave
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ("cat", "dog", "owl")


def picture(random: np.random.Generator, size: int = 96) -> Image.Image:
    """A smooth random picture, so that a JPEG of it is of an ordinary size."""
    coarse = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC)


def class_folders(root: Path, random: np.random.Generator) -> None:
    for split, count in (("train", 60), ("val", 12)):
        for name in CLASSES:
            folder = root / "images" / split / name
            folder.mkdir(parents=True)
            for number in range(count):
                picture(random).save(folder / f"{name}.{number:04d}.jpg", quality=85)


def boxes(root: Path, random: np.random.Generator) -> None:
    folder = root / "coco" / "train2017"
    folder.mkdir(parents=True)
    images, annotations = [], []
    for number in range(120):
        picture(random, 128).save(folder / f"{number:012d}.jpg")
        images.append({"id": number, "file_name": f"{number:012d}.jpg", "width": 128, "height": 128})
        for _ in range(int(random.integers(1, 4))):
            x, y, width, height = (int(v) for v in random.integers(8, 60, 4))
            annotations.append(
                {
                    "id": len(annotations),
                    "image_id": number,
                    "category_id": int(random.integers(1, 4)),
                    "bbox": [x, y, width, height],
                    "area": width * height,
                    "iscrowd": 0,
                }
            )
    document = {"images": images, "annotations": annotations, "categories": [{"id": i} for i in (1, 2, 3)]}
    (root / "coco" / "instances_train2017.json").write_text(json.dumps(document))


def masks(root: Path, random: np.random.Generator) -> None:
    for name in ("imgs", "masks"):
        (root / "carvana" / name).mkdir(parents=True)
    rows, columns = np.mgrid[:96, :96]
    for number in range(120):
        picture(random).save(root / "carvana" / "imgs" / f"car_{number:03d}.jpg")
        y, x, radius = random.integers(20, 70, 2).tolist() + [int(random.integers(10, 20))]
        mask = ((rows - y) ** 2 + (columns - x) ** 2 < radius**2).astype(np.uint8)
        Image.fromarray(mask * 255).save(root / "carvana" / "masks" / f"car_{number:03d}_mask.png")


def digits(root: Path, random: np.random.Generator) -> None:
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name, count in (("train", 1600), ("t10k", 200)):
        images = (random.random((count, 28, 28)) * 255).astype(np.uint8)
        labels = random.integers(0, 10, count).astype(np.uint8)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + images.tobytes())
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())


def text(root: Path, random: np.random.Generator) -> None:
    words = ["".join(random.choice(list("abcdefghijklmnop"), int(random.integers(2, 8)))) for _ in range(300)]
    lines = [" ".join(random.choice(words, 12)) for _ in range(1500)]
    (root / "wiki.train.txt").write_text("\n".join(lines) + "\n")
    with (root / "reviews.csv").open("w") as file:
        file.write("sentence,label\n")
        for number in range(400):
            sentence = " ".join(random.choice(words, int(random.integers(5, 30))))
            file.write(f"{sentence},{number % 2}\n")
    for shard in range(4):
        with gzip.open(root / f"stream-{shard:02d}.jsonl.gz", "wt") as file:
            for _ in range(150):
                row = {"text": " ".join(random.choice(words, 16)), "score": float(random.random())}
                file.write(json.dumps(row) + "\n")


def sound(root: Path, random: np.random.Generator) -> None:
    folder = root / "speech"
    folder.mkdir()
    lines = ["filename,label"]
    for number in range(120):
        seconds = np.arange(8000) / 8000
        signal = np.sin(2 * np.pi * (200 + 100 * (number % 4)) * seconds) + 0.1 * random.standard_normal(8000)
        with wave.open(str(folder / f"clip_{number:03d}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes((signal * 16000).astype("<i2").tobytes())
        lines.append(f"clip_{number:03d}.wav,{number % 4}")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")


def table(root: Path, random: np.random.Generator) -> None:
    lines = ["rooms,area,district,year,price"]
    for _ in range(900):
        rooms, area = int(random.integers(1, 6)), float(random.uniform(20, 200))
        district, year = "NESW"[int(random.integers(4))], int(random.integers(1950, 2020))
        lines.append(f"{rooms},{area:.2f},{district},{year},{area * rooms * 10 + (year - 1950):.2f}")
    (root / "houses.csv").write_text("\n".join(lines) + "\n")


def shards(root: Path, random: np.random.Generator) -> None:
    folder = root / "shards"
    folder.mkdir()
    for shard in range(4):
        with tarfile.open(folder / f"train-{shard:04d}.tar", "w") as archive:
            for number in range(60):
                stream = io.BytesIO()
                picture(random, 64).save(stream, "JPEG")
                for suffix, content in (("jpg", stream.getvalue()), ("cls", str(number % 3).encode())):
                    member = tarfile.TarInfo(f"{shard:02d}{number:04d}.{suffix}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))


def main() -> None:
    root = Path(sys.argv[1]) / "data"
    root.mkdir(parents=True)
    random = np.random.default_rng(0)
    for make in (class_folders, boxes, masks, digits, text, sound, table, shards):
        make(root, random)


if __name__ == "__main__":
    main()
