"""Who takes part in the accounting benchmark. Everyone is asked the same: the epsilon of many
selections at one delta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import dp_accounting
import opendp.prelude as opendp
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

from discreet import BoundedRange, Loss
from discreet.accounting import adaptive_grid, analyses
from discreet.accounting.analyses import Losses
from discreet.accounting.interop import to_dp_event, to_privacy_loss_distribution

DELTA = Fraction(1, 10**6)
# of privacy-loss distributions: dp_accounting's default; the epsilons here are
# multiples of it
INTERVAL = 1e-4

Counts = Mapping[Loss, int]
Answer = Callable[[], float | None]
"""The epsilon that a competitor reports; None where it has none."""

NON_ADAPTIVE, ADAPTIVE, RDP, KOV = (
    "discreet non-adaptive",
    "discreet adaptive",
    "discreet RDP",
    "discreet as pure DP (KOV)",
)
PLD, PLD_PURE = "dp_accounting PLD", "dp_accounting PLD as pure DP"
PEER_RDP, OPENDP = "dp_accounting RDP", "OpenDP zCDP"
ORDER = (NON_ADAPTIVE, ADAPTIVE, RDP, KOV, PLD, PEER_RDP, OPENDP, PLD_PURE)
"""All names, as tables list them."""

_ANALYSES = {
    NON_ADAPTIVE: analyses.non_adaptive_epsilon,
    ADAPTIVE: analyses.adaptive_epsilon,
    RDP: analyses.rdp_epsilon,
    KOV: analyses.kov_epsilon,
}


def ours(counts: Counts) -> dict[str, Answer]:
    """Our analyses, one by one; `compose` runs all of them and takes the smallest that is valid."""
    losses = Losses.read(counts)

    def answer(name: str) -> float | None:
        found = _ANALYSES[name](losses, DELTA)
        return None if found is None else float(found)

    return {name: partial(answer, name) for name in _ANALYSES}


def peers(counts: Counts) -> dict[str, Answer]:
    """Without discreet's bounded-range distribution the PLD accountant would be left with pure
    DP.
    """
    calls: dict[str, Answer] = {
        PLD: lambda: float(
            to_privacy_loss_distribution(counts, INTERVAL).get_epsilon_for_delta(float(DELTA))
        ),
        PEER_RDP: lambda: float(
            RdpAccountant().compose(to_dp_event(counts)).get_epsilon(float(DELTA))
        ),
        PLD_PURE: lambda: _pure_pld(counts),
    }
    if all(isinstance(loss, BoundedRange) for loss in counts):
        calls[OPENDP] = lambda: _opendp(counts)
    return calls


def bracket(counts: Counts) -> tuple[float, float, Fraction]:
    """The adaptive optimum from both sides, and the step of the grid that shows it.

    From below: the last multiple of the step where delta is surely above the target, or the
    non-adaptive optimum.
    """
    losses = Losses.read(counts)
    curve = adaptive_grid.curve_for(losses.counts, analyses._reach(losses, delta=DELTA))
    assert curve is not None
    high = curve.epsilon(DELTA)
    assert high is not None
    below = float(curve.step) * (int((curve.lower > float(DELTA)).sum()) - 1)
    return (
        max(below, float(analyses.non_adaptive_epsilon(losses, DELTA) or 0)),
        float(high),
        curve.step,
    )


def calibrate(queries: int, epsilon: float) -> float:
    """dp_accounting's search for the epsilon of each selection, with its RDP accountant."""

    def event(each: float) -> dp_accounting.DpEvent:
        return to_dp_event({BoundedRange(each): queries})

    interval = dp_accounting.ExplicitBracketInterval(epsilon / (2 * queries), epsilon)
    found = dp_accounting.calibrate_dp_mechanism(
        RdpAccountant, event, epsilon, float(DELTA), interval, tol=1e-6
    )
    return float(found)


def _pure_pld(counts: Counts) -> float:
    total: Any = None
    for loss, times in counts.items():
        parameters = DifferentialPrivacyParameters(float(loss.numbers[0]), 0.0)
        one = privacy_loss_distribution.from_privacy_parameters(parameters, INTERVAL).self_compose(
            times
        )
        total = one if total is None else total.compose(one)
    return float(total.get_epsilon_for_delta(float(DELTA)))


def _opendp(counts: Counts) -> float:
    """OpenDP's law for Gumbel noise, (range / scale)^2 / 8 for each, and its own conversion.

    One measurement of the scale that costs as much as all together: a composition of a million
    would mostly build objects.
    """
    opendp.enable_features("contrib")
    squares = sum(times * loss.numbers[0] ** 2 for loss, times in counts.items())
    domain = opendp.vector_domain(opendp.atom_domain(T="f64", nan=False))
    metric = opendp.linf_distance(T="f64", monotonic=True)
    scale = float(squares) ** -0.5
    measurement = opendp.m.make_noisy_max(
        domain, metric, opendp.zero_concentrated_divergence(), scale=scale
    )
    return float(opendp.c.make_zCDP_to_approxDP(measurement).map(1.0).epsilon(delta=float(DELTA)))
