"""Every public mechanism is audited, as anybody can audit it, and nothing is found.

A class that states a privacy loss is audited as soon as it is a public name. If it needs a
parameter, or data of a kind, that `public_mechanisms` does not know, this fails.
"""

from __future__ import annotations

from itertools import islice

import pytest
from contracts.public_mechanisms import is_mechanism, subjects

import discreet
from discreet import audit
from discreet.auditing.claims import Claim
from discreet.auditing.events import observe

ALL = list(subjects())


# fewer where the law itself is measured, which says all that draws could say
FEW, MORE = 1000, 3000


@pytest.mark.parametrize("subject", ALL, ids=lambda subject: subject.name)
def test_nothing_is_found(subject):
    report = audit(subject, draws=FEW if subject.law is not None else MORE)
    assert report.passed, str(report)
    stated = Claim(report.claim).stated
    assert report.lower_bound <= stated * (1 + 1e-9)
    for way in report.tried:
        if way.how == "law":
            # an audit that sees no loss would pass everything
            assert way.pairs >= 1
            assert way.largest > 0.3 * stated


@pytest.mark.slow
@pytest.mark.parametrize("subject", ALL, ids=lambda subject: subject.name)
def test_nothing_is_found_with_more_draws(subject):
    report = audit(subject, draws=100_000, confidence=0.9999)
    assert report.passed, str(report)


@pytest.mark.parametrize("subject", ALL, ids=lambda subject: subject.name)
def test_every_call_is_answered(subject):
    """Code that fails whatever it is given would pass every audit."""
    run = subject.make_run(1)
    for pair in islice(subject.world.pairs(), 4):
        for data in (pair.first, pair.second):
            assert [seen.error for seen in observe(run, data, 2)] == ["", ""], pair.name


def test_everything_that_states_a_loss_is_there():
    named = " ".join(subject.name for subject in ALL)
    assert [name for name in discreet.__all__ if is_mechanism(name) and name not in named] == []
    assert len(ALL) > 30
