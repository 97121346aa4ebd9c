"""Any finite mechanism, given as a table of its probabilities: its exact epsilon and range.

Every epsilon-DP mechanism is an exponential mechanism: give output y the score log
Pr[y], and odds e^score are the probabilities themselves. The range of these scores is
the range of the mechanism, and it is never more than 2 epsilon. So a table says all
there is to say about privacy, and this module reads it off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from discreet.errors import ParameterError, ParameterTypeError, public_function
from discreet.exact.enclosures import at_precision, ball, lower_bound, upper_bound
from discreet.exact.rationals import exact_decimal, round_up
from discreet.privacy.loss import BoundedRange, Loss, PureDP

Pair = tuple[Any, Any]
Probability = Fraction | arb
Row = dict[Any, Probability]

_BITS = 256
# by how much rounded probabilities may miss a sum of 1
_SLACK = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismRange:
    """What a table of probabilities says about privacy. Numbers are exact to 15 digits
    and rounded up; infinite is math.inf.

    epsilon: the largest |log ratio| of the probabilities of one output, over all pairs
        of neighbours.
    pair: the neighbours that attain it.
    range: the largest spread of log ratios over the outputs, for one pair: from epsilon
        to 2 epsilon.
    range_pair: the neighbours that attain it.
    """

    epsilon: Fraction | float
    pair: Pair
    range: Fraction | float
    range_pair: Pair

    @property
    def loss(self) -> Loss | None:
        """The promise that composes better: BoundedRange(range) or PureDP(epsilon),
        compared by their concentrated DP.

        None if there is none: where epsilon is infinite, and where it is 0, because
        then nothing depends on the data.
        """
        if (
            not isinstance(self.epsilon, Fraction)
            or not isinstance(self.range, Fraction)
            or not self.epsilon
        ):
            return None
        # docs/proofs/local.md#universality
        pure, bounded = PureDP(self.epsilon), BoundedRange(self.range)
        return bounded if bounded.to_zcdp() < pure.to_zcdp() else pure


@public_function("mechanism_range")
def mechanism_range(probabilities: Mapping[Any, Any], neighbours: Iterable[Pair]) -> MechanismRange:
    """The exact epsilon and range of a finite mechanism.

    probabilities: for each data set a distribution over outputs: a mapping from output
        to probability, or a sequence of probabilities. Fractions and integers must sum
        to 1 exactly; floats, which mean the decimals that they print as, and balls of
        python-flint up to 1e-9. An output that a mapping leaves out has probability 0.
    neighbours: pairs of data sets, each in one order only.

    Privacy: the table is taken as it is. Rounded probabilities have the epsilon of the
        rounded ones.
    Cost: a logarithm for each output of each pair.
    Reference: McSherry and Talwar 2007. Proof: docs/proofs/local.md#universality.

    >>> from fractions import Fraction
    >>> coin = {
    ...     "yes": {"yes": Fraction(3, 4), "no": Fraction(1, 4)},
    ...     "no": {"yes": Fraction(1, 4), "no": Fraction(3, 4)},
    ... }
    >>> found = mechanism_range(coin, [("yes", "no")])
    >>> float(found.epsilon), float(found.range), found.loss  # ln 3, and twice that
    (1.09861228866811, 2.19722457733622, PureDP(epsilon=1.09861228866811))

    With the logarithms as scores the exponential mechanism has the same probabilities
    again:

    >>> import math, discreet
    >>> scores = {answer: math.log(chance) for answer, chance in coin["yes"].items()}
    >>> again = discreet.mechanisms.ExponentialMechanism(
    ...     epsilon=found.range, score_range=found.range
    ... )
    >>> again.probabilities(scores).round(12).tolist()
    [0.75, 0.25]

    A mechanism with an output that only one of two neighbours can have protects nobody:

    >>> mechanism_range({0: [1, 0], 1: [0.5, 0.5]}, [(0, 1)]).epsilon
    inf
    """
    table = _read_table(probabilities)
    pairs = _read_pairs(neighbours, table)
    spans = [_span(table[first], table[second]) for first, second in pairs]
    largest = max(range(len(pairs)), key=lambda place: spans[place][0])
    widest = max(range(len(pairs)), key=lambda place: spans[place][1])
    return MechanismRange(
        epsilon=_rounded(spans[largest][0]),
        pair=pairs[largest],
        range=_rounded(spans[widest][1]),
        range_pair=pairs[widest],
    )


def _span(first: Row, second: Row) -> tuple[Fraction | float, Fraction | float]:
    """The largest |log ratio| between two distributions, and the spread of the log
    ratios, both bounded from above.
    """
    outputs = {
        output for row in (first, second) for output, chance in row.items() if not _is_zero(chance)
    }
    if any(_is_zero(row.get(output, Fraction(0))) for row in (first, second) for output in outputs):
        return math.inf, math.inf
    ends = [_ends(first[output], second[output]) for output in outputs]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return max(high, -low), high - low


def _ends(first: Probability, second: Probability) -> tuple[Fraction, Fraction]:
    """The ends of an enclosure of log(first / second)."""

    def logarithm() -> arb:
        if isinstance(first, Fraction) and isinstance(second, Fraction):
            # good for ratios near 1, and 0 where they are equal
            return ball((first - second) / second).log1p()
        return (_enclosed(first) / _enclosed(second)).log()

    return lower_bound(logarithm, _BITS), upper_bound(logarithm, _BITS)


def _rounded(value: Fraction | float) -> Fraction | float:
    return round_up(value) if isinstance(value, Fraction) and value else value


def _read_table(probabilities: Any) -> dict[Any, Row]:
    if not isinstance(probabilities, Mapping) or not probabilities:
        raise ParameterTypeError(
            "probabilities",
            "a mapping from data sets to distributions",
            type(probabilities),
        )
    table = {data: _read_row(row) for data, row in probabilities.items()}
    lengths = {
        len(table[data]) for data, row in probabilities.items() if not isinstance(row, Mapping)
    }
    if len(lengths) > 1:
        raise ParameterError(
            "probabilities", "sequences of one length, or mappings", sorted(lengths)
        )
    return table


def _read_row(row: Any) -> Row:
    if isinstance(row, Mapping):
        read = {output: _read_probability(chance) for output, chance in row.items()}
        exact = all(isinstance(chance, (int, Fraction)) for chance in row.values())
    elif isinstance(row, Iterable) and not isinstance(row, (str, bytes, set, frozenset)):
        listed = list(row)
        read = {output: _read_probability(chance) for output, chance in enumerate(listed)}
        exact = all(isinstance(chance, (int, Fraction)) for chance in listed)
    else:
        raise ParameterTypeError("probabilities", "mappings or sequences of probabilities", row)
    _require_sum(read, exact)
    return read


def _read_probability(chance: Any) -> Probability:
    if isinstance(chance, arb):
        if not (chance > 0 or chance == 0):
            rule = "balls that are 0 or certainly above it"
            raise ParameterError(
                "probabilities", rule, chance, "Compute them with a higher precision."
            )
        return chance
    exact = exact_decimal(chance, "probabilities")
    if exact < 0:
        raise ParameterError("probabilities", "at least 0", chance)
    return exact


def _require_sum(row: Row, exact: bool) -> None:
    total = at_precision(_BITS, lambda: sum((_enclosed(chance) for chance in row.values()), arb(0)))
    if exact:
        right = (
            sum((chance for chance in row.values() if isinstance(chance, Fraction)), Fraction(0))
            == 1
        )
    else:
        right = bool(abs(total - 1) < ball(_SLACK))
    if not right:
        rule = "distributions that sum to 1"
        hint = "Fractions and integers must sum to exactly 1." if exact else ""
        raise ParameterError(
            "probabilities", rule, f"a sum of about {float(total.mid()):.12g}", hint
        )


def _read_pairs(neighbours: Any, table: Mapping[Any, Row]) -> list[Pair]:
    if isinstance(neighbours, (str, bytes)) or not isinstance(neighbours, Iterable):
        raise ParameterTypeError("neighbours", "pairs of data sets", neighbours)
    pairs = []
    for pair in neighbours:
        try:
            first, second = pair
            known = first in table and second in table
        except (TypeError, ValueError):
            raise ParameterTypeError("neighbours", "pairs of data sets", pair) from None
        if not known:
            raise ParameterError("neighbours", "pairs of data sets that have a distribution", pair)
        pairs.append((first, second))
    if not pairs:
        raise ParameterError("neighbours", "at least one pair", 0)
    return pairs


def _is_zero(chance: Probability) -> bool:
    return bool(chance == 0)


def _enclosed(chance: Probability) -> arb:
    return ball(chance) if isinstance(chance, Fraction) else chance
