"""NVIDIA DALI has no CPU build: modules with the interface of its Pipeline and of its iterator for PyTorch."""
