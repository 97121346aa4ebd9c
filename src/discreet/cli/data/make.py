"""Make the demo's table of scores: people who do not exist, and what they would say.
Run it to write the CSV file anew.

It has one row for each candidate and holds scores, not people: that is what `discreet
select` reads.
"""

from __future__ import annotations

import csv
import io
import math
import random
from pathlib import Path

_NAMES = """
Epsilon Biscuit Noodle Pixel Waffles Delta Pepper Maple Ziggy Bandit Cookie Juno Moose Olive
Pretzel Rocket Sparky
Tango Willow Zelda Archie Bagel Comet Domino Echo Fable Ginger Hazel Indie Jasper Kiwi Lemon
Mango Nacho Otis Peanut
Quill Rolo Sushi Toffee Umber Violet Wasabi Xena Yogi Zephyr Apollo Banjo Clover Dakota Ember
Finn Gizmo Harley Iris
Jelly Koda Luna Mocha Nova Opal Pogo Quest Remy Scout Taco Uno Vesper Winnie Xylo Yuki Zorro
Atlas Bruno Cosmo Duke
Elmo Fig Goose Hugo Inky Jinx Kona Loki Milo Nori Oreo Pluto Quincy Rufus Sage Teddy Ursa Vega
Whisky Ximena Yarrow
Zinnia Laplace Gumbel
"""
NAMES = _NAMES.split()

Table = tuple[list[str], list[list[str]]]


def mascot(voters: int = 300) -> Table:
    """An approval vote: everyone may tick as many of the 100 names as they like."""
    chance = random.Random(3)
    rates = [0.06 + 0.44 * math.exp(-place / 14) for place in range(len(NAMES))]
    votes = [sum(chance.random() < rate for _ in range(voters)) for rate in rates]
    return ["name", "votes"], [
        [name, str(count)] for name, count in sorted(zip(NAMES, votes, strict=True))
    ]


TABLES = {"mascot.csv": mascot}


def text(name: str) -> str:
    """The content of one of the files."""
    header, rows = TABLES[name]()
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([header, *rows])
    return written.getvalue()


if __name__ == "__main__":
    for file in TABLES:
        Path(__file__).with_name(file).write_text(text(file), encoding="utf-8")
