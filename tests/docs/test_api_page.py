"""The page of public names is what the script writes today, and it leaves nothing out."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

from public_names import PUBLIC

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location(
    "public_names", ROOT / "docs" / "reference" / "public_names.py"
)
public_names = importlib.util.module_from_spec(spec)
spec.loader.exec_module(public_names)

text = public_names.PAGE.read_text(encoding="utf-8")


def test_the_page_is_current() -> None:
    assert text == public_names.page(), "run: python docs/reference/public_names.py"


def test_every_public_name_is_on_the_page_once() -> None:
    for name in PUBLIC:
        assert text.count(f"| `{name}` |") == 1, name


def test_every_own_method_is_on_the_page() -> None:
    for name in PUBLIC:
        kind = PUBLIC[name]
        if inspect.isclass(kind) and not issubclass(kind, Exception):
            for member, value in vars(kind).items():
                if not member.startswith("_") and inspect.isfunction(value):
                    listed = f"| `{name}.{member}()` |" in text
                    # the site shows no override that leaves the docstring to its base
                    assert listed == bool(value.__doc__), f"{name}.{member}"
                    assert inspect.getdoc(getattr(kind, member)), f"{name}.{member}"


def test_every_row_says_something() -> None:
    for line in text.splitlines():
        if line.startswith("| `"):
            assert len(line.strip("| ").split(" | ")[1]) > 10, line


def test_a_sentence_ends_where_it_should() -> None:
    def one() -> None:
        """What is e.g. a | b, at 0.5: the
        median. And more.

        Never seen.
        """

    assert public_names.first_sentence(one) == "What is e.g. a \\| b, at 0.5: the median."


def test_every_error_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    for name in PUBLIC:
        if name.endswith("Error"):
            assert f"\n## {name}\n" in page or f"\n### {name}\n" in page, name
