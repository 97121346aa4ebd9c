"""What can be said about the site without the tools that build it: `make docs` builds it."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from pathlib import Path
from shutil import which

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"


def loaded(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hooks, docstrings = loaded("site_hooks"), loaded("site_docstrings")


def test_a_broken_link_fails_the_build() -> None:
    (command,) = re.findall(r"mkdocs build.*", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert "--strict" in command
    # strict fails on the warnings that are printed, so it must not be told to be quiet
    assert "-q" not in command


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://example.org/a.js"></script>',
        "<script defer src=//example.org/a.js></script>",
        '<link rel="stylesheet" href="https://example.org/a.css">',
        '<img alt="" src="http://example.org/a.png">',
        "a { background: url('https://example.org/a.png') }",
    ],
)
def test_what_comes_from_another_host_is_seen(html: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(html)
    config = type("Config", (), {"site_dir": str(tmp_path)})
    with pytest.raises(SystemExit, match="would load from another host"):
        hooks.on_post_build(config)


def test_what_a_reader_follows_may_lead_elsewhere(tmp_path: Path) -> None:
    html = '<a href="https://example.org">paper</a><script src="assets/a.js"></script>'
    (tmp_path / "page.html").write_text(html)
    hooks.on_post_build(type("Config", (), {"site_dir": str(tmp_path)}))


def test_every_page_is_in_the_navigation() -> None:
    config = hooks.on_config(type("Config", (), {})())
    text = repr(config.nav)
    for page in (ROOT / "docs").rglob("*.md"):
        assert repr(page.relative_to(ROOT / "docs").as_posix()) in text
    assert "reference/api-mechanisms.md" in text


def test_public_names_lead_to_their_docstrings() -> None:
    row = "| `Session.top_k()` | The k values. |\n| `discreet.testing.SeededBits` | Bits. |"
    page = type("Page", (), {"file": type("File", (), {"src_uri": "reference/api.md"}), "meta": {}})
    assert hooks.on_page_markdown(row, page) == (
        "| [`Session.top_k()`][discreet.Session.top_k] | The k values. |\n"
        "| [`discreet.testing.SeededBits`][discreet.testing.SeededBits] | Bits. |"
    )


def test_the_search_prefers_what_answers() -> None:
    kinds = ["tutorials", "how-to", "explanation", "reference", "proofs", "decisions"]
    boosts = [hooks.boost_of(f"{kind}/page.md") for kind in kinds]
    assert boosts == sorted(boosts, reverse=True)
    assert hooks.boost_of("benchmarks/tables.md") < hooks.boost_of("reference/api.md")
    page = type("Page", (), {"file": type("File", (), {"src_uri": "how-to/a.md"}), "meta": {}})
    hooks.on_page_markdown("text", page)
    assert page.meta == {"search": {"boost": hooks.boost_of("how-to/a.md")}}


@pytest.mark.skipif(
    which("node") is None or not (SITE / "search").exists(), reason="needs `make docs` and Node.js"
)
def test_who_searches_finds_lessons_and_recipes_first() -> None:
    words = ["median", "budget", "top-k", "ledger"]
    command = ["node", str(Path(__file__).with_name("site_search.js")), str(SITE), *words]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    for word in words:
        kinds = [location.partition("/")[0] for location in found[word]]
        assert kinds[0] in ("tutorials", "how-to"), (word, found[word][:5])
        assert not {"benchmarks", "decisions"} & set(kinds[:5]), (word, found[word][:5])


def test_a_docstring_becomes_markdown() -> None:
    text = (
        "The promise: one\nsentence.\n\nbounds, step: the grid,\n    public.\n"
        "Privacy: none. Proof:\n    docs/proofs/noise.md#a.\n\n>>> 1 + 1\n2\n\nMore."
    )
    assert docstrings.to_markdown(text) == (
        "The promise: one sentence.\n\n- `bounds`, `step`: the grid, public.\n"
        "- **Privacy:** none. Proof: [noise](../proofs/noise.md#a).\n\n"
        "```pycon\n>>> 1 + 1\n2\n```\n\nMore."
    )
