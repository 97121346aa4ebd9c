"""Linear models on a ball: the law of the real code, point by point and drawn, and its loss."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from flint import acb, arb, arb_mat, ctx, fmpq
from reference import ball as reference
from scipy import optimize, stats
from tiers import also, only

from discreet.errors import ParameterError
from discreet.exact.enclosures import at_precision, ball
from discreet.mechanisms import ball as mechanisms_ball
from discreet.mechanisms.ball import BallExponentialMechanism
from discreet.privacy.loss import ZCDP, BoundedRange
from discreet.privacy.parameters import NOT_PRIVATE
from discreet.randomness.chance import Chance
from discreet.samplers import ball as sampling
from discreet.samplers import ball_proposal
from discreet.samplers.ball import BallSampler
from discreet.samplers.gaussian_envelope import Target, column, square
from discreet.samplers.losses import LogisticLoss, SquaredLoss
from discreet.samplers.normals import LazyNormals
from discreet.testing import SeededBits

RNG = np.random.default_rng(20)


def on_grid(rows):
    """Rows of length at most 1, on the grid."""
    rows = np.asarray(rows, dtype=float)
    rows = rows / np.maximum(1, np.linalg.norm(rows, axis=1) * 1.001)[:, None]
    return np.trunc(rows * 2.0**16) * 2.0**-16


def labelled(count, size, seed=3):
    random = np.random.default_rng(seed)
    rows = on_grid(random.normal(size=(count, size)))
    return rows * np.where(rows[:, :1] + random.normal(size=(count, 1)) / 2 > 0, 1.0, -1.0)


# what could be handed over: its rows, multiplied by their labels
DATA = {
    "none": np.empty((0, 2)),
    "one": on_grid([[0.6, 0.8]]),
    "few": labelled(20, 2),
    "separated": on_grid(np.abs(RNG.normal(size=(40, 2)))),
    "opposite": on_grid([[1, 0], [-1, 0]] * 30),
    "short": on_grid(RNG.normal(size=(50, 2)) / 1000),
    "one direction": on_grid([[1, 0]] * 200),
    "five": labelled(60, 5),
}
MANY = labelled(300, 3)


def logistic_sampler(rows, epsilon=1, radius=4, prior=0):
    target = Target(Fraction(epsilon) / radius, Fraction(prior), Fraction(radius))
    loss = LogisticLoss(rows, float(radius))
    return BallSampler(loss, target, ball_proposal.make_shells(loss, target))


def squared_sampler(rows, targets, rate=Fraction(1, 4), radius=1, prior=0):
    target = Target(rate, Fraction(prior), Fraction(radius))
    loss = SquaredLoss.of(rows, targets, Fraction(1), float(radius))
    return BallSampler(loss, target, ball_proposal.make_shells(loss, target))


TARGETS = {
    f"{name}, {epsilon}, {radius}": (rows, epsilon, radius, prior)
    for name, rows in DATA.items()
    for epsilon, radius, prior in [(1, 4, 0), (Fraction(1, 10), 20, 0), (20, 2, 1)]
}
SAMPLERS = [*TARGETS, "many"]
# no rows; equal rows under a strong rate with a prior; a small rate in a wide ball
EVERYDAY = ("none, 1, 4", "one direction, 20, 2", "few, 1/10, 20")


@cache
def sampler_and_rows(name):
    """Made when a test needs it: to read this file is no reason to certify all of them."""
    if name == "many":
        return forced(MANY), MANY
    rows, epsilon, radius, prior = TARGETS[name]
    return logistic_sampler(rows, epsilon, radius, prior), rows


def forced(rows):
    """Two shells, even where one would be faster, so that both are met often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ball_proposal, "_WORTH", -10.0)
        patch.setattr(ball_proposal, "_TRIED", (1.5,))
        made = logistic_sampler(rows, 4, 4)
    assert len(made._shells) == 2
    return made


def test_many_rows_have_two_shells():
    rows = labelled(4000, 3)
    assert len(logistic_sampler(rows, 8)._shells) == 2
    assert [len(sampler_and_rows(name)[0]._shells) for name in EVERYDAY] == [1] * len(EVERYDAY)


@pytest.mark.sizes
def test_few_rows_have_one_shell():
    assert [len(sampler._shells) for sampler, _ in map(sampler_and_rows, SAMPLERS)].count(1) > 20


def exact(rows):
    return [[arb(value) for value in row] for row in rows.tolist()]


def random_point(size, length, seed):
    random = np.random.default_rng(seed)
    values = random.normal(size=size)
    return [arb(float(value)) for value in values / np.linalg.norm(values) * length]


@pytest.mark.parametrize("name", [*DATA, "many"])
def test_acceptance_is_the_target_over_the_proposals_at_every_point(name):
    """To 100 digits, up to one constant, which all shells share once their odds are counted in."""
    sampler, rows = sampler_and_rows(name if name == "many" else f"{name}, 1, 4")
    points = exact(rows)

    def constants():
        for number, shell in enumerate(sampler._shells):
            center, shape = column(shell.envelope.center), square(shell.envelope.shape)
            mass = shell.log_mass()
            density = -abs(shape.det()).log()
            if shell.outside:
                density -= sampling.tail_mass(len(rows.T), shell.least_square).log()
            for seed in range(6):
                point = random_point(len(rows.T), 0.3 * (seed + 1), seed)
                normal = shape.solve(arb_mat(len(point), 1, point) - center).entries()
                log_proposal = density - reference.dot(normal, normal) / 2 + mass
                target = sampler._target
                log_target = reference.log_odds(
                    "logistic", points, [1] * len(points), point, ball(target.rate), arb(0)
                )
                accepted = sampler.log_acceptance(number, normal)
                yield accepted + log_proposal - log_target

    found = at_precision(600, lambda: list(constants()))
    assert len(found) >= 6
    for each in found:
        assert at_precision(600, lambda each=each: abs(each - found[0]) < arb(10) ** -100)
        assert float(each.rad()) < 1e-120


def test_acceptance_of_squared_losses_is_the_target_over_the_proposals():
    rows, targets = labelled(30, 3), np.trunc(RNG.uniform(-1, 1, 30) * 2**16) / 2**16
    sampler = squared_sampler(rows, targets, prior=Fraction(1, 3))
    shell = sampler._shells[0]

    def constants():
        center, shape = column(shell.envelope.center), square(shell.envelope.shape)
        for seed in range(6):
            point = random_point(3, 0.15 * (seed + 1), seed)
            normal = shape.solve(arb_mat(3, 1, point) - center).entries()
            wanted = [arb(value) for value in targets.tolist()]
            log_target = reference.log_odds(
                "squared", exact(rows), wanted, point, arb(fmpq(1, 4)), arb(fmpq(1, 3))
            )
            accepted = sampler.log_acceptance(0, normal)
            yield accepted - reference.dot(normal, normal) / 2 - log_target

    found = at_precision(600, lambda: list(constants()))
    for each in found:
        assert at_precision(600, lambda each=each: abs(each - found[0]) < arb(10) ** -100)


@pytest.mark.parametrize("name", only((*EVERYDAY, "many"), SAMPLERS))
def test_no_proposal_is_kept_more_often_than_always(name):
    """Where the odds to keep a proposal are highest they are still at most 1, for certain."""
    sampler, rows = sampler_and_rows(name)
    radius = float(sampler._target.radius)
    for number, shell in enumerate(sampler._shells):
        highest = -math.inf
        for seed in range(4):
            start = np.random.default_rng(seed).normal(size=rows.shape[1])
            start *= 0.5 * seed * radius / 3 / np.linalg.norm(start)
            best = highest_place(sampler, number, start, radius)
            odds = certain_odds(sampler, number, best)
            if odds is not None:
                highest = max(highest, float(odds.upper()))
        assert highest <= 0
        # and the envelope touches nearly: the constant is not just small
        if not shell.outside and name == "many":
            assert highest > -1


def highest_place(sampler, number, start, radius):
    """Where the odds to keep a point of this shell's part seem highest, near to a start.

    Points that are searched are moved into the part first: a search that is told of borders by
    constraints may leave them, where the odds have no highest place, and never come back.
    """
    shell = sampler._shells[number]
    found = optimize.minimize(
        lambda point: -nearly(sampler, number, into_part(shell, radius, point)),
        start,
        method="Nelder-Mead",
        options={"maxfev": 400 * len(start)},
    )
    return into_part(shell, radius, found.x)


def into_part(shell, radius, point):
    """The point, moved into the ball and then into the part of a shell, next to its border."""
    point = point * min(1, radius * (1 - 1e-12) / max(np.linalg.norm(point), 1e-9))
    if shell.region is None:
        return point
    away = point - shell.region.center
    length = max(float(np.linalg.norm(shell.region.whitening @ away)), 1e-9)
    border = math.sqrt(shell.region.square) / length
    return shell.region.center + away * (
        max(1, border * (1 + 1e-6)) if shell.outside else min(1, border * (1 - 1e-6))
    )


def nearly(sampler, number, point):
    envelope, target = sampler._shells[number].envelope, sampler._target
    normal = np.linalg.solve(envelope.shape, point - envelope.center)
    inside = np.clip(point, -2 * float(target.radius), 2 * float(target.radius))[None]
    losses = np.logaddexp(0, -(inside @ sampler._loss.rows.T)).sum()
    prior = float(target.prior) / 2 * (point @ point)
    return normal @ normal / 2 + envelope.constant - float(target.rate) * losses - prior


def certain_odds(sampler, number, point):
    """The logarithm of the odds to keep a point, if it is for certain in the shell's part."""

    def compute():
        envelope = sampler._shells[number].envelope
        place = column(np.asarray(point, dtype=float))
        if not sampler.is_in_part(number, place):
            return None
        normal = square(envelope.shape).solve(place - column(envelope.center)).entries()
        return sampler.log_acceptance(number, normal)

    return at_precision(256, compute)


LINE = [-1.0, -0.5, 0.25, 1.0]


def pairs(loss, targets):
    """Data sets on a line, each with a neighbour that has one row more."""
    rows = [(row, target) for row in LINE for target in targets]
    for data in [(), *itertools.product(rows[:5]), *itertools.product(rows[1:4], rows[3:6])]:
        for more in rows:
            yield list(data), [*data, more]


CASES = [
    ("logistic", {"radius": 3, "epsilon": 1}, (-1.0, 1.0)),
    ("logistic", {"radius": 1, "epsilon": 4, "ridge": 2}, (-1.0, 1.0)),
    ("squared", {"radius": 1, "epsilon": 1, "bounds": (-1, 1)}, (-1.0, 0.5)),
    ("squared", {"radius": 2, "epsilon": 2, "bounds": (0, 1)}, (0.0, 1.0)),
    ("squared", {"radius": Fraction(1, 4), "epsilon": 1, "bounds": (-1, 1)}, (-1.0, 1.0)),
]


@pytest.mark.parametrize(("loss", "given", "targets"), CASES)
def test_no_neighbour_changes_the_odds_by_more_than_the_loss(loss, given, targets):
    """One coefficient, normalised by rigorous integration: no tolerance."""
    mechanism = BallExponentialMechanism(loss=loss, norm=1, **given)
    target = mechanism._target(1)
    rate, ridge, radius = (ball(each) for each in (target.rate, target.prior, target.radius))
    epsilon = ball(mechanism.privacy_loss().epsilon)
    widest = arb(0)

    @cache
    def law(data):
        """The integral, and the logarithm of the odds at 33 places."""

        def odds(point):
            return reference.log_odds_on_line(loss, data, acb(point), rate, ridge)

        places = [odds(radius * place / 16).real for place in range(-16, 17)]
        return reference.integral(odds, radius), places

    for one, two in pairs(loss, targets):
        (whole, before), (changed, after) = law(tuple(one)), law(tuple(two))
        scale = (changed / whole).log()
        moves = [new - old for new, old in zip(after, before, strict=True)]
        for move in moves:
            assert abs(move - scale) < epsilon
        assert not any(high - low > epsilon for high in moves for low in moves)
        low, *_, high = sorted(moves, key=lambda each: float(each.mid()))
        widest = max(widest, high - low, key=lambda each: float(each.mid()))
    # attained: no larger rate would do
    assert widest.overlaps(epsilon)
    assert mechanism.bounded_range(dimensions=1) == BoundedRange(given["epsilon"])


@pytest.mark.parametrize(
    ("loss", "given", "targets"),
    [
        ("logistic", {"rho": Fraction(1, 10), "ridge": 1}, (-1.0, 1.0)),
        ("logistic", {"rho": Fraction(1, 2), "ridge": 4, "radius": 1}, (-1.0, 1.0)),
        (
            "squared",
            {"rho": Fraction(1, 4), "ridge": 2, "radius": 1, "bounds": (-1, 1)},
            (-1.0, 1.0),
        ),
    ],
    ids=["logistic", "cut", "squared"],
)
@pytest.mark.parametrize("every", [7, *also(1)], ids=["seventh pair", "pair"])
def test_no_neighbour_has_a_larger_renyi_divergence_than_rho(loss, given, targets, every):
    mechanism = BallExponentialMechanism(loss=loss, norm=1, **given)
    target = mechanism._target(1)
    rate, ridge, radius = (ball(each) for each in (target.rate, target.prior, target.radius))
    rho = ball(mechanism.privacy_loss().rho)
    largest = dict.fromkeys([fmpq(3, 2), fmpq(2), fmpq(6)], arb(0))
    for data in itertools.islice(pairs(loss, targets), 0, None, every):
        odds = [
            lambda point, each=each: reference.log_odds_on_line(loss, each, point, rate, ridge)
            for each in data
        ]
        whole = [reference.integral(each, radius).log() for each in odds]
        for order, (first, second) in itertools.product(largest, [(0, 1), (1, 0)]):

            def mixed(point, order=order, first=first, second=second):
                return order * odds[first](point) + (1 - order) * odds[second](point)  # noqa: B023

            both = reference.integral(mixed, radius).log()
            divergence = (both - order * whole[first] - (1 - order) * whole[second]) / (order - 1)
            assert divergence < rho * order
            largest[order] = max(
                largest[order], divergence / order, key=lambda each: float(each.mid())
            )
    if loss == "logistic" and "radius" not in given:
        # not far from what it costs
        assert all(each > rho / 10 for each in largest.values())


def test_both_losses_are_stated():
    mechanism = BallExponentialMechanism(loss="logistic", norm=2, rho=0.02, ridge=0.25)
    assert mechanism.privacy_loss() == ZCDP(0.02)
    # the radius is (sqrt(16) + 3) * 2 = 14, the rate sqrt(2 * 0.02 * 0.25) / 2 = 0.05
    assert mechanism._target(16).radius == 28
    assert Fraction("1.3999") < mechanism.bounded_range(dimensions=16).epsilon <= Fraction("1.4")
    assert mechanism.zcdp(dimensions=16).rho <= Fraction("0.02")
    pure = BallExponentialMechanism(loss="logistic", norm=1, radius=10, epsilon=1, ridge=1)
    assert pure.zcdp(dimensions=3).rho == Fraction(1, 200)
    assert (
        BallExponentialMechanism(loss="logistic", norm=1, radius=10, epsilon=1).zcdp(dimensions=3)
        == BoundedRange(1).to_zcdp()
    )


LAWS = {
    "one shell": (lambda: logistic_sampler(DATA["few"], 2, 4), DATA["few"], None),
    "two shells": (lambda: forced(labelled(100, 2)), labelled(100, 2), None),
    "ridge": (
        lambda: logistic_sampler(DATA["few"], 2, 4, Fraction(1, 2)),
        DATA["few"],
        None,
    ),
    "squared": (
        lambda: squared_sampler(DATA["few"], np.arange(-10, 10) / 16, Fraction(1, 2), 2),
        DATA["few"],
        np.arange(-10, 10) / 16,
    ),
}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("squared", 3000),
        *(
            pytest.param(name, 4000, marks=pytest.mark.audits)
            for name in ("one shell", "two shells", "ridge")
        ),
    ],
    ids=["squared", "one shell", "two shells", "ridge"],
)
def test_draws_have_the_law(name, count):
    """Chi-square of draws in 40 cells against quadrature: false alarm 1e-5 with seeds that do not
    change; a rate that is 20% off is noticed. Squared losses need fewer draws for that.
    """
    make, rows, targets = LAWS[name]
    sampler = make()
    radius, rate = float(sampler._target.radius), float(sampler._target.rate)
    prior = float(sampler._target.prior)
    chance = Chance(SeededBits(5))
    draws = np.array([sampler.draw(fmpq(1, 2**20), chance) for _ in range(count)]) / 2**20
    line = (np.arange(300) + 0.5) / 150 * radius - radius
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    points = points[(points**2).sum(axis=1) <= radius**2]

    def energy(where):
        scores = where @ rows.T
        each = np.logaddexp(0, -scores) if targets is None else (targets - scores) ** 2
        return each.sum(axis=1)

    levels, found = energy(points), energy(draws)
    squares, sides = (points**2).sum(axis=1), points @ [1.0, 0.3] > draws.mean(axis=0) @ [1.0, 0.3]
    side = draws @ [1.0, 0.3] > draws.mean(axis=0) @ [1.0, 0.3]

    def p_value(factor):
        weights = np.exp(-rate * factor * (levels - levels.min()) - prior / 2 * squares)
        weights /= weights.sum()
        order = np.argsort(levels)
        places = np.searchsorted(weights[order].cumsum(), np.arange(1, 20) / 20)
        cuts = levels[order][places]
        expected = np.bincount(np.searchsorted(cuts, levels) * 2 + sides, weights, 40) * count
        counted = np.bincount(np.searchsorted(cuts, found) * 2 + side, minlength=40)
        common = expected > 5
        far = np.sum((counted[common] - expected[common]) ** 2 / expected[common])
        return stats.chi2.sf(far, np.count_nonzero(common) - 1)

    assert p_value(1.0) > 1e-5
    assert p_value(1.2) < 1e-5
    assert p_value(0.8) < 1e-5


def test_without_rows_the_ball_is_uniform():
    sampler = logistic_sampler(np.empty((0, 3)), 1, 2)
    chance = Chance(SeededBits(3))
    draws = np.array([sampler.draw(fmpq(1, 2**20), chance) for _ in range(2000)]) / 2**20
    lengths = np.linalg.norm(draws, axis=1) / 2
    assert stats.kstest(lengths**3, "uniform").pvalue > 1e-5
    assert stats.kstest(lengths**2.5, "uniform").pvalue < 1e-5


def exact_odds(sampler, normals, row):
    return at_precision(256, lambda: sampler.log_acceptance(0, normals.balls(row, 200)))


def log_uniforms(sampler, normals, rows):
    """Logarithms just above the odds to keep each proposal: none is to be kept."""
    values = np.zeros(len(normals.values))
    for row in rows:
        values[row] = math.nextafter(float(exact_odds(sampler, normals, row).upper()), 1)
    return values


@pytest.mark.parametrize("name", ["few, 1, 4", "few, 20, 2"])
def test_floats_decide_as_enclosures_do(name):
    sampler, _ = sampler_and_rows(name)
    normals = LazyNormals(2000, 2, Chance(SeededBits(9)))
    error = sampling.ERROR * math.sqrt(2)
    logs = np.log(np.random.default_rng(1).random(2000))
    found = sampler.statuses(0, normals, error, logs)
    assert found.certain.mean() > 0.999
    for row in range(0, 2000, 4):

        def decided(row=row):
            point = sampler.point(0, normals, row, 200)
            there = sampler.is_in_part(0, point)
            return there and bool(
                arb(logs[row]) < sampler.log_acceptance(0, normals.balls(row, 200))
            )

        assert found.keep[row] == bool(at_precision(256, decided))


@pytest.mark.parametrize("tolerance", ["proved", "none"])
@pytest.mark.parametrize("name", ["few, 1, 4", "one direction, 20, 2"])
def test_only_the_tolerance_keeps_floats_from_deciding_what_they_cannot(
    name, monkeypatch, tolerance
):
    """The hardest case: uniform numbers that are just above the odds. Where all rows are
    equal, so are the errors of their losses, and they add up.
    """
    sampler, _ = sampler_and_rows(name)
    normals = LazyNormals(2000, 2, Chance(SeededBits(9)))
    rows = range(0, 2000, 10)
    logs = log_uniforms(sampler, normals, rows)
    if tolerance == "none":
        monkeypatch.setattr(BallSampler, "_tolerance", lambda *_: 0.0)
    found = sampler.statuses(0, normals, sampling.ERROR * math.sqrt(2), logs)
    wrong = [row for row in rows if found.keep[row]]
    assert bool(wrong) == (tolerance == "none")


def test_the_tolerance_is_not_far_above_the_errors():
    """A tolerance that is too large would only be slow; one digit is what it may waste, six
    what it does at most.
    """
    sampler, _ = sampler_and_rows("few, 1, 4")
    made = sampler._tolerance(1e-10, 1e-11, 10.0, 5.0)
    assert 1e-11 < made < 1e-6


def test_open_proposals_are_decided_by_enclosures(monkeypatch):
    """With floats that decide nothing the draws are the same."""
    rows = DATA["few"]

    def draws(sampler):
        chance = Chance(SeededBits(2))
        return [sampler.draw(fmpq(1, 2**20), chance) for _ in range(20)]

    quick, slow = logistic_sampler(rows, 2, 4), logistic_sampler(rows, 2, 4)
    fast = draws(quick)
    monkeypatch.setattr(BallSampler, "_tolerance", lambda *_: math.inf)
    assert draws(slow) == fast
    assert slow.open > 20
    assert quick.open == 0


def test_an_answer_is_the_point_rounded():
    sampler = logistic_sampler(DATA["five"], 2, 4)
    coarse, fine = (
        sampler.draw(unit, Chance(SeededBits(4))) for unit in (fmpq(1, 8), fmpq(1, 2**30))
    )
    assert coarse == [math.floor(value / 2**27 + 0.5) for value in fine]


@pytest.mark.parametrize("failure", [0.3, 0.05])
@pytest.mark.parametrize(("loss", "given", "targets"), CASES[:3])
def test_error_bounds_hold(loss, given, targets, failure):
    mechanism = BallExponentialMechanism(loss=loss, norm=1, **given)
    target = mechanism._target(1)
    rate, prior, radius = (float(each) for each in (target.rate, target.prior, target.radius))
    line = np.linspace(-radius, radius, 4001)
    expected = mechanism.expected_error_bound(dimensions=1)
    assert expected == pytest.approx(1 / rate)
    for data, _ in pairs(loss, targets):
        losses = prior / rate / 2 * line**2
        for row, wanted in data:
            losses = losses + (
                np.logaddexp(0, -wanted * row * line)
                if loss == "logistic"
                else (wanted - row * line) ** 2
            )
        excess = losses - losses.min()
        weights = np.exp(-rate * excess)
        weights /= weights.sum()
        assert weights @ excess <= expected
        bound = mechanism.error_bound(failure, dimensions=1)
        assert weights[excess > bound].sum() <= failure


@pytest.fixture(autouse=True)
def usual_precision():
    before = ctx.prec
    yield
    assert ctx.prec == before


def test_the_grid_of_the_answer_spoils_no_bound(monkeypatch):
    """Rounded to a 2^24th of the radius, the answer for 60 million rows at epsilon 64 was always
    worse than its bound: docs/proofs/ball.md#utility has what it may move by.
    """
    mechanism = BallExponentialMechanism(loss="logistic", norm=1, radius=3, epsilon=1)
    rows, signs = np.array([[0.5, 0.2], [0.1, -0.4]]), np.array([1.0, -1.0])
    rounded = mechanism.release(rows, signs, bits=SeededBits(1)).value
    monkeypatch.setattr(mechanisms_ball, "_DIGITS", 60)
    fine = mechanism.release(rows, signs, bits=SeededBits(1)).value
    assert 0 < max(abs(one - other) for one, other in zip(rounded, fine, strict=True)) < 3 * 2**-48


def test_the_bound_has_room_for_rounding():
    """docs/proofs/ball.md#utility: Chernoff's exponent is large enough a quarter before."""
    for power in range(-160, 161):
        share = mpmath.mpf(2) ** (mpmath.mpf(power) / 4)
        with mpmath.workdps(60):
            beyond = mpmath.sqrt(2 * share) + share - min(share, 1) / 4
            assert beyond - mpmath.log1p(beyond) > share


@pytest.mark.parametrize("name", ["epsilon", "rho"])
def test_a_loss_above_64_needs_the_acknowledgement(name):
    stated = {"loss": "logistic", "norm": 1, "radius": 10, "ridge": 1, name: 65}
    with pytest.raises(ParameterError, match=f"'{name}' .* must be at most 64. Got 65"):
        BallExponentialMechanism(**stated)
    made = BallExponentialMechanism(**stated, acknowledge=NOT_PRIVATE)
    assert made.privacy_loss() == (BoundedRange(65) if name == "epsilon" else ZCDP(65))
