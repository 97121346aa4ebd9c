"""A small table with everything that an honest table has: several rows of one person, empty
cells, odd numbers.
"""

from __future__ import annotations

import random
from datetime import date
from fractions import Fraction

from engines.tables import Row

CANDIDATES = ["Ada", "Bob", "Cy", "Dee", "nobody"]
BIRTHDAYS = [
    date(2000, 2, 29),
    date(1970, 1, 1),
    date(1500, 2, 28),
]  # the last one in a calendar that is no longer used
AMOUNTS = [0, 1, 2, 3, 50]
PRICES = [Fraction(1), Fraction(5, 2), Fraction(4), Fraction(8), Fraction(10)]
LOW, STEP, POINTS = Fraction(0), Fraction(1, 10), 101
GRID = [LOW + place * STEP for place in range(POINTS)]


def row(person: int | None = 1000, world: int = 0, **cells: object) -> Row:
    """A row of somebody who has nothing special."""
    usual = {
        "item": "Ada",
        "price": 4.0,
        "said": "4",
        "amount": 1,
        "vote": True,
        "city": "Oslo",
        "born": BIRTHDAYS[0],
    }
    return {"world": world, "person": person} | _names(person) | usual | cells


def _names(person: int | None) -> Row:
    """The same person as text and as a float."""
    return (
        {"name": None, "weight": None}
        if person is None
        else {"name": str(person), "weight": float(person)}
    )


def honest_rows() -> list[Row]:
    """60 persons with one to three rows each; Ada is read most, 8 earns most, and the middle of
    the prices is 6.
    """
    source = random.Random(7)
    rows: list[Row] = []
    for person in range(60):
        item = "Ada" if person < 40 else "Bob" if person < 50 else "Cy" if person < 55 else "Dee"
        price = float(Fraction(person + 1, 10) + 3) if person < 30 else 8.0 + person / 100
        said = source.choice(
            [repr(price), f" {price}", f"{price:e}".replace("e+0", "e+"), "+4", "abc", ""]
        )
        first = row(
            person, item=item, price=price, said=said, amount=person % 4, vote=person % 3 == 0
        )
        first["born"] = BIRTHDAYS[person % 3]
        rows.append(first | {"city": "Oslo" if person % 2 else "Rome"})
        if person % 2:
            rows.append(first)
        if person % 5 == 0:
            rows.append(first | {"item": "Bob", "price": price / 2, "said": "1.5"})
    odd = [None, float("nan"), float("inf"), float("-inf"), 1e308, -1e308, -0.0, 0.3, 10.0, 5e-324]
    rows += [row(60 + place, item="Eve", price=value, said=None) for place, value in enumerate(odd)]
    rows += [
        row(None),
        row(None, item="Bob", price=9.0),
        row(5, item=None),
        row(6, price=None, said="1e999"),
    ]
    rows += [row(7, amount=None), row(8, vote=None), row(9, amount=2**62), row(10, amount=-(2**62))]
    source.shuffle(rows)
    return rows


HONEST = honest_rows()
