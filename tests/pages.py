"""The pages of the documentation as a reader meets them: their links, and the places in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

FENCE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?P<ticks>`+).+?(?P=ticks)")
HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
# A link, also one around an image, and an image by itself: what stands in the round brackets.
TARGET = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")


def pages() -> list[Path]:
    """Every Markdown page that a reader of the repository is led to."""
    return sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "tests").glob("*.md")])


def prose(text: str) -> str:
    """A page without its code."""
    return CODE.sub("", FENCE.sub("", text))


def anchor(heading: str) -> str:
    """The place that a heading is: what GitHub and our site call it."""
    shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """All places in a page that a link can name."""
    found: set[str] = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in HEADING.findall(FENCE.sub("", text)):
        name, twice = anchor(heading), 0
        while (name if not twice else f"{name}-{twice}") in found:
            twice += 1
        found.add(name if not twice else f"{name}-{twice}")
    return found


def links(text: str) -> Iterator[str]:
    """The targets of all links and images of a page, code left out."""
    yield from TARGET.findall(prose(text))


def broken(page: Path) -> list[str]:
    """The relative links of a page that lead nowhere: a missing file, or a missing place in one."""
    relative = (
        target
        for target in links(page.read_text(encoding="utf-8"))
        if not re.match(r"[a-z][a-z+.-]*:", target)
    )
    return [target for target in relative if not _leads_somewhere(page, target)]


def _leads_somewhere(page: Path, target: str) -> bool:
    file, _, place = target.partition("#")
    other = page.parent / file if file else page
    if not place:
        return other.exists()
    return other.exists() and place in anchors(other.read_text(encoding="utf-8"))
