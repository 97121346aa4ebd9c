"""What a privacy loss promises, in a sentence."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet import ApproxDP, BoundedRange, Loss, PureDP
from discreet.cli.terminal import round_up


def promise(loss: Loss, who: str = "person") -> str:
    """One sentence that says what is promised to each person, or to each row.

    >>> from discreet import PureDP
    >>> promise(PureDP(1))
    'No one person, by being in the data or not, changes the odds of any answer by more than a factor e^1 = 2.719.'
    """
    if isinstance(loss, ApproxDP):
        return (
            f"No one {who}, by being in the data or not, makes anything about the answer more than "
            f"{factor(loss.epsilon)} times as likely, plus a probability of {round_up(loss.delta)}."
        )
    if not isinstance(loss, (PureDP, BoundedRange)):
        return f"The privacy loss is {loss!r}."
    return (
        f"No one {who}, by being in the data or not, changes the odds of any answer by more than a factor "
        f"{factor(loss.epsilon)}."
    )


def factor(epsilon: Fraction) -> str:
    """The factor e^epsilon, rounded up, where it is a number that says anything.

    >>> factor(Fraction(1, 2)), factor(Fraction(1000))
    ('e^0.5 = 1.649', 'e^1000')
    """
    power = f"e^{epsilon_text(epsilon)}"
    return f"{power} = {round_up(math.exp(epsilon), 4)}" if epsilon <= 64 else power


def epsilon_text(epsilon: Fraction) -> str:
    """An exact epsilon as people write it, in an exponent."""
    text = exact_text(epsilon)
    return f"({text})" if "/" in text else text


def exact_text(value: Fraction) -> str:
    """An exact number as people write it: a decimal where there is a short one.

    >>> exact_text(Fraction(5, 2)), exact_text(Fraction(1, 3)), exact_text(Fraction(1234567))
    ('2.5', '1/3', '1234567')
    """
    try:
        text = f"{float(value):g}"
    except OverflowError:
        return str(value)
    return text if Fraction(text) == value else str(value)
