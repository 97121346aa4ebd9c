"""Costs of releases and amounts of a budget: exact numbers with a unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_DOWN, Context, Decimal
from fractions import Fraction
from functools import total_ordering
from numbers import Rational
from typing import Literal

from discreet.errors import ParameterError, ParameterTypeError, public_class
from discreet.exact.rationals import exact_decimal, readable, set_frozen
from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, Composed, Loss, PureDP, is_loss

MoneyUnit = Literal["epsilon", "rho", "coins"]

_TWO_DIGITS = Context(prec=2, rounding=ROUND_DOWN, Emin=MIN_EMIN, Emax=MAX_EMAX)
_LARGEST_FLOAT = Decimal("1e308")


@public_class
@dataclass(frozen=True, slots=True)
class Cost:
    """The price of one release.

    loss: the privacy loss of the release as a whole.
    parts: the losses that it is made of, each with how often it occurs; None where it
        is one piece. A budget with a delta, or in rho, pays less for many small parts.
    delta: for a release in parts, the probability of a bad event in addition to theirs.

    >>> from discreet import BoundedRange, PureDP
    >>> Cost(PureDP(1)).parts_or_whole
    {PureDP(epsilon=1): 1}
    >>> Cost(PureDP(1), {BoundedRange(0.1): 10}).parts_or_whole
    {BoundedRange(epsilon=0.1): 10}
    """

    loss: Loss
    parts: Mapping[Loss, int] | None = None
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not is_loss(self.loss):
            raise ParameterTypeError("loss", "a loss such as PureDP(0.1)", self.loss)
        if isinstance(self.loss, Composed) and self.parts is None:
            set_frozen(self, parts=self.loss.losses, delta=self.loss.delta)
        if self.parts is not None:
            # as they are now, whatever becomes of what was handed over
            set_frozen(self, parts=_read_parts(self.parts))
        delta = exact_decimal(self.delta, "delta")
        if not 0 <= delta <= 1:
            raise ParameterError("delta", "from 0 to 1", self.delta)
        set_frozen(self, delta=delta)

    @property
    def made_of(self) -> str:
        """The parts, for people to read.

        >>> from discreet import BoundedRange, PureDP
        >>> Cost(PureDP(1), {BoundedRange(0.0316): 10}).made_of
        '10 × BoundedRange(0.0316)'
        """
        return (
            self.loss.in_short if self.parts is None else Composed(self.parts, self.delta).in_short
        )

    @property
    def parts_or_whole(self) -> Mapping[Loss, int]:
        """The parts, or the whole loss once if there are none."""
        return {self.loss: 1} if self.parts is None else self.parts


def _read_parts(parts: object) -> dict[Loss, int]:
    read = dict(parts) if isinstance(parts, Mapping) else {}
    if not isinstance(parts, Mapping) or not all(map(_is_part, read.items())):
        rule = "a mapping from losses to how often they occur"
        raise ParameterTypeError("parts", rule, type(parts).__name__)
    return read


def _is_part(part: tuple[object, object]) -> bool:
    """Check that this is a loss and how often it occurs: less than once would be a refund."""
    loss, times = part
    return is_loss(loss) and type(times) is int and times > 0


@public_class
@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Amount:
    """An amount of a budget that is left, spent or asked for: epsilon, rho, or coins.

    value: exact.
    unit: "epsilon", "rho" or "coins".
    coin: for coins, the bounded range that one of them pays for.
    whole: for coins, how many the budget has, where that is known: then the amount prints
        as a share of the budget.

    An amount compares with amounts of the same unit and with plain numbers.

    >>> coins = Amount(Fraction(17), "coins", Fraction(1, 40), Fraction(340))
    >>> print(Amount(Fraction(43, 100), "epsilon"), coins, coins.exact, sep=" / ")
    0.43 epsilon / 5% of the budget / 17 coins of 0.025
    >>> Amount(Fraction(1, 3), "rho"), Amount(Fraction(2), "epsilon") == 2
    (0.333333 rho, True)
    >>> sum([Amount(Fraction(1, 4), "epsilon"), Amount(Fraction(1, 2), "epsilon")])
    0.75 epsilon
    """

    value: Fraction
    unit: MoneyUnit
    coin: Fraction | None = None
    whole: Fraction | None = None

    def __str__(self) -> str:
        return f"{self.share} of the budget" if self.whole else self.exact

    @property
    def share(self) -> str:
        """The share of the budget, such as 5%; empty where that is not known."""
        return _percent(self.value / self.whole) if self.whole else ""

    @property
    def exact(self) -> str:
        """The amount in its own unit, for programs and records: coins stay coins."""
        shown = short(self.value)
        if self.coin is None:
            return f"{shown} {self.unit}"
        return f"{shown} coin{'' if self.value == 1 else 's'} of {short(self.coin)}"

    __repr__ = __str__

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        value = self._comparable(other)
        return NotImplemented if value is None else self.value == value

    def __lt__(self, other: object) -> bool:
        value = self._comparable(other)
        return NotImplemented if value is None else self.value < value

    def __sub__(self, other: Amount) -> Amount:
        return self._with(other, -1) if isinstance(other, Amount) else NotImplemented

    def __add__(self, other: Amount) -> Amount:
        return self._with(other, 1) if isinstance(other, Amount) else NotImplemented

    def __radd__(self, other: object) -> Amount:
        # where `sum` begins
        return self if type(other) is int and not other else NotImplemented

    def _with(self, other: Amount, sign: int) -> Amount:
        if (self.unit, self.coin) != (other.unit, other.coin):
            unit = self.unit if self.coin is None else f"coins of {short(self.coin)}"
            raise ParameterError("other", f"in {unit}", other)
        whole = self.whole if self.whole == other.whole else None
        return Amount(self.value + sign * other.value, self.unit, self.coin, whole)

    def _comparable(self, other: object) -> Rational | float | None:
        if isinstance(other, Amount):
            same = (self.unit, self.coin) == (other.unit, other.coin)
            return other.value if same else None
        return other if isinstance(other, (Rational, float)) else None

    def _repr_html_(self) -> str:
        from discreet.rendering.html import paragraph

        return paragraph(str(self))

    def to_dict(self) -> dict[str, str]:
        """The amount as plain text values."""
        shown = {"value": str(self.value), "unit": self.unit}
        return shown if self.coin is None else shown | {"coin": str(self.coin)}


def _percent(share: Fraction) -> str:
    """Write a share for people. Only all of it is 100%, and only nothing is 0%.

    >>> [_percent(Fraction(part, 2000)) for part in (0, 1, 550, 1999, 2000)]
    ['0%', '0.05%', '27.5%', '99.9%', '100%']
    """
    tenths = round(share * 1000) if share >= 1 else min(round(share * 1000), 999)
    return f"{about(share * 100)}%" if share and not tenths else f"{tenths / 10:g}%"


def short(value: Fraction) -> str:
    """Write a number for people: exactly if that is short, else with six digits."""
    text = readable(value)
    exact = len(text) <= 12 and text[0] in "-0123456789"
    if exact or abs(value) > _LARGEST_FLOAT:
        return text if exact else about(value)
    return f"{float(value):.6g}"


def in_words(loss: Loss) -> str:
    """A privacy loss as people say it.

    >>> from discreet import ApproxDP, BoundedRange, PureDP
    >>> in_words(PureDP(0.5)), in_words(ApproxDP(1, 1e-6)), in_words(BoundedRange(1))
    ('epsilon 0.5', 'epsilon 1, delta 1e-06', 'epsilon 1 (bounded range)')
    """
    if isinstance(loss, PureDP):
        return f"epsilon {short(loss.epsilon)}"
    if isinstance(loss, ApproxDP):
        return f"epsilon {short(loss.epsilon)}, delta {short(loss.delta)}"
    if isinstance(loss, BoundedRange):
        return f"epsilon {short(loss.epsilon)} (bounded range)"
    if isinstance(loss, ZCDP):
        return f"rho {short(loss.rho)}"
    return loss.in_short


def more_like_this(questions: int) -> str:
    """What is left of a budget, in the unit of every screen.

    >>> more_like_this(4), more_like_this(0)
    ('about 4 more questions like this', 'no more questions like this')
    """
    if not questions:
        return "no more questions like this"
    return f"about {questions:,} more question{'' if questions == 1 else 's'} like this"


def round_number(largest: Fraction) -> Fraction:
    """A round number at most about half as large: 1, 2 or 5 times a power of ten."""
    power = Fraction(1)
    while power * 10 <= largest / 2:
        power *= 10
    while power > largest / 2:
        power /= 10
    return max(each * power for each in (1, 2, 5) if each * power <= largest / 2)


def about(value: Fraction) -> str:
    """Write a number for people, rounded down to two digits."""
    if not value > 0:
        return "0"
    short = _TWO_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{float(short):g}" if short < _LARGEST_FLOAT else str(short).lower()
