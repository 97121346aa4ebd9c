"""The real samplers on every random tape: their output distribution is the ideal one, to within a
certified small rest.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from reference.exact import probabilities
from reference.tapes import distribution
from tiers import also, only

import discreet
from discreet.exact.enclosures import at_precision
from discreet.mechanisms import scores as reading
from discreet.mechanisms.selection import MECHANISMS, mechanism_class
from discreet.samplers import columns, envelope, folded_envelope, laplace_max

# those that pick by noise share a sampler, or a noise of its own decides
NAMES = [name for name in MECHANISMS if not name.endswith("-noise")]
# what is not named has as many tapes as permute-and-flip
CUTOFF = dict.fromkeys(NAMES, 3e-7) | {"exponential": 1e-8}
REST = dict.fromkeys(NAMES, 0.005) | {"exponential": 1e-5}
GAPS = [
    (0, 1),
    (0, 0),
    (0, 3),
    (5, 0),
    (0, 1, 2),
    (2, 0, 2),
    (0, 0, 40),
    (0, 1, 1, 4),
    (0, 30, 31, 200),
]
# With fewer candidates than the first, or a smaller epsilon than 3, "survival of a stretch not
# remembered" lives; the second one has candidates out of reach.
EVERYDAY = ((0, 1, 1, 4), (0, 30, 31, 200))


pytestmark = pytest.mark.usefixtures("high_precision")


@pytest.fixture(params=[1024, 2], ids=["one block", "blocks of two"])
def block(request, monkeypatch):
    """Also with blocks so small that a few candidates span several, and block masses are only
    upper bounds.
    """
    monkeypatch.setattr(envelope, "_BLOCK", request.param)
    return request.param


@pytest.fixture
def fold(monkeypatch):
    """Two rows, so that each block has the mass of the better of two candidates."""
    monkeypatch.setattr(envelope, "_BLOCK", 1)
    for name, value in (("ROWS", 2), ("_WIDTH", 1)):
        monkeypatch.setattr(folded_envelope, name, value)
    monkeypatch.setattr(folded_envelope.FoldedEnvelope, "_together", 1)
    for name, value in (("ROWS", 2), ("ROW", 1)):
        monkeypatch.setattr(columns, name, value)
    monkeypatch.setattr(reading, "WORTH_COLUMNS", 2)


def reach(mechanism: discreet.mechanisms.ExponentialMechanism, scores: list, cutoff: float):
    """The real code from scores to candidate, with only the randomness replaced."""
    candidates = mechanism._envelope(mechanism._read(scores))
    return distribution(lambda tape: mechanism.law.draw(candidates, tape), cutoff)


def test_the_other_mechanisms_share_these_samplers():
    laws = {name: mechanism_class(name)(epsilon=1, sensitivity=1).law for name in MECHANISMS}
    assert laws["gumbel-noise"] is laws["exponential"]
    assert laws["exponential-noise"] is laws["permute-and-flip"]
    assert set(MECHANISMS) - set(NAMES) == {"gumbel-noise", "exponential-noise", "laplace-noise"}


@pytest.mark.parametrize("gaps", only(EVERYDAY, GAPS), ids=str)
@pytest.mark.parametrize("epsilon", [*also(Fraction(1, 4), Fraction(1)), Fraction(3)], ids=str)
@pytest.mark.parametrize("name", CUTOFF)
@pytest.mark.usefixtures("block")
def test_discrete_samplers_have_the_ideal_distribution(name, epsilon, gaps):
    check_distribution(name, epsilon, gaps, CUTOFF[name], REST[name])


# Proposals of nothing are up to half of all, so that more of the tapes are given up.
@pytest.mark.parametrize(
    ("name", "cutoff", "rest"), [("exponential", 1e-7, 0.002), ("permute-and-flip", 1e-5, 0.15)]
)
@pytest.mark.parametrize("gaps", [(5, 0), *also((0, 1), (2, 0, 2))], ids=str)
@pytest.mark.usefixtures("fold")
def test_so_do_they_with_a_folded_envelope(name, cutoff, gaps, rest):
    check_distribution(name, Fraction(1), gaps, cutoff, rest)


def check_distribution(name, epsilon, gaps, cutoff, most):
    mechanism = mechanism_class(name)(epsilon=epsilon, sensitivity=1, monotonic=True)
    reached, rest = reach(mechanism, [100 - gap for gap in gaps], cutoff)
    assert rest < most
    for candidate, ideal in enumerate(probabilities(name, gaps, epsilon)):
        found = reached.get(candidate, 0)
        assert found <= ideal + ctx_tolerance(), f"candidate {candidate} is drawn too often"
        assert ideal <= found + rest + ctx_tolerance(), f"candidate {candidate} is drawn too rarely"


def ctx_tolerance():
    """The enclosures are about 2^-180 wide; this covers their width where a bound holds with
    equality.
    """
    return 2.0**-150


@pytest.mark.parametrize("noise", [1.001, 0.999])
def test_a_scale_error_of_a_thousandth_is_seen(noise):
    """The check above has power: it tells epsilon from 1.001 epsilon."""
    mechanism = mechanism_class("exponential")(epsilon=Fraction(1), sensitivity=1, monotonic=True)
    reached, rest = reach(mechanism, [3, 2, 1], cutoff=1e-9)
    wrong = probabilities("exponential", (0, 1, 2), Fraction(noise))
    assert any(not (reached[c] <= p and p <= reached[c] + rest) for c, p in enumerate(wrong))


def bit_by_bit(question):
    """`decide`, but one more bit at a time, so that as few bits as possible are enumerated."""
    precision, answer = 1, None
    while answer is None:
        answer = question(precision)
        precision += 1
    return answer


@pytest.mark.parametrize(("gaps", "epsilon"), [((0, 1), 1), ((0, 2), 2)], ids=str)
def test_laplace_sampler_has_the_ideal_distribution(gaps, epsilon, monkeypatch):
    """Its effects include real numbers, drawn here bit by bit, so the rest is large: this sees
    gross errors only.

    tests/contracts/test_laplace_process.py checks its parts exactly, and tests/statistical its
    whole on real draws.
    """
    monkeypatch.setattr(laplace_max, "decide", bit_by_bit)
    mechanism = mechanism_class("laplace-noise")(
        epsilon=Fraction(epsilon), sensitivity=1, monotonic=True
    )
    ideal = probabilities("laplace-noise", gaps, Fraction(epsilon))
    reached, rest = at_precision(
        64, lambda: reach(mechanism, [9 - gap for gap in gaps], cutoff=1e-4)
    )
    assert rest < 0.45
    for candidate, probability in enumerate(ideal):
        assert reached[candidate] <= probability
        assert probability <= reached[candidate] + rest
