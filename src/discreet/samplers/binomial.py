"""How many of many persons pass a coin, each for itself, without flipping one after the other."""

from __future__ import annotations

from discreet.samplers.chance import Chance

_AT_ONCE = 1 << 16  # bits


def draw_binomial(persons: int, part: int, digits: int, chance: Chance) -> int:
    """How many of so many persons draw a number below `part`, each a uniform one with so many binary digits.

    All draw their highest digit, and only those for whom it decides nothing draw the next one: about two bits a person.
    """
    passed = 0
    for digit in reversed(range(digits)):
        if not persons or not part % (2 << digit):  # nobody left, or nothing that is left could be below
            break
        zeros = _count_heads(persons, chance)
        if part >> digit & 1:
            passed, persons = passed + zeros, persons - zeros
        else:
            persons = zeros
    return passed


def _count_heads(coins: int, chance: Chance) -> int:
    """How many of so many fair coins show heads."""
    whole, rest = divmod(coins, _AT_ONCE)
    return sum(chance.draw(_AT_ONCE).bit_count() for _ in range(whole)) + (chance.draw(rest).bit_count() if rest else 0)
