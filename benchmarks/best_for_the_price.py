"""The best answer for the price: what `auto` takes, beside every other way at the same price.

    python benchmarks/best_for_the_price.py [--part counts|lists|named|winners|quantiles|prices]
                                            [--quick] [--output FOLDER]

Everything is asked for at the price of one selection of epsilon 0.1, in four kinds of
budget. Draws are seeded, and repeated until the mean error of each way is known to 1%, or
for a second. A cell is a question with its public numbers: how many candidates, k, items of
a person. Its errors are means over the shapes of the data, each divided by the error of the
best way for that shape, because no way is best for all of them. A run writes
benchmarks/results/best_for_the_price.{json,md}, in which parts that were not asked for stay.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from report import Section, Table, environment, number
from report import write as save

from discreet import ZCDP, ApproxDP, Loss, PureDP
from discreet.accounting.privacy_filter import BudgetRule
from discreet.mechanisms import CorrelatedCounts, JointTopK, PeelingTopK
from discreet.mechanisms.count_lists import ListRequest
from discreet.mechanisms.count_noise import CountNoise
from discreet.mechanisms.counted_selection import CountedSelection
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.grid import Cells, read_cells, read_points
from discreet.mechanisms.histogram_top_k import NoisyList
from discreet.mechanisms.prices import Price
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.mechanisms.selection import mechanism_class
from discreet.privacy.loss import BoundedRange
from discreet.randomness.chance import Chance
from discreet.testing import SeededBits

BUDGETS: dict[str, Loss] = {
    "PureDP": PureDP(1),
    "(1, 1e-6)": ApproxDP(1, 1e-6),
    "(1, 1e-9)": ApproxDP(1, 1e-9),
    "rho 0.1": ZCDP(Fraction(1, 10)),
}
EPSILON = Fraction(1, 10)
PRECISION = 0.01
FEWEST, MOST = 100, 20_000
# seconds of CPU for one way and shape, and numbers that are drawn at once
LONGEST, CELLS = 1.0, 2_000_000
CLOSE = 1.05

Array = NDArray[np.int64]
Floats = NDArray[np.float64]
Draw = Callable[[int], Floats]
"""The errors of as many draws as are asked for."""


@dataclass(frozen=True)
class Cell:
    """One question at one price.

    auto: which of the ways a session takes.
    mean, largest: for each way and shape its mean error, and its largest.
    reason: why `auto` is not the best by mean error, where it is not.
    """

    question: str
    budget: str
    numbers: str
    auto: str
    mean: dict[str, dict[str, float]]
    largest: dict[str, dict[str, float]]
    reason: str = ""

    def over_shapes(self, way: str) -> float:
        """The mean error of a way over all shapes, each beside the best way for it."""
        ratios = [
            (errors[way] + _LEAST) / (min(errors.values()) + _LEAST)
            for errors in self.mean.values()
        ]
        return math.exp(float(np.mean(np.log(ratios))))

    @property
    def best(self) -> str:
        """The way with the smallest mean error."""
        return min(next(iter(self.mean.values())), key=self.over_shapes)

    @property
    def behind(self) -> float:
        """How many times the error of the best way `auto` has."""
        return self.over_shapes(self.auto) / self.over_shapes(self.best)


# one person: an error of 0.01 instead of 0.001 is no factor of ten
_LEAST = 1.0


_FOUND: dict[object, tuple[float, float]] = {}


@dataclass(frozen=True)
class Repeated:
    """A draw that other cells have, too: it is measured once."""

    key: object
    draw: Draw

    def __call__(self, draws: int) -> Floats:
        return self.draw(draws)


def measured(draw: Draw, quick: bool) -> tuple[float, float]:
    """The mean error of many draws, known to 1% where the time allows it, and the largest."""
    if isinstance(draw, Repeated):
        if draw.key not in _FOUND:
            _FOUND[draw.key] = measured(draw.draw, quick)
        return _FOUND[draw.key]
    began, errors = time.process_time(), np.zeros(0)
    few = FEWEST // 5 if quick else FEWEST
    while True:
        errors = np.append(errors, draw(max(few, errors.size)))
        mean = float(errors.mean())
        sure = float(errors.std()) / math.sqrt(errors.size) <= PRECISION * max(mean, _LEAST)
        late = time.process_time() - began > LONGEST
        if sure or quick or late or errors.size >= MOST:
            return mean, float(errors.max())


def one_by_one(draw: Callable[[Chance], float]) -> Draw:
    """Draws of the package's own sampler."""
    chance = Chance(SeededBits(1))
    return lambda draws: np.array([draw(chance) for _ in range(draws)])


def by_law(chances: Floats, errors: Floats) -> Draw:
    """Draws of a law that is known."""
    random, law = np.random.default_rng(1), chances / chances.sum()
    return lambda draws: random.choice(errors, size=draws, p=law)


def noise_of(noise: CountNoise, draws: int, items: int, random: Generator) -> Floats:
    """The noise that each count gets, in as many draws."""
    shape = draws, items
    if isinstance(noise, CorrelatedCounts):
        if noise.mu is not None:
            wide, narrow = (math.sqrt(variance) for variance in noise.variances)
            own, shared = random.normal(0, wide, shape), random.normal(0, narrow, (draws, 1))
        else:
            low, high = (1 / float(rate) for rate in noise.rates)
            own, shared = random.laplace(0, low, shape), random.laplace(0, high, (draws, 1))
        return np.round((np.round(own) + np.round(shared)) / 2)
    if isinstance(noise, DiscreteLaplace):
        stop = -math.expm1(-float(noise.epsilon / noise.sensitivity))
        return (random.geometric(stop, shape) - random.geometric(stop, shape)).astype(float)
    return np.round(random.normal(0, noise.deviation, shape))


def cell(
    question: str,
    budget: str,
    numbers: str,
    auto: str,
    ways: Mapping[str, Mapping[str, Draw]],
    quick: bool,
    reason: str = "",
) -> Cell:
    """Measure every way, for every shape.

    ways: for each shape, its ways.
    """
    mean: dict[str, dict[str, float]] = {}
    largest: dict[str, dict[str, float]] = {}
    for shape, named in ways.items():
        found = {way: measured(draw, quick) for way, draw in named.items()}
        mean[shape] = {way: errors[0] for way, errors in found.items()}
        largest[shape] = {way: errors[1] for way, errors in found.items()}
    made = Cell(question, budget, numbers, auto, mean, largest, reason)
    print(
        f"{question:10} {budget:10} {numbers:26} {auto:16} {made.behind:.2f} of {made.best}",
        flush=True,
    )
    return made


# --- counts


def counts_cells(quick: bool) -> Iterator[Cell]:
    """Counts of people: the root of the mean square of the error of a count."""
    for name, budget in BUDGETS.items():
        price = Price(BudgetRule.of(budget), EPSILON)
        for items in (1, 2, 5, 10, 40, 100):
            for cap in (each for each in (None, 1, 3, 10) if each is None or each < items):
                noises = price.noises_for_counts(items, items_per_person=cap)
                taken = price.noise_for_counts(items, items_per_person=cap)
                (auto,) = [way for way, noise in noises.items() if noise == taken]
                ways = {way: _error_of_counts(noise, items) for way, noise in noises.items()}
                yield cell(
                    "counts", name, f"{items} items, cap {cap or '-'}", auto, {"any": ways}, quick
                )


def _error_of_counts(noise: CountNoise, items: int) -> Draw:
    random, rounds = np.random.default_rng(1), max(1, 2000 // items)

    def draw(draws: int) -> Floats:
        errors = noise_of(noise, draws * rounds, items, random).reshape(draws, -1)
        deviation: Floats = np.sqrt(np.mean(errors**2, axis=1))
        return deviation

    return draw


# --- lists


def shapes(candidates: int) -> dict[str, Array]:
    """Counts of people, of a few shapes."""
    places = np.arange(candidates)
    random = np.random.default_rng(1)
    return {
        "flat": random.poisson(1000, candidates).astype(np.int64),
        "bell": random.normal(10_000, 1000, candidates).astype(np.int64),
        "Zipf": (20_000 / (1 + places)).astype(np.int64),
        "near-tie": np.where(places < 300, 10_000 - places, 5000 - places).astype(np.int64),
    }


def lists_cells(quick: bool) -> Iterator[Cell]:
    """Names alone: how far each place is behind the one that belongs there, on average."""
    for name, budget in BUDGETS.items():
        price = Price(BudgetRule.of(budget), EPSILON)
        for k, candidates in ((2, 100), (5, 100), (10, 12), (10, 1000), (20, 1000), (50, 1000)):
            for items in (1, 3, 10, None):
                if items is not None and items > k:
                    continue
                request = _request(price, k, candidates, items)
                auto = _way(request.make())
                made = {
                    "joint": JointTopK(k=k, epsilon=EPSILON, sensitivity=1, monotonic=True),
                    **_picks(price, k),
                    **_histograms(price, k, candidates, items),
                }
                data = shapes(candidates)
                ways = {
                    shape: {way: _error_of_list(each, counts, k) for way, each in made.items()}
                    for shape, counts in data.items()
                }
                numbers = f"{k} of {candidates}, items {items or '-'}"
                yield cell("lists", name, numbers, auto, ways, quick, _reason_of_lists(name, auto))


def _reason_of_lists(budget: str, auto: str) -> str:
    if budget == "PureDP" and auto == "joint":
        return (
            "Picks have a larger largest error, 1.6 to 2.4 times over three epsilons (decision "
            "22). Which way is better hangs on private data."
        )
    return ""


def _request(
    price: Price, k: int, candidates: int, items: int | None, with_counts: bool = False
) -> ListRequest:
    moved = candidates if items is None else min(items, candidates)
    return ListRequest(
        k=k,
        epsilon=price.epsilon,
        items_per_person=moved,
        sensitivity=1,
        monotonic=True,
        with_counts=with_counts,
        price=price,
        candidates=candidates,
    )


def _way(made: object) -> str:
    """The word for what a session takes."""
    if isinstance(made, CountedSelection):
        return _way(made.picked)
    if isinstance(made, NoisyList):
        shared = isinstance(made.noise, CorrelatedCounts)
        laplace = "Laplace" in type(made.noise).__name__
        if shared:
            return "shared Laplace" if made.noise.mu is None else "shared Gaussian"
        return "Laplace" if laplace else "Gaussian"
    return "joint" if isinstance(made, JointTopK) else "picks"


def _picks(price: Price, k: int) -> dict[str, PeelingTopK]:
    each = price.pick(k)
    if each is None:
        return {}
    epsilon = k * each.epsilon
    mechanism = price.mechanism
    made = PeelingTopK(k=k, epsilon=epsilon, sensitivity=1, monotonic=True, mechanism=mechanism)
    return {"picks": made}


def _histograms(price: Price, k: int, candidates: int, items: int | None) -> dict[str, NoisyList]:
    noises = price.noises_for_counts(candidates, items_per_person=items)
    return {way: NoisyList(k=k, noise=noise) for way, noise in noises.items()}


def _error_of_list(
    made: JointTopK | PeelingTopK | NoisyList,
    counts: Array,
    k: int,
    beside: CountNoise | None = None,
) -> Draw:
    """The mean error of the names, and added to it that of the counts beside them: of a
    histogram its own, of picks that of the noise `beside`.
    """
    ordered, random = np.sort(counts)[::-1], np.random.default_rng(1)
    best, chance = ordered[:k], Chance(SeededBits(1))

    def draw(draws: int) -> Floats:
        parts = max(1, CELLS // counts.size)
        if draws > parts:
            return np.concatenate([draw(min(parts, draws - n)) for n in range(0, draws, parts)])
        noise: Floats | None = None
        if isinstance(made, NoisyList):
            noise = noise_of(made.noise, draws, counts.size, random)
            # of equal ones each may be first
            places = _largest(counts + noise + random.uniform(-0.4, 0.4, noise.shape), k)
        elif isinstance(made, JointTopK):
            listed = [made.select(counts, bits=chance.bits) for _ in range(draws)]
            places = np.array(listed)
        elif isinstance(made.pick_loss, BoundedRange):
            gumbel = random.gumbel(0, 1 / float(made.rate), (draws, counts.size))
            places = _largest(counts + gumbel, k)
        else:
            places = _picked(counts, k, 1 / float(made.rate), draws, random)
        errors: Floats = np.mean(best - counts[places], axis=1)
        if beside is not None:
            off = noise_of(beside, draws, k, random)
            if noise is not None:
                off = np.take_along_axis(noise, places, axis=1)
            errors = errors + np.mean(np.abs(off), axis=1)
        return errors

    return Repeated((repr(made), repr(beside), counts.tobytes()), draw)


def _largest(noisy: Floats, k: int) -> Array:
    """The places of the k largest of each row."""
    found: Array = np.argsort(-noisy, axis=1)[:, :k]
    return found


def _picked(counts: Array, k: int, scale: float, draws: int, random: Generator) -> Array:
    """Picks by permute-and-flip, one after the other: exponential noise each time."""
    left = np.broadcast_to(counts.astype(float), (draws, counts.size)).copy()
    rows, places = np.arange(draws), np.empty((draws, k), dtype=np.int64)
    for place in range(k):
        places[:, place] = np.argmax(left + random.exponential(scale, left.shape), axis=1)
        left[rows, places[:, place]] = -np.inf
    return places


# --- names with counts


def named_cells(quick: bool) -> Iterator[Cell]:
    """Names with counts: the mean error of the names, and that of their counts, added up."""
    for name, budget in BUDGETS.items():
        price = Price(BudgetRule.of(budget), EPSILON)
        half = price.part(Fraction(1, 2))
        for k, candidates in ((1, 20), (5, 100), (10, 1000)):
            for items in (1, 3, None):
                if items is not None and items > k:
                    continue
                auto = _way(_request(price, k, candidates, items, with_counts=True).make())
                beside = half.noise_for_counts(k, items_per_person=items)
                assert beside is not None
                made = {
                    "joint": JointTopK(
                        k=k, epsilon=half.selection.epsilon, sensitivity=1, monotonic=True
                    ),
                    **_picks(half, k),
                    **_histograms(price, k, candidates, items),
                }
                ways = {
                    shape: {
                        way: _error_of_list(each, counts, k, beside) for way, each in made.items()
                    }
                    for shape, counts in shapes(candidates).items()
                }
                reason = _reason_of_lists(name, auto)
                numbers = f"{k} of {candidates}, items {items or '-'}"
                yield cell("named", name, numbers, auto, ways, quick, reason)


# --- winners


def winners_cells(quick: bool) -> Iterator[Cell]:
    """One winner, and one with its gap."""
    for name, budget in BUDGETS.items():
        price = Price(BudgetRule.of(budget), EPSILON)
        pure = price.laplace()
        assert pure is not None
        for candidates in (2, 20, 1000):
            made = {
                "exponential": price.selection.epsilon,
                **dict.fromkeys(
                    ("permute-and-flip", "laplace-noise", "exponential-noise"), pure.epsilon
                ),
            }
            ways: dict[str, dict[str, Draw]] = {}
            for shape, counts in shapes(candidates).items():
                drawn = {
                    way: _error_of_winner(way, epsilon, counts) for way, epsilon in made.items()
                }
                listed = _histograms(price, 1, candidates, 1)
                named = {way: _error_of_list(each, counts, 1) for way, each in listed.items()}
                ways[shape] = drawn | {"one item, " + way: draw for way, draw in named.items()}
            yield cell("winner", name, f"{candidates} candidates", price.mechanism, ways, quick)


def _error_of_winner(way: str, epsilon: Fraction, counts: Array) -> Draw:
    made = mechanism_class(way)(epsilon=epsilon, sensitivity=1, monotonic=True)  # type: ignore[arg-type]
    return by_law(made.probabilities(counts.tolist()), (counts.max() - counts).astype(float))


# --- quantiles


def columns(persons: int = 10_000) -> dict[str, NDArray[np.float64]]:
    """Numbers of people, of a few shapes, between 0 and 100."""
    random = np.random.default_rng(1)
    return {
        "even": random.uniform(0, 100, persons),
        "bell": np.clip(random.normal(50, 10, persons), 0, 100),
        "skew": np.clip(random.lognormal(2.5, 0.8, persons), 0, 100),
        "whole": np.round(np.clip(random.normal(40, 12, persons), 0, 100)),
    }


def quantiles_cells(quick: bool) -> Iterator[Cell]:
    """Quantiles: how many people each is off its rank, on average."""
    grid = read_points((0, 100), Fraction(1, 4), None)
    for name, budget in BUDGETS.items():
        price = Price(BudgetRule.of(budget), EPSILON)
        for shares in ((Fraction(1, 2),), *(_even(parts) for parts in (4, 10, 20))):
            ways: dict[str, dict[str, Draw]] = {}
            for shape, values in columns().items():
                cells = read_cells(values, grid)
                ways[shape] = {
                    way: _error_of_quantiles(made, cells, grid, shares)
                    for way, made in _quantile_ways(price, shares, grid.size).items()
                }
            auto = price.mechanism if len(shares) == 1 else "recursive"
            yield cell("quantiles", name, f"{len(shares)} of {grid.size}", auto, ways, quick)


def _even(parts: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(place, parts) for place in range(1, parts))


def _quantile_ways(
    price: Price, shares: tuple[Fraction, ...], size: int
) -> dict[str, OneQuantile | ManyQuantiles]:
    if len(shares) == 1:
        pure = price.laplace()
        assert pure is not None
        made = {"exponential": price.selection.epsilon, "permute-and-flip": pure.epsilon}
        return {
            way: OneQuantile(q=shares[0], epsilon=each, mechanism=way)  # type: ignore[arg-type]
            for way, each in made.items()
        }
    each = price.pick(len(shares))
    found = {
        "recursive": ManyQuantiles(q=shares, epsilon=EPSILON, grid_size=size, price=price),
        "joint": ManyQuantiles(q=shares, epsilon=EPSILON, grid_size=size, method="joint"),
    }
    if each is not None:
        found["independent"] = ManyQuantiles(
            q=shares,
            epsilon=len(shares) * each.epsilon,
            grid_size=size,
            method="independent",
            mechanism=price.mechanism,
        )
    return dict(found)


def _error_of_quantiles(
    made: OneQuantile | ManyQuantiles, cells: Cells, grid: object, shares: Sequence[Fraction]
) -> Draw:
    # in persons, which are two halves each
    errors = [
        np.repeat(runs.errors, runs.lengths) / (2 * share.denominator)
        for share in shares
        for runs in (cells.rank_errors(share),)
    ]

    def draw(chance: Chance) -> float:
        release = made.release(cells, grid, chance)  # type: ignore[arg-type]
        found = release.value if isinstance(release.value, list) else [release.value]
        places = [round(4 * float(point)) for point in found]
        return float(np.mean([off[place] for off, place in zip(errors, places, strict=True)]))

    return Repeated((repr(made), shares, cells.counts.tobytes()), one_by_one(draw))


# --- prices


def prices_cells(quick: bool) -> Iterator[Cell]:
    """The price that earns most: revenue lost, in units of the highest price."""
    random = np.random.default_rng(1)
    for name, budget in BUDGETS.items():
        price = Price(BudgetRule.of(budget), EPSILON)
        pure = price.laplace()
        assert pure is not None
        for count in (10, 100):
            asked = np.arange(1, count + 1)
            data = {
                "even": random.uniform(0, count, 5000),
                "bell": random.normal(count / 2, count / 8, 5000),
                "skew": random.lognormal(math.log(count / 5), 0.8, 5000),
            }
            ways = {}
            for shape, values in data.items():
                earned = asked * (values[:, None] >= asked).sum(axis=0)
                ways[shape] = {
                    way: _error_of_price(way, epsilon, earned, count)
                    for way, epsilon in (
                        ("exponential", price.selection.epsilon),
                        ("permute-and-flip", pure.epsilon),
                        ("laplace-noise", pure.epsilon),
                    )
                }
            yield cell("best price", name, f"{count} prices", price.mechanism, ways, quick)


def _error_of_price(way: str, epsilon: Fraction, earned: Array, highest: int) -> Draw:
    made = mechanism_class(way)(epsilon=epsilon, sensitivity=highest, monotonic=True)
    return by_law(made.probabilities(earned.tolist()), (earned.max() - earned) / highest)


PARTS = {
    "counts": counts_cells,
    "lists": lists_cells,
    "named": named_cells,
    "winners": winners_cells,
    "quantiles": quantiles_cells,
    "prices": prices_cells,
}


def write(cells: Sequence[Cell], folder: Path) -> None:
    """The table, with every cell in which `auto` is not within 5% of the best by mean error."""
    off = [each for each in cells if each.behind > CLOSE]
    columns = ["question", "budget", "numbers", "auto", "beside the best", "best", "ways"]
    rows = [
        [
            each.question,
            each.budget,
            each.numbers,
            each.auto,
            f"{each.behind:.2f}",
            each.best,
            ", ".join(
                f"{way} {number(float(np.mean([errors[way] for errors in each.mean.values()])))} "
                f"(at most {number(max(errors[way] for errors in each.largest.values()))})"
                for way in next(iter(each.mean.values()))
            ),
        ]
        for each in cells
    ]
    listed = "\n".join(
        f"- {each.question}, {each.budget}, {each.numbers}: {each.auto} has {each.behind:.2f} "
        f"times the error of {each.best}. {each.reason}".rstrip()
        for each in off
    )
    note = (
        "Every way at the price of one selection of epsilon 0.1: the mean error over the shapes, "
        f"and in brackets the largest one drawn. Of {len(cells)} cells `auto` is within 5% of the "
        f"best in {len(cells) - len(off)}. The others:\n\n{listed}"
    )
    section = Section("cells", "The best answer for the price", note)
    section.tables.append(Table("All cells", columns, rows))
    section.records += [asdict(each) | {"behind": each.behind, "best": each.best} for each in cells]
    save(folder, "best_for_the_price", environment(["numpy"]), [section])


def read(folder: Path) -> dict[str, list[Cell]]:
    """The parts that were measured before."""
    file, found = folder / "best_for_the_price.json", dict[str, list[Cell]]()
    if not file.exists():
        return found
    names = {"winner": "winners", "best price": "prices"}
    wanted = [each.name for each in fields(Cell)]
    for record in json.loads(file.read_text())["sections"]["cells"]["records"]:
        made = Cell(**{name: record[name] for name in wanted})
        found.setdefault(names.get(made.question, made.question), []).append(made)
    return found


def main() -> None:
    """Measure the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    folder = given.output or Path(__file__).parent / "results"
    parts = read(folder)
    for part in given.part or PARTS:
        parts[part] = list(PARTS[part](given.quick))
        if given.output or not given.quick:
            write([each for name in PARTS for each in parts.get(name, [])], folder)


if __name__ == "__main__":
    main()
