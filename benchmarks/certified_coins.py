"""Compute the numbers of coins that come with the package: src/discreet/accounting/coins.json.

Run it when the menu, the units or the moves of the coin game have changed (and raise
`coins.RULES`). One game serves all deltas of an epsilon; each takes about half a minute, all
of them some ten minutes.

    python benchmarks/certified_coins.py            # all epsilons
    python benchmarks/certified_coins.py 1 0.5      # these; the others stay as they are
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

from discreet.accounting.coin_prices import coin_tariff
from discreet.accounting.coin_table import play, read_entries, write_entries

FILE = Path(__file__).parents[1] / "src" / "discreet" / "accounting" / "coins.json"
EPSILONS = (
    *("1", "0.5", "2", "0.1", "5", "10", "0.2", "3", "0.25", "4", "8", "1.5", "0.3", "6"),
    *("0.4", "0.6", "0.75", "0.8", "1.2", "1.25", "2.5", "7", "9", "0.15", "0.7", "0.9", "3.5"),
)
EXPONENTS = (5, 6, 7, 8, 9, 10, 12)
FACTORS = (1, 2, 5)
# all of delta, and what is left of it where lists from unknown domains have a tenth
SHARES = (Fraction(1), Fraction(9, 10))


def budgets_of(epsilon: Fraction) -> dict[int, list[Fraction]]:
    """The deltas, by the parts of epsilon that a unit is."""
    by_parts: dict[int, list[Fraction]] = {}
    deltas = [Fraction(factor, 10**exponent) for exponent in EXPONENTS for factor in FACTORS]
    for usual in (delta for delta in deltas if delta <= Fraction(1, 10 ** EXPONENTS[0])):
        for share in SHARES:
            delta = share * usual
            parts = int(epsilon / coin_tariff(epsilon, delta).unit)
            by_parts.setdefault(parts, []).append(delta)
    return by_parts


def main(epsilons: list[str]) -> None:
    """Play a game for each epsilon, and write after each."""
    for text in epsilons or EPSILONS:
        epsilon = Fraction(text)
        for parts, deltas in budgets_of(epsilon).items():
            coins = play(epsilon, deltas, parts)
            new = {(epsilon, delta, parts): n for delta, n in zip(deltas, coins, strict=True)}
            entries = read_entries(FILE.read_text(encoding="utf-8")) | new
            FILE.write_text(write_entries(dict(sorted(entries.items()))), encoding="utf-8")
            print(epsilon, parts, coins, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
