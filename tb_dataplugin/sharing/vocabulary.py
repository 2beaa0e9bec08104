"""Which names say nothing of who wrote the program: PyTorch's own, CUDA's, and those that this project gives.

What matches no pattern here is hashed. A pattern keeps its groups' places: what a group matches is hashed, the text
around it is kept, so that analyses still read the name as what it is.
"""

from __future__ import annotations

import re
from typing import Final

from tb_dataplugin.sharing.reader_labels import READER_LABELS

PUBLIC_NAMES: Final = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"ProfilerStep#[0-9]{1,9}",
        r"annotate: (?:clock \d+|cost of one marker)",
        r"annotate: (.+)",
        r"aten::[a-z_0-9]+",
        r"detach|record_param_comms",
        r"torch::autograd::(?:AccumulateGrad|GraphRoot|CopyBackwards|CopySlices)",
        r"autograd::engine::evaluate_function: torch::autograd::(?:AccumulateGrad|GraphRoot|CopyBackwards|CopySlices)",
        r"autograd::engine::evaluate_function: (\w+)Backward\d*",
        r"(\w+?)Backward\d*",
        r"Optimizer\.(?:step|zero_grad)#(\w+)\.(?:step|zero_grad)",
        r"enumerate\((?:DataLoader|DataPipe)\)#(?:_SingleProcessDataLoaderIter|_MultiProcessingDataLoaderIter)\.__next__",
        r"enumerate\((?:DataLoader|DataPipe)\)#(.*)",
        r"enumerate\((\w+)\)#(.*)",
        r"(?:nccl|rccl|xccl|c10d|gloo|mpi|ucc):(?:(?:all|reduce|scatter|gather|to|broadcast|send|recv|barrier|coalesced|base)_?)+",
        r"(?:nccl|rccl|xccl|c10d|gloo|mpi|ucc):(.+)",
        r"(?:cuda|hip|xpu|mtia)[A-Z][A-Za-z0-9]*(?:_v\d+)?(?:_ptsz)?",
        r"cu[A-Z][A-Za-z0-9]*(?:_v\d+)?",
        r"(?:Memcpy|Memset|CopyHostToDevice|CopyDeviceToHost)"
        r"(?: (?:HtoD|DtoH|DtoD|PtoP|HtoH|HtoA|AtoH|Device|Unknown))?"
        r"(?: \((?:(?:Pageable|Pinned|Device|Array|Managed|Unknown|Host)(?: -> )?)+\))?",
        r".*?(?:HtoD|HostToDevice|M2D|DtoH|DeviceToHost|D2M).*",
        r"(?:void )?at::native::(?:\w+::)*\w+([<(].*)?",
        r"nccl(?:Dev)?Kernel_\w+([<(].*)?",
        r"(?:ampere|volta|turing|hopper|sm\d+|maxwell)_(?:[a-z]*gemm|xmma|cutlass)_[a-z0-9_]*",
        r"([A-Za-z_]\w*)::(.*)",
        r"([a-z]+)_",
    )
)
"""Of names of events. The first that matches the whole name decides."""

COPY_WORDS: Final = re.compile(r"HtoD|HostToDevice|M2D|DtoH|DeviceToHost|D2M")
"""Of the name of a copy that begins otherwise only these words are kept."""

PUBLIC_LABELS: Final = READER_LABELS | frozenset(
    (
        "DataLoader", "read", "serialise", "queue", "deserialise", "pin", "index",
        "cv2", "numpy", "h5py", "zarr", "lmdb", "pyarrow", "soundfile", "librosa", "torchaudio",
        "torchvision.io", "decord", "av", "tifffile", "nibabel", "pydicom", "rasterio", "safetensors", "json",
        "pickle", "tarfile", "zipfile", "default_collate", "Compose", "DALI.Pipeline",
        "BatchSampler", "DistributedSampler", "RandomSampler", "SequentialSampler", "SubsetRandomSampler",
        "WeightedRandomSampler", "TensorDataset", "ConcatDataset", "ChainDataset", "StackDataset", "Subset",
    )
)  # fmt: skip
"""Labels of stages, and classes of samplers and datasets, that are names of libraries.

The bare names of libraries are labels of earlier versions, or ones that our documents advise.
"""

PUBLIC_PACKAGES: Final = frozenset(
    (
        "torch", "torchvision", "torchaudio", "numpy", "PIL", "cv2", "annotate", "scipy", "pandas", "h5py", "zarr",
        "pyarrow", "multiprocessing", "threading", "queue", "json", "concurrent", "importlib", "asyncio",
        "collections",
        "collections_elsewhere",
    )
)  # fmt: skip
"""Of files in folders of libraries, those below one of these are kept as they are, and the functions in them."""

LIBRARIES: Final = re.compile(r"site-packages|dist-packages|python3\.\d+")

PUBLIC_FOLDERS: Final = re.compile(r"|lib|lib64|usr|site-packages|dist-packages|python3?(?:\.\d+)?|<frozen [a-z._]+>")

PUBLIC_SERIES: Final = re.compile(
    r"(?:core|device) \d{1,4}|us_per_s|(?:used|available)_bytes|(?:read|received|sent)_bytes_per_s|rchar_per_s"
)

PUBLIC_THREADS: Final = re.compile(
    r"(?:thread|stream|GPU|spans) ?-?\d{1,20}(?: \(?(?:python3?|\d{1,20})\)?)?|DataLoader worker \d{1,6}|python3?"
    r"|MainThread"
)

PUBLIC_FUNCTIONS: Final = re.compile(r"__\w+__|<(?:locals|lambda|module|listcomp|genexpr|dictcomp|setcomp)>")

DEVICE_WORD: Final = re.compile(
    r"NVIDIA|AMD|Intel|Tesla|GeForce|Quadro|Instinct|RTX|GTX|Ti|SUPER|Laptop|GPU|SXM\d|PCI[eE]|HBM\d"
    r"|[A-Z]{0,2}\d{1,4}[A-Z]{0,2}"
)
"""Names of devices are words like these."""
