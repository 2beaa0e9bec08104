"""Real libraries, in an environment of their own: `make test-ecosystem`. Everything is made here, nothing fetched.

What is set here holds in child processes too: they import this package first.
"""

import os
import sys
from pathlib import Path

os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_DATASETS_OFFLINE="1",
    TRANSFORMERS_OFFLINE="1",
    NO_ALBUMENTATIONS_UPDATE="1",
    WANDB_MODE="off",
)
os.environ.pop("ANNOTATE_MONITOR", None)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parent / "stubs"))

import torchvision_cpu  # noqa: F401  (before torchvision, which torchmetrics imports where there is one)
