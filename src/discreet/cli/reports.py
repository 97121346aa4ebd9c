"""Files of reports, which `discreet privatize` writes and `discreet estimate` reads.

A file of reports has one column. Its header says which mechanism made the reports, with
which epsilon and categories; a plain `report` is accepted, too. With randomized
response a report is a label. With the other two mechanisms it is a text of the digits 0
and 1, one for each category in their order: a list of labels would need a separator
that no label has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from discreet import NOT_PRIVATE, ParameterError
from discreet.cli.files import local_file, require_column, typed_candidates
from discreet.cli.scores_file import UnreadableFileError, read_rows
from discreet.cli.stated import Typed, parameters_of
from discreet.mechanisms import RandomizedResponse, Rappor, SubsetSelection
from discreet.questions.kinds import Choice
from discreet.questions.question import Parameter
from discreet.tables.files import ending_of

ReportMechanism: TypeAlias = RandomizedResponse | Rappor | SubsetSelection

COLUMN = "report"
"""The column of a file of reports; a header that says more begins with it."""

_MECHANISMS: dict[str, Callable[..., ReportMechanism]] = {
    "randomized-response": RandomizedResponse,
    "rappor": Rappor,
    "subset": SubsetSelection,
}
_HELPS = {
    "epsilon": "The privacy loss of one report.",
    "acknowledge": f"An epsilon above 64 needs the words '{NOT_PRIVATE}'.",
    "size": "With subset, how many categories a report names; the best number by default.",
}

CategoriesOption = Annotated[
    list[str],
    typer.Option(
        "--categories",
        metavar="LIST|FILE",
        help=(
            "The public categories: a,b,c or a file with one on each line, or a CSV file with one "
            "column."
        ),
    ),
]
LOCAL = {
    **parameters_of(SubsetSelection, elsewhere=_HELPS),
    "mechanism": Parameter(
        name="mechanism",
        kind=Choice(words=tuple(_MECHANISMS), metavar="|".join(_MECHANISMS)),
        default="subset",
        help="How a report is made.",
        not_over_http="",
    ),
}
"""The parameters of the mechanisms that make reports."""


def make_local(typed: Typed, categories: Sequence[str]) -> ReportMechanism:
    """The mechanism that was typed, or an error that names the option to change."""
    values = {name: value for name, value in typed.values().items() if name in LOCAL}
    name = values.pop("mechanism")
    if "size" in values and name != "subset":
        rule = "given with --mechanism subset only"
        raise ParameterError("--size", rule, typed.texts["size"], owner=typed.command)
    labels = [
        label
        for part in categories
        for label in typed_candidates(part, typed.command, "--categories")
    ]
    with typed.in_these_words(categories=",".join(categories)):
        return _MECHANISMS[name](categories=labels, **values)


def header(mechanism: ReportMechanism) -> str:
    """The header of a file of reports: which mechanism made them, with which
    parameters.

    >>> header(RandomizedResponse(categories=["yes", "no"], epsilon=1))
    'report mechanism=randomized-response epsilon=1 categories=2 digest=199de2a8'
    """
    named = "\0".join(map(str, mechanism.categories)).encode(errors="surrogatepass")
    (epsilon,) = mechanism.privacy_loss().numbers
    size = getattr(mechanism, "size", None)
    parts = [f"mechanism={mechanism.name}", f"epsilon={epsilon}"]
    parts += [] if size is None else [f"size={size}"]
    parts.append(f"categories={len(mechanism.categories)}")
    # the same categories in another order would give other shares
    return " ".join([COLUMN, *parts, f"digest={hashlib.sha256(named).hexdigest()[:8]}"])


def read_reports(
    file: str, column: str | None, mechanism: ReportMechanism, command: str
) -> list[str | None]:
    """Read the reports of a file. A header that names another mechanism, other
    parameters or other categories is refused.
    """
    if column is not None:
        return read_column(file, column, "REPORTS", command)
    wanted = header(mechanism)
    with local_file(file, command, "REPORTS") as path:
        described = [name for name in _columns(path) if name.startswith(f"{COLUMN} mechanism=")]
        if described and described[0] != wanted:
            raise _described_otherwise(described[0], wanted, command)
        return read_column(path, wanted if described else COLUMN, "REPORTS", command)


def _columns(path: str) -> list[str]:
    try:
        return list(read_rows(path, COLUMN, COLUMN).columns)
    except UnreadableFileError:
        # the error is told when the column is read
        return []


def _described_otherwise(found: str, wanted: str, command: str) -> ParameterError:
    ours = dict(part.partition("=")[::2] for part in wanted.split(" ")[1:])
    theirs = dict(part.partition("=")[::2] for part in found.split(" ")[1:])
    differing = [name for name in ours if ours[name] != theirs.get(name)] or sorted(theirs)
    name = "categories" if differing[0] == "digest" else differing[0]
    option = f"--{name}"
    got = ours["categories"] if name == "categories" else ours.get(name)
    hint = "Another mechanism, or other categories, would give wrong shares."
    rule = "that of the reports, as their header says"
    if name in theirs and name != "categories":
        rule = f"{theirs[name][:40]}, as the header of the reports says"
    return ParameterError(option, rule, got, hint, owner=command)


def read_column(file: str, column: str, argument: str, command: str) -> list[str | None]:
    """Read a column of a file as text.

    argument: how errors name the file.
    """
    name = "standard input" if file == "-" else repr(file)
    with local_file(file, command, argument) as path:
        try:
            table = read_rows(path, column, column)
        except UnreadableFileError:
            kind = ending_of(path).lstrip(".")
            raise ParameterError(
                argument, f"a file that can be read as {kind}", file, owner=command
            ) from None
    require_column(column, table.columns, name, "--column", command)
    return [None if label is None else str(label) for label, _ in table.rows]


def as_texts(reports: NDArray[Any], mechanism: ReportMechanism) -> Iterator[str]:
    """Reports as they are written to a file."""
    if isinstance(mechanism, RandomizedResponse):
        return (mechanism.categories[position] for position in reports.tolist())
    bits = _bits(reports, mechanism)
    return ("".join(row) for row in np.where(bits, "1", "0").tolist())


def as_reports(
    texts: Sequence[str | None], mechanism: ReportMechanism, command: str
) -> NDArray[Any]:
    """Reports as an estimate takes them, from what was written to a file."""
    if isinstance(mechanism, RandomizedResponse):
        positions = {label: position for position, label in enumerate(mechanism.categories)}
        if not all(text in positions for text in texts):
            raise _unlike("labels of the categories", command)
        return np.array([positions[text] for text in texts], dtype=np.int64)
    size = len(mechanism.categories)
    if not all(text is not None and len(text) == size and not text.strip("01") for text in texts):
        raise _unlike(f"texts of {size} digits, 0 or 1, one for each category", command)
    bits = np.array([list(map(int, text)) for text in texts if text], dtype=bool).reshape(
        len(texts), size
    )
    if isinstance(mechanism, Rappor):
        return bits
    # a mechanism that was made has a size
    named = mechanism.size or 0
    if not (bits.sum(axis=1) == named).all():
        raise _unlike(f"texts with {named} times the digit 1", command)
    return np.nonzero(bits)[1].reshape(len(texts), named)


def _bits(reports: NDArray[Any], mechanism: ReportMechanism) -> NDArray[np.bool_]:
    if isinstance(mechanism, Rappor):
        return np.unpackbits(reports, axis=1, count=len(mechanism.categories)).astype(bool)
    bits = np.zeros((len(reports), len(mechanism.categories)), dtype=bool)
    np.put_along_axis(bits, reports.astype(np.int64), True, axis=1)
    return bits


def _unlike(rule: str, command: str) -> ParameterError:
    hint = "Are the categories, the epsilon and the mechanism those of the reports?"
    return ParameterError("REPORTS", f"reports that are {rule}", _Other(), hint, owner=command)


class _Other:
    """A report that breaks the rule, and is not shown."""

    def __repr__(self) -> str:
        return "another one"
