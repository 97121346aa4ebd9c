"""A question on its way to the rows: what it is asked of, what it costs, and its canonical form.

Two spellings of the same question are one question: in its form numbers are exact,
conditions are trees, candidates a digest. The digest of the form is the question's
name: a question that was answered before gives that answer again. For people the same
question has words: what is listed, and who is counted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from os import PathLike
from typing import Any

import numpy as np

from discreet.accounting.privacy_filter import BudgetRule
from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.exact.rationals import exact_decimal
from discreet.literals import PickName
from discreet.mechanisms.correlated_counts import CorrelatedCounts
from discreet.mechanisms.count_lists import CountList
from discreet.mechanisms.count_noise import CountNoise
from discreet.mechanisms.counted_selection import CountedSelection
from discreet.mechanisms.histogram_top_k import NoisyList
from discreet.mechanisms.prices import Price
from discreet.privacy.cost import Cost
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import Person, Unit
from discreet.randomness.chance import Bits
from discreet.release import Release
from discreet.tables.candidates import PublicTable
from discreet.tables.counting import count_persons
from discreet.tables.items import Labels
from discreet.tables.table import Table

RULES = 1
"""Raised whenever the same form would come to mean another question."""
_FEW = 20
_KEPT = 4
_LONG = 8192
_USUAL = 2**64
LISTED = ("candidates", "prices")
"""Parameters that list public labels."""
# left out where it is not wanted, so that older answers keep their names
_WANTED = ("with_counts", "with_gap")
# a column that is a plain noun; "user_id" is none
_NOUN = re.compile(r"[a-z]{3,20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What every question is prepared with: the rows that count, whom they are about and which
    budget pays. All of it is public but the rows.

    what: the name of the session's method.
    rule: how the budget counts.
    by, groups: as for `Session.mode`.
    """

    what: str
    table: Table
    unit: Unit
    rule: BudgetRule
    by: str | None = None
    groups: Sequence[Any] | None = None

    def price(self, epsilon: Fraction) -> Price:
        """What an epsilon buys in the budget that pays."""
        return Price(self.rule, epsilon)


def default_mechanism(rule: BudgetRule) -> PickName:
    """The mechanism that suits a budget: docs/explanation/which-mechanism.md."""
    return "permute-and-flip" if rule.counting == "epsilon" else "exponential"


def people_for(noise: CountNoise, inquiry: Inquiry) -> int | None:
    """How many people there are, where noise that the counts share needs it."""
    if not isinstance(noise, CorrelatedCounts):
        return None
    # everybody with a row that counts: docs/proofs/correlated-counts.md#the-number-of-people
    return count_persons(inquiry.table, inquiry.unit)


def released(
    made: CountList, counts: Sequence[int], inquiry: Inquiry, bits: Bits | None
) -> Release:
    """The list of these counts."""
    if isinstance(made, (NoisyList, CountedSelection)):
        return made.release(counts, people=people_for(made.noise, inquiry), bits=bits)
    return made.release(counts, bits=bits)


@dataclass(frozen=True, slots=True)
class ChargedQuestion:
    """One line of a session's history: what was asked and what it cost. No answer, no row.

    asked: the whole question in its canonical form, as plain JSON.
    """

    what: str
    column: str | None
    loss: Loss
    asked: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question whose parameters are checked, and of which no row was read yet. It can be
    answered often: what is drawn for one answer is no part of it.

    cost: what it costs, with the parts that it is made of.
    answer: the release, from the rows that count and from bits.
    accuracy: how far off it can be, except with a probability; from public numbers
        only.
    line: what a history says of it, with its canonical form.
    name: the digest of that form.
    told: how far off it can be, with 95% confidence.
    """

    cost: Cost
    answer: Callable[[Bits | None], Release]
    accuracy: Callable[[Fraction], Accuracy] | None = None
    line: ChargedQuestion | None = None
    name: str = ""
    told: Accuracy | None = None

    def named(self, form: Mapping[str, Any]) -> Prepared:
        """Add the question's canonical form and accuracy."""
        line = ChargedQuestion(form["what"], form.get("column"), self.cost.loss, form)
        told = None if self.accuracy is None else self.accuracy(USUAL_FAILURE)
        return replace(self, line=line, name=digest(form), told=told)


def by_label(release: Release, labels: Sequence[Any]) -> Release:
    """The release of labels, from that of their places: a mapping of a long list would take
    longer than the draw.
    """
    value = release.value
    many = isinstance(value, list)
    return replace(release, value=[labels[each] for each in value] if many else labels[value])


def question_form(what: str, **parts: Any) -> dict[str, Any]:
    """A question as plain JSON, whichever way it was spelt; parts that were left out are left out.

    >>> question_form("mode", column="pet", epsilon=0.1, where=None)
    {'rules': 1, 'what': 'mode', 'column': 'pet', 'epsilon': '1/10'}
    """
    form: dict[str, Any] = {"rules": RULES, "what": what}
    for name, value in parts.items():
        wanted = value is not None if name not in _WANTED else bool(value)
        if wanted:
            form[name] = _short(_listed(value) if name in LISTED else _canonical(value))
    return form


def digest(form: Mapping[str, Any]) -> str:
    """The name of a question: the same for the same form, in every process."""
    text = json.dumps(form, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _short(part: Any) -> Any:
    """A part of a form, by its digest where it is long: a ledger takes 64 KiB a question."""
    characters = len(json.dumps(part))
    if characters <= _LONG:
        return part
    return {"characters": characters, "digest": digest({"part": part})}


def _listed(values: Any) -> Any:
    """Public candidates: in any order, by their digest where they are many."""
    if not isinstance(values, Sequence) and not hasattr(values, "__iter__"):
        return _canonical(values)
    given = values if isinstance(values, Labels) else Labels(values)
    if len(given) > _FEW and _is_usual(given):
        return {"number": len(given), "digest": _usual_digest(tuple(given))}
    labels = sorted((_canonical(value, label=True) for value in given), key=_spelt)
    if len(labels) <= _FEW:
        return labels
    return {"number": len(labels), "digest": digest({"labels": labels})}


def _is_usual(labels: Labels) -> bool:
    """True if all are text, or all are whole numbers of a usual size."""
    kinds = labels.kinds
    return kinds == {str} or (
        kinds == {int} and labels.ends[0] > -_USUAL and labels.ends[1] < _USUAL
    )


@lru_cache(maxsize=_KEPT)
def _usual_digest(labels: tuple[str, ...] | tuple[int, ...]) -> str:
    """The digest of usual labels, as `digest` has it of their canonical form, written at
    once. Remembered, as the same long list is asked again and again.
    """
    if isinstance(labels[0], str):
        spelt = ", ".join(sorted(map(encode_basestring_ascii, labels)))
    else:
        # in order of the digits: what stands around them is the same for all
        spelt = '"}, {"number": "'.join(sorted(map(str, labels)))
        spelt = f'{{"number": "{spelt}"}}'
    return hashlib.sha256(f'{{"labels": [{spelt}]}}'.encode()).hexdigest()


def _spelt(label: Any) -> str:
    """A label as JSON writes it; text by the part of the encoder that does it."""
    return encode_basestring_ascii(label) if type(label) is str else json.dumps(label)


def _canonical(value: Any, *, label: bool = False) -> Any:
    """A public value as JSON. Labels keep their kind: 1 and "1" are different candidates."""
    # most of a long list
    if type(value) is str:
        return value
    if label and type(value) is int and abs(value) < _USUAL:
        return {"number": str(value)}
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        # what it is compared as, whatever it prints as
        return str.__str__(value)
    if isinstance(value, (int, float, Decimal, Fraction, np.number)):
        return {"number": _number(value)} if label else _number(value)
    if isinstance(value, Mapping):
        return [[_canonical(name, label=True), _canonical(each)] for name, each in value.items()]
    if isinstance(value, PublicTable):
        return {"PublicTable": {"source": _source(value.source), "column": value.column}}
    if is_dataclass(value) and not isinstance(value, type):
        # a condition tells 1 from "1"
        parts = {
            each.name: _canonical(getattr(value, each.name), label=True) for each in fields(value)
        }
        return {type(value).__name__: parts}
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, bytes):
        return [_canonical(part, label=label) for part in value]
    return None if value is None else {type(value).__name__: repr(value)}


def _source(source: Any) -> str:
    """Where public candidates are: their file, or this very object, as two frames can look
    the same.
    """
    if isinstance(source, (str, PathLike)):
        return f"file {os.path.abspath(source)}"
    known = _sources.get(id(source))
    # another object gets the number of one that is gone
    if known is None or known[0]() is not source:
        token = secrets.token_hex(16)
        try:
            known = _sources[id(source)] = weakref.ref(source), token
            weakref.finalize(source, _sources.pop, id(source), None)
        except TypeError:
            # one that cannot be watched is another one each time
            return f"table {token}"
    return f"table {known[1]}"


_sources: dict[int, tuple[weakref.ref[Any], str]] = {}
"""The names of public tables that are not in files, as long as these are there."""


def _number(value: Any) -> str:
    try:
        return str(exact_decimal(value, "value"))
    except (ValueError, TypeError):
        # an infinity or a NaN, which a condition may name
        return repr(float(value))


def counted(unit: Unit, *, rows: bool = False) -> str:
    """What counts: readers, where a column of that name says who it is.

    >>> counted(Person("reader")), counted(Person("user_id")), counted(Person("reader"), rows=True)
    ('readers', 'persons', 'rows')
    """
    if rows or not isinstance(unit, Person):
        return "rows"
    plain = _NOUN.fullmatch(unit.column) and not unit.column.endswith(("s", "id", "y"))
    return f"{unit.column}s" if plain else "persons"


def listed(column: str) -> str:
    """What is selected: an article, where the column has such a name.

    >>> listed("article"), listed("Favourite pet")
    ('article', 'value')
    """
    return column if _NOUN.fullmatch(column) else "value"
