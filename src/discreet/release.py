"""What comes out: an answer together with what it cost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accuracy import Accuracy
from discreet.errors import ParameterError, ParameterTypeError
from discreet.exact.rationals import read_written
from discreet.privacy.loss import Loss, loss_from_dict
from discreet.rendering.picture import Picture

if TYPE_CHECKING:
    from discreet.rendering.models import Model

__all__ = ["NoisyCounts", "Release"]

SIMULATED = " A simulation with predictable bits: not private."
"""What is said of an answer that was not drawn by chance."""

_FORMAT = 1
_LONGEST_DECIMAL = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCounts:
    """Numbers of persons with noise, beside the names of a release.

    values: one whole number for each name, in their order; for several groups, such a
        tuple for each group. With noise, so a small one may come out below 0.
    error: how far they can be off: with 95 %, none of them is off by more; for several
        groups, none of one group. Of noise on all items of an unknown domain, of which
        nobody may know how many there are, none is too low by more: the list names those
        with large noise, so some may be too high by more.
    mechanism: which noise it was.
    total: how many people there are in all, with noise: everybody with a row that counts,
        whether they have one of the names or not. For several groups, of each of them. None
        where the noise does not tell it: it comes for nothing with "correlated-counts".
    total_error: how far the total can be off, with 95 %.

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
        """Whether they are those of several groups."""
        return any(isinstance(each, tuple) for each in self.values)

    def told(self, accuracy: Accuracy | None) -> str:
        """What is true of none of the counts, with 95 %.

        accuracy: of the release that has them.
        """
        # docs/proofs/histograms.md#utility
        said = f"is off by more than {self.error:,}, with 95 %"
        if accuracy is not None and accuracy.statement == "named":
            high = "some may be too high by more"
            said = f"is too low by more than {self.error:,}, with 95 %; {high}"
        capped = "" if accuracy is None else accuracy.capped
        return f"{said}. {capped}" if capped else said

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
    def told_total(self) -> str:
        """How many people there are in all, for people to read; nothing where nobody knows."""
        if self.total is None:
            return ""
        each = self.total if isinstance(self.total, tuple) else (self.total,)
        where = " in each group" if isinstance(self.total, tuple) else ""
        said = ", ".join(f"{number:,}" for number in each)
        return f"There are about {said} in all{where}, at most {self.total_error:,} off, with 95 %."


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A private answer. It holds nothing about the data but the answer itself.

    value: the label or position that was selected; a list of them for a top-k; None
        where the answer is "nothing" (⊥). With `by=`, a dictionary from each group to its
        answer, in the order of the groups.
    loss: what the release cost, in total.
    mechanism: how the answer was drawn.
    candidates: how many candidates there were to choose from, where that is a public
        number.
    gap: by how much the winner won, with noise, where that was asked for.
    counts: how many persons have each of the names, with noise, where that was asked
        for or came with the answer.
    seeded: True if the bits were predictable, so that the answer is a simulation and
        **not private**.
    accuracy: how far off the answer can be, with 95 %, from public numbers only; None
        where there is no such statement.
    asked: the question in its canonical form, where a session was asked.

    >>> from discreet import PureDP
    >>> release = Release(
    ...     value="terrier", loss=PureDP(1), mechanism="permute-and-flip", candidates=3
    ... )
    >>> Release.from_json(release.to_json()) == release
    True
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
                up="share of persons",
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

    def _notes(self) -> list[str]:
        """What should be said with the answer."""
        notes = [] if self.accuracy is None else [self.accuracy.sentence]
        notes += [] if self.gap is None else [f"It won by about {float(self.gap):g}."]
        # of numbers alone the accuracy says the same
        told = self.accuracy is not None and self.accuracy.statement.startswith("number")
        if self.counts is not None and not told:
            of_what = "count of a group" if self.counts.grouped else "count"
            notes.append(f"No {of_what} {self.counts.told(self.accuracy)}.")
        if self.counts is not None and self.counts.total is not None:
            notes.append(self.counts.told_total)
        cost = f"Privacy loss {self.loss!r}, by {self.mechanism}"
        return [*notes, f"{cost}.{SIMULATED if self.seeded else ''}"]

    def _repr_html_(self) -> str:
        from discreet.rendering.html import answer_table, card, paragraph, read_by, table

        model = self._model()
        numbers = None if self.counts is None else self.counts.values
        usual = answer_table(pairs_of(self.value), numbers, self.asked or {})
        headings, rows = usual if model is None else model.table()
        notes = [
            *self._notes(),
            *(f"{rule.capitalize()}." for rule in read_by(self.asked).values()),
        ]
        told = [paragraph(note) for note in notes]
        warning = SIMULATED.strip() if self.seeded else None
        return card(self._titled(), table(headings, rows), *told, warning=warning)

    @classmethod
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
            raise ParameterError("Release.from_json", "text", rule, text) from error
        return cls(**{name: fields[name] for name in cls.__slots__})


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
        "Release.to_json",
        "value",
        "made of text, numbers, dates, lists and tuples",
        value,
        "Use such labels for candidates.",
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
