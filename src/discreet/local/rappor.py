"""RAPPOR: a bit for each category, and each bit may be flipped."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import ParameterTypeError, public_class
from discreet.exact.enclosures import ball
from discreet.local.base import LocalMechanism, Reports, read_array, unlike_any_report
from discreet.randomness.bulk_draws import Expansion, flip_packed
from discreet.randomness.chance import Chance


@public_class
class Rappor(LocalMechanism):
    """Report a bit for each category, set for the person's own, each bit flipped with
    probability 1 / (e^(epsilon / 2) + 1).

    categories: the public labels, at least two; range(10) for values that are whole
        numbers below 10.
    epsilon: the privacy loss of one report.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    This is one-time RAPPOR with one bit for each category. `privatize` gives packed
    bits, a row for each report, as `numpy.packbits` has them:
    `numpy.unpackbits(reports, axis=1, count=len(categories))` spreads them out.
    `estimate` takes both.

    Privacy: epsilon-DP for each report, between any two values: the exponential
        mechanism with minus the number of flipped bits as its score and rate epsilon /
        2, since another value moves that number by 2. The odds of all reports always
        sum to the same, so that no factor 2 is paid.
    Utility: the variance of an estimated share is e^(epsilon / 2) / (e^(epsilon / 2) -
        1)^2 / reports for every category.
    Cost: a coin for each bit, of about five random bits.
    Reference: Erlingsson, Pihur and Korolova 2014; Wang et al. 2017. Proof:
        docs/proofs/local.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = Rappor(["red", "green", "blue", "grey"], epsilon=4)
    >>> release = mechanism.release("blue", bits=SeededBits(2))
    >>> release.value, release.loss
    (['blue'], PureDP(epsilon=4))
    >>> reports = mechanism.privatize(["red"] * 6_000 + ["blue"] * 4_000, bits=SeededBits(1))
    >>> reports.shape, np.unpackbits(reports[:2], axis=1, count=4).tolist()
    ((10000, 1), [[1, 0, 0, 0], [1, 0, 1, 0]])
    >>> mechanism.estimate(reports).round(3).tolist()
    [0.593, -0.005, 0.401, 0.001]
    >>> round(mechanism.standard_error(reports=10_000), 4)
    0.0043
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release and on the command line."""
        return "rappor"

    @property
    def rate(self) -> Fraction:
        """A report has odds exp(rate * score); the score of a report differs by up to 2
        between two values.
        """
        return self.epsilon / 2

    @property
    def _report_shape(self) -> tuple[int, ...]:
        return (-(-self._categories.size // 8),)

    @property
    def _report_kind(self) -> np.dtype[Any]:
        return np.dtype(np.uint8)

    def _draw(self, positions: NDArray[Any], chance: Chance) -> Reports:
        # the last byte may have bits that belong to no category
        used = np.packbits(np.ones(self._categories.size, dtype=bool))
        flips = flip_packed(Expansion(self._flip), np.tile(used, positions.size), chance)
        reports = flips.reshape(positions.size, used.size)
        reports[np.arange(positions.size), positions >> 3] ^= (128 >> (positions & 7)).astype(
            np.uint8
        )
        return reports

    def _read_reports(self, reports: Any) -> Reports:
        named = self._labelled(reports)
        if named is not None:
            bits = np.zeros((len(named), self._categories.size), dtype=np.bool_)
            for row, positions in zip(bits, named, strict=True):
                row[positions] = True
            return bits
        array = read_array(reports, 2)
        columns, rule = self._report_shape[0], "a byte for each eight categories"
        if array.dtype == np.bool_:
            columns, rule = self._categories.size, "a bit for each category"
        elif array.dtype != np.uint8:
            raise ParameterTypeError(
                "reports",
                "packed bits (uint8) or bits (bool), as privatize gives them",
                array.dtype,
            )
        if array.shape[1] != columns:
            raise unlike_any_report(f"rows of {columns}, {rule}")
        return array

    def _count(self, reports: Reports) -> NDArray[np.int64]:
        bits = reports if reports.dtype == np.bool_ else np.unpackbits(reports, axis=1)
        counts: NDArray[np.int64] = np.count_nonzero(bits, axis=0)
        if counts[self._categories.size :].any():
            raise unlike_any_report("without bits beyond the last category")
        return counts[: self._categories.size]

    def _in_labels(self, report: Any) -> Any:
        bits = np.unpackbits(report, count=self._categories.size)
        return [label for label, bit in zip(self._categories.labels, bits, strict=True) if bit]

    def _read_labels(self, report: Any) -> list[int]:
        return self._read_set(report)

    def _score(self, report: list[int], position: int) -> int:
        """Minus the number of bits that were flipped."""
        return -(len(report) - 1 if position in report else len(report) + 1)

    def _log_total(self) -> arb:
        return self._categories.size * self._decay().log1p()

    def _own(self) -> arb:
        return 1 / (1 + self._decay())

    def _other(self) -> arb:
        return self._flip()

    def _flip(self) -> arb:
        return self._decay() / (1 + self._decay())

    def _decay(self) -> arb:
        """The odds of a bit that is flipped beside one that is not."""
        return (-ball(self.rate)).exp()
