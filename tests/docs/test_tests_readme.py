"""The page about the tests names every folder of them, and no file that is not there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
text = (TESTS / "README.md").read_text(encoding="utf-8")


def test_every_folder_is_explained() -> None:
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert folders == set(re.findall(r"^\| `([a-z]+)/` \|", text, re.MULTILINE))


def test_every_file_that_is_named_is_there() -> None:
    named = re.findall(r"`([a-z_/]+\.py)`", text)
    assert len(named) > 40
    for file in named:
        assert (TESTS / file).exists(), file


def test_contributing_names_files_that_are_there() -> None:
    root = TESTS.parent
    page = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for file in re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|md))`", page):
        places = (root / file, root / "src" / file, root / "src" / "discreet" / file)
        assert any(place.exists() for place in places), file
