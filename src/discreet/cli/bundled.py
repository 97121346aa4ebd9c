"""The demo's tables by name, so that its commands can be typed anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files

BUNDLED = {"demo:reads": "reads.csv.gz", "demo:articles": "articles.txt"}
"""The files in the package, by the names that can be typed for them."""


@contextmanager
def unbundled(path: str) -> Iterator[str]:
    """The path itself, or that of the file in the package which it names."""
    if path not in BUNDLED:
        yield path
        return
    with as_file(files("discreet.cli.data") / BUNDLED[path]) as file:
        yield str(file)
