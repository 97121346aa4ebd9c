"""discreet beside what others have published, at equal privacy: errors side by side.

    python benchmarks/literature.py [--opendp PYTHON] [--tumult PYTHON] [--quick]

The options name a Python that has the library; those left out are not measured. Published
mechanisms are written from their papers, in floats, which is fine for comparing errors and not
for private data. Draws are seeded but for those of libraries, so numbers vary a little. A full
run takes about two minutes and writes benchmarks/results/literature.{json,md}.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from best_for_the_price import shapes
from numpy.typing import NDArray
from quantile_peers import recurse
from quantiles import rank_errors
from report import Section, Table, Target, environment, number, write
from top_k_peer import PublishedJoint

import discreet
from discreet import ZCDP, ApproxDP, Loss, OneRow, Person, PureDP
from discreet.accounting.privacy_filter import BudgetRule
from discreet.mechanisms.count_lists import ListRequest
from discreet.mechanisms.grid import read_cells, read_points
from discreet.mechanisms.prices import Price
from discreet.mechanisms.quantiles import ManyQuantiles
from discreet.randomness.chance import Chance
from discreet.testing import SeededBits

HERE = Path(__file__).parent
EPSILON, DELTA = Fraction(1, 10), Fraction(1, 10**6)
# of one selection of this epsilon
RHO = EPSILON**2 / 8
CANDIDATES, ITEMS, PERSONS = 1000, 40, 1000
CLOSE = 1.05

Array = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Privacy:
    """What all are held to."""

    budget: Loss
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho {float(self.rho):g}"
        epsilon = f"{float(self.epsilon):g}"
        return f"({epsilon}, {float(self.delta):g})" if self.delta else f"epsilon {epsilon}"

    @property
    def words(self) -> dict[str, float]:
        """For a library in another process."""
        if self.rho is not None:
            return {"rho": float(self.rho)}
        delta = {"delta": float(self.delta)} if self.delta else {}
        return {"epsilon": float(self.epsilon)} | delta


def privacies(epsilon: Fraction) -> list[Privacy]:
    """The three kinds of guarantee."""
    rho = epsilon**2 / 8
    return [
        Privacy(PureDP(epsilon), epsilon),
        Privacy(ApproxDP(epsilon, DELTA), epsilon, DELTA),
        Privacy(ZCDP(rho), epsilon, rho=rho),
    ]


@dataclass(frozen=True)
class Cell:
    """One question under one guarantee, and for each way and shape of data its mean error."""

    question: str
    privacy: str
    errors: dict[str, dict[str, float]]

    def over_shapes(self, way: str) -> float:
        """The error of a way beside that of discreet: one person is added to both."""
        ours = self.errors["discreet"]
        ratios = [(self.errors[way][each] + 1) / (ours[each] + 1) for each in ours]
        return math.exp(float(np.mean(np.log(ratios))))

    @property
    def behind(self) -> float:
        """How many times the error of the best other way discreet has."""
        return 1 / min(self.over_shapes(way) for way in self.errors if way != "discreet")


class Peer:
    """A library in a Python of its own."""

    def __init__(self, python: str, library: str) -> None:
        self._process = subprocess.Popen(
            [python, str(HERE / "literature_peer.py"), library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, **question: Any) -> Any:
        """A question and its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            sys.exit("A library has ended.")
        return json.loads(line)


# --- lists


_LISTS = f"""\
The k most frequent of {CANDIDATES:,} items, without their counts. One person may have any number
of items, or at most so many as it says. The error is how many persons each place is behind, on
average; `canonical Lipschitz` gives a set, which counts as if it were in order. `discreet` is what
`top_k` and a session take by themselves."""


def lists(draws: int, opendp: Peer | None) -> list[Cell]:
    """Names of the most frequent."""
    found = []
    for privacy in privacies(EPSILON):
        for k, cap in ((5, None), (10, None), (50, None), (10, 1), (10, 3)):
            moved = cap or CANDIDATES
            ways: dict[str, Callable[[Array], Array]] = {
                "discreet": _our_list(k, cap, privacy, draws),
                "one-shot Gumbel": _gumbel(_rate_of_picks(k, privacy), k, draws),
                "noise on all counts": _noise_on_all(moved, k, privacy, draws),
            }
            if privacy.delta:
                ways["one-shot Laplace"] = _one_shot_laplace(k, privacy, draws)
            if cap is None:
                epsilon = float(privacy.epsilon)
                ways["joint"] = _joint(k, epsilon, draws)
                ways["canonical Lipschitz"] = _canonical_lipschitz(k, privacy, draws)
            if opendp is not None:
                ways["OpenDP"] = _opendp_list(opendp, k, privacy, draws)
            errors: dict[str, dict[str, float]] = {way: {} for way in ways}
            for shape, counts in shapes(CANDIDATES).items():
                ordered = np.sort(counts)[::-1]
                for way, draw in ways.items():
                    places = draw(ordered)
                    errors[way][shape] = float(np.mean(ordered[:k] - ordered[places]))
            question = f"{k} of {CANDIDATES:,}" + (f", {cap} a person" if cap else "")
            found.append(_told(Cell(question, str(privacy), errors)))
    return found


def _our_list(k: int, cap: int | None, privacy: Privacy, draws: int) -> Callable[[Array], Array]:
    whole = privacy.rho is None
    made = ListRequest(
        k=k,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        items_per_person=cap,
        sensitivity=1,
        monotonic=True,
        price=None if whole else Price(BudgetRule.of(privacy.budget), privacy.epsilon),
        candidates=CANDIDATES,
    ).make()
    bits = SeededBits(1)
    return lambda counts: np.array([made.select(counts, bits=bits) for _ in range(draws)])


def _rate_of_picks(k: int, privacy: Privacy) -> float:
    """The epsilon of each of k picks of bounded range: Durfee and Rogers 2019, with the
    composition of Dong, Durfee and Rogers 2020.
    """
    if privacy.rho is not None:
        return math.sqrt(8 * float(privacy.rho) / k)
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    if not delta:
        return epsilon / k

    def total(each: float) -> float:
        ratio = each / -math.expm1(-each)
        spread = math.sqrt(k * each**2 / 2 * math.log(1 / delta))
        return min(k * each, k * (ratio - 1 - math.log(ratio)) + spread)

    return _largest(lambda each: total(each) <= epsilon, 1)


def _largest(fits: Callable[[float], bool], most: float) -> float:
    low, high = 0.0, most
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _gumbel(rate: float, k: int, draws: int) -> Callable[[Array], Array]:
    random = np.random.default_rng(1)
    return lambda counts: _top(counts + random.gumbel(0, 1 / rate, (draws, counts.size)), k)


def _top(noisy: Floats, k: int) -> Array:
    found: Array = np.argsort(-noisy, axis=1)[:, :k]
    return found


def _noise_on_all(moved: int, k: int, privacy: Privacy, draws: int) -> Callable[[Array], Array]:
    random = np.random.default_rng(1)
    if privacy.rho is None and not privacy.delta:
        scale = moved / float(privacy.epsilon)
        return lambda counts: _top(counts + random.laplace(0, scale, (draws, counts.size)), k)
    deviation = _deviation(moved, privacy)
    return lambda counts: _top(counts + random.normal(0, deviation, (draws, counts.size)), k)


def _deviation(moved: int, privacy: Privacy) -> float:
    """Of Gaussian noise on counts of which one person moves so many: Balle and Wang 2018."""
    if privacy.rho is not None:
        return math.sqrt(moved / (2 * float(privacy.rho)))
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    below = NormalDist().cdf

    def fits(mu: float) -> bool:
        shift = epsilon / mu
        return below(mu / 2 - shift) - math.exp(epsilon) * below(-mu / 2 - shift) <= delta

    return math.sqrt(moved) / _largest(fits, 10)


def _one_shot_laplace(k: int, privacy: Privacy, draws: int) -> Callable[[Array], Array]:
    """Qiao, Su and Zhang 2021: Laplace noise of 8 sqrt(k ln(d / delta)) / epsilon, for epsilon
    of at most 0.2.
    """
    random = np.random.default_rng(1)

    def draw(counts: Array) -> Array:
        scale = 8 * math.sqrt(k * math.log(counts.size / float(privacy.delta)))
        scale /= float(privacy.epsilon)
        return _top(counts + random.laplace(0, scale, (draws, counts.size)), k)

    return draw


def _joint(k: int, epsilon: float, draws: int) -> Callable[[Array], Array]:
    made = PublishedJoint(k, epsilon)
    return lambda counts: np.array([made.select(counts) for _ in range(draws)])


def _canonical_lipschitz(k: int, privacy: Privacy, draws: int) -> Callable[[Array], Array]:
    """A set by how many persons are missing until it is the right one, with noise of its own for
    each set: Shekelyan and Loukides 2022. The noise is exponential, and Gumbel's for rho.

    A set that is not the right one has a best item `out` that it leaves out and a worst item
    `last` that it has. All better than `out` are in it, and those between are free, so sets of
    one pair are alike: what matters is the largest noise among them.
    """
    random, rate = np.random.default_rng(1), float(privacy.epsilon) / 2

    def draw(counts: Array) -> Array:
        outs, lasts = np.arange(k)[:, None], np.arange(k, counts.size)[None, :]
        missing = (counts[outs] - counts[lasts]).ravel()
        alike = _log_choose(lasts - outs - 1, k - outs - 1).ravel()
        missing, alike = np.append(missing, 0), np.append(alike, 0.0)
        found = np.empty((draws, k), dtype=np.int64)
        for row in range(draws):
            noise = _largest_noise(alike, random, gumbel=privacy.rho is not None)
            place = int((noise - rate * missing).argmax())
            if place == alike.size - 1:
                found[row] = np.arange(k)
                continue
            out, last = divmod(place, counts.size - k)
            last += k
            between = random.choice(np.arange(out + 1, last), k - out - 1, replace=False)
            found[row] = np.sort([*range(out), *between, last])
        return found

    return draw


def _largest_noise(log_sizes: Floats, random: np.random.Generator, *, gumbel: bool) -> Floats:
    """The largest noise of each of some sets of very many, of which the logarithms are given."""
    standard = random.gumbel(size=log_sizes.size) + log_sizes
    if gumbel:
        return standard
    # exponential noise that is as likely to be exceeded: e^(-x) where that is small
    with np.errstate(over="ignore"):
        exponential = -np.log(-np.expm1(-np.exp(-standard)))
    return np.where(standard > 30, standard, exponential)


def _log_choose(many: Array, few: Array) -> Floats:
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, CANDIDATES + 1)))])
    found: Floats = logarithms[many] - logarithms[few] - logarithms[many - few]
    return found


def _opendp_list(peer: Peer, k: int, privacy: Privacy, draws: int) -> Callable[[Array], Array]:
    return lambda counts: np.array(
        peer.ask(counts=counts.tolist(), k=k, draws=draws, **privacy.words)
    )


# --- quantiles


_QUANTILES = f"""\
Evenly spaced quantiles of {PERSONS:,} persons on a grid of 1,000 whole numbers. The error is how
many persons lie between the answer and the true quantile, on average. The published ways get every
value spread over its cell of the grid, because they cannot have ties."""


def quantiles(draws: int) -> list[Cell]:
    """Several quantiles for one price."""
    found = []
    for privacy in privacies(Fraction(1)):
        for m in (3, 9, 19):
            shares = [Fraction(place + 1, m + 1) for place in range(m)]
            ways: dict[str, Callable[[Array], Floats]] = {
                "discreet": _our_quantiles(shares, privacy, draws),
                "recursion": _published_recursion(shares, privacy, draws),
                "joint": _published_joint(shares, float(privacy.epsilon), draws),
            }
            errors: dict[str, dict[str, float]] = {way: {} for way in ways}
            for shape, values in _columns().items():
                for way, draw in ways.items():
                    listed = [
                        rank_errors(values.astype(float), [float(each) for each in shares], answer)
                        for answer in draw(values)
                    ]
                    errors[way][shape] = float(np.mean(listed))
            found.append(_told(Cell(f"{m} quantiles", str(privacy), errors)))
    return found


def _columns() -> dict[str, Array]:
    random, high = np.random.default_rng(7), 999
    drawn = {
        "normal": random.normal(400, 100, PERSONS),
        "skewed": random.lognormal(4, 1, PERSONS),
        "four values": random.choice([100.0, 250.0, 260.0, 700.0], PERSONS, p=[0.4, 0.3, 0.2, 0.1]),
    }
    return {
        name: np.sort(np.floor(values.clip(0, high)).astype(int)) for name, values in drawn.items()
    }


def _our_quantiles(
    shares: Sequence[Fraction], privacy: Privacy, draws: int
) -> Callable[[Array], Floats]:
    grid = read_points((0, 999), 1, None)
    whole = privacy.rho is None
    made = ManyQuantiles(
        q=shares,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        grid_size=grid.size,
        price=None if whole else Price(BudgetRule.of(privacy.budget), privacy.epsilon),
    )
    chance = Chance(SeededBits(1))

    def draw(values: Array) -> Floats:
        cells = read_cells(values, grid)
        listed = [made.release(cells, grid, chance).value for _ in range(draws)]
        return np.array(listed, dtype=float)

    return draw


def _published_recursion(
    shares: Sequence[Fraction], privacy: Privacy, draws: int
) -> Callable[[Array], Floats]:
    """Kaplan, Schnapp and Stemmer 2022, whose searches have bounded range."""
    layers, random = len(shares).bit_length(), np.random.default_rng(1)
    each = _rate_of_picks(layers, privacy)
    wanted = [float(share) for share in shares]

    def draw(values: Array) -> Floats:
        spread = [np.sort(values + random.uniform(0, 1, values.size)) for _ in range(draws)]
        return np.array([recurse(one, wanted, 0.0, 1.0, 0.0, 1000.0, each) for one in spread])

    return draw


def _published_joint(
    shares: Sequence[Fraction], epsilon: float, draws: int
) -> Callable[[Array], Floats]:
    """Gillenwater, Joseph and Kulesza 2021: all at once, by how many persons lie between
    neighbouring quantiles.

    Intervals between sorted values are chosen from the left to the right. Of several quantiles in
    one interval the order does not matter, so their ways are divided by a factorial.
    """
    random, count = np.random.default_rng(1), len(shares)
    parts = np.diff([0.0, *(float(share) for share in shares), 1.0])
    # for one person more or fewer
    rate = epsilon / 2 / (2 * (1 - float(parts.min())))

    def draw(values: Array) -> Floats:
        spread = np.sort(values + random.uniform(0, 1, values.size))
        edges = np.concatenate([[0.0], spread, [1000.0]])
        widths = np.diff(edges)
        widths /= widths.max()
        size = widths.size
        steps = np.arange(size)

        def weight(persons: Floats, part: int) -> Floats:
            made: Floats = np.exp(-rate * np.abs(persons - values.size * parts[part]))
            return made

        # ways[j][t][i]: quantile j in interval i, as the (t + 1)-th there
        first = widths * weight(steps.astype(float), 0)
        ways = [(first / first.max())[None, :]]
        moves = np.subtract.outer(steps, steps).astype(float)
        tables = []
        for part in range(1, count):
            table = np.where(moves > 0, weight(moves, part), 0.0)
            tables.append(table)
            fresh = widths * (table @ ways[-1].sum(axis=0))
            again = ways[-1] * widths * weight(np.zeros(1), part)
            again /= np.arange(2, part + 2)[:, None]
            both = np.vstack([fresh, again])
            ways.append(both / both.max())
        last = weight((values.size - steps).astype(float), count)
        return np.array([_backwards(ways, tables, last, edges, random) for _ in range(draws)])

    return draw


def _backwards(
    ways: Sequence[Floats],
    tables: Sequence[Floats],
    last: Floats,
    edges: Floats,
    random: np.random.Generator,
) -> Floats:
    """Intervals from the right to the left, and points in them."""
    places: list[int] = []
    odds = ways[-1] * last
    quantile = len(ways) - 1
    while True:
        turn, place = divmod(int(_drawn(odds.ravel(), random)), odds.shape[1])
        places += [place] * (turn + 1)
        quantile -= turn + 1
        if quantile < 0:
            break
        odds = ways[quantile] * tables[quantile][place]
    return np.sort(random.uniform(edges[places], edges[np.array(places) + 1]))


def _drawn(odds: Floats, random: np.random.Generator) -> int:
    sums = np.cumsum(odds)
    return int(np.searchsorted(sums, random.uniform(0, sums[-1]), side="right"))


# --- counts


_COUNTS = f"""\
{ITEMS} counts of persons, of which one person moves any number or at most 3, and a single count:
the root of the mean square of what a count is off. `discreet` is `Session.counts`. Of Tumult
Analytics it is the deviation of the noise that its session says it would add; OpenDP's are drawn,
with noise for the (ε, δ) by its own conversion from rho."""


def counts(draws: int, opendp: Peer | None, tumult: Peer | None) -> list[Cell]:
    """Numbers of persons."""
    found = []
    for privacy in privacies(EPSILON):
        for items, moved in ((1, 1), (ITEMS, 3), (ITEMS, ITEMS)):
            asked = {"items": items, "moved": moved} | privacy.words
            errors = {"discreet": _our_counts(items, moved, privacy, draws)}
            if opendp is not None:
                drawn = opendp.ask(draws=max(draws, 4000 // items), **asked)
                errors["OpenDP"] = _deviation_of(np.array(drawn))
            if tumult is not None:
                errors["Tumult Analytics"] = _deviation_said(tumult.ask(**asked))
            errors["Gaussian, or Laplace"] = (
                math.sqrt(2) * moved / float(privacy.epsilon)
                if privacy.rho is None and not privacy.delta
                else _deviation(moved, privacy)
            )
            question = f"{items} counts, {moved} a person" if items > 1 else "1 count"
            shaped = {way: {"any": error} for way, error in errors.items()}
            found.append(_told(Cell(question, str(privacy), shaped)))
    return found


def _our_counts(items: int, moved: int, privacy: Privacy, draws: int) -> float:
    """Of people who have one item each, so that a cap leaves nothing out."""
    import pandas

    people = np.arange(400 * items)
    table = pandas.DataFrame({"person": people, "item": people % items})
    unit = OneRow() if moved == 1 else Person("person")
    asked: dict[str, Any] = {"epsilon": privacy.epsilon, "candidates": list(range(items))}
    asked |= {"delta": privacy.delta} if privacy.delta else {}
    asked |= {} if moved in (1, items) else {"items_per_person": moved}
    off = []
    for _ in range(max(draws, 1000 // items)):
        session = discreet.Session(table, unit=unit, budget=privacy.budget)
        release = session.counts("item", **asked)
        assert release.counts is not None
        off.append([float(value) - 400 for value in release.counts.values])
    return _deviation_of(np.array(off))


def _deviation_of(noise: Floats) -> float:
    return float(np.sqrt(np.mean(noise**2)))


def _deviation_said(said: dict[str, Any]) -> float:
    """Of the noise that Tumult names: a variance, or the scale of geometric noise."""
    if said["noise"] == "DISCRETE_GAUSSIAN":
        return math.sqrt(said["parameter"])
    stay = math.exp(-1 / said["parameter"])
    return math.sqrt(2 * stay) / (1 - stay)


# --- all


def _told(cell: Cell) -> Cell:
    beside = {way: round(cell.over_shapes(way), 2) for way in cell.errors}
    print(f"{cell.question:24} {cell.privacy:14} {beside}", flush=True)
    return cell


def section(name: str, title: str, note: str, cells: Sequence[Cell]) -> Section:
    """A table of errors for each question, and the worst of all questions as a target."""
    made = Section(name, title, note)
    for each in cells:
        columns = list(each.errors["discreet"])
        rows = [
            [way, *(number(errors[column]) for column in columns), f"{each.over_shapes(way):.2f}"]
            for way, errors in each.errors.items()
        ]
        heading = f"{each.question}, {each.privacy}"
        made.tables.append(Table(heading, ["", *columns, "beside discreet"], rows))
    for kind in dict.fromkeys(each.privacy for each in cells):
        worst = max((each for each in cells if each.privacy == kind), key=lambda cell: cell.behind)
        bound = f"{name}, {kind}: error beside the best of the others"
        made.targets.append(Target(bound, CLOSE, worst.behind, where=worst.question, at_most=True))
    made.records += [asdict(each) | {"behind": each.behind} for each in cells]
    return made


def main() -> None:
    """Measure, print, and keep a full run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for library in ("opendp", "tumult"):
        parser.add_argument(f"--{library}", metavar="PYTHON", help="a Python that has it")
    parser.add_argument("--quick", action="store_true", help="fewer draws, and nothing is kept")
    given = parser.parse_args()
    opendp = Peer(given.opendp, "opendp") if given.opendp else None
    tumult = Peer(given.tumult, "tumult") if given.tumult else None
    part = 10 if given.quick else 1
    asked = {
        "lists": ("Lists", _LISTS, lambda: lists(100 // part, opendp)),
        "quantiles": ("Quantiles", _QUANTILES, lambda: quantiles(50 // part)),
        "counts": ("Counts", _COUNTS, lambda: counts(50 // part, opendp, tumult)),
    }
    sections = []
    for name, (title, note, measure) in asked.items():
        sections.append(section(name, title, note, measure()))
        print(f"\n{sections[-1]}", flush=True)
        if not given.quick:
            write(HERE / "results", "literature", environment(["discreet", "numpy"]), sections)


if __name__ == "__main__":
    main()
