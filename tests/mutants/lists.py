"""Mutants of rankings, joint draws, unknown domains and gaps: see test_mutants.py."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

_LISTS = "tests/contracts/test_top_k.py"
_TAPES = "tests/contracts/test_top_k_tapes.py"

RANKINGS: Mutants = {
    "one pick for the price of all": (
        "mechanisms/top_k.py",
        "return kind(epsilon / k)",
        "return kind(epsilon)",
        f"{_LISTS} -k 'no_neighbour or share_the_budget'",
    ),
    "picks of permute-and-flip planned as bounded range": (
        "mechanisms/top_k.py",
        'BoundedRange if self.mechanism == "exponential" else PureDP)',
        "BoundedRange)",
        f"{_LISTS} -k 'lists_with_a_delta or bounded_range'",
    ),
    "a candidate that is gone comes again": (
        "samplers/peeling.py",
        "if proposal is None or self._is_taken(proposal[0]):",
        "if proposal is None:",
        f"{_TAPES} -k 'blocks_that_still_count or TestRanking'",
    ),
    "empty blocks are not weighed anew": (
        "samplers/envelope.py",
        "numbers = list(changed)",
        "numbers = [number for number in numbers if number in changed]",
        "tests/unit/samplers/test_ranking.py -k 'all_candidates_can_be_ranked' --timeout 20",
    ),
    "the unit does not follow the best that is left": (
        "samplers/peeling.py",
        "if base != self._base:",
        "if False:",
        f"{_TAPES} -k TestRanking",
    ),
    "moving closer forgets the way": (
        "samplers/peeling.py",
        "self._moved += self.distances.exact(best)",
        "self._moved = self.distances.exact(best)",
        "tests/unit/samplers/test_peeling.py",
    ),
    "the heap has no coin": (
        "samplers/ranking.py",
        "return chance.decay(lambda: self._behind(position), self._list.unit, weight, likely=False)",
        "return True",
        f"{_TAPES} -k Shortlist",
    ),
    "the shortlist starts behind the last": (
        "samplers/ranking.py",
        "kth_largest(keys, count, count)",
        "kth_largest(keys, 1, count)",
        "tests/unit/samplers/test_ranking.py",
    ),
}

JOINT: Mutants = {
    "joint lists are not counted": (
        "samplers/joint.py",
        "lists = math.prod(reach - place for place, reach in enumerate(reaches))",
        "lists = math.prod(reaches)",
        f"{_TAPES} -k TestJoint",
    ),
    "joint lists with repetitions": (
        "samplers/joint.py",
        "moved[drawn] = moved.get(place, place)\n        order",
        "pass\n        order",
        f"{_TAPES} -k TestJoint",
    ),
    "candidates within reach are cut off": (
        "samplers/joint.py",
        "/ step).ceil()) + 1)",
        "/ step / 8).ceil()))",
        f"{_TAPES} -k TestJoint",
    ),
    "bounds of margins rounded down": (
        "samplers/joint.py",
        ".astype(np.int64) + 1",
        ".astype(np.int64)",
        f"{_TAPES} -k TestJoint",
    ),
    "joint margins without their coin": (
        "samplers/joint.py",
        "if chance.decay(lambda: multiple * step, numerator, denominator, likely=False):",
        "if True:",
        f"{_TAPES} -k TestJoint",
    ),
}

_ORDER = "tests/unit/samplers/test_order.py"
_TAKE_PART = "tests/unit/mechanisms/test_limited_domain.py"

TIME: Mutants = {
    "partition comes back to unknown domains": (
        "mechanisms/limited_domain.py",
        "next_count = kth_largest(values, limit + 1, limit + 1)",
        "next_count = int(np.partition(values, values.size - limit - 1)[values.size - limit - 1])",
        f"{_ORDER} -k stops_early",
    ),
    "argpartition comes back to rankings": (
        "samplers/ranking.py",
        "kth_largest(keys, count, count)",
        "keys[np.argpartition(keys, keys.size - count)[keys.size - count]]",
        f"{_ORDER} -k stops_early",
    ),
    "a sort that stops early comes back to quantiles": (
        "scores/cells.py",
        "ordered = places[sorted_places(places.view(np.uint64), pieces_of(size - 1))]",
        "ordered = np.sort(places)",
        f"{_ORDER} -k stops_early",
    ),
    "the search ends where it has found enough": (
        "samplers/order.py",
        "threshold = (threshold, tried)[count >= rank]",
        "threshold = (threshold, tried)[count >= rank]\n            if not count:\n                break",
        f"{_ORDER} -k touched",
    ),
    "classes by the private rank": (
        "samplers/order.py",
        "width = isqrt(keys.size // most)",
        "width = isqrt(keys.size // rank)",
        f"{_ORDER} -k 'touched or sort_finds'",
    ),
    "a sort without guards": (
        "samplers/order.py",
        "guarded[:2] = _LARGEST_PIECE, 0",
        "guarded[:2] = 0, _LARGEST_PIECE",
        f"{_ORDER} -k TestSort",
    ),
    "draws only where they are needed": (
        "mechanisms/limited_domain.py",
        "    for place in range(limit):\n",
        "    drawn = [0] * (limit - missing)\n    for place in range(missing):\n",
        f"{_TAKE_PART} -k work",
    ),
    "fewer bits for fewer ties": (
        "mechanisms/limited_domain.py",
        "return chance.below(sides << spare) >> spare",
        "return chance.below(sides)",
        f"{_TAKE_PART} -k work",
    ),
    "the order of the table decides among equal digests": (
        "mechanisms/limited_domain.py",
        "listed = sorted(alike, key=lambda place: _text(_label(counts, place)))",
        "listed = alike",
        f"{_TAKE_PART} -k table_does_not_decide",
    ),
    "an item without a name is named": (
        "mechanisms/limited_domain.py",
        "if winner == self.limit or not scores[winner]:",
        "if winner == self.limit:",
        f"{_TAPES} -k TestLimitedDomain",
    ),
}

UNKNOWN_DOMAINS: Mutants = {
    "trap: the threshold is one person lower": (
        "mechanisms/limited_domain.py",
        "return 1 + (ball(items)",
        "return (ball(items)",
        f"{_LISTS} -k 'TestUnknownDomain'",
    ),
    "trap: the number of other items lowers the threshold": (
        "mechanisms/limited_domain.py",
        "items = min(self.items_per_person or self.limit, self.limit)",
        "items = 1",
        f"{_LISTS} -k 'TestUnknownDomain'",
    ),
    "the threshold stands on the ground": (
        "mechanisms/limited_domain.py",
        "_GRID * next_count + int(self.height * _GRID)]",
        "int(self.height * _GRID)]",
        f"{_TAPES} -k TestLimitedDomain",
    ),
    "places that no item has are left out": (
        "mechanisms/limited_domain.py",
        "values = np.zeros(max(size, found), dtype=np.uint64)",
        "values = np.zeros(max(size - 1, found), dtype=np.uint64)",
        f"{_TAPES} -k TestLimitedDomain",
    ),
    "the whole delta for composition and for the threshold": (
        "mechanisms/unknown_domain.py",
        "half = self._delta / 2",
        "half = self._delta",
        f"{_LISTS} -k 'each_way_to_share'",
    ),
    "each call has the whole delta": (
        "mechanisms/unknown_domain.py",
        "self._delta = half / self._calls",
        "self._delta = half",
        f"{_LISTS} -k 'TestPayWhatYouGet'",
    ),
    "nothing is free": (
        "mechanisms/unknown_domain.py",
        "self._outcomes += k - min(k, len(release.value) + 1)",
        "self._outcomes += k - len(release.value)",
        f"{_LISTS} -k 'TestPayWhatYouGet'",
    ),
}

GAPS: Mutants = {
    "the runner-up is met at any time": (
        "samplers/arrivals.py",
        "if proposal is None or (after is not None and _is_earlier(clock.time, after)):",
        "if proposal is None:",
        "tests/unit/samplers/test_arrivals.py",
    ),
    "the gap forgets how far behind the others are": (
        "samplers/arrivals.py",
        "apart = arb(lead) + second",
        "apart = second",
        "tests/unit/samplers/test_arrivals.py",
    ),
    "the gap with exponential noise has the rate of Gumbel noise": (
        "samplers/arrivals.py",
        "rate=lambda likelihood, time: likelihood / (1 - likelihood * time)",
        "rate=lambda likelihood, time: likelihood",
        "tests/unit/samplers/test_arrivals.py --timeout 60",
    ),
}
