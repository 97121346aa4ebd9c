"""Calls that are timed because they are public: found by their names, so that none is forgotten.

Every public mechanism, on neighbours that the audits know, which are small; every question of a
session; and, with as many rows as people have, what came last: histograms, counts, fits, many
draws at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np
from asking import ask_of
from contracts.public_mechanisms import subjects

import discreet
from discreet.auditing.timing import Call
from discreet.questions import QUESTIONS

Named = tuple[str, Call, Call]
Ask = Callable[[Any], object]

_KNOWN = ["a", "b", "c", "d", "e", "f"]
_GRID: dict[str, Any] = {"bounds": (0, 100), "step": 1, "rule": "max"}
_GROUPS: dict[str, Any] = {"by": "team", "groups": ["red", "blue"]}
_DELTA = 1e-6


def _options(**said: Any) -> dict[str, Any]:
    # the same question again would be answered without looking
    return {"epsilon": 1, "fresh": True} | said


_FEW = _options(candidates=_KNOWN)
_MODEL = _options(norm=1, scale=100, rule="mean")
ASKED: dict[str, dict[str, Ask]] = {
    "mode": {
        "": lambda s: ask_of(s, "mode", "item", **_FEW),
        "of some rows": lambda s: ask_of(s, "mode", "item", **_FEW, where="value >= 50"),
        "with counts": lambda s: ask_of(s, "mode", "item", **_FEW, with_counts=True),
        "by groups": lambda s: ask_of(s, "mode", "item", **_FEW, **_GROUPS),
    },
    "top_k": {
        "": lambda s: ask_of(s, "top_k", "item", k=3, **_FEW),
        "with counts": lambda s: ask_of(s, "top_k", "item", k=3, **_FEW, with_counts=True),
        "histogram": lambda s: ask_of(s, "top_k", "item", k=3, **_FEW, items_per_person=1),
        "unknown": lambda s: ask_of(s, "top_k", "item", k=3, **_options(delta=_DELTA, limit=30)),
        "unknown, histogram": lambda s: ask_of(
            s, "top_k", "item", k=3, **_options(delta=_DELTA, items_per_person=1)
        ),
    },
    "counts": {
        "": lambda s: ask_of(s, "counts", "item", **_FEW),
        "Gaussian": lambda s: ask_of(s, "counts", "item", **_FEW, delta=_DELTA, items_per_person=4),
        "by groups": lambda s: ask_of(s, "counts", "item", **_FEW, **_GROUPS),
    },
    "count": {
        "": lambda s: ask_of(s, "count", **_options()),
        "of some": lambda s: ask_of(s, "count", **_options(where="item = 'a'")),
    },
    "best_price": {
        "": lambda s: ask_of(s, "best_price", "value", **_options(prices=[10, 20, 50], rule="max")),
    },
    "quantile": {"": lambda s: ask_of(s, "quantile", "value", **_options(q=0.5, **_GRID))},
    "quantiles": {
        "": lambda s: ask_of(s, "quantiles", "value", **_options(q=[0.25, 0.75], **_GRID))
    },
    "select": {
        "": lambda s: s.select(
            **_FEW, score=lambda item: discreet.row_count(where=discreet.column("item") == item)
        )
    },
    "fit_subspace": {"": lambda s: s.fit_subspace(["value", "person"], k=1, **_MODEL)},
    "fit_covariance": {"": lambda s: s.fit_covariance(["value", "person"], k=1, **_MODEL)},
    "fit_linear": {
        "": lambda s: s.fit_linear(["value"], "person", bounds=(0, 1000), radius=1, **_MODEL)
    },
    "fit_logistic": {
        "": lambda s: s.fit_logistic(["value"], "team", classes=("red", "blue"), radius=1, **_MODEL)
    },
    "fit_deepest": {
        "": lambda s: s.fit_deepest(["value"], **_options(bounds=[(0, 100)], step=1, rule="mean"))
    },
}
"""How each question is asked; one that is missing here fails."""


def session_calls(make: Callable[[int], Any]) -> Iterator[Named]:
    """Every question to a thousand persons, or to one more, whose item nobody else has.

    make: from a number of persons to a session.
    """
    for what in QUESTIONS:
        for words, ask in ASKED[what].items():
            name = f"{what}{', ' if words else ''}{words}"
            yield name, _asking(ask, make, 1000), _asking(ask, make, 1001)


def _asking(ask: Ask, make: Callable[[int], Any], persons: int) -> Call:
    """A question to a session that is made at the first call, which nobody times."""
    session = cache(lambda: make(persons))
    return lambda: ask(session())


def mechanism_calls() -> Iterator[Named]:
    """Every public mechanism, in every variant, on neighbours of a kind that audits know."""
    seen: dict[str, int] = {}
    for subject in subjects():
        run = subject.make_run(1)
        # the simple ones come first
        *_, pair = islice(subject.world.pairs(), 2)
        seen[subject.name] = number = seen.get(subject.name, 0) + 1
        name = f"{subject.name}{f', variant {number}' if number > 1 else ''}: {pair.name}"
        yield name, lambda r=run, p=pair: r(p.first), lambda r=run, p=pair: r(p.second)


def many_counts(size: int) -> Iterator[Named]:
    """Noise on a whole histogram, all counts 1 or one 2, one item more; and many draws at once."""
    ones = np.ones(size, dtype=np.int64)
    two = ones.copy()
    two[size // 3] = 2
    words: dict[str, Any] = {"k": 10, "epsilon": 1, "items_per_person": 1}
    known = discreet.mechanisms.HistogramTopK(**words)
    gaussian = discreet.mechanisms.HistogramTopK(**words | {"items_per_person": 20}, delta=_DELTA)
    unknown = discreet.mechanisms.UnknownDomainHistogram(**words, delta=_DELTA)
    yield from _both("histogram: all 1, or one 2", known.release, ones, two)
    yield from _both("histogram, Gaussian: all 1, or one 2", gaussian.release, ones, two)
    yield from _both("threshold: all 1, or one 2", unknown.release, ones, two)
    yield from _both("threshold: one item more", unknown.release, ones, np.append(ones, 1))
    noise = discreet.mechanisms.DiscreteGaussian(rho=0.5, squared_sensitivity=1)
    yield from _both("DiscreteGaussian: 0, or 1", noise.release, 0, 1)
    shared = discreet.mechanisms.CorrelatedCounts(items=2, mu=1)
    ask = partial(shared.release, people=3)
    yield from _both("CorrelatedCounts: 0, or 1", ask, [0, 2], [1, 2])
    rounded = discreet.mechanisms.RoundedGaussian(mu=1, squared_sensitivity=1)
    yield from _both("RoundedGaussian: 0, or 1", rounded.release, 0, 1)
    pick = discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1, monotonic=True)
    few = (ones[:500], two[size // 3 : size // 3 + 500])
    yield from _both("500 draws at once: all 1, or one 2", _many(pick), *few)


def _many(pick: Any) -> Ask:
    return lambda scores: pick.select_many(scores, draws=500)


def fits(size: int) -> Iterator[Named]:
    """Models of rows around a direction, or with one row more that is far from them."""
    random = np.random.default_rng(6)
    rows = random.normal(size=(size, 4)) * [0.5, 0.2, 0.1, 0.1]
    targets = (rows @ [1, -1, 0, 0] > 0).astype(float)
    more, wanted = np.concatenate([rows, [[0, 0, 0, 1.0]]]), np.append(targets, 1.0)
    before, after = (rows, targets), (more, wanted)
    known: dict[str, Any] = {"epsilon": 1, "norm": 1}
    model = known | {"radius": 2}
    box: dict[str, Any] = {"bounds": [(-2, 2)] * 4, "step": 0.125, "epsilon": 1, "unit": "point"}
    ways: dict[str, Ask] = {
        "fit_subspace": lambda data: discreet.models.fit_subspace(data[0], k=1, **known),
        "fit_covariance": lambda data: discreet.models.fit_covariance(data[0], **known),
        "fit_linear": lambda data: discreet.models.fit_linear(*data, bounds=(-1, 1), **model),
        "fit_logistic": lambda data: discreet.models.fit_logistic(*data, classes=(0, 1), **model),
        "fit_deepest": lambda data: discreet.models.fit_deepest(data[0], **box),
    }
    for name, fit in ways.items():
        yield from _both(f"{name}, {size:,} rows: one row more, far away", fit, before, after)


def _both(name: str, call: Ask, first: Any, second: Any) -> Iterator[Named]:
    yield name, lambda: call(first), lambda: call(second)
