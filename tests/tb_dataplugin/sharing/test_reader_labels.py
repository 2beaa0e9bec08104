"""Every label that a reader hook of the recorder can write is public: none of them names anything of the user's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from annotate.hooks import readers
from annotate.hooks.readers import HOOKS, databases, hdf5
from tb_dataplugin.sharing.hashing import Hasher
from tb_dataplugin.sharing.reader_labels import READER_LABELS

COMPUTED = {
    ("__init__.py", "hook.label"): {hook.label for hook in HOOKS},
    ("databases.py", "hook.label"): {f"sqlite3.{name}" for name in databases._STEPS},
    ("hdf5.py", "label"): {"h5py.Dataset", *(f"h5py.Dataset.{name}" for name in hdf5._METHODS if name[0] != "_")},
    ("tokenizing.py", "type(self).__name__"): set[str](),  # a class of the user's own, maybe: hashed
}
"""What a call of `hand_out` in `annotate/hooks/readers/` may be given that is no string, by file and expression."""


def handed_out() -> Iterator[tuple[str, ast.expr]]:
    """File and label of each call of `hand_out` there."""
    for path in sorted(Path(readers.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("hand_out"):
                yield path.name, node.args[1]


def test_each_label_that_a_reader_hook_can_write_is_public() -> None:
    """A new reader belongs into `reader_labels`; a new way to compute a label first into `COMPUTED`."""
    labels: set[str] = set()
    computed = set()
    for file, label in handed_out():
        if isinstance(label, ast.Constant):
            labels.add(str(label.value))
        else:
            computed.add((file, ast.unparse(label)))
    assert computed == COMPUTED.keys()
    assert labels.union(*COMPUTED.values()) == READER_LABELS


def test_labels_of_readers_are_kept_and_those_that_only_look_like_them_are_hashed() -> None:
    hasher = Hasher()
    assert hasher.name("decode::numpy.load") == "decode::numpy.load"
    assert hasher.name("read::numpy.memmap[...]") == "read::numpy.memmap[...]"
    assert "secret" not in hasher.name("decode::numpy.load_secret")
    assert "secret" not in hasher.name("transform::secret")
