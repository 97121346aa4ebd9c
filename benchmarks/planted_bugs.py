"""Selection code with one planted bug each, from subtle to crude, and correct code beside it.

Each function takes scores and a NumPy generator. They claim epsilon = 1 at sensitivity 1 unless
their `Planted` says otherwise. Noise is drawn in floats, as people do; where that itself is the
bug, the name says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet import ZCDP, ApproxDP, BoundedRange, Loss, PureDP

EPSILON = 1.0


@dataclass(frozen=True)
class Planted:
    """One piece of code, what it claims, and what its scores are like."""

    name: str
    function: Callable[..., Any]
    claim: Loss = field(default_factory=lambda: PureDP(1))
    monotonic: bool = False
    objective: str | None = None
    subtle: bool = False
    extremes: bool = False


def _array(scores: Any) -> np.ndarray:
    return np.array([float(score) for score in scores])


def _softmax(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max())
    return odds / odds.sum()


def _exponential(scores: Any, rng: np.random.Generator, rate: float = EPSILON / 2) -> int:
    return int(rng.choice(len(scores), p=_softmax(rate * _array(scores))))


def _noisy_max(scores: Any, noise: np.ndarray) -> int:
    return int(np.argmax(_array(scores) + noise))


def _permute_and_flip(scores: Any, rng: np.random.Generator, rate: float = EPSILON / 2) -> int:
    values = _array(scores)
    for place in rng.permutation(len(values)):
        if rng.random() < np.exp(rate * (values[place] - values.max())):
            return int(place)
    return int(np.argmax(values))


# --- correct code -------------------------------------------------------------------------


def exponential(scores, rng):
    return _exponential(scores, rng)


def permute_and_flip(scores, rng):
    return _permute_and_flip(scores, rng)


def gumbel(scores, rng):
    return _noisy_max(scores, rng.gumbel(scale=2 / EPSILON, size=len(scores)))


def laplace(scores, rng):
    return _noisy_max(scores, rng.laplace(scale=2 / EPSILON, size=len(scores)))


def exponential_noise(scores, rng):
    return _noisy_max(scores, rng.exponential(scale=2 / EPSILON, size=len(scores)))


def counts_exponential(scores, rng):
    return _exponential(scores, rng, EPSILON)


def two_picks(scores, rng):
    left, picked = list(range(len(scores))), []
    for _ in range(2):
        place = _exponential([scores[i] for i in left], rng, EPSILON / 4)
        picked.append(left.pop(place))
    return picked


def uniform(scores, rng):
    return int(rng.integers(len(scores)))


# Known float breakers (far losers, 2^53) break these too, so they are audited on small scores.
CORRECT = [
    Planted("exponential mechanism", exponential),
    Planted("exponential mechanism, as bounded range", exponential, BoundedRange(1)),
    Planted("exponential mechanism, as zCDP", exponential, ZCDP(0.1234)),
    Planted("permute-and-flip", permute_and_flip),
    Planted("Gumbel noise", gumbel, BoundedRange(1)),
    Planted("Laplace noise", laplace),
    Planted("exponential noise", exponential_noise),
    Planted("exponential mechanism on counts", counts_exponential, monotonic=True),
    Planted("two picks, half of epsilon each", two_picks),
    Planted("uniform", uniform, PureDP(0.01)),
]


# --- scale ------------------------------------------------------------------------------------


def missing_factor_two(scores, rng):
    return _exponential(scores, rng, EPSILON)


def sensitivity_halved(scores, rng):
    return _noisy_max(scores, rng.laplace(scale=1 / EPSILON, size=len(scores)))


def gumbel_scale_inverted(scores, rng):
    return _noisy_max(scores, rng.gumbel(scale=EPSILON / 2, size=len(scores)))


def rate_ten_percent_more(scores, rng):
    return _exponential(scores, rng, 1.1 * EPSILON / 2)


def rate_thirty_percent_more(scores, rng):
    return _exponential(scores, rng, 1.3 * EPSILON / 2)


def base_two_noise_as_natural(scores, rng):
    return _exponential(scores, rng, EPSILON / 2 / np.log(2))


def noise_variance_as_scale(scores, rng):
    return _noisy_max(scores, rng.laplace(scale=np.sqrt(2 / EPSILON) / 2, size=len(scores)))


def gaussian_noise(scores, rng):
    return _noisy_max(scores, rng.normal(scale=2 / EPSILON, size=len(scores)))


def epsilon_each_of_three(scores, rng):
    left, picked = list(range(len(scores))), []
    for _ in range(3):
        picked.append(left.pop(_exponential([scores[i] for i in left], rng)))
    return picked


def one_shot_exponential_noise_for_three(scores, rng):
    noisy = _array(scores) + rng.exponential(scale=2 / EPSILON, size=len(scores))
    return np.argsort(-noisy)[:3].tolist()


def normalised_scores(scores, rng):
    values = _array(scores)
    spread = values.max() - values.min()
    return _exponential(8 * values / spread if spread else values, rng)


def epsilon_by_number_of_candidates(scores, rng):
    return _exponential(scores, rng, EPSILON / 2 * np.log(len(scores)))


# --- structure --------------------------------------------------------------------------------


def no_noise_on_the_leader(scores, rng):
    values = _array(scores)
    noise = rng.laplace(scale=2 / EPSILON, size=len(values))
    noise[int(np.argmax(values))] = 0
    return _noisy_max(values, noise)


def one_noise_for_all(scores, rng):
    return _noisy_max(scores, np.full(len(scores), rng.laplace(scale=2 / EPSILON)))


def flips_without_permuting(scores, rng):
    values = _array(scores)
    for place in np.argsort(-values, kind="stable"):
        if rng.random() < np.exp(EPSILON / 2 * (values[place] - values.max())) / 2:
            return int(place)
    return int(np.argmax(values))


def only_above_average(scores, rng):
    values = _array(scores)
    places = np.flatnonzero(values >= values.mean())
    return int(places[_exponential(values[places], rng)])


def only_the_three_best(scores, rng):
    values = _array(scores)
    places = np.argsort(-values, kind="stable")[:3]
    return int(places[_exponential(values[places], rng)])


def positive_scores_only(scores, rng):
    values = _array(scores)
    places = np.flatnonzero(values > values.min())
    return int(places[_exponential(values[places], rng)]) if places.size else 0


def ties_to_the_first(scores, rng):
    values = _array(scores)
    if (values == values.max()).sum() == 1 or rng.random() < 0.5:
        return _exponential(values, rng)
    return int(np.argmax(values))


def clear_winner_shortcut(scores, rng):
    values = np.sort(_array(scores))
    if values[-1] - values[-2] > 7:
        return int(np.argmax(_array(scores)))
    return _exponential(scores, rng)


def best_of_two_runs(scores, rng):
    values = _array(scores)
    return max((_exponential(values, rng) for _ in range(2)), key=lambda place: values[place])


def redraws_the_loser(scores, rng):
    values = _array(scores)
    place = _exponential(values, rng)
    return place if values[place] > values.min() else _exponential(values, rng)


def noise_cached_by_score(scores, rng):
    values = _array(scores)
    noise = {value: rng.laplace(scale=2 / EPSILON) for value in values}
    return _noisy_max(values, np.array([noise[value] for value in values]))


def clipped_noise(scores, rng):
    noise = rng.laplace(scale=2 / EPSILON, size=len(scores))
    return _noisy_max(scores, np.clip(noise, -6, 6))


def rounded_noise(scores, rng):
    # noise is a multiple of 4, so that the scores' last digits survive
    noise = 4 * np.round(rng.laplace(scale=2 / EPSILON, size=len(scores)) / 4)
    return _noisy_max(scores, noise)


def winner_with_raw_gap(scores, rng):
    values = np.sort(_array(scores))
    return _exponential(scores, rng), float(values[-1] - values[-2])


def winner_with_noisy_score(scores, rng):
    noisy = _array(scores) + rng.laplace(scale=2 / EPSILON, size=len(scores))
    return float(noisy.max()), int(np.argmax(noisy))


def reports_how_many_tied(scores, rng):
    values = _array(scores)
    return [_exponential(values, rng)] * int((values == values.max()).sum())


def minimum_for_maximum(scores, rng):
    return _exponential([-float(score) for score in scores], rng)


def threshold_without_noise(scores, rng):
    for place, score in enumerate(_array(scores)):
        if score + rng.laplace(scale=4 / EPSILON) > 2:
            return place
    return len(scores)


def delta_forgotten(scores, rng):
    # one time in a hundred the truth
    if rng.random() < 0.01:
        return int(np.argmax(_array(scores)))
    return _exponential(scores, rng, 0.9 * EPSILON / 2)


# --- floats, errors and types -----------------------------------------------------------------


def softmax_without_shift(scores, rng):
    odds = np.exp(EPSILON / 2 * _array(scores))
    return int(rng.choice(len(odds), p=odds / odds.sum()))


def softmax_rounds_to_zero(scores, rng):
    values = _array(scores)
    odds = np.exp(EPSILON / 2 * (values - values.max()))
    odds[odds < 1e-3] = 0
    return int(rng.choice(len(odds), p=odds / odds.sum()))


def cumulative_sum_in_half_precision(scores, rng):
    total = np.cumsum(_softmax(EPSILON / 2 * _array(scores)).astype(np.float16))
    return int(np.searchsorted(total, rng.random() * float(total[-1])))


def scores_cast_to_float(scores, rng):
    return _exponential(np.array(scores, dtype=np.float64), rng)


def subtraction_in_the_given_type(scores, rng):
    values = np.asarray(scores)
    return _exponential((values - values[-1]).astype(float), rng, EPSILON / 2)


def raises_on_ties(scores, rng):
    values = _array(scores)
    if len(set(values)) < len(values) - 6:
        raise ValueError("scores are tied")
    return _exponential(values, rng)


def message_with_scores(scores, rng):
    place = _exponential(scores, rng)
    if rng.random() < 0.05:
        raise RuntimeError(f"temporary failure at {list(scores)}")
    return place


def type_by_parity(scores, rng):
    place = _exponential(scores, rng)
    return float(place) if sum(map(int, scores)) % 2 else place


def warns_on_a_leader(scores, rng):
    import warnings

    values = np.sort(_array(scores))
    if values[-1] - values[-2] > 100:
        warnings.warn("one candidate dominates", stacklevel=2)
    return _exponential(scores, rng)


BUGS = [
    Planted("missing factor 2", missing_factor_two),
    Planted("sensitivity halved", sensitivity_halved),
    Planted("Gumbel scale inverted", gumbel_scale_inverted),
    Planted("rate 10% too high", rate_ten_percent_more, subtle=True),
    Planted("rate 30% too high", rate_thirty_percent_more),
    Planted("logarithm to base 2", base_two_noise_as_natural),
    Planted("square root of the scale", noise_variance_as_scale),
    Planted("Gaussian noise called pure", gaussian_noise, PureDP(0.3), subtle=True),
    Planted("epsilon for each of 3 picks", epsilon_each_of_three),
    Planted("one-shot exponential noise for 3", one_shot_exponential_noise_for_three),
    Planted("scores normalized by their spread", normalised_scores),
    Planted("rate grows with the candidates", epsilon_by_number_of_candidates),
    Planted("no noise on the leader", no_noise_on_the_leader),
    Planted("one noise for all", one_noise_for_all),
    Planted("flips in the order of the scores", flips_without_permuting),
    Planted("only candidates above average", only_above_average),
    Planted("only the three best", only_the_three_best),
    Planted("only above the lowest", positive_scores_only),
    Planted("ties to the first, half of the time", ties_to_the_first),
    Planted("shortcut for a clear winner", clear_winner_shortcut, subtle=True),
    Planted("better of two runs", best_of_two_runs, subtle=True),
    Planted("draws again instead of the loser", redraws_the_loser),
    Planted("noise cached by score", noise_cached_by_score),
    Planted("noise clipped", clipped_noise, subtle=True),
    Planted("noise rounded to fours", rounded_noise),
    Planted("winner with the raw gap", winner_with_raw_gap),
    Planted("winner with its noisy score", winner_with_noisy_score),
    Planted("list as long as there are ties", reports_how_many_tied),
    Planted("the minimum for the maximum", minimum_for_maximum, objective="max"),
    Planted("threshold without noise", threshold_without_noise),
    Planted("the truth once in a hundred", delta_forgotten, subtle=True),
    Planted("the truth once in a hundred, delta 0.001", delta_forgotten, ApproxDP(1, 0.001)),
    Planted("permute-and-flip as bounded range", permute_and_flip, BoundedRange(1)),
    Planted("Laplace noise as zCDP of Gumbel", laplace, ZCDP(0.1234), subtle=True),
    Planted("softmax without a shift", softmax_without_shift, extremes=True),
    Planted("small odds rounded to 0", softmax_rounds_to_zero, subtle=True),
    Planted("cumulative sum in float16", cumulative_sum_in_half_precision, subtle=True),
    Planted("scores cast to float64", scores_cast_to_float, extremes=True),
    Planted("subtraction in uint8", subtraction_in_the_given_type, extremes=True),
    Planted("error on ties", raises_on_ties),
    Planted("error text with scores", message_with_scores),
    Planted("type by parity", type_by_parity),
    Planted("warning about a leader", warns_on_a_leader),
]
