"""The demo's tables, with people who do not exist. Run this module to write the files
anew.

The table of scores has one row for each candidate and holds scores, not people: that is
what `discreet scores select` reads. The table of article reads says who read what, and when.
Articles are read as articles are: a few by almost everybody, most by hardly anybody
(Zipf's law), and people of one role prefer some subjects. A reader may open an article
again, so some rows come twice.
"""

from __future__ import annotations

import bisect
import csv
import gzip
import io
import itertools
import math
import random
from importlib.resources import files
from pathlib import Path

from discreet.cli.stories import ARTICLES, READS

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


def votes() -> Table:
    """The scores of three candidates."""
    return ["name", "votes"], [["terrier", "412"], ["husky", "380"], ["corgi", "120"]]


def visits(patients: int = 900) -> Table:
    """Visits to a clinic, one to three for each patient. Long visits cost more, and older
    patients come back more often.
    """
    chance = random.Random(8)
    rows = []
    for number in range(1, patients + 1):
        age = 18 + int(chance.random() * 70)
        ward = "ABC"[int(chance.random() * 3)]
        for _ in range(1 + int(chance.random() * 3)):
            minutes = 5 + int(chance.random() * 40)
            cost = 20 + 3 * minutes + int(chance.random() * 40)
            back = chance.random() < 1 / (1 + math.exp((55 - age) / 8))
            price = 1 + int(chance.random() * 18) / 2
            cells = [f"p{number:03d}", age, ward, minutes, cost, "yes" if back else "no", price]
            rows.append([str(cell) for cell in cells])
    return ["patient", "age", "ward", "minutes", "cost", "back", "willing_to_pay"], rows


def answers() -> Table:
    """One answer for each person, for reports that hide it."""
    chance = random.Random(5)
    given = [_one_of({"yes": 5, "no": 3, "maybe": 2}, chance) for _ in range(1_000)]
    return ["person", "answer"], [
        [f"p{number:04d}", answer] for number, answer in enumerate(given, 1)
    ]


def reports() -> Table:
    """Reports at epsilon 1 of the categories yes, no and maybe, by subset selection."""
    return ["report"], [["100"]] * 2_380 + [["010"]] * 1_920 + [["001"]] * 1_700


TABLES = {
    "answers.csv": answers,
    "mascot.csv": mascot,
    "reports.csv": reports,
    "visits.csv": visits,
    "votes.csv": votes,
}


def text(name: str) -> str:
    """The content of one of the files."""
    header, rows = TABLES[name]()
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([header, *rows])
    return written.getvalue()


"""The table of reads, and the public list of all articles."""

COLUMNS = ["reader", "article", "role", "region", "day"]
ROLES = {
    "data scientist": 44,
    "software engineer": 28,
    "product manager": 12,
    "designer": 9,
    "recruiter": 7,
}
REGIONS = {"Bay Area": 48, "New York": 18, "London": 14, "Berlin": 10, "Bangalore": 10}

_READERS = 2_500
_ROWS = 20_000
# the share of rows in which a reader opens an article again
_AGAIN = 0.1
# how many times as often people read about the subjects of their own role
_FAVOUR = 8.0
_SUBJECTS = {
    "data scientist": (
        "gradient boosting,causal inference,feature stores,A/B "
        "tests,notebooks,embeddings,forecasting,dashboards"
    ),
    "software engineer": (
        "code review,monorepos,on-call,caching,incident reports,type hints,queues,build systems"
    ),
    "product manager": (
        "roadmaps,pricing,user interviews,launches,OKRs,onboarding,churn,prioritisation"
    ),
    "designer": (
        "colour contrast,design systems,prototypes,icons,typography,dark mode,usability "
        "tests,motion"
    ),
    "recruiter": (
        "job adverts,interview loops,referrals,salary bands,remote work,career "
        "ladders,offers,diversity"
    ),
}
_TITLES = (
    "What nobody tells you about {}",
    "{}: a field guide",
    "We were wrong about {}",
    "The quiet return of {}",
    "How to talk about {}",
    "A year of {}",
)


def articles() -> dict[str, str]:
    """All articles, the most popular first, each with the role that it is written for."""
    listed = [
        (title.format(subject)[:1].upper() + title.format(subject)[1:], role)
        for role, subjects in _SUBJECTS.items()
        for subject in subjects.split(",")
        for title in _TITLES
    ]
    return dict(_shuffled(listed, random.Random(11)))


def reads() -> list[list[str]]:
    """The rows of the table, by day."""
    chance = random.Random(2025)
    popular = articles()
    taste = {role: _Taste(popular, role) for role in ROLES}
    readers = [
        (f"r{number:04d}", _one_of(ROLES, chance), _one_of(REGIONS, chance))
        for number in range(1, _READERS + 1)
    ]
    busy = _Wheel([1 / (1 + place) ** 0.5 for place in range(_READERS)])
    seen: dict[str, list[str]] = {name: [] for name, _, _ in readers}
    rows = []
    for _ in range(_ROWS):
        name, role, region = readers[busy.turn(chance)]
        known = seen[name]
        again = known and chance.random() < _AGAIN
        article = known[int(chance.random() * len(known))] if again else taste[role].pick(chance)
        known.append(article)
        rows.append([name, article, role, region, f"2025-03-{1 + int(chance.random() * 28):02d}"])
    return sorted(rows, key=lambda row: row[4])


def reads_text() -> str:
    """The table as CSV."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([COLUMNS, *reads()])
    return written.getvalue()


def articles_text() -> str:
    """The public list: one article on each line, by name, so that the order tells nothing."""
    return "".join(f"{article}\n" for article in sorted(articles()))


class _Wheel:
    """Draws places with given weights, with nothing but `random()`, whose numbers are
    the same in every version of Python.
    """

    def __init__(self, weights: list[float]) -> None:
        self._sums = list(itertools.accumulate(weights))

    def turn(self, chance: random.Random) -> int:
        return bisect.bisect(self._sums, chance.random() * self._sums[-1], 0, len(self._sums) - 1)


class _Taste:
    """What people of one role read."""

    def __init__(self, popular: dict[str, str], role: str) -> None:
        self._articles = list(popular)
        own = [_FAVOUR if written_for == role else 1.0 for written_for in popular.values()]
        self._wheel = _Wheel([weight / (2 + place) for place, weight in enumerate(own)])

    def pick(self, chance: random.Random) -> str:
        return self._articles[self._wheel.turn(chance)]


def _one_of(weights: dict[str, int], chance: random.Random) -> str:
    return list(weights)[_Wheel([float(weight) for weight in weights.values()]).turn(chance)]


def _shuffled(items: list[tuple[str, str]], chance: random.Random) -> list[tuple[str, str]]:
    return [item for _, item in sorted((chance.random(), item) for item in items)]


if __name__ == "__main__":
    folder = Path(str(files("discreet.cli.data")))
    for file in TABLES:
        (folder / file).write_text(text(file), encoding="utf-8")
    (folder / ARTICLES).write_text(articles_text(), encoding="utf-8")
    (folder / READS).write_bytes(gzip.compress(reads_text().encode("utf-8"), mtime=0))
