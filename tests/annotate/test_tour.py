"""The stops of `examples/tour.py` change how long the work takes, and not what comes out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import tour
from demo import ConvertColor, RandomMask, Scale, make_photos
from PIL import Image
from scipy.signal import convolve2d
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter
from torchvision import transforms as T  # noqa: N812
from tour import STOPS, ConvertBatch, RandomMaskOfBits, Stop, bound_of, dilate, run, tell

from tb_dataplugin.report.report_pb2 import Capture, Doubt, Finding, Steps


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


def test_the_window_is_written_before_the_loop_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leaving it ends the DataLoader workers, which is no part of a step."""
    written, end_workers = [], _MultiProcessingDataLoaderIter._shutdown_workers

    def shutdown(iterator: _MultiProcessingDataLoaderIter) -> None:
        written.append(len(list((tmp_path / "run").glob("*.json*"))))
        end_workers(iterator)

    monkeypatch.setattr(_MultiProcessingDataLoaderIter, "_shutdown_workers", shutdown)
    monkeypatch.setattr(tour, "WARM_UP_STEPS", 1)
    make_photos(tmp_path / "data", 2)
    stop = Stop("small", lambda: [T.Resize((8, 8)), T.PILToTensor()], workers=1)
    run(stop, sorted((tmp_path / "data").glob("*.jpg")), tmp_path / "run", batch_size=1, steps=2)
    assert written and written[0] == 1


def test_a_bound_is_the_reports_own() -> None:
    finding = Finding(gain_us_per_step=98_300, gain_step_share=0.518, speedup=2.07)
    assert bound_of(finding, "") == "may bring 2.07x at most"
    assert bound_of(Finding(gain_us_per_step=98_300), "") == "has no bound"


def test_numbers_of_doubtful_captures_are_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    doubts = {"crowded": [Doubt(code="busy_machine")], "quiet": []}

    def analysed(path: Path, _: str) -> object:
        finding = Finding(title="It decodes", gain_us_per_step=5e4, speedup=2.0)
        return type(
            "", (), {"capture": Capture(steps=Steps(mean_us=1e5), findings=[finding], doubts=doubts[str(path)])}
        )

    monkeypatch.setattr(tour, "analyse_file", analysed)

    def said(first: str, second: str) -> str:
        before = tell(STOPS[0], first, None)
        tell(STOPS[1], second, before)
        return " ".join(capsys.readouterr().out.split())

    busy = "(doubtful: busy machine)"
    assert f"measured: 1.00x {busy} as fast" in said("crowded", "quiet")
    assert f"may bring 2.00x at most {busy}" in said("crowded", "crowded")
    only_after = said("quiet", "crowded")
    assert f"measured: 1.00x {busy} as fast" in only_after and "at most (" not in only_after
    assert "doubtful" not in said("quiet", "quiet")
