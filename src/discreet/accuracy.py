"""How far off an answer can be, from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from discreet.errors import ParameterError, called_as
from discreet.exact.rationals import private_decimal, read_written, set_frozen

Statement = Literal[
    "winner",
    "list",
    "places",
    "named",
    "rank",
    "ranks",
    "parts",
    "number",
    "numbers",
    "threshold",
    "runs",
    "report",
    "shares",
    "captured",
    "squares",
    "losses",
    "depth",
]
"""What a bound is about: see `Accuracy.statement`."""

STATEMENTS: tuple[Statement, ...] = get_args(Statement)

USUAL_FAILURE = Fraction(1, 20)
"""How often a bound may fail by default: it holds with 95% confidence."""

# more than the rounding of a few logarithms and products
_SLACK = 1 + 2.0**-40
_OF_RANKS = ("rank", "ranks", "parts")


@dataclass(frozen=True, slots=True, init=False)
class Accuracy:
    """How far off an answer can be, except with a stated probability.

    It follows from public numbers alone (how many candidates, k, epsilon, ...): it is
    the same for every table, and known before the first row is read.

    bound: how far off, in `unit`. Infinite where no float can hold it.
    unit: what is counted: "persons", "rows", "revenue", "score", or the table's own noun
        for its persons, such as "readers".
    thing: what is selected, for the sentence.
    failure_probability: how often the bound may fail: 1/20 is "with 95% confidence".
    statement: what is at most `bound`:
        "winner": how far the selected one is behind the best;
        "list": how far an unlisted one can be ahead of a listed one;
        "places": how far each of the list is behind the one that belongs in its place;
        "named": how many persons are enough to put an item on a list that is not full;
        "rank", "ranks": how many persons a quantile, each quantile, is off its rank. A
            value between two points of the grid counts half at each of them, and one
            outside counts at the nearest bound;
        "parts": how many persons more than necessary are in the wrong part between
            quantiles;
        "captured": how far the sum of squares in a subspace is below that in the best;
        "squares": how far each sum of squares along a direction is off;
        "losses": how far the total loss of a model is above that of the best;
        "depth": how many persons fewer than half of all are on either side of a point;
        "number", "numbers": how far a number, each of several numbers, is off;
        "threshold": how far the answer that was found is below a threshold, and the
            answers before it are above;
        "runs": the share of all possible runs that would beat the best of those made;
        "report": nothing: the bound is 0, and the probability is that of the report of
            one person to name the person's own category;
        "shares": how far each estimated share is off.
    sharing: of "ranks", what is added for each square root of the number of persons
        who share one value.
    crowd: of a list that may be short, where in the order of frequency the crowd
        begins, and how far above it an unlisted item can be at most.
    cap: how many values of each person count at most, or rows in the case of ranks; they
        are drawn at random. The bound is about what counts.

    >>> accuracy = Accuracy(
    ...     bound=142, unit="readers", thing="article", statement="list", failure_probability=0.05
    ... )
    >>> print(accuracy)
    With 95% confidence, no unlisted article beats a listed one by more than 142 readers.
    """

    bound: float
    statement: Statement
    unit: str
    thing: str
    failure_probability: Fraction
    sharing: float
    crowd: tuple[int, float] | None
    cap: int | None

    def __init__(
        self,
        *,
        bound: float,
        statement: Statement,
        unit: str = "score",
        thing: str = "candidate",
        failure_probability: Fraction | float = USUAL_FAILURE,
        sharing: float = 0.0,
        crowd: tuple[int, float] | None = None,
        cap: int | None = None,
    ) -> None:
        for name, value in (("bound", bound), ("sharing", sharing)):
            # no comparison holds for NaN
            if not value >= 0:
                raise ParameterError(name, "at least 0", value, owner="Accuracy")
        # a float means the decimal that it prints as
        with called_as("Accuracy"):
            failure = private_decimal(failure_probability, "failure_probability")
        if not 0 < failure < 1:
            rule = "between 0 and 1"
            got = failure_probability
            raise ParameterError("failure_probability", rule, got, owner="Accuracy")
        set_frozen(self, bound=bound, statement=statement, unit=unit, thing=thing)
        set_frozen(self, failure_probability=failure, sharing=sharing, crowd=crowd, cap=cap)

    def __float__(self) -> float:
        return float(self.bound)

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The bound for people to read."""
        if math.isinf(self.bound):
            return "With so small an epsilon, nothing limits how far off the answer can be."
        confidence = percent(1 - self.failure_probability)
        if self.statement == "report":
            return f"With a probability of {confidence}, {self._statement_in_words()}."
        bounded = f"With {confidence} confidence, {self._statement_in_words()}."
        return " ".join(
            [bounded, *(f"{more}." for more in (self.percentiles, self.capped) if more)]
        )

    @property
    def percentiles(self) -> str:
        """How many rows must count for a bound in rows, which nobody can judge, to be five
        percentiles; nothing where people are counted.

        >>> print(Accuracy(bound=450, statement="rank", unit="rows").percentiles)
        If at least 9,000 rows count, that is at most 5 percentiles
        """
        if self.unit != "rows" or self.statement not in ("rank", "ranks"):
            return ""
        # no more than all n share a value, and bound + sharing * sqrt(n) = n / 20 is solved by
        root = 10 * self.sharing + math.sqrt((10 * self.sharing) ** 2 + 20 * self.bound)
        return f"If at least {two_digits(root**2):,} rows count, that is at most 5 percentiles"

    @property
    def capped(self) -> str:
        """What does not count, for people to read; empty where there is no cap."""
        if self.cap is None:
            return ""
        one = "row" if self.statement in _OF_RANKS else "value"
        if self.cap == 1:
            return f"At most 1 {one} per person counts"
        return f"At most {self.cap:,} {one}s per person count"

    def in_words(
        self, *, unit: str, thing: str | None = None, whole: bool = False, cap: int | None = None
    ) -> Accuracy:
        """Put the bound in the words of a question.

        whole: whether what is bounded is a whole number, so that the bound can be
            rounded down.
        cap: how many values, or rows, of each person count.
        """
        return Accuracy(
            bound=whole_bound(self.bound) if whole else self.bound,
            statement=self.statement,
            unit=unit,
            thing=self.thing if thing is None else thing,
            failure_probability=self.failure_probability,
            sharing=self.sharing,
            crowd=_whole_crowd(self.crowd) if whole else self.crowd,
            cap=self.cap if cap is None else cap,
        )

    def to_dict(self) -> dict[str, Any]:
        """The bound and its sentence as plain JSON."""
        fields: dict[str, Any] = {
            "bound": self.bound if math.isfinite(self.bound) else None,
            "unit": self.unit,
            "thing": self.thing,
            "statement": self.statement,
            "failure_probability": str(self.failure_probability),
        }
        fields |= {"sharing": self.sharing} if self.sharing else {}
        fields |= {"crowd": list(self.crowd)} if self.crowd else {}
        fields |= {"cap": self.cap} if self.cap is not None else {}
        return fields | {"sentence": self.sentence}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Accuracy:
        """Read what `to_dict` wrote; a ValueError if it is something else."""
        given = {name: value for name, value in fields.items() if name != "sentence"}
        bound = given.pop("bound")
        failure = read_written(given.pop("failure_probability"))
        if not 0 < failure < 1:
            raise ValueError("not a probability")
        crowd = given.pop("crowd", None)
        if given["statement"] not in STATEMENTS or type(bound) not in (int, float, type(None)):
            raise ValueError("not a bound")
        if [type(given[name]) for name in ("unit", "thing")] != [str, str]:
            raise ValueError("not words")
        cap = given.get("cap", 1)
        if type(cap) is not int or cap < 1:
            raise ValueError("not a cap")
        made = cls(
            bound=math.inf if bound is None else bound,
            failure_probability=failure,
            crowd=None if crowd is None else _restored_crowd(crowd),
            **given,
        )
        # The sentence is for readers of the JSON. What is shown here is written anew.
        if type(fields["sentence"]) is not str:
            raise ValueError("not a sentence")
        return made

    def _statement_in_words(self) -> str:
        bound = shown_bound(self.bound)
        if self.statement in ("winner", "list", "places", "named"):
            return self._choice_in_words(bound)
        if self.statement in _OF_RANKS:
            return self._rank_in_words(bound)
        if self.statement in ("captured", "squares", "losses", "depth"):
            return self._model_in_words(bound)
        return self._number_in_words(bound)

    def _choice_in_words(self, bound: str) -> str:
        match self.statement:
            case "winner":
                return f"the chosen {self.thing} {self._behind(bound)} {self._best()}"
            case "list":
                words = (
                    f"no unlisted {self.thing} beats a listed one by more than "
                    f"{_with_unit(bound, self.unit)}"
                )
                return words if self.crowd is None else f"{words}{self._crowd_in_words()}"
            case "places":
                return f"each {self.thing} {self._behind(bound)} the one that belongs in its place"
            case _:
                article = "an" if self.thing[:1].lower() in "aeiou" else "a"
                return (
                    f"{article} {self.thing} with {_with_unit(bound, self.unit)} or more is "
                    "listed, unless the list is full"
                )

    def _rank_in_words(self, bound: str) -> str:
        far = _with_unit(bound, self.unit)
        match self.statement:
            case "rank":
                return f"the answer's rank on the grid is off by at most {far}"
            case "ranks":
                return (
                    f"the rank of each answer on the grid is off by at most {far}"
                    f"{self._sharing_in_words()}"
                )
            case _:
                return (
                    f"the answers together misplace at most {bound} more {_people(self.unit)} "
                    "than the best points of the grid would"
                )

    def _model_in_words(self, bound: str) -> str:
        match self.statement:
            case "captured":
                return f"the answer's sum of squares is at most {bound} below the best possible"
            case "squares":
                return f"each sum of squares is off by at most {bound}"
            case "losses":
                return f"the model's total loss is at most {bound} above the smallest possible"
            case _:
                return (
                    f"each side of the answer holds at least half of all {_people(self.unit)}, "
                    f"minus {bound}"
                )

    def _number_in_words(self, bound: str) -> str:
        far = _with_unit(bound, self.unit)
        match self.statement:
            case "number":
                return f"the answer is off by at most {far}"
            case "numbers":
                return f"each number is off by at most {far}"
            case "threshold":
                return (
                    f"the answer found is at most {far} below the threshold, and none before it "
                    f"is more than {far} above"
                )
            case "runs":
                return f"at most {shown_bound(100 * self.bound)}% of all runs would be better"
            case "report":
                return f"the report names the person's own {self.thing}"
            case _:
                return f"each share is off by at most {far}"

    def _behind(self, bound: str) -> str:
        """How far something is below another, at most."""
        if self.unit == "revenue":
            return f"earns at most {bound} less than"
        return f"is at most {_with_unit(bound, self.unit)} behind"

    def _best(self) -> str:
        return "the best one" if self.unit in ("score", "revenue") else "the most frequent one"

    def _crowd_in_words(self) -> str:
        place, height = self.crowd or (0, 0.0)
        return (
            "; if the list is short, none beats the one in place "
            f"{place:,} by more than {_with_unit(shown_bound(height), self.unit)}"
        )

    def _sharing_in_words(self) -> str:
        if not self.sharing:
            return ""
        return (
            f", plus {shown_bound(self.sharing)} times the square root of the number of "
            f"{_people(self.unit)} with the same value"
        )


def _people(unit: str) -> str:
    """The unit as a plural that people use.

    >>> _people("persons"), _people("readers")
    ('people', 'readers')
    """
    return "people" if unit == "persons" else unit


def _with_unit(bound: str, unit: str) -> str:
    """A number and what it counts.

    >>> _with_unit("1", "readers"), _with_unit("7", "persons"), _with_unit("0.5", "score")
    ('1 reader', '7 people', '0.5')
    """
    if unit == "score" or unit == "revenue":
        return bound
    if bound == "1":
        return f"1 {unit.removesuffix('s')}"
    return f"{bound} {_people(unit)}"


def rounded_up(bound: float) -> float:
    """A bound that the rounding of a few floats has not made too small."""
    return bound * _SLACK


def whole_bound(bound: float) -> float:
    """A bound of whole numbers, rounded down: the next one is beyond it already.

    >>> whole_bound(7.6), whole_bound(8.0), whole_bound(math.inf), whole_bound(10**400)
    (7, 8, inf, inf)
    """
    try:
        return math.floor(bound * _SLACK)
    except OverflowError:
        # infinite, or a whole number beyond all floats
        return math.inf


def two_digits(number: float) -> int:
    """A number from 1 on, rounded up to two digits.

    >>> two_digits(9.2), two_digits(8961), two_digits(9000)
    (10, 9000, 9000)
    """
    whole = math.ceil(number)
    step: int = 10 ** max(0, len(str(whole)) - 2)
    return -(-whole // step) * step


def shown_bound(bound: float) -> str:
    """A bound as people write it: a whole number, or three digits, rounded up.

    >>> shown_bound(1234), shown_bound(7.6009), shown_bound(0.0123449), shown_bound(123456.7)
    ('1,234', '7.61', '0.0124', '124,000')
    """
    if bound == int(bound):
        return f"{int(bound):,}"
    digits = 2 - math.floor(math.log10(bound))
    scale = Fraction(10) ** digits
    rounded = math.ceil(Fraction(bound) * scale) / scale
    return f"{int(rounded):,}" if rounded.denominator == 1 else f"{float(rounded):g}"


def _whole_crowd(crowd: tuple[int, float] | None) -> tuple[int, float] | None:
    return None if crowd is None else (crowd[0], whole_bound(crowd[1]))


def _restored_crowd(crowd: Any) -> tuple[int, float]:
    """Read back what was written as a list, with numbers of the same types."""
    place, height = crowd
    if type(place) is not int or type(height) not in (int, float):
        raise ValueError("not a crowd")
    return place, height


# digits of a percentage behind the point, and the most where it is almost 100
_DIGITS, _MOST_DIGITS = 4, 12


def percent(share: Fraction) -> str:
    """A share below 1 as a percentage, rounded down, with as many nines as it has.

    >>> percent(Fraction(19, 20)), percent(Fraction(2, 3)), percent(1 - Fraction(1, 10**9))
    ('95%', '66.6666%', '99.9999999%')
    """
    digits = _DIGITS
    while digits < _MOST_DIGITS and (1 - share) * 10 ** (digits + 1) < 1:
        digits += 1
    whole, rest = divmod(math.floor(100 * share * 10**digits), 10**digits)
    return f"{whole}.{rest:0{digits}}".rstrip("0").rstrip(".") + "%"
