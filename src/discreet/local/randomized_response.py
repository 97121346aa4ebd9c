"""Randomised response: say the truth, or now and then another category."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import public_class
from discreet.exact.enclosures import ball
from discreet.local.base import LocalMechanism, Reports, read_array, unlike_any_report
from discreet.randomness.bulk_draws import Expansion, draw_below, flip_coins
from discreet.randomness.chance import Chance


@public_class
class RandomizedResponse(LocalMechanism):
    """Report the person's own category with odds e^epsilon, each other one with odds 1. Best
    for few categories or a large epsilon.

    categories: the public labels, at least two; range(10) for values that are whole
        numbers below 10.
    epsilon: the privacy loss of one report.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    `privatize` gives an array with the position of a category for each report.

    Privacy: epsilon-DP for each report, between any two values: the exponential
        mechanism with the score "is the own category", whose odds always sum to
        e^epsilon + d - 1 for d categories, so that no factor 2 is paid.
    Utility: the variance of an estimated share is about (d - 2 + e^epsilon) /
        (e^epsilon - 1)^2 / reports for a rare category.
    Cost: a coin of one byte a report, and a whole number for each report that is not
        the truth.
    Reference: Warner 1965; Kairouz, Oh and Viswanath 2016. Proof: docs/proofs/local.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = RandomizedResponse(["yes", "no", "maybe"], epsilon=1)
    >>> mechanism.release("no", bits=SeededBits(1)).value, mechanism.privacy_loss()
    ('no', PureDP(epsilon=1))
    >>> reports = mechanism.privatize(
    ...     ["yes"] * 6_000 + ["no"] * 3_000 + ["maybe"] * 1_000, bits=SeededBits(1)
    ... )
    >>> reports[:12].tolist()
    [0, 1, 1, 2, 0, 2, 0, 1, 2, 0, 1, 0]
    >>> mechanism.estimate(reports).round(3).tolist()
    [0.624, 0.281, 0.095]
    >>> round(mechanism.standard_error(reports=10_000, share=0.1), 4)
    0.0115
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release and on the command line."""
        return "randomized-response"

    @property
    def _report_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def _report_kind(self) -> np.dtype[Any]:
        return self._categories.kind

    def _draw(self, positions: NDArray[Any], chance: Chance) -> Reports:
        truths = flip_coins(Expansion(self._own), positions.size, chance)
        lies = np.flatnonzero(~truths)
        # among the other categories, in a type that holds every category
        places = draw_below(self._others, lies.size, chance).astype(self._categories.kind)
        reports = positions.copy()
        reports[lies] = places + (places >= positions[lies])
        return reports

    def _read_reports(self, reports: Any) -> Reports:
        if isinstance(reports, (list, tuple)) and reports and isinstance(reports[0], str):
            # labels, as `release` gives them
            return np.array([self._categories.position(label, "reports") for label in reports])
        return read_array(reports, 1)

    def _count(self, reports: Reports) -> NDArray[np.int64]:
        size = self._categories.size
        if reports.dtype.kind == "b" or not 0 <= int(reports.min()) <= int(reports.max()) < size:
            raise unlike_any_report(f"positions of categories, 0 to {size - 1}")
        return np.bincount(reports, minlength=size)

    def _in_labels(self, report: Any) -> Any:
        return self._categories.labels[int(report)]

    def _read_labels(self, report: Any) -> list[int]:
        return [self._categories.position(report, "output")]

    def _score(self, report: list[int], position: int) -> int:
        return int(position in report)

    def _log_total(self) -> arb:
        return ball(self.rate) + (self._others * self._decay()).log1p()

    def _own(self) -> arb:
        return 1 / (1 + self._others * self._decay())

    def _other(self) -> arb:
        return self._decay() / (1 + self._others * self._decay())

    def _decay(self) -> arb:
        """The odds of another category beside the person's own. e^epsilon itself would
        overflow for an epsilon without bounds.
        """
        return (-ball(self.rate)).exp()

    @property
    def _others(self) -> int:
        return self._categories.size - 1
