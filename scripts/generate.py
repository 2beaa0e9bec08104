"""Writes what is generated and committed: protobuf code, TypeScript types and vocabulary, the front-end bundle.

python scripts/generate.py            write it
python scripts/generate.py --check    fail if what is committed is not what would be written
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PROTO = "tb_dataplugin/report/report.proto"

WORDS = "frontend/src/contract/words.ts"

GENERATED = (
    "tb_dataplugin/report/report_pb2.py",
    "tb_dataplugin/report/report_pb2.pyi",
    "frontend/src/contract/report.ts",
    WORDS,
    "tb_dataplugin/static/index.js",
    "tb_dataplugin/static/index.css",
)


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")


def words() -> str:
    """The vocabularies of `tb_dataplugin/words.py` for the page."""
    sys.path.insert(0, str(ROOT))
    from tb_dataplugin import words as vocabulary

    lines = [
        "// Generated from tb_dataplugin/words.py by scripts/generate.py: do not edit.",
        "",
        "export type Term = { readonly id: string; readonly label: string; readonly meaning: string };",
        "export type CounterTerm = Term & { readonly unit: string };",
    ]
    for name in vocabulary.TABLES:
        terms = getattr(vocabulary, name)
        kind = type(terms[0]).__name__
        rows = (json.dumps(asdict(term), ensure_ascii=False) for term in terms)
        lines += ["", f"export const {name}: readonly {kind}[] = [", *(f"  {row}," for row in rows), "];"]
    return "\n".join(lines) + "\n"


def generate() -> None:
    run("protoc", "-I.", "--python_out=.", "--mypy_out=quiet:.", PROTO)
    (ROOT / WORDS).write_text(words(), encoding="utf-8")
    run(ROOT / "scripts/npm", "run", "generate", cwd=ROOT / "frontend")
    run(ROOT / "scripts/npm", "run", "build", cwd=ROOT / "frontend")


def snapshot() -> dict[str, bytes]:
    return {name: (ROOT / name).read_bytes() if (ROOT / name).exists() else b"" for name in GENERATED}


def restore(files: dict[str, bytes]) -> None:
    for name, content in files.items():
        with tempfile.NamedTemporaryFile(dir=ROOT / Path(name).parent, delete=False) as new:
            new.write(content)
        Path(new.name).replace(ROOT / name)


def main() -> None:
    before = snapshot()
    generate()
    if "--check" not in sys.argv[1:]:
        return
    stale = [name for name, content in snapshot().items() if content != before[name]]
    if stale:
        restore(before)
        sys.exit(f"not current: {', '.join(stale)}; run `make generate` and commit what it writes")
    print("generated files are current")


if __name__ == "__main__":
    main()
