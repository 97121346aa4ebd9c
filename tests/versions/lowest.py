"""The lowest version of everything that pyproject.toml asks for, as constraints for pip.

Run as a script, it writes lowest.txt beside it; `make lowest` installs with that file.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
CONSTRAINTS = Path(__file__).parent / "lowest.txt"
_HEAD = "# Written by tests/versions/lowest.py from pyproject.toml: do not edit.\n"
_BESIDE = {"psycopg": "psycopg-binary"}
"""What an extra of a library brings in the same version."""


def requirements() -> dict[str, list[Requirement]]:
    """What is asked for, by extra; "" is what discreet always needs."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    asked = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: list(map(Requirement, lines)) for extra, lines in asked.items()}


def lowest() -> dict[str, set[Version]]:
    """The lower bounds of each library: one, unless two extras disagree."""
    bounds = defaultdict(set)
    for lines in requirements().values():
        for line in lines:
            for rule in line.specifier:
                if rule.operator == ">=":
                    bounds[line.name].add(Version(rule.version))
    return dict(bounds)


def constraints() -> str:
    """The text of lowest.txt."""
    pinned = {name: max(versions) for name, versions in lowest().items()}
    pinned |= {_BESIDE[name]: pinned[name] for name in _BESIDE if name in pinned}
    return _HEAD + "".join(f"{name}=={version}\n" for name, version in sorted(pinned.items()))


if __name__ == "__main__":
    CONSTRAINTS.write_text(constraints(), encoding="utf-8")
