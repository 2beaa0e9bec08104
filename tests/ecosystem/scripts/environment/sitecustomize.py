"""The environment's own, as a user may have one: lets torchvision be imported where it lacks its compiled part."""

import importlib.abc
import sys


class _BeforeTorchvision(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torchvision_cpu  # noqa: F401


sys.meta_path.insert(0, _BeforeTorchvision())
