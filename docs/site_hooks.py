"""What the site does beyond the pages themselves, for MkDocs: run by `make docs`.

- a page for each part of the package, with the whole docstring of each public name;
- the results of the benchmarks, which pages link to, are pages of the site, too;
- the navigation, in the order of docs/README.md;
- a search that finds tutorials and how-tos before benchmarks and decisions;
- a refusal to build a page that would load anything from another host.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KINDS = {
    "tutorials": "Tutorials",
    "how-to": "How-to",
    "reference": "Reference",
    "explanation": "Explanation",
    "proofs": "Proofs",
    "decisions": "Decisions",
    "benchmarks": "Benchmarks",
}

# How much the search prefers a kind of pages: who looks for "median" wants to ask for one.
BOOSTS = {
    "tutorials": 8.0,
    "how-to": 6.0,
    "explanation": 1.5,
    "reference": 1.0,
    "proofs": 0.1,
    "decisions": 0.05,
    "benchmarks": 0.05,
}
# These mention everything, or are for few readers.
RARE = {
    "explanation/data-path.md": 0.3,
    "explanation/errata.md": 0.1,
    "explanation/no-row-decides.md": 0.3,
    "explanation/time.md": 0.1,
    "explanation/tour.md": 0.1,
    "how-to/with-others.md": 3.0,
    "reference/command-line.md": 0.3,
}


def boost_of(place: str) -> float:
    """How much the search prefers a page, by its place in the site.

    >>> boost_of("tutorials/first-top-10.md") > boost_of("explanation/tour.md")
    True
    """
    return RARE.get(place, BOOSTS.get(place.partition("/")[0], 4.0))


def _public_names() -> Any:
    """The script that writes the page of public names: it knows the groups."""
    path = ROOT / "docs" / "reference" / "public_names.py"
    spec = importlib.util.spec_from_file_location("public_names", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _page_of(space: str) -> str:
    return f"reference/api-{space.removeprefix('discreet.')}.md"


def _generated() -> dict[str, str]:
    """The pages with whole docstrings, by their place in the site."""
    names = _public_names()
    pages = {}
    for space, title, about in names.GROUPS:
        entries = [f"::: {space}.{name}" for name in names.names_in(space)]
        pages[_page_of(space)] = "\n\n".join([f"# {title}", about, *entries])
    others = [f"::: {path}" for path in names.ELSEWHERE]
    pages[_page_of("elsewhere")] = "\n\n".join(["# In modules of their own", *others])
    return pages


def _navigation(files: list[str]) -> list[Any]:
    """Every page under its kind: as docs/README.md lists them, then the rest by name."""
    listed = re.findall(r"\]\(([^)#]+\.md)\)", (ROOT / "docs" / "README.md").read_text("utf-8"))

    def place(file: str) -> tuple[bool, int, str]:
        # the first page of a folder leads it
        known = listed.index(file) if file in listed else len(listed)
        return not file.endswith("README.md"), known, file

    navigation: list[Any] = ["README.md"]
    for kind, title in KINDS.items():
        pages: list[Any] = sorted(file for file in files if file.startswith(f"{kind}/"))
        pages.sort(key=place)
        if kind == "reference":
            pages.append({"All docstrings": list(_generated())})
        navigation.append({title: pages})
    return navigation


def on_config(config: Any) -> Any:
    """Say which pages there are, before MkDocs looks for them."""
    written = [path.relative_to(ROOT / "docs").as_posix() for path in _pages()]
    results = [f"benchmarks/{path.name}" for path in _results()]
    config.nav = _navigation([*written, *results])
    return config


def _pages() -> list[Path]:
    return sorted((ROOT / "docs").rglob("*.md"))


def _results() -> list[Path]:
    return sorted((ROOT / "benchmarks" / "results").glob("*.md"))


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in docs/."""
    from mkdocs.structure.files import File

    for place, text in _generated().items():
        files.append(File.generated(config, place, content=text))
    for path in sorted((ROOT / "benchmarks" / "results").iterdir()):
        if path.suffix in (".md", ".png"):
            place = f"benchmarks/{path.name}"
            files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to benchmarks to their pages, and public names to their docstrings."""
    page.meta.setdefault("search", {})["boost"] = boost_of(page.file.src_uri)
    markdown = markdown.replace("../../benchmarks/results/", "../benchmarks/")
    markdown = with_lists(without_repository(markdown, Path(page.file.src_uri)))
    if page.file.src_uri == "reference/api.md":
        return re.sub(r"^\| `([\w.]+)(\(\))?` \|", _linked, markdown, flags=re.MULTILINE)
    return markdown


def without_repository(markdown: str, place: Path) -> str:
    """The text of links to files of the repository that are no pages, such as SECURITY.md.

    >>> without_repository("[a](../../SECURITY.md) [b](../b.md) [c](#c)", Path("explanation/x.md"))
    'a [b](../b.md) [c](#c)'
    """
    deep = len(place.parts)
    return re.sub(rf"\[([^]]+)\]\((?:\.\./){{{deep}}}[^)]+\)", r"\1", markdown)


ITEM = re.compile(r"( *)(?:-|\d+\.) ")


def with_lists(markdown: str) -> str:
    """Lists as MkDocs needs them: after an empty line, and four spaces for each level.

    GitHub needs neither, and the pages are written for both.

    >>> with_lists("Covers\\n- one\\n  - two\\n```\\na\\n- b\\n```")
    'Covers\\n\\n- one\\n    - two\\n```\\na\\n- b\\n```'
    """
    lines: list[str] = []
    fenced = listed = False
    for line in markdown.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        item = None if fenced else ITEM.match(line)
        if item is not None:
            if lines and lines[-1].strip() and not listed:
                lines.append("")
            line = item[1] + line
        # a line that goes on with an item belongs to the list
        listed = item is not None or (listed and line.startswith(" "))
        lines.append(line)
    return "\n".join(lines)


@cache
def _spaces() -> dict[str, str]:
    """The namespace of each public name."""
    names = _public_names()
    return {name: space for space, _, _ in names.GROUPS for name in names.names_in(space)}


def _linked(row: re.Match[str]) -> str:
    name, marks = row[1], row[2] or ""
    own, dot, member = name.partition(".")
    full = name if own == "discreet" else f"{_spaces().get(own, 'discreet')}.{own}{dot}{member}"
    return f"| [`{name}{marks}`][{full}] |"


# What a browser fetches by itself, other than a link that a reader follows.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio)[^>]*?\ssrc=[\"']?(?:https?:)?//[^\"'\s>]+"
    r"|<link[^>]*?\shref=[\"']?(?:https?:)?//[^\"'\s>]+"
    r"|url\([\"']?(?:https?:)?//[^)]+"
)


def on_post_build(config: Any) -> None:
    """Fail if any page would load something from another host."""
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix in (".html", ".css"):
            found = FETCHED.search(path.read_text(encoding="utf-8"))
            if found:
                raise SystemExit(f"{path.name} would load from another host: {found[0]}")
