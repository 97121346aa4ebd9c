"""The manifest: what a steward publishes, as a file, so that publishing is a reviewed
change.

An error names the line of the file. `explored` makes the manifest for one file of one's
own, in which every column but the person can be asked about.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from discreet import (
    ApproxDP,
    CsvFile,
    DiscreetError,
    Ledger,
    Loss,
    ParameterError,
    Person,
    PureDP,
    Session,
)
from discreet.ledger.address import read_address
from discreet.questions import QUESTIONS as CLASSES
from discreet.service.ceiling import Ceiling
from discreet.service.problems import NAME, NAME_RULE, first_mistake
from discreet.service.questions import QUESTIONS, Exact, make_loss

_NAME = re.compile(NAME)
_DURATION = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s|m)")
_SECONDS = {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60)}
_MOST_CANDIDATES = 1_000_000
_PLACE = re.compile(r" \(at (?:line ([0-9]+), column [0-9]+|end of document)\)$")


_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")


def _read_duration(value: Any) -> Fraction:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    seconds = Fraction(found[1]) * _SECONDS[found[2]] if found else Fraction(0)
    if not Fraction(1, 100) <= seconds <= 3600:
        raise ValueError('a time from 10 ms to 60 minutes, such as "2s" or "500ms"')
    return seconds


def _read_values(value: Any) -> Any:
    if value in ("range", "any") or (
        isinstance(value, list)
        and 0 < len(value) <= 1000
        and all(isinstance(each, (str, int)) for each in value)
        and len({type(each) for each in value}) == 1
        and len(set(value)) == len(value)
    ):
        return value
    raise ValueError('a list of different public values of one kind, "range" or "any"')


def _read_candidates(value: Any) -> Any:
    if isinstance(value, str) or (
        isinstance(value, list)
        and len({type(each) for each in value}) <= 1
        and all(type(each) in (str, int) for each in value)
    ):
        return value
    raise ValueError("a list of labels of one kind, or a file with one on each line")


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True
    )


class Budget(_Part):
    """What may be spent: epsilon, with or without a delta, or rho."""

    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None

    @model_validator(mode="after")
    def _is_a_loss(self) -> Budget:
        try:
            make_loss(self.epsilon, self.delta, self.rho)
        except ParameterError as error:
            raise ValueError(f"a budget whose {error.name} is {error.rule}") from None
        return self

    @property
    def loss(self) -> Loss:
        """The budget as a loss."""
        return make_loss(self.epsilon, self.delta, self.rho)


class Window(_Part):
    """How the data are cut into windows, each with a budget of its own."""

    column: str
    every: Literal["day", "week", "month", "quarter", "year"]


class Column(_Part):
    """What may be done with a column.

    ask: the questions about it.
    candidates: public labels: a list, or a file with one on each line.
    filter: public values to filter by; "range" for numbers and days; "any" for text
        that the analyst types.
    split: the character between the items of a cell that lists several.
    """

    ask: list[str] = []
    candidates: Annotated[Any, BeforeValidator(_read_candidates)] = None
    filter: Annotated[Any, BeforeValidator(_read_values)] = None
    split: str | None = None
    _labels: tuple[str | int, ...] = PrivateAttr(default=())

    @property
    def labels(self) -> tuple[str | int, ...]:
        """The candidates themselves."""
        return self._labels

    @cached_property
    def labels_digest(self) -> str:
        """A digest of the candidates."""
        return labels_digest(self.labels)


def labels_digest(labels: Sequence[str | int]) -> str:
    """A digest of labels, whatever their order."""
    named = sorted([type(label).__name__, str(label)] for label in labels)
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


class Dataset(_Part):
    """A published data set.

    persons: a public, rounded number, for previews.
    as_of: a public label of the version; never derived from the file.
    ask: questions about no column, such as how many persons there are.
    reply_after: the time after which replies come, whatever the rows are.
    time_limit: the time after which a question is ended, and has failed.
    decimal, numbers_in_text: as in a `CsvFile` and a `Session`: how numbers are written in
        text. Without them nobody can ask text for numbers.
    largest_k, largest_limit: the largest `k` and `limit` of a question: they say how much
        work it is, whatever it costs.
    """

    title: str = Field(max_length=200)
    source: str
    table: str | None = None
    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    numbers_in_text: bool | list[str] = False
    person: str
    persons: int = Field(gt=0, le=10**12)
    budget: Budget
    largest_question: Budget | None = None
    as_of: str = Field(min_length=1, max_length=60)
    window: Window | None = None
    reply_after: Annotated[Fraction, BeforeValidator(_read_duration)] = Fraction(2)
    time_limit: Annotated[Fraction | None, BeforeValidator(_read_duration)] = None
    largest_k: int = Field(default=10_000, gt=0, le=10**7)
    largest_limit: int = Field(default=1_000_000, gt=0, le=10**7)
    ask: list[str] = []
    column: dict[str, Column]
    share: dict[str, Budget] = {}

    @property
    def ceiling(self) -> Ceiling | None:
        """The most that one question may cost; None where anything may."""
        if self.largest_question is None:
            return None
        return Ceiling(self.largest_question.loss, self.budget.loss)


class _Whole(_Part):
    dataset: dict[str, Dataset] = Field(min_length=1)


class ManifestError(DiscreetError):
    """A manifest breaks a rule. The message names the file, the line and the rule."""


class Manifest:
    """The data sets of a manifest, by name.

    path: the file. Sources and lists of candidates are found beside it.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.datasets: dict[str, Dataset] = {}
        for name, dataset in self._read().items():
            self._check(name, dataset)
            self.datasets[name] = dataset

    @classmethod
    def load(cls, path: str | Path) -> Manifest:
        """Read a manifest. A mistake in it is an error that names its line."""
        place = Path(path)
        try:
            # some editors begin a file with a byte order mark
            text = place.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise ManifestError(f"{place.name} cannot be read: {reason}.") from None
        return cls(place, text)

    def source(self, name: str) -> str | Path | CsvFile:
        """Where the rows of a data set are."""
        dataset = self.datasets[name]
        where = dataset.source
        if where.startswith("env:"):
            variable = where.removeprefix("env:")
            where = os.environ.get(variable, "")
            if not where:
                rule = f"needs the environment variable {variable}"
                raise self.error(["dataset", name, "source"], rule)
        place = str(self.path.parent / where)
        names = ("separator", "encoding", "decimal")
        written = {name: getattr(dataset, name) for name in names}
        said: dict[str, Any] = {word: value for word, value in written.items() if value is not None}
        return CsvFile(place, **said) if said else place

    def error(self, path: Sequence[str], rule: str) -> ManifestError:
        """The error about what the manifest says at a path, with its line."""
        line = line_number(self.text, path)
        return ManifestError(f"{self.path.name}, line {line}: {'.'.join(path)} {rule}.")

    def _read(self) -> dict[str, Dataset]:
        try:
            return _Whole.model_validate(tomllib.loads(self.text)).dataset
        except tomllib.TOMLDecodeError as error:
            raise self._no_toml(str(error)) from None
        except ValidationError as error:
            kind, place, rule = first_mistake(error)
        path = [str(each) for each in place]
        raise self.error(path, _SAID.get(kind, f"must be {rule}"))

    def _no_toml(self, said: str) -> ManifestError:
        found = _PLACE.search(said)
        line = found[1] if found and found[1] else len(self.text.splitlines()) or 1
        return ManifestError(f"{self.path.name}, line {line}: not TOML: {_PLACE.sub('', said)}.")

    def _check(self, name: str, dataset: Dataset) -> None:
        here = ["dataset", name]
        if not _NAME.fullmatch(name):
            raise self.error(here, f"must be {NAME_RULE}")
        if dataset.person in dataset.column:
            rule = "is the person column, so nobody can ask about it or filter by it"
            raise self.error([*here, "column", dataset.person], rule)
        if dataset.window is not None and dataset.window.column == dataset.person:
            rule = "is the person column, so it cannot have windows"
            raise self.error([*here, "window", "column"], rule)
        for analyst in dataset.share:
            if not _NAME.fullmatch(analyst):
                raise self.error([*here, "share", analyst], f"must be {NAME_RULE}")
        for what in dataset.ask:
            if what not in QUESTIONS or "column" in CLASSES[what].takes:
                raise self.error([*here, "ask"], "must be questions that are not about a column")
        for column, said in dataset.column.items():
            self._check_column([*here, "column", column], said)

    def _check_column(self, here: list[str], column: Column) -> None:
        for what in column.ask:
            if what not in QUESTIONS:
                raise self.error([*here, "ask"], f"must be among {', '.join(QUESTIONS)}")
            if "column" not in CLASSES[what].takes:
                rule = (
                    f"has {what}, which is not about a column: list it under {'.'.join(here[:2])}"
                )
                raise self.error([*here, "ask"], rule)
            if CLASSES[what].needs_candidates and column.candidates is None:
                raise self.error([*here, "ask"], f"has {what}, which needs candidates")
        column._labels = self._labels(here, column.candidates)

    def _labels(self, here: list[str], said: Any) -> tuple[Any, ...]:
        if isinstance(said, str):
            try:
                text = (self.path.parent / said).read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError):
                raise self.error([*here, "candidates"], "must be a file of UTF-8 text") from None
            said = [line.strip() for line in text.splitlines() if line.strip()]
        labels = tuple(said or ())
        if said is not None and not 0 < len(labels) <= _MOST_CANDIDATES:
            raise self.error([*here, "candidates"], f"must be 1 to {_MOST_CANDIDATES:,} labels")
        if len(set(labels)) < len(labels):
            raise self.error([*here, "candidates"], "must be different from each other")
        return labels


_SAID = {"missing": "is missing", "extra_forbidden": "is not a known key of a manifest"}


def line_number(text: str, path: Sequence[str]) -> int:
    """The number of the line that says what is at a path, or at the longest beginning
    of the path that the text has; 1 if it has none.

    >>> line_number("[dataset.reads]\\ntitle = 'a'\\nperson = 1\\n", ["dataset", "reads", "person"])
    3
    """
    best, found, table = 0, 1, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _header(line)
        key = _KEY.match(line)
        if header is not None:
            table = here = header
        elif key is not None:
            here = [*table, *_path(f"{key[1]} = 0")]
        else:
            continue
        shared = _shared(here, path)
        if shared > best and (shared == len(here) or header is not None):
            best, found = shared, number
    return found


def _header(line: str) -> list[str] | None:
    if not line.lstrip().startswith("["):
        return None
    try:
        return _path(line)
    except tomllib.TOMLDecodeError:
        # not a header: a list that goes on
        return None


def _path(line: str) -> list[str]:
    """The keys on the way to the only value of a line of TOML."""
    here, names = tomllib.loads(line), list[str]()
    while isinstance(here, dict) and here:
        (name,) = here
        names.append(name)
        here = here[name]
    return names


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length


ME = "me"
"""The name of the one person who explores a file, in both roles."""
DATASET = "file"
_NUMBERS = ("Int", "UInt", "Float", "Decimal")
_TIMES = ("Date", "Datetime")


def explored(path: Path, *, person: str, budget: Loss, persons: int, as_of: str) -> Manifest:
    """Make the manifest for a file. Only its columns and their types are looked at."""
    with Session(str(path), unit=Person(person), budget=budget) as session:
        columns = session.columns
    words = {
        "title": path.name,
        "source": str(path.resolve()),
        "person": person,
        "as_of": as_of,
        "reply_after": "500ms",
    }
    lines = [f"[dataset.{DATASET}]", *(f"{name} = {_text(said)}" for name, said in words.items())]
    lines += [f"persons = {persons}", f"budget = {_budget(budget)}"]
    for column, kind in columns.items():
        if column != person:
            lines += [f"[dataset.{DATASET}.column.{_text(column)}]", *_said(kind)]
    lines += [f"[dataset.{DATASET}.share]", f"{ME} = {_budget(budget)}"]
    return Manifest(path.with_name("discreet.toml"), "\n".join(lines) + "\n")


def kept_budget(address: str, anchor_file: str | None = None) -> Loss | None:
    """The budget of a file that was explored before; None if it was not."""
    if read_address(address).is_new:
        return None
    with Ledger(address, create=False, anchor_file=anchor_file) as ledger:
        return next((each.budget for each in ledger.accounts() if each.dataset == DATASET), None)


def _said(kind: str) -> list[str]:
    if kind.startswith(_NUMBERS):
        return ['ask = ["quantile", "quantiles", "best_price"]', 'filter = "range"']
    if kind.startswith(_TIMES):
        return ['filter = "range"']
    if kind.startswith(("String", "Categorical", "Enum")):
        return ['ask = ["top_k"]', 'filter = "any"']
    return []


def _text(text: str) -> str:
    """A text as TOML writes it: unlike JSON, without pairs of surrogates and without DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _budget(budget: Loss) -> str:
    assert isinstance(budget, (PureDP, ApproxDP))
    delta = f', delta = "{budget.delta}"' if isinstance(budget, ApproxDP) else ""
    return f'{{ epsilon = "{budget.epsilon}"{delta} }}'
