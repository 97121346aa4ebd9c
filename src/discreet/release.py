"""Releases: an answer together with what it cost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accuracy import USUAL_FAILURE, Accuracy, percent
from discreet.errors import ParameterError, ParameterTypeError, public_function
from discreet.exact.rationals import read_written
from discreet.privacy.cost import in_words, short
from discreet.privacy.loss import ApproxDP, Composed, Loss, loss_from_dict
from discreet.rendering.picture import Picture

if TYPE_CHECKING:
    from discreet.rendering.models import Model

__all__ = ["NoisyCounts", "Release"]

SIMULATED = " A simulation with predictable bits: not private."
"""The warning on an answer whose random bits were predictable."""

_FORMAT = 1
_LONGEST_DECIMAL = 4000
# lines of an answer that print shows
_MOST_LINES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCounts:
    """Numbers of people with noise, beside the names of a release.

    values: one whole number for each name, in their order; for several groups, a tuple of
        them for each group. Because of the noise, a small one may be below 0.
    error: how far they can be off: with 95% confidence, none of them is off by more. For
        several groups, this holds in each group. For items of an unknown domain with noise
        on all of them, none is too low by more, but some may be too high by more: the list
        names those with large noise.
    mechanism: the kind of noise.
    total: how many people there are in all, with noise: everybody with a row that counts,
        whether they have one of the names or not. For several groups, a number for each.
        Only "correlated-counts" gives it, at no extra cost; otherwise None.
    total_error: how far the total can be off, with 95% confidence.

    >>> NoisyCounts(values=(41, 38), error=7, mechanism="discrete-laplace").error
    7
    """

    values: tuple[Any, ...]
    error: int
    mechanism: str
    total: int | tuple[int, ...] | None = None
    total_error: int | None = None

    @property
    def grouped(self) -> bool:
        """True if there are counts for several groups."""
        return any(isinstance(each, tuple) for each in self.values)

    def sentence(self, accuracy: Accuracy | None) -> str:
        """How far off the counts can be, for people to read.

        accuracy: of the release that has them.
        """
        # docs/proofs/histograms.md#utility
        confidence = percent(1 - USUAL_FAILURE)
        each = " in each group" if self.grouped else ""
        if accuracy is not None and accuracy.statement == "named":
            words = (
                f"With {confidence} confidence{each}, no count is too low by more than "
                f"{self.error:,}. Some may be too high by more"
            )
        else:
            words = (
                f"With {confidence} confidence{each}, no count is off by more than {self.error:,}"
            )
        return f"{words}."

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain JSON."""
        fields: dict[str, Any] = {
            "values": [list(each) if isinstance(each, tuple) else each for each in self.values],
            "error": self.error,
            "mechanism": self.mechanism,
        }
        if self.total is not None:
            fields["total"] = list(self.total) if isinstance(self.total, tuple) else self.total
            fields["total_error"] = self.total_error
        return fields

    @property
    def total_sentence(self) -> str:
        """How many people there are in all, for people to read; empty where there is no total."""
        if self.total is None:
            return ""
        confidence = percent(1 - USUAL_FAILURE)
        if isinstance(self.total, tuple):
            numbers = ", ".join(f"{number:,}" for number in self.total)
            return (
                f"People in each group, with or without a listed value: about {numbers}. With "
                f"{confidence} confidence, each is off by at most {self.total_error:,}."
            )
        return (
            f"There are about {self.total:,} people in all. With {confidence} confidence, that is "
            f"off by at most {self.total_error:,}."
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Release:
    """A private answer. It holds nothing about the data but the answer itself.

    `print(release)` shows the answer, how far off it can be and what it cost.

    value: the label or position that was selected; a list of them for a top-k; None
        where the answer is "nothing" (⊥). With `by=`, a dictionary from each group to its
        answer, in the order of the groups.
    loss: the privacy loss of the release as a whole.
    mechanism: how the answer was drawn.
    candidates: how many candidates there were to choose from, if that number is public.
    gap: by how much the winner won, with noise, if you asked for it.
    counts: how many people have each of the names, with noise, if you asked for them or
        they came with the answer.
    seeded: True if the bits were predictable, so that the answer is a simulation and
        **not private**.
    accuracy: how far off the answer can be, with 95% confidence, from public numbers only;
        None where there is no such bound.
    asked: the question in its canonical form, if a session answered it.

    >>> from discreet import PureDP
    >>> release = Release(
    ...     value="terrier", loss=PureDP(1), mechanism="permute-and-flip", candidates=3
    ... )
    >>> Release.from_json(release.to_json()) == release
    True
    >>> print(release)
    terrier
    Privacy loss: epsilon 1
    """

    value: Any
    loss: Loss
    mechanism: str
    candidates: int | None
    seeded: bool = False
    gap: Fraction | None = None
    accuracy: Accuracy | None = field(default=None, repr=False)
    asked: Mapping[str, Any] | None = field(default=None, repr=False)
    counts: NoisyCounts | None = None

    def __str__(self) -> str:
        lines = [*self._value_lines(), *self._sentences(), self._price()]
        if self.seeded:
            lines.append(SIMULATED.strip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        gap = None if self.gap is None else short(self.gap)
        parts = [
            f"{each.name}={gap if each.name == 'gap' else repr(getattr(self, each.name))}"
            for each in fields(self)
            if each.repr
        ]
        return f"Release({', '.join(parts)})"

    def _price(self) -> str:
        """What the answer cost: as the question says it, else its privacy loss."""
        asked = self.asked or {}
        if "epsilon" not in asked:
            return f"Privacy loss: {in_words(self.loss)}"
        delta = read_written(asked.get("delta", "0"))
        # noise for counts may cost no delta, whatever the question names
        costs = delta and isinstance(self.loss, (ApproxDP, Composed)) and self.loss.delta
        more = f", delta {short(delta)}" if costs else ""
        return f"Price: epsilon {short(read_written(asked['epsilon']))}{more}"

    def _value_lines(self) -> list[str]:
        """The answer for a terminal: one line, or a table without lines around it."""
        headings, rows = self._table()
        if not headings and len(rows) == 1:
            return ["  ".join(filter(None, map(_cell, rows[0])))]
        cells = [list(map(_cell, row)) for row in rows[:_MOST_LINES]]
        cells = [list(map(_cell, headings)), *cells] if headings else cells
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        numeric = [
            all(type(row[place]) in (int, float) for row in rows) for place in range(len(widths))
        ]
        lines = [
            "  ".join(
                text.rjust(size) if right else text.ljust(size)
                for text, size, right in zip(row, widths, numeric, strict=True)
            ).rstrip()
            for row in cells
        ]
        more = len(rows) - _MOST_LINES
        return lines if more <= 0 else [*lines, f"and {more:,} more"]

    @public_function("Release.to_json")
    def to_json(self) -> str:
        """The release as one line of JSON, with exact privacy numbers."""
        value = pairs_of(self.value) if "by" in (self.asked or {}) else self.value
        fields = {
            "discreet": _FORMAT,
            "value": None if value is None else _plain(value),
            "loss": self.loss.to_dict(),
            "mechanism": self.mechanism,
            "candidates": self.candidates,
            "seeded": self.seeded,
        }
        optional = {
            "gap": None if self.gap is None else str(self.gap),
            "accuracy": None if self.accuracy is None else self.accuracy.to_dict(),
            "asked": self.asked,
            "counts": None if self.counts is None else self.counts.to_dict(),
        }
        fields |= {name: part for name, part in optional.items() if part is not None}
        return json.dumps(fields, ensure_ascii=False, allow_nan=False)

    def plot(self, *, title: str = "") -> Picture:
        """A picture of the answer: it shows itself in a notebook, and `save` writes it.

        It shows the release and nothing else: bars have one length, because the scores
        stay private, unless counts were released.
        """
        from discreet.rendering import charts
        from discreet.rendering.html import bar_counts, bar_labels, is_ranked

        model = self._model()
        if model is not None:
            return model.picture(title=title or self._titled(), notes=self._notes())
        shares = None if self.asked is None else self.asked.get("q")
        notes, listed = self._notes(), pairs_of(self.value)
        if isinstance(listed, list) and isinstance(shares, list) and listed:
            points = [
                (float(value), float(Fraction(share)))
                for value, share in zip(listed, shares, strict=True)
            ]
            return charts.lines(
                [charts.Curve(name="", points=points)],
                title=title or "Quantiles",
                across=str((self.asked or {}).get("column", "value")),
                up="share of people",
                notes=notes,
                logarithmic=(False, False),
                dots=True,
                steps=True,
            )
        if isinstance(listed, list):
            counts = None if self.counts is None else self.counts.values
            return charts.ranking(
                bar_labels(listed, counts, self.asked or {}),
                title=title or self._titled(),
                notes=notes,
                counts=bar_counts(counts),
                error=None if self.counts is None else self.counts.error,
                ranked=is_ranked(self.asked or {}),
                asked=int((self.asked or {}).get("k", 0)) if isinstance(self.value, list) else 0,
            )
        answer = "nothing" if self.value is None else self.value
        return charts.winner(answer, title=title or self._titled(), notes=notes)

    def _model(self) -> Model | None:
        from discreet.rendering.models import model_of

        error = None if self.accuracy is None else float(self.accuracy)
        return model_of(self.mechanism, self.value, self.asked, error)

    def _titled(self) -> str:
        """What the answer is about."""
        asked = self.asked or {}
        what = str(asked.get("what", "release")).replace("_", "-")
        return f"{what} of {asked['column']}" if "column" in asked else what

    def _sentences(self) -> list[str]:
        """How far off the answer, its counts and its lead can be."""
        sentences = [] if self.accuracy is None else [self.accuracy.sentence]
        if self.gap is not None:
            sentences.append(f"It won by about {float(self.gap):g}.")
        # for an answer that is only numbers, the accuracy says it already
        numbers = self.accuracy is not None and self.accuracy.statement.startswith("number")
        if self.counts is not None and not numbers:
            sentences.append(self.counts.sentence(self.accuracy))
        if self.counts is not None and self.counts.total is not None:
            sentences.append(self.counts.total_sentence)
        return sentences

    def _notes(self) -> list[str]:
        """What a card or a picture says below the answer."""
        cost = f"Privacy loss: {in_words(self.loss)}. Drawn by {self.mechanism}."
        return [*self._sentences(), f"{cost}{SIMULATED if self.seeded else ''}"]

    def _table(self) -> tuple[list[str], list[list[Any]]]:
        """Headings and rows that show the answer."""
        from discreet.rendering.html import answer_table

        model = self._model()
        if model is not None:
            headings, rows = model.table()
            return headings, [list(row) for row in rows]
        numbers = None if self.counts is None else self.counts.values
        return answer_table(pairs_of(self.value), numbers, self.asked or {})

    def _repr_html_(self) -> str:
        from discreet.rendering.html import card, paragraph, read_by, table

        headings, rows = self._table()
        notes = [
            *self._notes(),
            *(f"{rule.capitalize()}." for rule in read_by(self.asked).values()),
        ]
        notes = [paragraph(note) for note in notes]
        warning = SIMULATED.strip() if self.seeded else None
        return card(self._titled(), table(headings, rows), *notes, warning=warning)

    @classmethod
    @public_function("Release.from_json")
    def from_json(cls, text: str) -> Release:
        """Read what `to_json` wrote."""
        try:
            fields = json.loads(text, parse_constant=_refuse_constant)
            fields = {"gap": None, "accuracy": None, "asked": None, "counts": None, **fields}
            if fields["discreet"] != _FORMAT or set(fields) != {"discreet", *cls.__slots__}:
                raise ValueError("another format")
            fields["value"], fields["loss"] = (
                _restored_value(fields["value"]),
                loss_from_dict(fields["loss"]),
            )
            fields["gap"] = _restored_gap(fields["gap"])
            fields["counts"] = _restored_counts(fields["counts"])
            if fields["accuracy"] is not None:
                fields["accuracy"] = Accuracy.from_dict(fields["accuracy"])
            if type(fields["asked"]) not in (dict, type(None)):
                raise ValueError("no question")
            if isinstance(fields["value"], list) and "by" in (fields["asked"] or {}):
                fields["value"] = dict(fields["value"])
            if [type(fields[name]) for name in ("mechanism", "seeded")] != [str, bool]:
                raise ValueError("wrong types")
            if fields["candidates"] is not None and not (
                type(fields["candidates"]) is int and fields["candidates"] >= 1
            ):
                raise ValueError("no candidates")
        except (
            ValueError,
            ArithmeticError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            rule = f"what Release.to_json wrote, in format {_FORMAT}"
            raise ParameterError("text", rule, text) from error
        return cls(**{name: fields[name] for name in cls.__slots__})


def _cell(value: Any) -> str:
    """A value of a table in a terminal, without characters that control it."""
    from discreet.rendering.html import shown

    return f"{value:,}" if type(value) is int else shown(value)


def pairs_of(value: Any) -> Any:
    """The answers of groups as pairs, as JSON has them; any other value as it is."""
    return list(value.items()) if isinstance(value, dict) else value


def _exact_decimal(text: str) -> Decimal:
    value = Decimal(text)
    if len(text) > _LONGEST_DECIMAL or not value.is_finite():
        raise ValueError("not a decimal")
    return value


_MARKED: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "fraction": (Fraction, str, read_written),
    "decimal": (Decimal, str, _exact_decimal),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
}
"""Labels that JSON has no word for: their type, and how they are written and read."""


def _plain(value: Any) -> Any:
    """A label as JSON. Tuples, prices and days are marked, because JSON has none."""
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(part) for part in value]}
    endless = isinstance(value, Decimal) and not value.is_finite()
    for mark, (kind, write, _) in _MARKED.items():
        if type(value) is kind and not endless:
            return {mark: write(value)}
    raise ParameterTypeError(
        "value",
        "made of text, numbers, dates, lists and tuples",
        value,
        "Use such labels as candidates.",
    )


def _restored_value(value: Any) -> Any:
    return None if value is None else _restored(value)


def _restored_gap(text: Any) -> Fraction | None:
    if text is None:
        return None
    gap = read_written(text)
    if gap < 0:
        raise ValueError("not a gap")
    return gap


def _restored_counts(fields: Any) -> NoisyCounts | None:
    if fields is None:
        return None
    values, total = _tuples(fields["values"]), fields.get("total")
    numbers = [*_flat(values), fields["error"]]
    if total is not None:
        total = tuple(total) if type(total) is list else total
        numbers += [*_flat((total,)), fields["total_error"]]
    known = {"values", "error", "mechanism", *(() if total is None else ("total", "total_error"))}
    whole = {type(each) for each in numbers} == {int}
    if set(fields) != known or not whole or fields["error"] < 0:
        raise ValueError("no counts")
    if type(fields["mechanism"]) is not str or fields.get("total_error", 0) < 0:
        raise ValueError("no counts")
    more = {"total": total, "total_error": fields.get("total_error")}
    return NoisyCounts(values=values, error=fields["error"], mechanism=fields["mechanism"], **more)


def _tuples(values: Any) -> tuple[Any, ...]:
    return tuple(tuple(each) if type(each) is list else each for each in values)


def _flat(values: tuple[Any, ...]) -> list[Any]:
    return [each for part in values for each in (part if isinstance(part, tuple) else (part,))]


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(part) for part in value]
    if isinstance(value, dict):
        ((mark, held),) = value.items()
        if mark == "tuple":
            return tuple(_restored(part) for part in held)
        return _MARKED[mark][2](held)
    if value is None:
        raise ValueError("an empty label")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
