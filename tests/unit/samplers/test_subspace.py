"""Proposals of subspaces: the right odds at every point, under the envelope, and floats
that know how wrong they are.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, arb_mat
from reference import subspaces as reference
from scipy import optimize
from tiers import loop_over, more

from discreet.exact.enclosures import at_precision
from discreet.randomness.chance import Chance
from discreet.samplers import subspace, subspace_filter
from discreet.samplers.normals import LazyNormals
from discreet.samplers.subspace import Basis, Orthonormal, _best
from discreet.samplers.subspace_filter import Guess, log_acceptance
from discreet.samplers.subspace_proposal import (
    OUTSIDE,
    Proposal,
    log_mass,
    log_peaks,
    make_designs,
    propose,
)
from discreet.testing import SeededBits

SPECTRA = {
    "rank one": [40, 0, 0, 0, 0],
    "two equal tops": [30, 30, 1, 0, 0],
    "flat": [2, 2, 2, 2, 2],
    "nothing": [0, 0, 0, 0, 0],
    "apart": [1e6, 1e3, 1, 1e-3, 0],
    "steep": [1e9, 1, 0, 0, 0],
    "usual": [60, 12, 5, 2, 1],
    "negative": [-1, -4, -4.5, -9, -30],
}
SIZES = [1, 2, 3]


def designs(spectrum, size):
    return make_designs(np.array(SPECTRA[spectrum], dtype=float), size)


# spectra that most mutants need, in few dimensions
REPRESENTATIVE = {("rank one", 2), ("flat", 2), ("usual", 1), ("usual", 2), ("two equal tops", 2)}
some = pytest.mark.parametrize(
    ("spectrum", "size"),
    [
        (pytest.param if (spectrum, size) in REPRESENTATIVE else more)(
            spectrum, size, id=f"{spectrum}-{size}"
        )
        for spectrum in SPECTRA
        for size in SIZES
    ],
)


def proposals(design, count, seed=1):
    """Normal numbers as exact floats, shrunk a little so that more rows are inside."""
    return np.random.default_rng(seed).normal(size=(count, design.normals)) * 0.75


def exact(design, row, precision=512):
    return at_precision(precision, lambda: propose(design, [arb(float(z)) for z in row]))


def enclosed(design, normals, row):
    return at_precision(256, lambda: propose(design, normals.balls(row, 192)))


@some
def test_the_odds_are_target_over_proposal_to_a_hundred_digits(spectrum, size):
    for design in designs(spectrum, size):
        differences = []
        for row in proposals(design, 40):
            found = exact(design, row)
            if found == OUTSIDE or len(differences) == 4:
                continue
            with mpmath.workdps(150):
                ours = mpmath.mpf(found.log_odds.str(140, radius=False))
                point = [mpmath.mpf(float(z)) for z in row]
                differences.append(ours - reference.log_odds(design, point))
        assert len(differences) >= 2
        with mpmath.workdps(150):
            scale = 1 + max(abs(each) for each in differences)
            assert max(differences) - min(differences) < scale * mpmath.mpf(10) ** -100


@some
def test_no_proposal_is_above_the_envelope(spectrum, size):
    """Neither at random nor where a search for the largest odds ends."""
    for design in designs(spectrum, size):
        peaks = log_peaks(design)

        def height(point, design=design, peaks=peaks):
            guess = log_acceptance(design, peaks, point[None])
            known = np.isfinite(guess.error[0]) and np.isfinite(guess.value[0])
            return -float(guess.value[0]) if known else 1e6

        best = min(
            (optimize.minimize(height, row, method="Powell", options={"maxfev": 120})
             for row in proposals(design, 2)),
            key=lambda found: found.fun,
        )  # fmt: skip
        for row in [best.x, *proposals(design, 30, seed=4)]:
            found = exact(design, row, precision=256)
            assert found == OUTSIDE or not found.log_odds > 0


@pytest.mark.parametrize("spectrum", ["rank one", "usual", "flat"])
def test_the_envelope_of_one_direction_touches(spectrum):
    """A larger constant would be as right and slower: the largest odds are 1."""
    (design,) = designs(spectrum, 1)
    peaks = log_peaks(design)
    found = optimize.minimize(
        lambda point: -float(log_acceptance(design, peaks, point[None]).value[0]),
        np.ones(design.normals), method="Nelder-Mead",
        options={"maxfev": 4000, "fatol": 1e-12},
    )  # fmt: skip
    assert found.fun < 1e-6


@some
def test_floats_are_as_near_as_they_say(spectrum, size):
    """Against enclosures of the same lazy numbers, for every proposal of a batch."""
    chance = Chance(SeededBits(7))
    wrong_by_more_than_nothing = 0
    for design in designs(spectrum, size):
        normals = LazyNormals(60, design.normals, chance)
        guess = log_acceptance(design, log_peaks(design), normals.values)
        for row in range(60):
            found = enclosed(design, normals, row)
            if found == OUTSIDE:
                assert guess.value[row] == -np.inf or guess.error[row] == np.inf
                continue
            assert guess.value[row] != -np.inf
            distance = abs(found.log_odds - arb(float(guess.value[row])))
            if np.isfinite(guess.error[row]):
                assert distance <= arb(float(guess.error[row]))
            wrong_by_more_than_nothing += bool(distance > 0)
    # without an error the filter would be wrong
    assert wrong_by_more_than_nothing > 0


@pytest.mark.parametrize("spectrum", ["usual", "rank one", "two equal tops", "flat"])
def test_floats_decide_nearly_everything(spectrum):
    chance = Chance(SeededBits(9))
    for design in designs(spectrum, 3):
        normals = LazyNormals(400, design.normals, chance)
        guess = log_acceptance(design, log_peaks(design), normals.values)
        assert np.mean(guess.error < 1e-6) > 0.97


LADDERS = {"narrow": np.linspace(60, 0, 16), "wide": np.linspace(900, 0, 16)}


@pytest.mark.parametrize("ladder", LADDERS)
def test_floats_of_many_steps_are_as_near_as_they_say(ladder):
    design = make_designs(LADDERS[ladder], 7)[-1]
    assert len(design.steps) == 6
    normals = LazyNormals(60, design.normals, Chance(SeededBits(8)))
    guess = log_acceptance(design, log_peaks(design), normals.values)
    inside = 0
    for row in range(60):
        found = enclosed(design, normals, row)
        if found == OUTSIDE:
            assert guess.value[row] == -np.inf or guess.error[row] == np.inf
            continue
        assert abs(found.log_odds - arb(float(guess.value[row]))) <= arb(float(guess.error[row]))
        inside += 1
    assert inside > 20


def test_floats_can_tell_of_ten_dimensions_among_64_columns():
    """The design that is by far the best here was out of reach: the bounds of its errors
    had grown beyond 1, and a draw never ended.
    """
    design = make_designs(np.linspace(1000, 0, 64), 10)[-1]
    normals = LazyNormals(200, design.normals, Chance(SeededBits(5)))
    guess = log_acceptance(design, log_peaks(design), normals.values)
    assert np.mean(guess.error < 0.1) > 0.97


def test_a_basis_is_orthonormal_and_its_rest_is_bounded():
    random = np.random.default_rng(3)
    rows = random.integers(-50, 50, size=(30, 6)) * [9, 5, 3, 2, 1, 1]
    matrix = (rows.T @ rows).astype(object)
    rate = Fraction(1, 700)
    basis = Basis(matrix, rate)

    def check():
        one = arb_mat(6, 6, [int(i == j) for i in range(6) for j in range(6)])
        turned = basis.turned(one, 192)
        inner = turned.transpose() * turned
        assert inner.contains(one)
        assert max(float(inner[i, j].rad()) for i in range(6) for j in range(6)) < 1e-40
        left = turned.transpose() * arb_mat(6, 6, [int(e) for e in matrix.ravel()]) * turned
        total = arb(0)
        for i in range(6):
            for j in range(6):
                entry = left[i, j] / 700 - (arb(float(basis.weights[i])) if i == j else 0)
                total += entry * entry
        assert total.sqrt() <= arb(basis.rest)
        assert basis.rest < 1e-9 * float(np.abs(basis.weights).max())

    at_precision(256, check)


@loop_over("within", [None, np.eye(5)[:, :4]], ids=["all", "within"])
@loop_over("power", [170, 300, 318, 330])
def test_the_rest_is_bounded_where_floats_underflow(power, within):
    """Squares of small numbers are 0 in floats, and so would be the bound of what is left."""
    rows = np.random.default_rng(5).integers(-9, 9, size=(30, 5))
    with np.errstate(all="ignore"):
        basis = Basis((rows.T @ rows).astype(object), Fraction(1, 10**power), within)
    axes = len(basis.weights)

    def check():
        for row in np.random.default_rng(1).normal(size=(20, axes)):
            frame = arb_mat(axes, 1, row.tolist())
            turned, gram = basis.turned(frame, 192), frame.transpose() * frame
            assert basis.log_rest(turned, frame, gram.inv()) < 0

    at_precision(256, check)


def test_vectors_that_are_not_quite_orthonormal_become_so():
    vectors = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 3)))[0] + 1e-8
    near = Orthonormal(vectors)
    one = arb_mat(3, 3, [int(i == j) for i in range(3) for j in range(3)])

    def check():
        turned = near.times(one, 192)
        assert (turned.transpose() * turned).contains(one)
        # and not far from what they were
        assert abs(float(turned[0, 0]) - vectors[0, 0]) < 1e-7

    at_precision(256, check)


def test_a_proposal_that_needs_more_bits_says_so():
    design = designs("usual", 2)[1]
    wide = [arb(0, 2) for _ in range(design.normals)]
    assert propose(design, wide) is None
    assert isinstance(exact(design, proposals(design, 1)[0] * 0.1), Proposal)


def test_the_last_factor_is_a_probability_near_one():
    """exp(log_rest) accepts for the little that the basis leaves beside the diagonal."""
    rows = np.random.default_rng(5).integers(-9, 9, size=(30, 5))
    basis = Basis((rows.T @ rows).astype(object), Fraction(1, 9))
    for size in (1, 2, 3):
        design = make_designs(basis.weights, size)[0]

        def check(design=design, size=size):
            for row in proposals(design, 10):
                found = propose(design, [arb(float(z)) for z in row])
                turned = basis.turned(found.frame, 192)
                rest = basis.log_rest(turned, found.frame, found.gram.inv())
                assert rest < 0
                assert rest > -2.1 * arb(size).sqrt() * arb(basis.rest)

        at_precision(256, check)


@pytest.mark.parametrize("spectrum", ["usual", "flat", "rank one", "two equal tops", "negative"])
def test_designs_accept_in_inverse_ratio_to_their_masses(spectrum):
    """So the best one is known without trying them. At 6 standard errors, 14 comparisons
    are wrong together less than once in 10^7 runs.
    """
    chance = Chance(SeededBits(13))
    shares, errors, masses = [], [], []
    for design in designs(spectrum, 3):
        normals = LazyNormals(6000, design.normals, chance)
        odds = np.exp(log_acceptance(design, log_peaks(design), normals.values).value)
        shares.append(odds.mean())
        errors.append(odds.std() / odds.mean() / np.sqrt(odds.size))
        masses.append(log_mass(design))
    for place in (1, 2):
        expected = masses[0] - masses[place]
        allowed = 6 * np.hypot(errors[0], errors[place])
        assert abs(np.log(shares[place] / shares[0]) - expected) < allowed
    if spectrum == "flat":
        # here the mass of the law is known, too: every subspace has the same odds
        assert abs(np.log(shares[0]) - (3 * 2 - masses[0])) < 6 * errors[0] + 1e-9


def test_the_design_of_least_mass_is_taken_if_floats_can_tell_of_it(monkeypatch):
    choices = make_designs(np.linspace(30, 0, 12), 4)
    steep = make_designs(np.linspace(90, 0, 12), 4)
    best, far = min(choices, key=log_mass), min(steep, key=log_mass)
    assert _best(choices, Chance(SeededBits(3))) is best

    def blind(design, constants, normals):
        guess = log_acceptance(design, constants, normals)
        return Guess(
            guess.value, guess.error + (np.inf if design is best or design is far else 0.0)
        )

    monkeypatch.setattr(subspace, "log_acceptance", blind)
    second = min((design for design in choices if design is not best), key=log_mass)
    assert _best(choices, Chance(SeededBits(3))) is second
    # others would take more than a hundred times as many proposals
    assert _best(steep, Chance(SeededBits(3))) is far


@pytest.mark.parametrize("kind", ["long", "short"])
def test_an_error_of_the_frame_moves_the_next_vector_no_further_than_stated(kind):
    """By the worst of all small errors, which is the largest singular value of how the
    vector depends on the frame. A frame of one vector, so that all norms are alike.
    """
    random = np.random.default_rng(2)
    roots = np.ones(9) if kind == "long" else np.full(9, 0.1)
    vector = np.linalg.qr(random.normal(size=(9, 1)))[0]
    # along the frame, so that what is left is short; or across
    normals = 3 * vector[:, 0] + 0.1 * random.normal(size=9)
    if kind == "long":
        normals = 3 * (np.eye(9) - vector @ vector.T) @ random.normal(size=9)
    tiny = 1e-6

    def next_vector(frame):
        basis = np.linalg.qr(roots[:, None] * frame)[0]
        return roots * (normals - basis @ (basis.T @ normals)) / np.sqrt(2)

    moved = [
        (next_vector(vector + tiny * axis[:, None]) - next_vector(vector)) / tiny
        for axis in np.eye(9)
    ]
    worst = np.linalg.svd(np.array(moved))[1][0]
    frame = Guess(vector[None], np.array([tiny]))
    turned, _ = subspace_filter._weighted(frame, roots, 1)
    found = subspace_filter._conditioned(turned, roots, normals[None])
    assert np.allclose(found.value[0], next_vector(vector))
    assert worst <= found.error[0] / tiny < 2.5 * worst
