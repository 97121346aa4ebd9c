"""With the same bits every engine gives the same releases, and they are those of counts made by
plain Python.

Together with the laws of the mechanisms, this is why a question to the same table has the same
distribution on every engine.
"""

from __future__ import annotations

from fractions import Fraction

import narwhals as nw
import numpy as np
import pytest
from asking import ask_of
from engines import plain
from engines.people import BIRTHDAYS, CANDIDATES, GRID, HONEST, LOW, POINTS, PRICES, STEP
from engines.tables import EVERY
from flint import fmpq

import discreet
from discreet import ApproxDP, OneRow, Person, PublicTable, Session
from discreet.mechanisms.grid import Cells, Grid, plain_number
from discreet.mechanisms.quantiles import search
from discreet.questions.best_price import revenues
from discreet.randomness.chance import Chance
from discreet.samplers.envelope import draw_exponential
from discreet.samplers.grouped_candidates import GroupedCandidates
from discreet.samplers.permute_and_flip import draw_permute_and_flip
from discreet.testing import SeededBits

# so small that the answers change from draw to draw
EPSILON = Fraction(1, 20)
# the default of the free functions, where sessions follow their budget
FLIP = "permute-and-flip"
UNKNOWN = {"epsilon": Fraction(1, 2), "delta": Fraction(1, 50)}
COUNTED = {"epsilon": EPSILON, "sensitivity": 1, "monotonic": True}
READERS = dict(
    zip(CANDIDATES, plain.count_candidates(HONEST, True, "item", CANDIDATES), strict=True)
)
ROWS = dict(zip(CANDIDATES, plain.count_candidates(HONEST, False, "item", CANDIDATES), strict=True))
ITEMS = plain.count_items(HONEST, True, "item")
SEED, MANY_SEEDS = 0, range(40)


class Asked:
    """The questions, put to a session on an engine."""

    def __init__(self, engine, place):
        source, name = (
            engine.make(HONEST, place),
            "events" if engine.name == "duckdb-file" else None,
        )
        self.engine, self.source, self.name = engine, source, name
        self.persons, self.rows = (
            Session(
                source,
                unit=unit,
                budget=ApproxDP(10**6, 0.9),
                table_name=name,
                numbers_in_text=True,
            )
            for unit in (Person("person"), OneRow())
        )

    def mode(self, bits, mechanism):
        return ask_of(
            self.persons,
            "mode",
            "item",
            candidates=CANDIDATES,
            epsilon=EPSILON,
            mechanism=mechanism,
            bits=bits,
        )

    def birthdays(self, bits):
        candidates = [self.engine.label("born", day) for day in BIRTHDAYS]
        value = ask_of(
            self.persons,
            "mode",
            "born",
            candidates=candidates,
            epsilon=EPSILON,
            mechanism=FLIP,
            bits=bits,
        ).value
        return BIRTHDAYS[candidates.index(value)]

    def top_k(self, bits, method, delta=0):
        return ask_of(
            self.persons,
            "top_k",
            "item",
            k=3,
            candidates=CANDIDATES,
            epsilon=EPSILON,
            delta=delta,
            method=method,
            bits=bits,
        )

    def unknown(self, bits):
        return ask_of(self.persons, "top_k", "item", k=3, limit=4, **UNKNOWN, bits=bits)

    def best_price(self, bits, rule):
        return ask_of(
            self.persons,
            "best_price",
            "price",
            prices=PRICES,
            epsilon=EPSILON,
            rule=rule,
            mechanism=FLIP,
            bits=bits,
        )

    def quantile(self, bits, column, rule):
        return ask_of(
            self.persons,
            "quantile",
            column,
            q=0.5,
            bounds=(0, 10),
            step=0.1,
            epsilon=EPSILON,
            rule=rule,
            mechanism=FLIP,
            bits=bits,
        )

    def select(self, bits):
        def score(candidate):
            return (nw.col("item") == candidate).cast(nw.Int32).sum()

        return self.rows.select(
            candidates=CANDIDATES, score=score, mechanism=FLIP, bits=bits, **COUNTED
        )

    def levels(self, bits, mechanism):
        public = PublicTable(self.source, column="item")
        return ask_of(
            self.persons,
            "mode",
            "item",
            candidates=public,
            epsilon=EPSILON,
            mechanism=mechanism,
            bits=bits,
        )


class Counted:
    """The same questions, to counts made by plain Python."""

    def __init__(self, engine):
        self.seen = engine.seen(HONEST)

    def mode(self, bits, mechanism):
        return discreet.select(READERS, mechanism=mechanism, bits=bits, **COUNTED)

    def birthdays(self, bits):
        counts = plain.count_candidates(HONEST, True, "born", BIRTHDAYS)
        return discreet.select(
            dict(zip(BIRTHDAYS, counts, strict=True)), bits=bits, **COUNTED
        ).value

    def top_k(self, bits, method, delta=0):
        return discreet.top_k(READERS, 3, delta=delta, method=method, bits=bits, **COUNTED)

    def unknown(self, bits):
        ranked = dict(sorted(ITEMS.items(), key=lambda pair: (-pair[1], pair[0]))[:5])
        return discreet.top_k_unknown_domain(ranked, 3, limit=4, **UNKNOWN, bits=bits)

    def best_price(self, bits, rule):
        earned = revenues(PRICES, plain.count_bins(self.seen, True, "price", PRICES, rule))
        scores = dict(zip(PRICES, earned, strict=True))
        return discreet.select(
            scores, epsilon=EPSILON, sensitivity=max(PRICES), monotonic=True, bits=bits
        )

    def quantile(self, bits, column, rule):
        ranks = plain.count_ranks(
            self.seen, True, column, GRID, rule, Grid(LOW, STEP, POINTS).slack
        )
        cells = Cells.of_rank_counts(ranks)
        place = search(cells, Fraction(1, 2), EPSILON / 2, "permute-and-flip", Chance(bits))
        return plain_number(GRID[place])

    def select(self, bits):
        return discreet.select(ROWS, bits=bits, **COUNTED)

    def levels(self, bits, mechanism):
        """By the count of each item, in the order of their names."""
        counts = sorted(set(ITEMS.values()), reverse=True)
        held = [sorted(item for item in ITEMS if ITEMS[item] == count) for count in counts]
        rate = fmpq(EPSILON.numerator, EPSILON.denominator)
        behind = counts[0] - np.array(counts)
        pieces = GroupedCandidates(np.array([len(items) for items in held]), behind, rate)
        draw = {"permute-and-flip": draw_permute_and_flip, "exponential": draw_exponential}[
            mechanism
        ]
        piece, place = pieces.locate(draw(pieces.envelope(), Chance(bits)))
        return held[piece][place]


QUESTIONS = {
    "mode": lambda ask, bits: ask.mode(bits, "permute-and-flip"),
    "mode, exponential": lambda ask, bits: ask.mode(bits, "exponential"),
    "mode of dates": lambda ask, bits: ask.birthdays(bits),
    "top_k, one after the other": lambda ask, bits: ask.top_k(bits, "peel"),
    "top_k, one-shot": lambda ask, bits: ask.top_k(bits, "one-shot", Fraction(1, 10**6)),
    "top_k, joint": lambda ask, bits: ask.top_k(bits, "joint"),
    "top_k, unknown domain": lambda ask, bits: ask.unknown(bits),
    "best_price": lambda ask, bits: ask.best_price(bits, "max"),
    "best_price, smallest": lambda ask, bits: ask.best_price(bits, "min"),
    "quantile": lambda ask, bits: ask.quantile(bits, "price", "max"),
    "quantile of text": lambda ask, bits: ask.quantile(bits, "said", "min"),
    "select": lambda ask, bits: ask.select(bits),
    "mode of a public table": lambda ask, bits: ask.levels(bits, "permute-and-flip"),
    "mode of a public table, exponential": lambda ask, bits: ask.levels(bits, "exponential"),
}


def walk(ask, questions, seed):
    """All answers with one stream of bits; and what comes next in it, so that none was left or
    taken in excess.
    """
    bits = SeededBits(seed)
    answers = [QUESTIONS[question](ask, bits) for question in questions]
    return [getattr(answer, "value", answer) for answer in answers], bits.draw(64)


@pytest.mark.parametrize("engine", EVERY)
def test_the_same_bits_give_the_same_releases(engine, tmp_path):
    asked, counted = Asked(engine, tmp_path), Counted(engine)
    questions = [
        name for name in QUESTIONS if engine.name != "duckdb-file" or "public table" not in name
    ]
    assert walk(asked, questions, SEED) == walk(counted, questions, SEED)


def test_other_bits_give_other_releases():
    """Else the test above would show little."""
    counted = Counted(EVERY[0].values[0])
    walks = [walk(counted, QUESTIONS, seed)[0] for seed in MANY_SEEDS]
    for answers in zip(*walks, strict=True):
        assert len(set(map(str, answers))) > 1
