"""Mutants of rankings, joint draws, unknown domains and gaps: see test_mutants.py."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

_LISTS = "tests/contracts/test_top_k.py"
_TAPES = "tests/contracts/test_top_k_tapes.py"

RANKINGS: Mutants = {
    "one pick for the price of all": (
        "mechanisms/peeling_top_k.py",
        "return kind(epsilon / k)",
        "return kind(epsilon)",
        f"{_LISTS} -k 'no_neighbour or share_the_budget'",
    ),
    "picks of permute-and-flip planned as bounded range": (
        "mechanisms/peeling_top_k.py",
        "return pick_loss(self.k, self._epsilon, self._delta, BoundedRange if self.mechanism == 'exponential' else PureDP)",
        "return pick_loss(self.k, self._epsilon, self._delta, BoundedRange)",
        f"{_LISTS} -k 'lists_with_a_delta or bounded_range'",
    ),
    "a candidate that is gone comes again": (
        "samplers/shrinking_envelope.py",
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
        "samplers/shrinking_envelope.py",
        "if base != self._base:",
        "if False:",
        f"{_TAPES} -k TestRanking",
    ),
    "moving closer forgets the way": (
        "samplers/shrinking_envelope.py",
        "self._moved += self.distances.exact(best)",
        "self._moved = self.distances.exact(best)",
        "tests/unit/samplers/test_shrinking_envelope.py",
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
    "denominators of scores are remembered": (
        "mechanisms/joint_top_k.py",
        "public = candidates.native",
        "public = True",
        "tests/contracts/test_top_k.py -k nothing_is_remembered",
    ),
    "single steps that are rounded have the bound of the next one": (
        "samplers/joint_field.py",
        "later = 0 if single else 1",
        "later = 0 if single and self._exact else 1",
        "tests/unit/samplers/test_joint_field.py -k 'not_far_above and fraction'",
    ),
    "what rounding took is not put back": (
        "samplers/joint_field.py",
        "self._positions + (taken if single else 0)",
        "self._positions",
        "tests/unit/samplers/test_joint_field.py -k single_steps",
    ),
    "cells are behind by as many as there are between": (
        "samplers/ranked_envelope.py",
        "_weight(max(0, cells - 1))",
        "_weight(cells)",
        "tests/unit/samplers/test_ranked_envelope.py",
    ),
    "empty places of a cell come again": (
        "samplers/ranked_envelope.py",
        "place += 1",
        "pass",
        "tests/unit/samplers/test_ranked_envelope.py -k everybody",
    ),
    "empty places out of reach come again": (
        "samplers/ranked_envelope.py",
        "if place in self._gone:",
        "if False:",
        f"{_TAPES} -k TestRankedEnvelope",
    ),
    "distances are counted from the first best": (
        "samplers/ranked_envelope.py",
        "best = int(self._order[self._best])",
        "best = int(self._order[0])",
        f"{_TAPES} -k TestRankedEnvelope",
    ),
    "the best are counted at their level, too": (
        "samplers/levels.py",
        "np.subtract.at(self._table, (best // self._chunk, best_levels), 1)",
        "pass",
        "tests/unit/samplers/test_levels.py -k found_once",
    ),
    "the best are found at their level, too": (
        "samplers/levels.py",
        "self._levels[best] = number",
        "pass",
        "tests/unit/samplers/test_levels.py -k found_once",
    ),
    "chunks that share their levels": (
        "samplers/levels.py",
        "found += shifts[:found.size]",
        "pass",
        "tests/unit/samplers/test_levels.py -k found_once",
    ),
    "cells behind by more than the distance": (
        "samplers/ranked_envelope.py",
        "(_FINE << _PARTS) / GRAINS_PER_SCALE * (1 - 2.0 ** -45)",
        "(_FINE << _PARTS) / GRAINS_PER_SCALE * 1.1",
        "tests/unit/samplers/test_ranked_envelope.py -k 'counted and not_far_above'",
    ),
    "the best of the last cell are forgotten": (
        "samplers/ranked_envelope.py",
        "start = max(int(self._starts[cell]), self._cells.size)",
        "start = int(self._starts[cell])",
        "tests/unit/samplers/test_ranked_envelope.py -k counted",
    ),
    "levels that have no number": (
        "samplers/joint_field.py",
        "places if self._numbers is None else self._numbers[places - 1]",
        "places",
        "tests/unit/samplers/test_joint_field.py -k 'TestCounted and reaches'",
    ),
    "joint lists are not counted": (
        "samplers/joint_ranking.py",
        "lists = math.prod(reach - place for place, reach in enumerate(reaches))",
        "lists = math.prod(reaches)",
        f"{_TAPES} -k TestJoint",
    ),
    "joint lists with repetitions": (
        "samplers/joint_field.py",
        "moved[drawn] = moved.get(place, place)",
        "pass",
        f"{_TAPES} -k TestJoint",
    ),
    "candidates within reach are cut off": (
        "samplers/positions.py",
        "np.minimum(gaps, np.uint64(cut))",
        "np.minimum(gaps, np.uint64(cut // 8))",
        f"{_TAPES} -k TestJoint",
    ),
    "candidates within reach are not sorted": (
        "samplers/positions.py",
        "last, beyond = (np.uint64(kth_largest(keys, count, count)), np.uint64(differences))",
        "last, beyond = (np.uint64(kth_largest(keys, count, count)), np.uint64(differences // 8))",
        "tests/unit/samplers/test_joint_field.py",
    ),
    "cells that a margin ends in are left out": (
        "samplers/joint_field.py",
        "later = 0 if single else 1",
        "later = 0",
        "tests/unit/samplers/test_joint_field.py",
    ),
    "rounded positions are taken for exact ones": (
        "samplers/joint_field.py",
        "low if low == high else self._reach(place, margin, low, high)",
        "high",
        "tests/unit/samplers/test_joint_field.py",
    ),
    "bounds count the better ones twice": (
        "samplers/joint_field.py",
        "products *= reached[window:window + length] - place",
        "products *= reached[window:window + length] - place - first",
        "tests/unit/samplers/test_joint_field.py",
    ),
    "bounds of margins rounded down": (
        "samplers/joint_ranking.py",
        "bounds = np.floor(np.ldexp(mantissas, exponents - self._exponent)).astype(np.int64) + 1",
        "bounds = np.floor(np.ldexp(mantissas, exponents - self._exponent)).astype(np.int64)",
        f"{_TAPES} -k TestJoint",
    ),
    "joint margins without their coin": (
        "samplers/joint_ranking.py",
        "if chance.decay(lambda: multiple * step, numerator, denominator, likely=False):",
        "if True:",
        f"{_TAPES} -k TestJoint",
    ),
}

_ORDER = "tests/unit/samplers/test_order_statistics.py"
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
        "mechanisms/grid.py",
        "ordered = places[sorted_places(places.view(np.uint64), pieces_of(size - 1))]",
        "ordered = np.sort(places)",
        f"{_ORDER} -k stops_early",
    ),
    "the search ends where it has found enough": (
        "samplers/order_statistics.py",
        "threshold = (threshold, tried)[count >= rank]",
        "threshold = (threshold, tried)[count >= rank]\nif not count:\n    break",
        f"{_ORDER} -k touched",
    ),
    "classes by the private rank": (
        "samplers/order_statistics.py",
        "width = isqrt(keys.size // most)",
        "width = isqrt(keys.size // rank)",
        f"{_ORDER} -k 'touched or sort_finds'",
    ),
    "a sort without guards": (
        "samplers/order_statistics.py",
        "guarded[:2] = _LARGEST_PIECE, 0",
        "guarded[:2] = 0, _LARGEST_PIECE",
        f"{_ORDER} -k TestSort",
    ),
    "draws only where they are needed": (
        "mechanisms/limited_domain.py",
        "for place in range(limit):",
        "drawn = [0] * (limit - missing)\nfor place in range(missing):",
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
        "return 1 + (ball(items) / ball(delta)).log() / ball(epsilon)",
        "return (ball(items) / ball(delta)).log() / ball(epsilon)",
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
        "listed = [*scores, _GRID * next_count + int(self.height * _GRID)]",
        "listed = [*scores, int(self.height * _GRID)]",
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
        "samplers/winner_and_gap.py",
        "if proposal is None or (after is not None and _is_earlier(clock.time, after)):",
        "if proposal is None:",
        "tests/unit/samplers/test_winner_and_gap.py",
    ),
    "the gap forgets how far behind the others are": (
        "samplers/winner_and_gap.py",
        "apart = arb(lead) + second",
        "apart = second",
        "tests/unit/samplers/test_winner_and_gap.py",
    ),
    "the gap with exponential noise has the rate of Gumbel noise": (
        "samplers/winner_and_gap.py",
        "EXPONENTIAL = Hazard(rate=lambda likelihood, time: likelihood / (1 - likelihood * time), bands=_towards_one)",
        "EXPONENTIAL = Hazard(rate=lambda likelihood, time: likelihood, bands=_towards_one)",
        "tests/unit/samplers/test_winner_and_gap.py --timeout 60",
    ),
}
