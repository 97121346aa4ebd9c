"""One question, one name: two spellings of the same question have one digest, and any
change of its meaning gives another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from discreet.service.conditions import canonical_where, condition
from discreet.service.manifest import Column, Dataset
from discreet.service.problems import RefusedError, invalid
from discreet.service.questions import Asked, Strict, body_of, given, takes, written
from discreet.service.rules import first_mistake
from discreet.service.stronger import family_of

RULES = 1
"""Raised whenever the same form would come to mean another question."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that was read and checked against the manifest; no row was read.

    form: the question as JSON, in its only spelling.
    options: what the session's method is called with, beside the column.
    """

    dataset: str
    what: str
    column: str | None
    windows: tuple[str, ...]
    form: Mapping[str, Any]
    options: Mapping[str, Any]
    fresh: bool
    again: bool
    or_stronger: bool

    @property
    def family(self) -> str:
        """The name of all questions whose answers may be part of each other."""
        return digest_of(family_of(self.form))

    @property
    def epsilon(self) -> Fraction:
        """How much is asked for; 0 where a question has no epsilon."""
        return Fraction(self.form.get("epsilon", 0))

    @cached_property
    def digest(self) -> str:
        """The name of the question."""
        return digest_of(self.form)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What comes before the options in the call."""
        return () if self.column is None else (self.column,)


def digest_of(form: Mapping[str, Any] | Sequence[Any]) -> str:
    """A digest of something in JSON."""
    text = json.dumps(form, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_question(name: str, dataset: Dataset, body: Any) -> Question:
    """Read a question to a data set; a public mistake is refused with its place and rule."""
    what = body.get("what") if isinstance(body, dict) else None
    allowed = _asked_about(dataset)
    if not isinstance(what, str) or what not in allowed:
        raise invalid("/what", f"one of {', '.join(sorted(allowed))}")
    asked = read_body(body_of(what), body)
    column = getattr(asked, "column", None)
    if takes(what, "column") and what not in dataset.column.get(column or "", Column()).ask:
        raise invalid("/column", f"a column of this data set with {what}")
    windows = _windows(dataset, asked)
    values = given(asked, what)
    where = canonical_where(asked.where, dataset.column)
    labels = _labels(dataset, what, column, values)
    form = _form(name, dataset, what, column, windows, where, labels, values)
    options = _options(dataset, what, column, where, labels, values)
    return Question(
        dataset=name,
        what=what,
        column=column,
        windows=windows,
        form=form,
        options=options,
        fresh=asked.fresh,
        again=asked.again,
        or_stronger=asked.or_stronger,
    )


def read_body(model: type[Strict], body: Any) -> Any:
    """A body as its model; what is wrong is said without the value."""
    if not isinstance(body, dict):
        raise invalid("", "one JSON object")
    try:
        return model.model_validate(body)
    except ValidationError as error:
        wrong = _first(error)
    raise wrong


def _first(error: ValidationError) -> RefusedError:
    kind, place, rule = first_mistake(error)
    if kind == "extra_forbidden":
        # the name is the caller's text
        place, rule = place[:-1], "an object with documented names only"
    return invalid("".join(f"/{part}" for part in place), rule)


def _asked_about(dataset: Dataset) -> set[str]:
    declared = {what for column in dataset.column.values() for what in column.ask}
    return declared | set(dataset.ask)


def _windows(dataset: Dataset, asked: Asked) -> tuple[str, ...]:
    if dataset.window is None:
        if asked.windows is not None:
            raise invalid("/windows", "left out: this data set has no windows")
        return ()
    if asked.windows is None:
        raise invalid("/windows", f"a list of windows, each a {dataset.window.every}")
    return tuple(sorted(set(asked.windows)))


def _labels(
    dataset: Dataset, what: str, column: str | None, values: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The public candidates of a question; none where its domain is unknown."""
    if column is None or not takes(what, "candidates") or "limit" in values:
        return ()
    return dataset.column[column].labels


def _form(
    name: str,
    dataset: Dataset,
    what: str,
    column: str | None,
    windows: tuple[str, ...],
    where: list[dict[str, Any]],
    labels: tuple[Any, ...],
    values: Mapping[str, Any],
) -> dict[str, Any]:
    form: dict[str, Any] = {"rules": RULES, "dataset": name, "as_of": dataset.as_of, "what": what}
    form |= {"column": column} if column is not None else {}
    form |= {"windows": list(windows)} if windows else {}
    form |= {"where": where} if where else {}
    if labels and column is not None:
        digest = dataset.column[column].labels_digest
        form["candidates"] = {"number": len(labels), "digest": digest}
    if column is not None and takes(what, "split") and dataset.column[column].split is not None:
        # the manifest says it, and other items in a cell are another question
        form["split"] = dataset.column[column].split
    return form | written(values)


def _label(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _options(
    dataset: Dataset,
    what: str,
    column: str | None,
    where: list[dict[str, Any]],
    labels: tuple[Any, ...],
    values: Mapping[str, Any],
) -> dict[str, Any]:
    options: dict[str, Any] = {**values, "where": condition(where)}
    if "prices" in options:
        # they are labels of the answer, which JSON has to hold
        options["prices"] = [_label(price) for price in options["prices"]]
    if labels:
        options["candidates"] = labels
    if column is not None and takes(what, "split"):
        options["split"] = dataset.column[column].split
    return options
