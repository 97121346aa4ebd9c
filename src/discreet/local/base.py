"""What all local mechanisms share: values in, reports out, and shares of the categories
from many reports.

Each of them is an exponential mechanism: a report has odds exp(rate * score), where the
score says how well it fits the person's value. The sum of all odds is the same for
every value, so a report costs what its score can differ by between two values, once and
not twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.accuracy import USUAL_FAILURE, Accuracy, rounded_up
from discreet.errors import ParameterError, ParameterTypeError, public_class
from discreet.exact.enclosures import at_precision, ball
from discreet.exact.rationals import Number, count, readable, set_frozen
from discreet.local.categories import Categories, Shares, Values, read_categories, shares_at
from discreet.privacy.loss import Loss, PureDP
from discreet.privacy.parameters import WithEpsilon, parameterized, read_probability
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release

Reports = NDArray[Any]

# reports times categories in one step: what a step needs stays small, and near the
# processor
_CELLS = 1 << 20
_MOST_ROWS = 1 << 16


@public_class
@parameterized
class LocalMechanism(WithEpsilon, ABC):
    """A way for each person to report one of several public categories with noise of their own.

    categories: the public labels, at least two; range(10) for values that are whole
        numbers below 10.
    epsilon: the privacy loss of one report.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.
    """

    categories: Any = field(kw_only=False)
    _categories: Categories = field(init=False, compare=False)

    def __post_init__(self) -> None:
        read = read_categories(self.categories)
        set_frozen(self, categories=read.labels, _categories=read)
        WithEpsilon.__post_init__(self)

    def __repr__(self) -> str:
        shown = ", ".join([f"epsilon={readable(self.epsilon)}", *self._more_shown()])
        return f"{type(self).__name__}(<{self._categories.size} categories>, {shown})"

    def privatize(self, values: Values, *, bits: Bits | None = None) -> Reports:
        """A report for each value, in their order. Each costs its person `privacy_loss()`.

        Give `bits` only in tests and simulations.
        """
        chance, positions = read_bits(bits), self._categories.read(values)
        reports = np.empty((len(positions), *self._report_shape), dtype=self._report_kind)
        for part in self._parts(len(positions)):
            reports[part] = self._draw(positions[part], chance)
        return reports

    def release(self, value: Any, *, bits: Bits | None = None) -> Release:
        """One person's report in labels, a category or a list of categories, with what it cost."""
        chance, position = read_bits(bits), self._categories.position(value, "value")
        report = self._draw(np.array([position], dtype=self._categories.kind), chance)[0]
        return Release(
            value=self._in_labels(report),
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=self._categories.size,
            seeded=chance.bits.seeded,
            accuracy=Accuracy(
                bound=0,
                statement="report",
                thing="category",
                failure_probability=self._shares.failure,
            ),
        )

    def estimate(self, reports: Reports) -> NDArray[np.float64]:
        """The share of each category among the persons who reported, in the order of
        the categories.

        reports: what `privatize` gave, or a list of reports in labels, as `release`
            gives them; labels must be text there.

        Unbiased: right on average, and so now and then below 0 for a category that is
            rare. Times the number of reports it estimates a number of persons.
        """
        checked = self._read_reports(reports)
        counts = np.zeros(self._categories.size, dtype=np.int64)
        for part in self._parts(len(checked)):
            counts += self._count(checked[part])
        return self._shares.estimate(counts, len(checked), self.epsilon)

    def standard_error(self, reports: int, share: Any = 0.0) -> Any:
        """The standard deviation of an estimated share, for a category that this share
        of the persons is in.

        reports: how many there are.
        share: the true share, or what `estimate` gave (the square of the result is then
            an unbiased variance); a number or an array. 0 stands for a rare category.

        This is the noise of these persons' reports. Where they are a sample of more
        persons, add share * (1 - share) / reports to its square. Times the number of
        reports it is the standard error of a number of persons.
        """
        return self._shares.standard_error(count(reports, "reports"), share, self.epsilon)

    def error_bound(self, failure_probability: Number, *, reports: int) -> float:
        """How far all estimated shares can be off, except with `failure_probability`, whatever
        the true shares are.

        reports: how many there are.

        This is the noise of these persons' reports, as in `standard_error`, and a few
        times that: it holds for all categories together, and for every number of
        reports.
        """
        beta = read_probability(failure_probability, "failure_probability")
        tail = beta / (2 * self._categories.size)
        return self._shares.error_bound(count(reports, "reports"), tail)

    def accuracy(self, *, reports: int, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement about the shares that `estimate` gives."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=rounded_up(self.error_bound(beta, reports=reports)),
            statement="shares",
            failure_probability=beta,
        )

    def log_probability(self, output: Any, value: Any) -> float:
        """The natural logarithm of the probability that this value is reported as this.
        As private as the value: never publish it for a real person.

        output: a report in labels, as `release` gives it.
        """
        position = self._categories.position(value, "value")
        score = self._score(self._read_labels(output), position)
        return at_precision(128, lambda: float((ball(self.rate) * score - self._log_total()).mid()))

    def privacy_loss(self) -> Loss:
        """What one report costs: pure DP, tight.

        It is not of bounded range epsilon. Between two values the log-probability of
        one report moves by +epsilon and that of another by -epsilon: that is all of the
        range of 2 epsilon that pure DP allows.
        """
        # docs/proofs/local.md#privacy
        return PureDP(self.epsilon)

    @property
    def own_probability(self) -> float:
        """How likely a report points to the category that its person is in."""
        return self._shares.own

    @property
    def other_probability(self) -> float:
        """How likely a report points to a given category that its person is not in."""
        return self._shares.other

    @property
    def mean_variance(self) -> float:
        """The variance of an estimated share from one report, on average over the
        categories; divide by the number of reports.

        It does not depend on the shares themselves, so mechanisms can be compared by it
        before anybody has reported.
        """
        return self._shares.mean_over(self._categories.size)

    @property
    def rate(self) -> Fraction:
        """A report has odds exp(rate * score)."""
        return self.epsilon

    @property
    @abstractmethod
    def name(self) -> str:
        """The word for this mechanism in a Release and on the command line."""

    @property
    @abstractmethod
    def _report_shape(self) -> tuple[int, ...]:
        """The shape of one report in the array of all."""

    @property
    @abstractmethod
    def _report_kind(self) -> np.dtype[Any]:
        """The type of the array of all reports."""

    @abstractmethod
    def _draw(self, positions: NDArray[Any], chance: Chance) -> Reports:
        """A report for each position of a category."""

    @abstractmethod
    def _read_reports(self, reports: Any) -> Reports:
        """Refuse what is no array of reports."""

    @abstractmethod
    def _count(self, reports: Reports) -> NDArray[np.int64]:
        """How many reports point to each category; refuse reports that cannot be."""

    @abstractmethod
    def _in_labels(self, report: Any) -> Any:
        """One report of the array, in labels."""

    @abstractmethod
    def _read_labels(self, report: Any) -> list[int]:
        """The positions that a report in labels points to."""

    @abstractmethod
    def _score(self, report: list[int], position: int) -> int:
        """How well a report fits a value."""

    @abstractmethod
    def _log_total(self) -> arb:
        """The logarithm of the sum of all odds, which is the same for every value."""

    @abstractmethod
    def _own(self) -> arb:
        """`own_probability`, enclosed."""

    @abstractmethod
    def _other(self) -> arb:
        """`other_probability`, enclosed."""

    def _read_set(self, report: Any, name: str = "output") -> list[int]:
        """Different labels as positions."""
        if isinstance(report, (str, bytes)) or not isinstance(report, Iterable):
            raise ParameterTypeError(name, "a list of categories", report)
        positions = [self._categories.position(label, name) for label in report]
        if len(set(positions)) < len(positions):
            raise ParameterError(name, "a list of different categories", report)
        return positions

    def _labelled(self, reports: Any) -> list[list[int]] | None:
        """Lists of labels, as `release` gives them, as positions in order; None where they hold
        something and no text, so that they are positions or bits already.
        """
        sets = isinstance(reports, (list, tuple)) and all(
            isinstance(report, (list, tuple)) for report in reports
        )
        texts = sets and any(isinstance(label, str) for report in reports for label in report)
        # a report may name nothing, and so may all of them
        texts = texts or (sets and bool(reports) and not any(reports))
        # numbered categories have no text: it is no whole number
        if not texts or self._categories.counted:
            return None
        return [sorted(self._read_set(report, "reports")) for report in reports]

    def _more_shown(self) -> list[str]:
        return []

    @property
    def _shares(self) -> Shares:
        return shares_at(self.epsilon, self._own, self._other)

    def _parts(self, length: int) -> Iterator[slice]:
        rows = max(1, min(_MOST_ROWS, _CELLS // self._categories.size))
        return (slice(start, start + rows) for start in range(0, length, rows))


def read_array(reports: Any, dimensions: int) -> Reports:
    """Refuse what is no array of whole numbers, with at least one report."""
    try:
        array = np.asarray(reports)
    except ValueError:
        # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind != "O" and array.size == 0:
        raise ParameterError("reports", "at least one", 0)
    if isinstance(reports, np.ma.MaskedArray) or array.dtype.kind not in "iub":
        raise ParameterTypeError(
            "reports", "an array of whole numbers, as privatize gives it", type(reports)
        )
    if array.ndim != dimensions:
        raise ParameterTypeError("reports", f"an array of dimension {dimensions}", array.shape)
    return array


def unlike_any_report(rule: str) -> ParameterError:
    """The error for an array that no run can have given."""
    return ParameterError(
        "reports", rule, "another one", "Do its categories and parameters fit the reports?"
    )
