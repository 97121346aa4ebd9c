"""Every relative link of the documentation leads to a file that is there, and to a place in it."""

from __future__ import annotations

from pathlib import Path

import pages
import pytest

KINDS = ("tutorials", "how-to", "reference", "explanation", "proofs", "decisions")


def test_links_lead_somewhere() -> None:
    broken = {page.relative_to(pages.ROOT).as_posix(): pages.broken(page) for page in pages.pages()}
    assert {page: links for page, links in broken.items() if links} == {}


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# One\n\n## Two, `three`\n\n## One\n\n```\n# Code\n```\n")
    page.write_text(
        "# Here\n[a](other.md#two-three) [b](other.md#one-1) [c](#here) `[d](code.md)`\n"
        "```\n[e](fence.md)\n```\n![f](picture.png) [g](other.md#code) [h](#there) [i](gone.md)\n"
        "[j](https://example.org/gone)\n"
    )
    assert pages.broken(page) == ["picture.png", "other.md#code", "#there", "gone.md"]


def test_every_page_is_of_one_kind() -> None:
    for page in pages.DOCS.rglob("*.md"):
        kind = page.relative_to(pages.DOCS).parts[0]
        assert kind in KINDS or kind == "README.md", page


@pytest.mark.parametrize("kind", ["tutorials", "how-to", "reference", "explanation"])
def test_every_page_is_listed_on_the_first_one(kind: str) -> None:
    first = (pages.DOCS / "README.md").read_text(encoding="utf-8")
    for page in (pages.DOCS / kind).glob("*.md"):
        assert f"]({kind}/{page.name})" in first, f"docs/README.md does not name {page.name}"
