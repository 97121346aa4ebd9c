"""Reports in files: what `discreet privatize` writes is what `discreet estimate` reads.

A file of reports has one column, `report`. With randomised response a report is a label. With the other two it is a text of 0 and
1, one for each category in their order, because any label could be in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeAlias, cast

import numpy as np
import typer
from numpy.typing import NDArray

from discreet import ParameterError, RandomizedResponse, Rappor, SubsetSelection
from discreet.cli.candidates import read_candidates
from discreet.cli.formats import UnreadableFileError, read_rows
from discreet.cli.numbers import count_option
from discreet.cli.request import Request
from discreet.cli.table import local_file, require_column
from discreet.data.files import ending_of

LocalMechanism: TypeAlias = RandomizedResponse | Rappor | SubsetSelection

COLUMN = "report"
"""The column of a file of reports."""

_MECHANISMS: dict[str, type[LocalMechanism]] = {
    "randomized-response": RandomizedResponse,
    "rappor": Rappor,
    "subset": SubsetSelection,
}
_NAMES = ", ".join(_MECHANISMS)

CategoriesOption = Annotated[
    str,
    typer.Option(
        "--categories",
        metavar="LIST|FILE",
        help="The public categories: a,b,c or a file with one on each line, or a CSV file with one column.",
    ),
]
LocalMechanismName = Annotated[str, typer.Option("--mechanism", metavar="NAME", help=f"One of {_NAMES}.")]
Size = Annotated[
    str | None,
    typer.Option(
        "--size", metavar="COUNT", help="With subset, how many categories a report names; left out, the best number."
    ),
]


def make_local(
    name: str, categories: str, epsilon: str, size: str | None, acknowledge: str | None, command: str
) -> LocalMechanism:
    """The mechanism of this name with these options, or an error that names the option to change."""
    if name not in _MECHANISMS:
        raise ParameterError(command, "--mechanism", f"one of {_NAMES}", name)
    if size is not None and name != "subset":
        raise ParameterError(command, "--size", "given with --mechanism subset only", size)
    words: dict[str, Any] = {} if size is None else {"size": count_option(size, "--size", command)}
    try:
        labels = read_candidates(categories, command)
    except ParameterError as error:
        raise ParameterError(command, "--categories", error.rule, error.got, error.hint) from None
    request = Request(command=command, epsilon=epsilon, acknowledge=acknowledge)
    made: Any = request.made(_MECHANISMS[name], categories=labels, **words)
    return cast(LocalMechanism, made)


def read_column(file: str, column: str, argument: str, command: str) -> list[str | None]:
    """The --column of a file, as text; `argument` is the word for the file."""
    name = "standard input" if file == "-" else repr(file)
    with local_file(file, command, argument) as path:
        try:
            table = read_rows(path, column, column)
        except UnreadableFileError:
            kind = ending_of(path).lstrip(".")
            raise ParameterError(command, argument, f"a file that can be read as {kind}", file) from None
    require_column(column, table.columns, name, "--column", command)
    return [None if label is None else str(label) for label, _ in table.rows]


def as_texts(reports: NDArray[Any], mechanism: LocalMechanism) -> Iterator[str]:
    """Reports as they are written to a file."""
    if isinstance(mechanism, RandomizedResponse):
        return (mechanism.categories[position] for position in reports.tolist())
    bits = _bits(reports, mechanism)
    return ("".join(row) for row in np.where(bits, "1", "0").tolist())


def as_reports(texts: Sequence[str | None], mechanism: LocalMechanism, command: str) -> NDArray[Any]:
    """Reports as an estimate takes them, from what was written to a file."""
    if isinstance(mechanism, RandomizedResponse):
        positions = {label: position for position, label in enumerate(mechanism.categories)}
        if not all(text in positions for text in texts):
            raise _unlike("labels of the categories", command)
        return np.array([positions[text] for text in texts], dtype=np.int64)
    size = len(mechanism.categories)
    if not all(text is not None and len(text) == size and not text.strip("01") for text in texts):
        raise _unlike(f"texts of {size} digits, 0 or 1, one for each category", command)
    bits = np.array([list(map(int, text)) for text in texts if text], dtype=bool).reshape(len(texts), size)
    if isinstance(mechanism, Rappor):
        return bits
    named = mechanism.size or 0  # which is never None in a mechanism that was made
    if not (bits.sum(axis=1) == named).all():
        raise _unlike(f"texts with {named} times the digit 1", command)
    return np.nonzero(bits)[1].reshape(len(texts), named)


def _bits(reports: NDArray[Any], mechanism: LocalMechanism) -> NDArray[np.bool_]:
    if isinstance(mechanism, Rappor):
        return np.unpackbits(reports, axis=1, count=len(mechanism.categories)).astype(bool)
    bits = np.zeros((len(reports), len(mechanism.categories)), dtype=bool)
    np.put_along_axis(bits, reports.astype(np.int64), True, axis=1)
    return bits


def _unlike(rule: str, command: str) -> ParameterError:
    hint = "Are the categories, the epsilon and the mechanism those of the reports?"
    return ParameterError(command, "REPORTS", f"reports that are {rule}", _Other(), hint)


class _Other:
    """A report that is not like that, and is not shown."""

    def __repr__(self) -> str:
        return "another one"
