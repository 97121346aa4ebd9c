"""The event that tells two samples of outcomes apart best, for one claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.claims import Claim, EventCounts, Prospect
from discreet.auditing.events import SIDE_CHANNELS, Event, Outcome, features, read

Sample = Sequence[Outcome]

# standard deviations by which the best of few, or of many, events looks too good
_FEW_EVENTS, _MANY_EVENTS = 0.0, 1.0
# more values of a feature than these are not told apart
_MOST_VALUES = 512
# a feature with at most this many values is coarse
_FEW_VALUES = 16
# thresholds that are tried
_CUTS = 64


@dataclass(frozen=True, slots=True)
class Found:
    """Events that should show a loss. The first is likelier with the first data set;
    for bounded range there may be a second, which is likelier with the second.

    swapped: whether the data sets have to be exchanged for that.
    promise: an estimate of the loss that the events will show.
    """

    events: tuple[Event, ...]
    swapped: bool
    promise: float


def best_events(
    claim: Claim,
    first: Sample,
    second: Sample,
    *,
    caution: float,
    proof_runs: int,
    of_data: Sequence[str] = (),
) -> Found:
    """The best events of all features of the outcomes: sets of values, and thresholds.

    caution: by how many standard deviations these samples are taken to be wrong.
    proof_runs: how many runs of each data set the events will be proved with.
    of_data: what `data_features` says about the data.
    """
    prospect = Prospect(claim, caution, proof_runs)
    directions = [
        _best(prospect, first, second, of_data, swapped=False),
        _best(prospect, second, first, of_data, swapped=True),
    ]
    if not claim.needs_two_events:
        return max(directions, key=lambda found: found.promise)
    forth, back = directions
    # an event that is as likely with both data sets shows nothing
    parts = [(found.events[0], found.promise) for found in directions if found.promise > 0]
    if len(parts) < 2:
        return max(directions, key=lambda found: found.promise)
    return Found((forth.events[0], back.events[0]), False, sum(promise for _, promise in parts))


def side_channel(events: Sequence[Event]) -> bool:
    """True if an event looks at the error, the warnings or the type instead of the answer."""
    return any(event.feature in SIDE_CHANNELS for event in events)


def _best(
    prospect: Prospect, first: Sample, second: Sample, of_data: Sequence[str], *, swapped: bool
) -> Found:
    best = Found((Event("error", frozenset({""})),), swapped, -np.inf)
    for name in features([*first, *second], of_data):
        values = [[read(outcome, name) for outcome in sample] for sample in (first, second)]
        coarse = _is_coarse(name, values)
        for events, hits, runs in _candidates(name, values[0], values[1], coarse=coarse):
            caution = _FEW_EVENTS if coarse else _MANY_EVENTS
            promises = prospect.of(hits[0], runs[0], hits[1], runs[1], caution)
            place = int(np.argmax(promises))
            if promises[place] > best.promise:
                best = Found((events[place],), swapped, float(promises[place]))
    return best


def _is_coarse(name: str, values: Sequence[Sequence[Any]]) -> bool:
    """True if a feature has so few values that the best set of them was hardly chosen."""
    if not (name.startswith("twin ") or name in SIDE_CHANNELS):
        return False
    return len({*values[0], *values[1]}) <= _FEW_VALUES


Hits = tuple[NDArray[np.float64], NDArray[np.float64]]
Runs = tuple[int, int]


def _candidates(
    name: str, first: list[Any], second: list[Any], *, coarse: bool
) -> Iterator[tuple[Any, Hits, Runs]]:
    # One half of the outcomes puts the values in order, and the other half says what that
    # order is worth: a set of many rare values always looks good where it was chosen.
    chosen = (first, second) if coarse else (first[0::2], second[0::2])
    seen = (first, second) if coarse else (first[1::2], second[1::2])
    runs = (len(seen[0]), len(seen[1]))
    if name.startswith("twin ") and not coarse:
        return
    if len({*first, *second}) <= _MOST_VALUES:
        order = _by_falling_ratio(Counter(chosen[0]), Counter(chosen[1]), {*first, *second})
        yield *_value_sets(name, order, Counter(seen[0]), Counter(seen[1])), runs
    if len({*first, *second}) > _FEW_VALUES:
        # thresholds need no chosen order, so all outcomes can count
        seen, runs = (first, second), (len(first), len(second))
    numbers = [
        np.array([value for value in side if _is_number(value)], dtype=np.float64) for side in seen
    ]
    if numbers[0].size and numbers[1].size and name not in SIDE_CHANNELS:
        yield *_thresholds(name, numbers, *runs), runs


class _Prefixes(Sequence[Event]):
    """The events "is among the first n of these values", then "is this value"; each is
    made when it is asked for.
    """

    def __init__(self, feature: str, values: list[Any]) -> None:
        self._feature, self._values = feature, values

    def __len__(self) -> int:
        return 2 * len(self._values)

    def __getitem__(self, place: Any) -> Any:
        size = len(self._values)
        if place >= size:
            return Event(self._feature, frozenset([self._values[place - size]]))
        if 2 * place < size:
            return Event(self._feature, frozenset(self._values[: place + 1]))
        # named by what it leaves out, so that values that were never seen are in it
        return Event(self._feature, frozenset(self._values[place + 1 :]), negated=True)


def _by_falling_ratio(first: Counter[Any], second: Counter[Any], values: set[Any]) -> list[Any]:
    """The values, those first that the first data set makes likeliest."""
    # equal ratios are ordered by the values' text, so that an audit repeats
    return sorted(
        values,
        key=lambda value: (-(first[value] + 0.5) / (second[value] + 0.5), repr(value)),
    )


def _value_sets(
    name: str, values: list[Any], first: Counter[Any], second: Counter[Any]
) -> tuple[Any, Hits]:
    """Sets of values by falling ratio: for two known laws the best event is one of them."""
    counts = [np.array([side[value] for value in values], dtype=float) for side in (first, second)]
    hits = tuple(np.concatenate([np.cumsum(side), side]) for side in counts)
    return _Prefixes(name, values), (hits[0], hits[1])


def _thresholds(
    name: str, numbers: list[NDArray[np.float64]], first_runs: int, second_runs: int
) -> tuple[list[Event], Hits]:
    together = np.concatenate(numbers)
    finite = together[np.isfinite(together)]
    if not finite.size:
        return [Event(name, above=0.0)], (np.zeros(1), np.zeros(1))
    cuts = np.unique(np.quantile(finite, np.linspace(0, 1, _CUTS), method="lower"))
    above = [np.array([(side > cut).sum() for cut in cuts], dtype=float) for side in numbers]
    below = [first_runs - above[0], second_runs - above[1]]
    events = [
        Event(name, above=float(cut), negated=negated) for negated in (False, True) for cut in cuts
    ]
    return events, (np.concatenate([above[0], below[0]]), np.concatenate([above[1], below[1]]))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def count_events(events: Sequence[Event], first: Sample, second: Sample) -> list[EventCounts]:
    """How often each event happens in two samples."""
    return [
        EventCounts(event.count(first), len(first), event.count(second), len(second))
        for event in events
    ]
