"""Nothing: DLIO's profiler imports tensorflow, and PyTorch workloads use none of it."""
