"""A release is refused while the project has placeholders; its files agree with each other."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("release", ROOT / "release" / "release.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)


def test_the_citation_is_that_of_the_project():
    written = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert written == release.citation(release.project()), "run: make reference"


def test_placeholders_are_in_one_file_and_what_is_written_from_it():
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("", ".github", ".github/workflows", ".github/ISSUE_TEMPLATE", "release")
        for path in (ROOT / folder).iterdir()
        if path.is_file() and release.PLACEHOLDER in path.read_text(encoding="utf-8")
    }
    # the script has to name what it looks for
    assert found <= {"pyproject.toml", "CITATION.cff", "release/release.py"}


@pytest.mark.parametrize(
    ("text", "version", "left"),
    [
        ("https://example.invalid/discreet", "0.2.0", ["Replace every example.invalid"]),
        ("https://example.org/discreet", "0.2.0", []),
        ("https://example.org/discreet", "0.2.0.dev0", ["Give src/discreet/__init__.py"]),
    ],
)
def test_nothing_is_published_before_everything_is_decided(
    text, version, left, tmp_path, monkeypatch
):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text(text)
    found = release.obstacles({}, version)
    assert len(found) == len(left)
    assert all(each.startswith(begin) for each, begin in zip(found, left, strict=True))


def test_only_two_commands_publish_and_none_is_run():
    text = release.PUBLISH.format(version="0.2.0")
    commands = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    assert len(commands) == 2
    assert commands[1] == "git push origin v0.2.0"
