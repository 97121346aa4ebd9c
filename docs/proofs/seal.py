"""Tie each proof to the code that it is about.

A proof page names the files it covers, each with a hash of the code in it (comments, docstrings and layout do not count). When the
code moves on, the test tests/docs/test_proofs.py fails until somebody has read the proof next to the new code and sealed it
again with `make proofs`.
"""

from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^- `(?P<file>src/[^`]+)` sealed as `(?P<hash>[0-9a-f]*)`$", re.MULTILINE)


def code_hash(file: Path) -> str:
    """A hash of the syntax tree without its docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def proofs() -> list[Path]:
    """All proof pages."""
    return sorted(page for page in Path(__file__).parent.glob("*.md") if page.name != "README.md")


def seal(page: Path) -> str:
    """The text of the page with the hashes of today's code."""
    return LINE.sub(
        lambda match: f"- `{match['file']}` sealed as `{code_hash(ROOT / match['file'])}`", page.read_text(encoding="utf-8")
    )


if __name__ == "__main__":
    for proof in proofs():
        proof.write_text(seal(proof), encoding="utf-8")
        print(f"sealed {proof.name}")
