"""Files that have another name on the other side: a copy of a script with the change in it is the same code."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.compare.programs import ANY_SCRIPTS, scripts_of
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb

ALIKE: Final = 0.5
"""Part of the functions of the file with fewer of them, from which two files are taken for one under two names."""

_IDIOM: Final = re.compile(r"\bmain\(|\.(?:backward|step|zero_grad)\(")
"""In the text of a line as most training scripts have it, whatever they train."""


@dataclass(slots=True)
class _File:
    """What was sampled in it. Names as `<module>` and `<lambda>` are in any file, in no `functions`; nor are `lines`
    those that most scripts have.
    """

    functions: set[str] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)

    def alike(self, other: _File) -> float:
        """Shared part, 0 to 1: of functions, or of texts of lines where one has all of its code in no function, or they
        have only `main` in common and one has nothing else.
        """
        if not self.functions or not other.functions:
            return _shared(self.lines, other.lines)
        own, others = self.functions - ANY_SCRIPTS, other.functions - ANY_SCRIPTS
        has_only_main = not (own and others) and bool(self.functions & other.functions)
        return _shared(self.lines, other.lines) if has_only_main else _shared(own, others)


def _shared(one: set[str], another: set[str]) -> float:
    """Of the smaller set."""
    return len(one & another) / min(len(one), len(another)) if one and another else 0.0


def renamed_files(before: Sequence[Run], after: Sequence[Run]) -> Mapping[str, str]:
    """By the name of a file that only `after` has, that of the file that only `before` has and is like it; both without
    folders. Where several are equally like one, none is taken.
    """
    first, second = _files(before), _files(after)
    gone, new = first.keys() - second.keys(), second.keys() - first.keys()
    alike = {(old, name): first[old].alike(second[name]) for old in gone for name in new}
    old_of = {name: _best({old: alike[old, name] for old in gone}) for name in new}
    new_of = {old: _best({name: alike[old, name] for name in new}) for old in gone}
    return {name: old for name, old in old_of.items() if old and new_of[old] == name}


def loop_elsewhere(before: Sequence[Run], after: Sequence[Run], renamed: Mapping[str, str]) -> frozenset[str]:
    """Scripts of both sides' training loops where they are not the same one; empty where they are, or are not known."""
    first, second = scripts_of(before), scripts_of(after)
    same = first & {renamed.get(name, name) for name in second}
    return first | second if first and second and not same else frozenset()


def _best(alike: Mapping[str, float]) -> str:
    """ "" where there is none, or more than one."""
    most = max(alike.values(), default=0.0)
    best = [name for name, share in alike.items() if share == most]
    return best[0] if most >= ALIKE and len(best) == 1 else ""


def _files(runs: Sequence[Run]) -> dict[str, _File]:
    """By name, those of no package: with what took too little to be listed as a line."""
    found: defaultdict[str, _File] = defaultdict(_File)
    for part in _parts(runs):
        tree = part.tree
        rows = [(line.function, line.file, line.source) for line in part.lines]
        sources = tree.source or [-1] * len(tree.file)
        texts = (tree.names[source] if source >= 0 else "" for source in sources)
        files = (tree.names[file] for file in tree.file)
        functions = (tree.names[function] for function in tree.function)
        rows += zip(functions, files, texts, strict=False)
        for function, path, text in dict.fromkeys(rows):
            place = Place(function, path, 0)
            if not path or place.package:
                continue
            file = found[place.short]
            file.functions |= set() if "<" in function else {function}
            file.lines |= {text} if text and not _IDIOM.search(text) else set()
    return found


def _parts(runs: Sequence[Run]) -> Iterator[pb.PartLines]:
    for capture in (capture for run in runs for capture in run.captures):
        yield from (*capture.lines.stages, *capture.lines.training, capture.lines.training_thread)
        yield capture.lines.pipeline
