"""Tie each proof to the code that it is about.

A proof page names the files it covers, each with a hash of the code in it (comments,
docstrings, imports and layout do not count). When the code moves on, the test
tests/docs/test_proofs.py fails until somebody has read the proof next to the new code and
sealed this one page again:

    make proof PAGE=docs/proofs/tables.md
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^- `(?P<file>src/[^`]+)` sealed as `(?P<hash>[0-9a-f]*)`$", re.MULTILINE)


def code_hash(file: Path) -> str:
    """A hash of the syntax tree without its docstrings and imports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [part for part in body if not _is_passed_over(part)]
            node.body = kept  # type: ignore[attr-defined]
    return hashlib.sha256(_written(tree).encode()).hexdigest()[:16]


def _written(node: object) -> str:
    """A syntax tree as text that is the same on every Python: `ast.dump` of 3.11, field by field.

    Since 3.13 `ast.dump` leaves empty lists out, and since 3.12 functions and classes have a
    field for type parameters, which code for 3.11 cannot use.
    """
    if isinstance(node, list):
        return f"[{', '.join(map(_written, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [
        f"{name}={_written(value)}"
        for name, value in ast.iter_fields(node)
        if not (value is None and getattr(type(node), name, ...) is None)
        and not (name == "type_params" and value == [])
    ]
    return f"{type(node).__name__}({', '.join(fields)})"


def _is_passed_over(node: ast.AST) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom)) or (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def proofs() -> list[Path]:
    """All proof pages."""
    return sorted(page for page in Path(__file__).parent.glob("*.md") if page.name != "README.md")


def seal(page: Path) -> str:
    """The text of the page with the hashes of today's code."""
    return LINE.sub(
        lambda match: f"- `{match['file']}` sealed as `{code_hash(ROOT / match['file'])}`",
        page.read_text(encoding="utf-8"),
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Seal one page at a time, after reading it beside its code: seal.py PAGE")
    proof = Path(sys.argv[1])
    proof.write_text(seal(proof), encoding="utf-8")
    print(f"sealed {proof.name}")
