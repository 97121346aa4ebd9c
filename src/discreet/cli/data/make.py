"""Make the demo's data: people who do not exist, and what they would say. Run it to write the CSV files anew.

Each file has one row per candidate and holds scores, not people: that is what `discreet select` reads.
"""

from __future__ import annotations

import csv
import io
import math
import random
from pathlib import Path

_NAMES = """
Epsilon Biscuit Noodle Pixel Waffles Delta Pepper Maple Ziggy Bandit Cookie Juno Moose Olive Pretzel Rocket Sparky
Tango Willow Zelda Archie Bagel Comet Domino Echo Fable Ginger Hazel Indie Jasper Kiwi Lemon Mango Nacho Otis Peanut
Quill Rolo Sushi Toffee Umber Violet Wasabi Xena Yogi Zephyr Apollo Banjo Clover Dakota Ember Finn Gizmo Harley Iris
Jelly Koda Luna Mocha Nova Opal Pogo Quest Remy Scout Taco Uno Vesper Winnie Xylo Yuki Zorro Atlas Bruno Cosmo Duke
Elmo Fig Goose Hugo Inky Jinx Kona Loki Milo Nori Oreo Pluto Quincy Rufus Sage Teddy Ursa Vega Whisky Ximena Yarrow
Zinnia Laplace Gumbel
"""
NAMES = _NAMES.split()
TEACHERS = [
    "Ms Alvarez",
    "Mr Brandt",
    "Ms Chen",
    "Mr Diallo",
    "Ms Eriksen",
    "Mr Fujita",
    "Ms Gupta",
    "Mr Haddad",
    "Ms Ivanova",
]
PRICES = range(1, 200)  # $0.01 to $1.99, in cents
APPLE_PRICES = (100, 101, 401, 402)
APPLE_BUYERS = (401, 100, 100, 100)  # what each of four people would pay, in cents

Table = tuple[list[str], list[list[str]]]


def mascot(voters: int = 300) -> Table:
    """An approval vote: everyone may tick as many of the 100 names as they like."""
    chance = random.Random(3)
    rates = [0.06 + 0.44 * math.exp(-place / 14) for place in range(len(NAMES))]
    votes = [sum(chance.random() < rate for _ in range(voters)) for rate in rates]
    return ["name", "votes"], [[name, str(count)] for name, count in sorted(zip(NAMES, votes, strict=True))]


def teachers(students: int = 420) -> Table:
    """A choose-one vote: every student names one teacher."""
    chance = random.Random(30)
    ballots = chance.choices(TEACHERS, weights=[10, 6, 13, 4, 12, 5, 9, 3, 7], k=students)
    return ["teacher", "votes"], [[name, str(ballots.count(name))] for name in TEACHERS]


def song(listeners: int = 250) -> Table:
    """A market study: the most that each listener would pay for one download, and the revenue at each price."""
    chance = random.Random(29)
    habits = [49, 69, 99, 129, 149, 199]  # people like such prices, some a few cents less
    limits = [
        max(1, habit - int(chance.random() * 6)) for habit in chance.choices(habits, weights=[4, 6, 9, 4, 3, 2], k=listeners)
    ]
    return ["price", "revenue_in_cents"], [[dollars(price), str(revenue(price, limits))] for price in PRICES]


def apples() -> Table:
    """Four buyers, and a market that is the same a hundred times over."""
    rows = [
        [dollars(price), str(revenue(price, APPLE_BUYERS)), str(revenue(price, APPLE_BUYERS * 100))] for price in APPLE_PRICES
    ]
    return ["price", "revenue_from_4", "revenue_from_400"], rows


def revenue(price: int, limits: list[int] | tuple[int, ...]) -> int:
    """What a price earns, in cents: the price times the number of people who would pay it."""
    return price * sum(limit >= price for limit in limits)


def dollars(cents: int) -> str:
    """A price as it is written on the label."""
    return f"${cents // 100}.{cents % 100:02d}"


TABLES = {"mascot.csv": mascot, "teachers.csv": teachers, "song.csv": song, "apples.csv": apples}


def text(name: str) -> str:
    """The content of one of the files."""
    header, rows = TABLES[name]()
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([header, *rows])
    return written.getvalue()


if __name__ == "__main__":
    for file in TABLES:
        Path(__file__).with_name(file).write_text(text(file), encoding="utf-8")
