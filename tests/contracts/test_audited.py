"""Every public mechanism is audited, as anybody can audit it, and nothing is found.

A class that states a privacy loss is audited as soon as it is a public name. If it needs a
parameter, or data of a kind, that `public_mechanisms` does not know, this fails. `make test`
audits one mechanism for each kind of law, claim and data, and calls all others; `make audits`
audits all of them, with more draws.
"""

from __future__ import annotations

import dataclasses
from itertools import islice, product

import numpy as np
import pytest
from contracts.audited_fits import FITS
from contracts.public_mechanisms import is_mechanism, subjects
from public_names import PUBLIC

from discreet.auditing import audit
from discreet.auditing.claims import Claim
from discreet.auditing.events import observe
from discreet.mechanisms import ball
from discreet.samplers.ball_proposal import make_shells

ALL = list(subjects())
# doors to a mechanism that is audited, too
DOORS = {
    "fit_deepest": "DeepestPoint",
    "fit_linear": "BallExponentialMechanism",
    "fit_subspace": "SubspaceExponentialMechanism",
}


# each differs from the others in how it is audited: by a law, by tapes or by draws alone; with a
# range, a loss, a rho or a delta; on scores, counts, categories or points
EVERYDAY = (
    "BoundedDiscreteLaplace",
    "DeepestPoint",
    "DiscreteGaussian",
    "ExponentialMechanism",
    "HistogramTopK",
    "IntervalExponentialMechanism",
    "RandomizedResponse",
    "ReportNoisyMax",
    "RoundedGaussian",
    "UnknownDomainTopK",
)


def first_of(kind):
    return next(subject for subject in ALL if subject.name.split("(")[0] == kind)


def draws_of(subject, few, more):
    """Fewer where the law itself is measured, which says all that draws could say, and where
    each draw is one of a mechanism that has more.
    """
    return few if subject.law is not None or subject.name in DOORS else more


def require_nothing(report):
    assert report.passed, str(report)
    stated = Claim(report.claim).stated
    assert report.lower_bound <= stated * (1 + 1e-9)
    for way in report.tried:
        if way.how == "law":
            # an audit that sees no loss would pass everything
            assert way.pairs >= 1
            assert way.largest > 0.3 * stated


@pytest.fixture
def _envelopes_once(monkeypatch):
    """What a fit computes from its rows before it asks for a bit, nine tenths of its time, is
    kept for the few data sets of an audit.
    """
    made = {}

    def make(loss, target):
        given = (getattr(loss, each.name) for each in dataclasses.fields(loss) if each.init)
        key = (type(loss), target, *map(_frozen, given))
        if key not in made:
            made[key] = make_shells(loss, target)
        return made[key]

    monkeypatch.setattr(ball, "make_shells", make)


def _frozen(value):
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("kind", EVERYDAY)
def test_nothing_is_found(kind):
    subject = first_of(kind)
    require_nothing(audit(subject, draws=draws_of(subject, 1000, 1500)))


@pytest.mark.audits
@pytest.mark.usefixtures("_envelopes_once")
@pytest.mark.parametrize("subject", ALL, ids=lambda subject: subject.name)
def test_nothing_is_found_with_more_draws(subject):
    """One audit in 10,000 of what is right finds something. A fit draws from a body, which takes
    milliseconds, and has fewer.
    """
    more = 10_000 if subject.name in FITS else 30_000
    draws = draws_of(subject, 10_000, more)
    require_nothing(audit(subject, draws=draws, confidence=0.9999))


@pytest.mark.parametrize("door", DOORS)
def test_a_door_says_what_its_mechanism_says(door):
    """With the same bits, whatever the data: so an audit of the one is one of the other."""
    named = {subject.name: subject for subject in ALL}
    one, other = named[door], named[DOORS[door]]
    assert one.claim == other.claim
    for pair in one.world.pairs():
        for data, seed in product((pair.first, pair.second), range(10)):
            assert one.make_run(seed)(data) == other.make_run(seed)(data), pair.name


def test_every_call_is_answered():
    """Code that fails whatever it is given would pass every audit."""
    for subject in ALL:
        run = subject.make_run(1)
        for pair in islice(subject.world.pairs(), 4):
            for data in (pair.first, pair.second):
                seen = observe(run, data, 2)
                assert [each.error for each in seen] == ["", ""], (subject.name, pair.name)


@pytest.mark.parametrize("name", ["BallExponentialMechanism", "fit_linear", "fit_logistic"])
def test_envelopes_have_no_bit_in_them(name, request):
    """So that draws from one that is kept are draws from one that is made anew."""
    (subject,) = (each for each in ALL if each.name == name)
    pairs = list(subject.world.pairs())
    anew = [subject.make_run(seed)(pair.second) for pair in pairs for seed in range(4)]
    request.getfixturevalue("_envelopes_once")
    assert anew == [subject.make_run(seed)(pair.second) for pair in pairs for seed in range(4)]


def test_everything_that_states_a_loss_is_there():
    named = " ".join(subject.name for subject in ALL)
    assert [name for name in PUBLIC if is_mechanism(name) and name not in named] == []
    assert len(ALL) > 30
