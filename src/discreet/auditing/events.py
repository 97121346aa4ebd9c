"""Outcomes and events: what a caller sees of one call (the answer or the error, and the
warnings), and the events by which a caller might tell two data sets apart.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

Run = Callable[[Any], Any]
"""One call of the audited code, with fresh randomness."""

ABSENT = "absent"
"""The value of a feature that an outcome does not have."""

# only the first items of a list are looked at one by one
_ITEMS = 6
# halvings of a number after which its grid is not looked at more finely
_FAR_BELOW = 8
# numbers of the data whose traces are looked for
_MARKS = 3
# with more scores than these, twins are not looked for
_MOST_SCORES = 10_000
# with more runs of twins than these, the scores have no simple order
_MOST_RUNS = 16


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call gave, in values that can be compared and counted.

    answer: the value, as plain Python; None where there was an error.
    kind: the type of the answer.
    error: the type and the text of the error, or an empty text.
    warned: the warnings, in their order.
    """

    answer: Hashable
    kind: str
    error: str = ""
    warned: tuple[str, ...] = ()


def observe(run: Run, data: Any, runs: int) -> list[Outcome]:
    """The outcomes of `runs` calls. What the code raises is an outcome like any other."""
    seen: list[Outcome] = []
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        for _ in range(runs):
            answer, error = None, ""
            try:
                answer = run(data)
            except Exception as raised:
                error = error_text(raised)
            warned = warning_texts(log)
            log.clear()
            seen.append(Outcome(plain(answer), _kind(answer), error, warned))
    return seen


def error_text(error: Exception) -> str:
    """An error as an outcome has it: its type and its text."""
    return f"{type(error).__name__}: {error}"


def warning_texts(log: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Warnings as an outcome has them: their types and texts, in their order."""
    return tuple(f"{each.category.__name__}: {each.message}" for each in log)


def _kind(answer: Any) -> str:
    """The type of an answer. NaN is a type of its own: whether an answer is a number
    must not depend on a row.
    """
    is_nan = isinstance(answer, float) and math.isnan(answer)
    return "NaN" if is_nan else type(answer).__name__


def plain(value: Any) -> Hashable:
    """A value that can be compared and counted: NumPy's numbers become Python's, lists
    become tuples.

    >>> import numpy
    >>> plain(numpy.int64(3)), plain([1, numpy.float32(0.5)]), plain(float("nan"))
    (3, (1, 0.5), 'nan')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        # NaN is not equal to itself
        return "nan"
    if value is None or isinstance(value, (str, bytes, int, float, Fraction)):
        return value
    if hasattr(value, "mechanism") and hasattr(value, "loss"):
        return _released(value)
    if isinstance(value, Mapping):
        return tuple((plain(key), plain(part)) for key, part in value.items())
    if isinstance(value, Set):
        return frozenset(map(plain, value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(map(plain, value))
    return value if isinstance(value, Hashable) else repr(value)


def _released(release: Any) -> Hashable:
    """The parts of a Release that may differ from draw to draw: value, gap and counts."""
    counts = getattr(release, "counts", None)
    parts = [release.value, getattr(release, "gap", None), getattr(counts, "values", None)]
    told = [part for part in parts[1:] if part is not None]
    return plain((parts[0], *told) if told else parts[0])


@dataclass(frozen=True, slots=True)
class Event:
    """The event that a feature of the outcome is one of some values, or above a number.

    feature: the feature that is looked at, one of the names that `features` gives.
    values: the values that make the event happen; None for a threshold.
    above: the threshold.
    negated: True for the complement.
    """

    feature: str
    values: frozenset[Hashable] | None = None
    above: float | None = None
    negated: bool = False

    def holds(self, outcome: Outcome) -> bool:
        """True if the event happens in this outcome."""
        value = read(outcome, self.feature)
        if self.values is not None:
            happens = value in self.values
        else:
            happens = isinstance(value, (int, float, Fraction)) and value > (self.above or 0)
        return happens != self.negated

    def count(self, outcomes: Sequence[Outcome]) -> int:
        """In how many of these outcomes the event happens."""
        return sum(map(self.holds, outcomes))

    def __str__(self) -> str:
        feature = "twin of the answer" if self.feature.startswith("twin ") else self.feature
        if self.values is None:
            return f"{feature} {'≤' if self.negated else '>'} {self.above!r}"
        if not self.values:
            return "any outcome" if self.negated else "no outcome"
        listed = sorted(map(repr, self.values))
        shown = ", ".join(listed[:8]) + (f", … ({len(listed)} values)" if len(listed) > 8 else "")
        if len(listed) == 1:
            return f"{feature} {'is not' if self.negated else 'is'} {shown}"
        return f"{feature} {'not in' if self.negated else 'in'} {{{shown}}}"

    def to_dict(self) -> dict[str, Any]:
        """The event as plain values."""
        return {
            "feature": self.feature,
            "values": None if self.values is None else sorted(map(repr, self.values)),
            "above": self.above,
            "negated": self.negated,
        }


SIDE_CHANNELS = ("error", "warnings", "type")
"""Features by which code may tell something beside its answer."""


def read(outcome: Outcome, feature: str) -> Hashable:
    """The value of a feature of one outcome."""
    name, _, rest = feature.partition(" ")
    return _READERS[name](outcome, rest)


def data_features(first: Any, second: Any) -> list[str]:
    """The features that depend on the data: which candidates are twins, because they
    have the same scores, and numbers that may leave traces in the answers.

    >>> data_features([3, 0, 0], [4, 0, 0])
    ['twin 0*1,1*2']
    >>> data_features([0.25, 2.5], [2.5])
    ['grid 0.25', 'grid 2.5']
    """
    both = [list(data) for data in (first, second) if _is_list(data) and len(data) < _MOST_SCORES]
    if len(both) < 2:
        return []
    scores = [list(map(_plainly, data)) for data in both]
    numbers = {score for score in scores[0] + scores[1] if isinstance(score, float)}
    marks = sorted(number for number in numbers if number > 0 and not number.is_integer())
    found = [f"grid {mark!r}" for mark in marks[:_MARKS]]
    if len(scores[0]) != len(scores[1]):
        return found
    twins: dict[Any, int] = {}
    runs: list[list[int]] = []
    for place, pair in enumerate(zip(*scores, strict=True)):
        twin = twins.setdefault(pair, place)
        if runs and runs[-1][0] == twin:
            runs[-1][1] += 1
        else:
            runs.append([twin, 1])
    if len(twins) < len(scores[0]) and len(runs) <= _MOST_RUNS:
        found.append("twin " + ",".join(f"{twin}*{size}" for twin, size in runs))
    return found


def _is_list(data: Any) -> bool:
    return isinstance(data, (list, tuple, np.ndarray))


def _plainly(score: Any) -> Any:
    return score.item() if isinstance(score, np.generic) else score


def features(outcomes: Sequence[Outcome], of_data: Sequence[str] = ()) -> Iterator[str]:
    """The features that such outcomes have.

    of_data: what `data_features` says about the data.
    """
    yield "answer"
    answers = [outcome.answer for outcome in outcomes]
    floats = any(isinstance(answer, float) for answer in answers)
    yield from (name for name in of_data if floats or not name.startswith("grid "))
    yield from SIDE_CHANNELS
    if floats:
        yield "trailing"
    lists = [answer for answer in answers if isinstance(answer, tuple)]
    if lists:
        yield "length"
        yield "members"
        yield from _items("item", lists)
        held = {part for answer in lists[:200] for part in answer if type(part) is int}
        yield from (f"has {part}" for part in sorted(held)[:16] if part >= 0)


def _items(name: str, lists: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """The places of lists, and those of lists within them, such as a list of counts."""
    for place in range(min(_ITEMS, max(map(len, lists)))):
        yield f"{name} {place}"
        within = [each[place] for each in lists if place < len(each)]
        inner = [part for part in within if isinstance(part, tuple) and part]
        if inner:
            yield from _items(f"{name} {place}", inner)


def _item(outcome: Outcome, places: str) -> Hashable:
    found: Hashable = outcome.answer
    for place in map(int, places.split()):
        if not isinstance(found, tuple) or place >= len(found):
            return ABSENT
        found = found[place]
    return found


def _twin(outcome: Outcome, runs: str) -> Hashable:
    """The first candidate with the same scores as the answer in both data sets; for a
    list, that candidate for each member.
    """
    twins = _twins(runs)
    answer = outcome.answer
    if isinstance(answer, tuple):
        return tuple(_twin_of(part, twins) for part in answer)
    return _twin_of(answer, twins)


def _twin_of(part: Hashable, twins: Sequence[int]) -> Hashable:
    return twins[part] if type(part) is int and 0 <= part < len(twins) else part


@lru_cache(maxsize=1024)
def _twins(runs: str) -> list[int]:
    sizes = [map(int, run.split("*")) for run in runs.split(",")]
    return [twin for twin, size in sizes for _ in range(size)]


def _grid(outcome: Outcome, mark: str) -> Hashable:
    """True if an answer below a number of the data is a multiple of 2^-53 times that
    number, and how far below it is.

    The product of the number and a uniformly drawn float is such a multiple. Below half
    of the number most floats are not, so the answer confirms a guess of the number.
    """
    answer, number = outcome.answer, float(mark)
    if not isinstance(answer, float) or not 0 < answer < number:
        return ABSENT
    below = min(_FAR_BELOW, int(math.log2(number / answer)))
    steps = round(Fraction(answer) / Fraction(number) * 2**53)
    return any(step * 2.0**-53 * number == answer for step in (steps - 1, steps, steps + 1)), below


def _trailing(outcome: Outcome, _: str) -> Hashable:
    """How many binary digits of a float are used after the first: 0 to 52.

    Noise that is computed in floats leaves its grid in the last digits, and the grid
    depends on what the noise was added to.
    """
    answer = outcome.answer
    if not isinstance(answer, float) or not math.isfinite(answer) or not answer:
        return ABSENT
    numerator, _denominator = abs(answer).as_integer_ratio()
    return numerator.bit_length() - ((numerator & -numerator).bit_length() - 1) - 1


_READERS: dict[str, Callable[[Outcome, str], Hashable]] = {
    "answer": lambda outcome, _: outcome.answer,
    "type": lambda outcome, _: outcome.kind if not outcome.error else ABSENT,
    "error": lambda outcome, _: outcome.error,
    "warnings": lambda outcome, _: outcome.warned,
    "length": lambda outcome, _: (
        len(outcome.answer) if isinstance(outcome.answer, tuple) else ABSENT
    ),
    "members": lambda outcome, _: (
        frozenset(outcome.answer) if isinstance(outcome.answer, tuple) else ABSENT
    ),
    "item": _item,
    "has": lambda outcome, part: isinstance(outcome.answer, tuple) and int(part) in outcome.answer,
    "trailing": _trailing,
    "grid": _grid,
    "twin": _twin,
}
