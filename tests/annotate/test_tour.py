"""The stops of `examples/tour.py` change how long the work takes, and not what comes out."""

from __future__ import annotations

import numpy as np
import torch
from demo import ConvertColor, RandomMask, Scale
from PIL import Image
from scipy.signal import convolve2d
from tour import STOPS, ConvertBatch, RandomMaskOfBits, dilate


def test_a_dilation_of_booleans_is_the_convolution() -> None:
    rng = np.random.default_rng(0)
    for width in (1, 3, 9):
        points = rng.random((40, 30)) < 0.05
        expected = convolve2d(points.astype(float), np.ones((width, width)), mode="same") > 0
        assert np.array_equal(dilate(dilate(points, width).T, width).T, expected)


def test_both_masks_blacken_the_same_pixels() -> None:
    image = torch.randint(0, 255, (3, 64, 64), dtype=torch.uint8)
    results = []
    for mask in (RandomMask(), RandomMaskOfBits()):
        torch.manual_seed(0)
        results.append(mask(image))
    assert torch.equal(*results)


def test_a_batch_is_coloured_and_scaled_as_its_samples_were() -> None:
    images = [torch.randint(0, 255, (3, 8, 9), dtype=torch.uint8) for _ in range(4)]
    batch, labels = ConvertBatch()([(image, number) for number, image in enumerate(images)])
    expected = torch.stack([Scale()(ConvertColor()(image)) for image in images])
    assert torch.allclose(batch, expected, atol=1e-5)
    assert labels.tolist() == [0, 1, 2, 3]


def test_every_stop_gives_batches_of_the_same_shape() -> None:
    photo = Image.new("RGB", (800, 533))
    for stop in STOPS:
        sample = photo
        for transform in stop.transforms():
            sample = transform(sample)
        collate = stop.collate or torch.utils.data.default_collate
        images, _ = collate([(sample, 0), (sample, 1)])
        assert images.shape == (2, 3, 256, 256)
        assert images.dtype == torch.float32
