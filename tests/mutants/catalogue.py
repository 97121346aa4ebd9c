"""The mutants: wrong edits of the package, read from the text files beside this one.

    == privacy/parameters.py
    ! tests/contracts/test_exact_grids.py::test_of_scores
    * The factor 2 of the sensitivity is missing.
    ~ cls(value if monotonic else 2 * value, value) => cls(value, value)

`==` names a file of the package, or one class or function of it (`privacy/loss.py:PureDP.to_zcdp`)
where a snippet occurs in several. `!` names the test that kills every mutant of that file below it,
up to the next `!`. A mutant is a sentence that says what is wrong, the true code and the wrong
code, as `ast.unparse` writes them: `~ true => wrong` where both are short, otherwise lines with `-`
and lines with `+` (none where code is only removed).

`*` instead of `#` marks a mutant that makes a stated sensitivity, range, loss or charge false.
`make stated` and every CI run try these, and a test of the everyday tier has to kill them;
`make mutants` tries all. Mutants in postgresql.txt need a server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
ON_SERVER = "postgresql"
_MARKS = {"#": False, "*": True}


@dataclass(frozen=True)
class Mutant:
    """One wrong edit, and the test that has to fail with it."""

    name: str
    file: str
    scope: str
    test: str
    stated: bool
    on_server: bool
    true_lines: list[str] = field(default_factory=list)
    wrong_lines: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The file and the sentence, by which pytest selects: `-k "parameters.py and factor"`."""
        return f"{self.file}: {self.name}"

    @property
    def true(self) -> str:
        return "\n".join(self.true_lines)

    @property
    def wrong(self) -> str:
        return "\n".join(self.wrong_lines)


@cache
def mutants() -> tuple[Mutant, ...]:
    """All of them, in the order of the files."""
    return tuple(each for path in sorted(FOLDER.glob("*.txt")) for each in _read(path))


def for_file(name: str) -> list[str]:
    """The ids of the mutants of a file of the package, such as `privacy/parameters.py`."""
    return [each.id for each in mutants() if each.file == name]


def _read(path: Path) -> Iterator[Mutant]:
    file = scope = test = ""
    mutant: Mutant | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        sign, _, rest = line.partition(" ")
        if sign == "==":
            before, (file, _, scope) = file, rest.partition(":")
            test = test if file == before else ""
        elif sign == "!":
            test = rest
        elif sign in _MARKS and test:
            if mutant:
                yield mutant
            mutant = Mutant(rest, file, scope, test, _MARKS[sign], path.stem == ON_SERVER)
        elif sign == "~" and mutant and not mutant.true_lines:
            true, _, wrong = rest.partition(" =>")
            mutant.true_lines.append(true)
            mutant.wrong_lines.append(wrong.strip())
        elif sign == "-" and mutant and not mutant.wrong_lines:
            mutant.true_lines.append(rest)
        elif sign == "+" and mutant:
            mutant.wrong_lines.append(rest)
        else:
            raise ValueError(f"{path.name}, line {number}: {line}")
    if mutant:
        yield mutant
