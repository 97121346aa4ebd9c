"""Write docs/reference/api.md: every public name, with the first sentence of its docstring.

Run it after a change of a public name or docstring:

    python docs/reference/public_names.py

A test compares the page with what this script would write. The site takes its groups from
here, too, and shows the whole docstring of each name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import discreet

PAGE = Path(__file__).with_name("api.md")

# The namespaces as a reader meets them: its name, title, what is in it.
GROUPS = [
    ("discreet", "The names that most people need", "`import discreet` offers these."),
    ("discreet.questions", "Questions", "What `Session.ask` and `discreet ask` take."),
    ("discreet.session", "What a session says", "Prices, charges and descriptions."),
    ("discreet.release", "What comes out", "The one shape of every answer, and counts beside it."),
    ("discreet.planning", "Planning", "How far off answers will be, and made-up data."),
    ("discreet.models", "Models", "For people who have rows of numbers."),
    ("discreet.mechanisms", "Mechanisms", "The distributions themselves, to choose by hand."),
    ("discreet.accounting", "Accounting", "What many releases cost together."),
    ("discreet.ledger", "Ledgers", "What a ledger says about its budgets."),
    ("discreet.client", "Teams", "A service that others run, asked from Python."),
    ("discreet.auditing", "Auditing", "Looks for privacy violations in any selection code."),
    ("discreet.errors", "Errors", "What can go wrong: [the tree](errors.md) says what to do."),
]

# Public, and imported from where they live: most people never need them.
ELSEWHERE = [
    "discreet.sklearn.PrivateLinearRegression",
    "discreet.sklearn.PrivateLogisticRegression",
    "discreet.sklearn.PrivatePCA",
    "discreet.testing.SeededBits",
    "discreet.accounting.interop.from_dp_event",
    "discreet.accounting.interop.to_dp_event",
    "discreet.accounting.interop.to_privacy_loss_distribution",
]

HEAD = """# Public names

Every public name, by the namespace it is imported from, with the first sentence of its docstring.
`help(discreet.select)` shows the whole of it, and so does the site that `make docs` builds.
It is written by `python docs/reference/public_names.py`.
"""


def names_in(space: str) -> list[str]:
    """The names that a namespace adds to those at the top, functions first, then classes."""
    module = import_module(space)
    found = [name for name in module.__all__ if space == "discreet" or name not in discreet.__all__]
    return sorted(found, key=lambda name: (inspect.isclass(getattr(module, name)), name))


def members_of(kind: type) -> Iterator[tuple[str, object]]:
    """The public methods and properties of a class, those of its bases in discreet included.

    An override without a docstring of its own is not listed: the site has no place for it.
    """
    seen: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("discreet."):
            seen.update(vars(base))
    for name, value in sorted(seen.items()):
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        public = inspect.isfunction(function) or _is_property(function)
        if public and not name.startswith("_") and function.__doc__:
            yield name, function


def _is_property(value: object) -> bool:
    return isinstance(value, property)


def first_sentence(value: object) -> str:
    """The first sentence of a docstring, on one line, as text of a table.

    >>> first_sentence(discreet.mechanisms.SystemBits)
    "The operating system's cryptographic generator, asked anew for every draw."
    """
    text = inspect.getdoc(value) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?]) (?=[A-Z`*])", paragraph)[0]
    return sentence.removesuffix(":").replace("|", "\\|")


def rows_of(space: str, name: str) -> Iterator[str]:
    """The rows of one public name: itself, and its methods."""
    value = getattr(import_module(space), name)
    if isinstance(value, str):
        yield f"| `{name}` | The sentence that an epsilon above 64 needs: {value!r}. |"
        return
    yield f"| `{name}` | {first_sentence(value)} |"
    if inspect.isclass(value) and not issubclass(value, Exception):
        for member, function in members_of(value):
            marks = "" if _is_property(function) else "()"
            yield f"| `{name}.{member}{marks}` | {first_sentence(function)} |"


def section(space: str, title: str, about: str) -> str:
    """A heading and its table."""
    source = "" if space == "discreet" else f"`from {space} import ...`. "
    lines = [f"## {title}", "", f"{source}{about}", "", "| name | what it is |", "|---|---|"]
    for name in names_in(space):
        lines += rows_of(space, name)
    return "\n".join(lines)


def elsewhere() -> str:
    """The names that are not in `discreet` itself."""
    about = "For scikit-learn, tests and other accountants: import them by these names."
    lines = ["## In modules of their own", "", about, "", "| name | what it is |", "|---|---|"]
    for path in ELSEWHERE:
        module, _, name = path.rpartition(".")
        lines.append(f"| `{path}` | {first_sentence(getattr(import_module(module), name))} |")
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    return "\n\n".join([HEAD.strip(), *(section(*each) for each in GROUPS), elsewhere()]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
