"""Each proof is about the code that is here today."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("seal", ROOT / "docs" / "proofs" / "seal.py")
seal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(seal)


@pytest.mark.parametrize("page", seal.proofs(), ids=lambda page: page.name)
def test_the_proof_was_read_next_to_this_code(page):
    assert seal.LINE.search(page.read_text()), "a proof names the code that it is about"
    assert seal.seal(page) == page.read_text(), "the code has changed: read the proof again, then run `make proofs`"


def test_every_sampler_and_law_has_a_proof():
    covered = {match["file"] for page in seal.proofs() for match in seal.LINE.finditer(page.read_text())}
    package = ROOT / "src" / "discreet"
    needed = {*(package / "samplers").glob("*.py"), package / "mechanisms" / "laws.py", package / "certified.py"}
    assert {str(file.relative_to(ROOT)) for file in needed if file.name != "__init__.py"} <= covered


def test_a_changed_constant_breaks_the_seal_and_a_comment_does_not(tmp_path):
    file = tmp_path / "code.py"
    file.write_text('"""Text."""\nx = 1  # one\n')
    before = seal.code_hash(file)
    file.write_text('"""Other text."""\n# a remark\nx = 1\n')
    assert seal.code_hash(file) == before
    file.write_text("x = 2\n")
    assert seal.code_hash(file) != before
