"""First on PYTHONPATH under `tb-dataplugin run`: leaves a dormant hook, gets out of the way, and runs the next one.

Python 2 and every later version must be able to run this file: any of them may be a helper of the program's.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
if sys.version_info >= (3, 10):
    try:
        _had_future = "__future__" in sys.modules
        import _annotate_watch  # type: ignore[import-not-found]

        if not _had_future:  # the program's modules are those that it imports
            sys.modules.pop("__future__", None)
        _annotate_watch.install()
    except Exception:
        pass

sys.path[:] = [_entry for _entry in sys.path if not _entry or os.path.abspath(_entry) != _here]
sys.path_importer_cache.pop(_here, None)
sys.modules.pop("sitecustomize", None)
# The program's own, with its exceptions. There being none is an ImportError that Python expects, and passes over.
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401
