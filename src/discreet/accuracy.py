"""How far an answer can be off, told from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from discreet.errors import ParameterError
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
"""How often a bound may fail where nobody says otherwise: it holds with 95 %."""

# more than the rounding of a few logarithms and products
_SLACK = 1 + 2.0**-40
_OF_RANKS = ("rank", "ranks", "parts")
# what is between two points counts half at each: docs/proofs/accuracy.md#quantiles
_ON_THE_GRID = " on the grid"
_SHARING = "the square root of the number of {unit} that share one value"


@dataclass(frozen=True, slots=True, init=False)
class Accuracy:
    """How far an answer can be off, except with a stated probability.

    It follows from public numbers alone (how many candidates, k, epsilon, ...): it is
    the same for every table, and known before the first row is read.

    bound: how far off, in `unit`. Infinite where no float can hold it.
    unit: what is counted: "persons", "rows", "revenue", "score", or what the table calls
        its persons, such as "readers".
    thing: what is selected, for the sentence.
    failure_probability: how often the bound may fail: 1/20 is "with 95 %".
    statement: what is at most `bound`:
        "winner": how far the selected one is behind the best;
        "list": how far any that is left out is ahead of any that is listed;
        "places": how far each of the list is behind the one that belongs in its place;
        "named": how many persons an item needs at most to be on a list that is not
            full;
        "rank", "ranks": how many persons a quantile, each quantile, is off its rank, where
            a value between two points of the grid counts half at each of them, and one
            outside at the nearest bound;
        "parts": how many persons more than necessary are in the wrong part between
            quantiles;
        "captured": how far the sum of squares in a subspace is below that in the best;
        "squares": how far each sum of squares along a direction is off;
        "losses": how far the losses of a model add up to more than those of the best;
        "depth": how many persons fewer than half of all are on either side of a point;
        "number", "numbers": how far a number, each of some numbers, is off;
        "threshold": how far what was found is below a threshold, and what was passed
            over above it;
        "runs": which share of all runs would be better than the best of those that were
            made;
        "report": nothing: the bound is 0, and the probability is that of the report of
            one person to name the person's own category;
        "shares": how far each estimated share is off.
    sharing: of "ranks", what comes on top for each square root of the number of persons
        that share one value.
    crowd: of a list that may be short, which place in the order of frequency the crowd
        begins at, and how far above it an item that is left out can be at most.
    cap: of each person at most so many values count, or rows where a rank is told; which
        of them is drawn at random. The bound is about what counts.

    >>> accuracy = Accuracy(
    ...     bound=142, unit="readers", thing="article", statement="list", failure_probability=0.05
    ... )
    >>> print(accuracy)
    An article left out has at most 142 readers more than any that is listed, with 95 %.
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
                raise ParameterError("Accuracy", name, "at least 0", value)
        # a float means the decimal that it prints as
        failure = private_decimal(failure_probability, "failure_probability", "Accuracy")
        if not 0 < failure < 1:
            rule = "between 0 and 1"
            raise ParameterError("Accuracy", "failure_probability", rule, failure_probability)
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
            return "So small an epsilon says nothing about the best one."
        said = f"{self._said()}, with {_percent(1 - self.failure_probability)}."
        return said if self.cap is None else f"{said} {self.capped}."

    @property
    def capped(self) -> str:
        """What does not count, for people to read; nothing where there is no cap."""
        if self.cap is None:
            return ""
        which = "rows" if self.statement in _OF_RANKS else "values"
        return f"Of each person's {which} at most {self.cap:,} count{'s' * (self.cap == 1)}"

    def in_words(
        self, *, unit: str, thing: str | None = None, whole: bool = False, cap: int | None = None
    ) -> Accuracy:
        """The same bound with the words of a question.

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
        # answers that were kept before the grid was named have the same bound
        if fields["sentence"] not in (made.sentence, made.sentence.replace(_ON_THE_GRID, "")):
            raise ValueError("another sentence")
        return made

    def _said(self) -> str:
        few = shown_bound(self.bound)
        if self.statement in ("winner", "list", "places", "named"):
            return self._said_of_choices(few)
        if self.statement in _OF_RANKS:
            return self._said_of_ranks(few)
        if self.statement in ("captured", "squares", "losses", "depth"):
            return self._said_of_models(few)
        return self._said_of_numbers(few)

    def _said_of_choices(self, few: str) -> str:
        article = "An" if self.thing[:1].lower() in "aeiou" else "A"
        ahead, behind = self._compared(few)
        match self.statement:
            case "winner":
                return f"The selected {self.thing} {behind} the best one"
            case "list":
                said = f"{article} {self.thing} left out {ahead} any that is listed"
                return said if self.crowd is None else f"{said}{self._crowded()}"
            case "places":
                return f"In each place the {self.thing} {behind} the one that belongs there"
            case _:
                return (
                    f"{article} {self.thing} with {few} {self.unit} or more is named, unless the "
                    "list is full"
                )

    def _said_of_ranks(self, few: str) -> str:
        match self.statement:
            case "rank":
                return f"It is at most {few} {self.unit} off its rank{_ON_THE_GRID}"
            case "ranks":
                return (
                    f"Each is at most {few} {self.unit} off its rank{_ON_THE_GRID}{self._shared()}"
                )
            case _:
                return (
                    f"Together they leave at most {few} {self.unit} more in the wrong part than "
                    "the best points of the grid would"
                )

    def _said_of_models(self, few: str) -> str:
        match self.statement:
            case "captured":
                return f"The sum of squares in it is at most {few} below that in the best subspace"
            case "squares":
                return f"Each sum of squares is at most {few} off"
            case "losses":
                return f"Its losses add up to at most {few} more than those of the best one"
            case _:
                return f"On either side of it are at most {few} {self.unit} fewer than half of all"

    def _said_of_numbers(self, few: str) -> str:
        far = few if self.unit == "score" else f"{few} {self.unit}"
        match self.statement:
            case "number":
                return f"It is at most {far} off"
            case "numbers":
                return f"Each is at most {far} off"
            case "threshold":
                return (
                    f"What was found is at most {far} below the threshold, and what was passed "
                    f"over at most {far} above it"
                )
            case "runs":
                return f"At most {shown_bound(100 * self.bound)} % of all runs would be better"
            case "report":
                return f"It names the person's own {self.thing}"
            case _:
                return f"Each share is at most {far} off"

    def _compared(self, few: str) -> tuple[str, str]:
        """What is said of something that is above another by at most this, and below it."""
        if self.unit == "score":
            return f"is at most {few} ahead of", f"is at most {few} behind"
        if self.unit == "revenue":
            return f"earns at most {few} more than", f"earns at most {few} less than"
        return (
            f"has at most {few} {self.unit} more than",
            f"has at most {few} {self.unit} fewer than",
        )

    def _crowded(self) -> str:
        place, height = self.crowd or (0, 0.0)
        return (
            f", and where the list is short at most {shown_bound(height)} {self.unit} more than "
            f"the one in place {place:,}"
        )

    def _shared(self) -> str:
        if not self.sharing:
            return ""
        return f", plus {shown_bound(self.sharing)} times {_SHARING.format(unit=self.unit)}"


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
    """What was written as a list, with numbers of the same types."""
    place, height = crowd
    if type(place) is not int or type(height) not in (int, float):
        raise ValueError("not a crowd")
    return place, height


# digits of a percentage behind the point, and the most where it is almost 100
_DIGITS, _MOST_DIGITS = 4, 12


def _percent(share: Fraction) -> str:
    """A share below 1 as a percentage, rounded down, with as many nines as it has.

    >>> _percent(Fraction(19, 20)), _percent(Fraction(2, 3)), _percent(1 - Fraction(1, 10**9))
    ('95 %', '66.6666 %', '99.9999999 %')
    """
    digits = _DIGITS
    while digits < _MOST_DIGITS and (1 - share) * 10 ** (digits + 1) < 1:
        digits += 1
    whole, rest = divmod(math.floor(100 * share * 10**digits), 10**digits)
    return f"{whole}.{rest:0{digits}}".rstrip("0").rstrip(".") + " %"
