"""Each proof is about the code that is here today."""

from __future__ import annotations

import ast
import importlib.util
import io
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from stated import DIRECTION, PACKAGE, SAID, SHOWING, statements, stating

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("seal", ROOT / "docs" / "proofs" / "seal.py")
seal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(seal)


@pytest.mark.parametrize("page", seal.proofs(), ids=lambda page: page.name)
def test_the_proof_was_read_next_to_this_code(page):
    assert seal.LINE.search(page.read_text()), "a proof names the code that it is about"
    assert seal.seal(page) == page.read_text(), (
        "the code has changed: read the proof again, then run `make proof PAGE=...`"
    )


@cache
def pages_of() -> dict[str, set[str]]:
    """Each sealed file with the pages that seal it."""
    found: dict[str, set[str]] = {}
    for page in seal.proofs():
        for match in seal.LINE.finditer(page.read_text()):
            found.setdefault(match["file"], set()).add(page.name)
    return found


# Parts whose code says what one person can do to data: each statement names its proof.
ABOUT_DATA = {"local", "mechanisms", "tables"}


def around(tree: ast.AST, call: ast.Call, lines: list[str]) -> str:
    """The function that a call is in, or the call itself where it is in none."""
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= call.lineno <= node.end_lineno
    ]
    place = max(functions, key=lambda node: node.lineno, default=call)
    return "\n".join(lines[place.lineno - 1 : place.end_lineno])


STATING = stating()
ANCHOR = re.compile(r"docs/proofs/(?P<page>[\w-]+\.md)(#(?P<heading>[\w-]+))?")


def test_every_file_that_states_a_sensitivity_range_or_loss_is_sealed():
    """The only privacy facts there are: nobody changes one without reading its proof."""
    stating = {str(file.relative_to(ROOT)) for file in STATING}
    assert len(stating) > 20
    assert stating <= pages_of().keys()


@pytest.mark.parametrize(
    "file",
    [file for file in STATING if file.relative_to(PACKAGE).parts[0] in ABOUT_DATA],
    ids=lambda file: file.name,
)
def test_every_statement_names_a_proof_that_seals_it(file):
    source = file.read_text()
    tree, lines = ast.parse(source), source.splitlines()
    pages = pages_of()[str(file.relative_to(ROOT))]
    for call in statements(tree):
        named = {match["page"] for match in ANCHOR.finditer(around(tree, call, lines))}
        assert named & pages, f"line {call.lineno}: {ast.unparse(call)}"


# What is worked out from a statement takes it in any order; each is called by its own file.
WORKED_OUT = {
    "above_threshold.py": {"_read_answer"},
    "bounded_laplace.py": {"largest_rate", "largest_loss", "_rate", "_shared"},
    "gaussian_profile.py": {"profile", "_profile", "_of_real_noise", "_peak", "_allowed"},
    "select.py": {"_clipped", "_require_bounds"},
}


def test_facts_are_said_by_keyword():
    """Among numbers in a row nobody sees which one is the sensitivity."""
    positional = {
        (file.name, node.name)
        for file in PACKAGE.rglob("*.py")
        if file.relative_to(PACKAGE).parts[0] not in SHOWING
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
        and {each.arg for each in (*node.args.posonlyargs, *node.args.args)} & (SAID | DIRECTION)
    }
    assert positional == {(file, name) for file, names in WORKED_OUT.items() for name in names}


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub spells them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_every_anchor_of_a_proof_exists():
    texts = {file: file.read_text() for file in PACKAGE.rglob("*.py")}
    found = [(file, match) for file, text in texts.items() for match in ANCHOR.finditer(text)]
    assert len(found) > 30
    for file, match in found:
        page = ROOT / "docs" / "proofs" / match["page"]
        assert page.exists(), f"{file.name}: {match[0]}"
        assert match["heading"] is None or match["heading"] in headings(page), match[0]


def test_the_finder_of_statements_finds_them():
    found = statements(
        ast.parse("PureDP(1)\nmake(sensitivity=1)\nLaw(loss=PureDP)\nisinstance(x, PureDP)\nf(x)")
    )
    assert [call.lineno for call in found] == [1, 2, 3]


def test_every_sampler_and_law_has_a_proof():
    covered = pages_of().keys()
    needed = {
        *(PACKAGE / "samplers").glob("*.py"),
        PACKAGE / "mechanisms" / "laws.py",
        PACKAGE / "exact/enclosures.py",
    }
    assert {str(file.relative_to(ROOT)) for file in needed if file.name != "__init__.py"} <= covered


def test_a_changed_constant_breaks_the_seal_and_a_comment_does_not():
    before = seal.code_hash('"""Text."""\nx = 1  # one\n')
    assert seal.code_hash('"""Other text."""\n# a remark\nx = 1\n') == before
    assert seal.code_hash("x = 2\n") != before


CODE = """
def counted(rows):
    return 1


def other(rows):
    return 2
"""
PAGE = """# Page

Covers
- `src/code.py` sealed as `{hash}`

## Counts

**Claim.** `counted` moves by 1.

## Others

**Claim.** Others do not.
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A page about a file that Git knows, and that has changed since the page was sealed."""
    page, code = tmp_path / "page.md", tmp_path / "src" / "code.py"
    code.parent.mkdir()
    code.write_text(CODE)
    page.write_text(PAGE.format(hash=seal.code_hash(CODE)))
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    code.write_text(CODE.replace("return 1", "return 7"))
    monkeypatch.setattr(seal, "ROOT", tmp_path)
    monkeypatch.setattr(seal, "proofs", lambda: [page])
    monkeypatch.delenv("READ", raising=False)
    return page


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_sealing_shows_the_changed_code_and_the_claims_that_rest_on_it(
    project, monkeypatch, capsys
):
    monkeypatch.setattr("sys.stdin", Terminal("page.md\n"))
    assert seal.main([str(project)]) is None
    shown = capsys.readouterr().out
    assert "-    return 1\n+    return 7" in shown
    assert "`counted` moves by 1" in shown
    assert "Others do not" not in shown
    assert seal.seal(project) == project.read_text()
    assert seal.main([str(project)]) is None
    assert "has not changed" in capsys.readouterr().out


def test_a_page_is_not_sealed_by_another_name(project, monkeypatch):
    before = project.read_text()
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    assert "not sealed" in seal.main([str(project)])
    assert project.read_text() == before


def test_without_a_terminal_the_hash_of_what_was_shown_is_needed(project, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for said in ("", "0123456789abcdef"):
        monkeypatch.setenv("READ", said)
        assert "not sealed" in seal.main([str(project)])
    (needed,) = set(re.findall("READ=([0-9a-f]{16})", capsys.readouterr().out))
    # other code needs another reading
    code = seal.ROOT / "src" / "code.py"
    code.write_text(CODE.replace("return 1", "return 8"))
    monkeypatch.setenv("READ", needed)
    assert "not sealed" in seal.main([str(project)])
    code.write_text(CODE.replace("return 1", "return 7"))
    assert seal.main([str(project)]) is None


def test_a_version_that_git_has_lost_is_shown_whole(project, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    project.write_text(PAGE.format(hash="0" * 16))
    seal.main([str(project)])
    assert "+def other(rows):" in capsys.readouterr().out


def test_a_page_that_is_none_is_refused(project):
    assert "not a proof page" in seal.main(["README.md"])
    assert "one page at a time" in seal.main([])
