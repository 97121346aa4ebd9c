"""The canonical form of a question: two spellings of the same question have one digest,
and any change of its meaning gives another. Which rows count is part of the question:
conditions on declared columns with public values, all of which must hold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

from pydantic import ValidationError

import discreet
from discreet import ParameterError
from discreet.questions import QUESTIONS, Question
from discreet.questions.runner import Charge
from discreet.service.answer_parts import family_of
from discreet.service.manifest import Column, Dataset, labels_digest
from discreet.service.problems import RefusedError, first_mistake, invalid
from discreet.service.questions import (
    Asked,
    Strict,
    Where,
    names_of,
    read_parameters,
    written,
)

RULES = 2
"""The version of the canonical form, raised when a form comes to mean something else."""
# more of them are not listed in a refusal
_MANY = 20


@dataclass(frozen=True, kw_only=True)
class CheckedQuestion:
    """A question that was read and checked against the manifest; no row was read.

    form: the question as JSON, in its only spelling.
    options: the arguments of the session's method, beside the column.
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
        """The digest that all questions share whose answers may be part of each other."""
        return digest_of(family_of(self.form))

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of the question; 0 if it has none."""
        return Fraction(self.form.get("epsilon", 0))

    @cached_property
    def digest(self) -> str:
        """The digest of the question's canonical form."""
        return digest_of(self.form)

    def ask(self, session: discreet.Session, charge: Charge) -> None:
        """Ask it anew: the ledger, not the session, knows what was answered before, because
        other workers answer questions, too.

        charge: takes its cost from the ledger.
        """
        session._ask_charged_by(self._question, charge)

    def price(self, session: discreet.Session) -> discreet.session.Price:
        """What it costs in a session."""
        return session.price(self._question)

    @cached_property
    def _question(self) -> Question:
        """The question as a value."""
        about: dict[str, Any] = {} if self.column is None else {"column": self.column}
        return QUESTIONS[self.what](**about, **self.options)


def digest_of(form: Mapping[str, Any] | Sequence[Any]) -> str:
    """A digest of JSON."""
    text = json.dumps(form, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_question(name: str, dataset: Dataset, body: Any) -> CheckedQuestion:
    """Read a question to a data set. A mistake is refused with its place and the rule."""
    what = body.get("what") if isinstance(body, dict) else None
    allowed = _asked_about(dataset)
    if not isinstance(what, str) or what not in allowed:
        raise invalid("/what", f"one of {', '.join(sorted(allowed))}")
    own = names_of(what)
    rest = {name: value for name, value in body.items() if name not in own}
    asked = read_body(Asked, rest, [*own, *Asked.model_fields])
    column = body.get("column")
    if "column" in own and not (
        isinstance(column, str) and what in dataset.column.get(column, Column()).ask
    ):
        asked_for = [each for each in dataset.column if what in dataset.column[each].ask]
        raise invalid("/column", _one_of(asked_for, f"a column that {what} may be asked about"))
    windows = _windows(dataset, asked)
    values = read_parameters(what, body)
    _require_short(dataset, values)
    _require_split(dataset, column, values)
    where = canonical_where(asked.where, dataset.column)
    labels = _labels(dataset, what, column, values)
    form = _form(name, dataset, what, column, windows, where, labels, values)
    options = _options(dataset, what, column, where, labels, values)
    return CheckedQuestion(
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


def _require_short(dataset: Dataset, values: Mapping[str, Any]) -> None:
    """Refuse a list that is longer than the manifest allows."""
    for name, most in (("k", dataset.largest_k), ("limit", dataset.largest_limit)):
        if (values.get(name) or 0) > most:
            raise invalid(f"/{name}", f"at most {most:,}")


def read_body(model: type[Strict], body: Any, names: Sequence[str] | None = None) -> Any:
    """Read a body as its model. A mistake is refused without its value.

    names: those that a refusal lists; left out, those of the model.
    """
    if not isinstance(body, dict):
        raise invalid("", "one JSON object")
    try:
        return model.model_validate(body)
    except ValidationError as error:
        wrong = _first(error, names or list(model.model_fields))
    raise wrong


def _first(error: ValidationError, names: Sequence[str]) -> RefusedError:
    kind, place, rule = first_mistake(error)
    if kind == "extra_forbidden":
        # the last part is the name, which is the caller's text, so it is not repeated
        place, rule = place[:-1], "an object with documented names only"
        if not place:
            rule += f": {', '.join(names)}"
    return invalid("".join(f"/{part}" for part in place), rule)


def _asked_about(dataset: Dataset) -> set[str]:
    declared = {what for column in dataset.column.values() for what in column.ask}
    return declared | set(dataset.ask)


def _windows(dataset: Dataset, asked: Asked) -> tuple[str, ...]:
    if dataset.window is None:
        if asked.windows is not None:
            raise invalid("/windows", "left out, because this data set has no windows")
        return ()
    if asked.windows is None:
        raise invalid("/windows", f"a list of windows, each a {dataset.window.every}")
    return tuple(sorted(set(asked.windows)))


def _labels(
    dataset: Dataset, what: str, column: str | None, values: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The public candidates of a question; none if its domain is unknown."""
    if column is None or "candidates" not in QUESTIONS[what].takes or "limit" in values:
        return ()
    declared, wanted = dataset.column[column].labels, values.get("candidates")
    if wanted is None:
        return declared
    known = {(type(label), label) for label in declared}
    if not all((type(label), label) in known for label in wanted):
        raise invalid("/candidates", "some of those that the data set declares for this column")
    return tuple(wanted)


def _require_split(dataset: Dataset, column: str | None, values: Mapping[str, Any]) -> None:
    """Refuse another way to split the cells than the one that the data set declares."""
    if "split" in values and (column is None or values["split"] != dataset.column[column].split):
        raise invalid("/split", "left out, or what the data set declares for this column")


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
        declared = dataset.column[column]
        digest = declared.labels_digest if labels is declared.labels else labels_digest(labels)
        form["candidates"] = {"number": len(labels), "digest": digest}
    if (
        column is not None
        and "split" in QUESTIONS[what].takes
        and dataset.column[column].split is not None
    ):
        # another way to split cells would be another question
        form["split"] = dataset.column[column].split
    said = {name: value for name, value in values.items() if name not in ("candidates", "split")}
    return form | written(what, said)


def _options(
    dataset: Dataset,
    what: str,
    column: str | None,
    where: list[dict[str, Any]],
    labels: tuple[Any, ...],
    values: Mapping[str, Any],
) -> dict[str, Any]:
    options: dict[str, Any] = {**values, "where": condition(where)}
    if labels:
        options["candidates"] = labels
    return options | {"split": split} if (split := _split(dataset, what, column)) else options


def _split(dataset: Dataset, what: str, column: str | None) -> str | None:
    """What the data set declares to be between the items of a cell."""
    takes = column is not None and "split" in QUESTIONS[what].takes
    return dataset.column[str(column)].split if takes else None


def canonical_where(
    conditions: Sequence[Where], columns: Mapping[str, Column]
) -> list[dict[str, Any]]:
    """The conditions as JSON, one spelling for each meaning: sorted, one for each
    column.

    A column that is unknown and one that may not be filtered by are refused alike.
    """
    read = [_read(place, each, columns) for place, each in enumerate(conditions)]
    found = [
        part
        for column in {each["column"] for each in read}
        for part in _merged([each for each in read if each["column"] == column])
    ]
    texts = sorted({json.dumps(each, sort_keys=True) for each in found})
    return [json.loads(text) for text in texts]


def _merged(read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All conditions on one column as one condition; unchanged if no value can satisfy
    them, or if some are about numbers and others about days.
    """
    column = {"column": read[0]["column"]}
    if "is" in read[0]:
        # compared as text, because 1 == True in Python
        texts = [{json.dumps(value) for value in each["is"]} for each in read]
        shared = [json.loads(text) for text in sorted(set.intersection(*texts))]
        return [{**column, "is": shared}] if shared else read
    edges = {
        name: [_edge(each[name]) for each in read if name in each] for name in ("at_least", "below")
    }
    if len({type(edge) for some in edges.values() for edge in some}) > 1:
        return read
    nearest = {name: max if name == "at_least" else min for name in edges}
    said = {name: str(nearest[name](some)) for name, some in edges.items() if some}
    return [{**column, **said}]


def _one_of(names: Sequence[str], rule: str) -> str:
    """A rule that lists the names there are, where they are few enough to be read."""
    return f"one of {', '.join(names)}" if 0 < len(names) <= _MANY else rule


def _read(place: int, where: Where, columns: Mapping[str, Column]) -> dict[str, Any]:
    here = f"/where/{place}"
    allowed = columns[where.column].filter if where.column in columns else None
    if allowed is None:
        filtered = [each for each in columns if columns[each].filter is not None]
        raise invalid(f"{here}/column", _one_of(filtered, "a column that can be filtered by"))
    edges = {"at_least": where.at_least, "below": where.below}
    if allowed == "range":
        said = {name: str(edge) for name, edge in edges.items() if edge is not None}
        if where.values is not None or not said:
            raise invalid(here, "at_least or below, or both, for this column")
        if len({type(edge) for edge in edges.values() if edge is not None}) > 1:
            raise invalid(here, "two numbers or two days")
        return {"column": where.column, **said}
    if where.values is None or any(edge is not None for edge in edges.values()):
        raise invalid(here, "a list of public values, as 'is', for this column")
    rule = "values that the data set declares for this column"
    if allowed == "any":
        allowed, rule = [value for value in where.values if isinstance(value, str)], "text"
    for value in where.values:
        if not any(type(value) is type(each) and value == each for each in allowed):
            declared = [] if rule == "text" else [json.dumps(each) for each in allowed]
            raise invalid(f"{here}/is", _one_of(declared, rule))
    texts = sorted({json.dumps(value) for value in where.values})
    return {"column": where.column, "is": [json.loads(text) for text in texts]}


def condition(where: Sequence[Mapping[str, Any]]) -> discreet.questions.Condition | None:
    """Canonical conditions as a session takes them; None if there are none. A value
    that no condition can hold, such as half of a surrogate pair, is refused.
    """
    try:
        parts = [part for each in where for part in _parts(each)]
        return reduce(lambda one, other: one & other, parts) if parts else None
    except ParameterError as error:
        raise invalid("/where", error.rule) from None


def _parts(each: Mapping[str, Any]) -> list[discreet.questions.Condition]:
    column = discreet.column(each["column"])
    if "is" in each:
        return [column.is_in(each["is"])]
    parts = []
    if "at_least" in each:
        parts.append(column >= _edge(each["at_least"]))
    if "below" in each:
        parts.append(column < _edge(each["below"]))
    return parts


def _edge(text: str) -> Any:
    """The end of a range, read from the canonical form: a number or a day."""
    try:
        return Fraction(text)
    except ValueError:
        return date.fromisoformat(text)
