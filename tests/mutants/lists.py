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
        "return pick_loss(self.k, self.epsilon, self.delta, BoundedRange if self.mechanism == 'exponential' else PureDP)",
        "return pick_loss(self.k, self.epsilon, self.delta, BoundedRange)",
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
        "tests/unit/samplers/test_ranking.py -k all_candidates_can_be_ranked",
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
        "public = candidates.native and isinstance(distances, WHOLE)",
        "public = isinstance(distances, WHOLE)",
        "tests/contracts/test_top_k.py -k nothing_is_remembered",
    ),
    "the best are rounded down, too": (
        "samplers/joint_field.py",
        "return (positions // parts, -(-positions // parts))",
        "return (positions // parts, positions // parts)",
        "tests/unit/samplers/test_joint_field.py -k no_less_than_its_cells",
    ),
    "what cells leave out has no coin": (
        "samplers/joint_ranking.py",
        "behind = margin * cut.cell + field.short(places, listed)",
        "behind = margin * cut.cell",
        f"{_TAPES} -k 'TestJoint and lists_have_their_odds'",
    ),
    "whole lists beyond the last level are taken for near ones": (
        "samplers/joint_field.py",
        "if self._whole and cells < self._margins:",
        "if self._whole:",
        "tests/unit/samplers/test_joint_field.py -k no_less_than_its_cells",
    ),
    "floats are as far apart as they are rounded": (
        "samplers/levels.py",
        "return int(np.where(rounded == rounded.max(), taken, -np.inf).argmax())",
        "return int(rounded.argmax())",
        "tests/unit/samplers/test_positions.py",
    ),
    "sums of distances are rounded up": (
        "samplers/levels.py",
        "(gaps * (parts / scale * ROUNDED)).astype(np.int64).cumsum()",
        "np.ceil(gaps * (parts / scale)).astype(np.int64).cumsum()",
        "tests/unit/samplers/test_positions.py",
    ),
    "cells are behind by as many as there are between": (
        "samplers/ranked_envelope.py",
        "_weight(max(0, cells - 1), _FINE)",
        "_weight(cells, _FINE)",
        "tests/unit/samplers/test_ranked_envelope.py",
    ),
    "others that are gone come again": (
        "samplers/ranked_envelope.py",
        "if proposal is None or proposal[0] in self._gone:",
        "if proposal is None:",
        f"{_TAPES} -k TestRankedEnvelope",
    ),
    "distances are counted from the last of the best": (
        "samplers/ranked_envelope.py",
        "best = self._best[self._first]",
        "best = self._best[-1]",
        f"{_TAPES} -k TestRankedEnvelope",
    ),
    "others weigh as much as the best that is left": (
        "samplers/ranked_envelope.py",
        "self._near, self._last = (self._cumulative.item(-1), self._lasts[self._first])",
        "self._near, self._last = (self._cumulative.item(-1), self._lasts[0])",
        "tests/unit/samplers/test_ranked_envelope.py",
    ),
    "the best that are gone are still weighed": (
        "samplers/ranked_envelope.py",
        "self._cells[self._latest] = _GONE",
        "pass",
        f"{_TAPES} -k TestRankedEnvelope",
    ),
    "the best are others, too": (
        "samplers/other_candidates.py",
        "self._weights[best] = 0",
        "pass",
        "tests/unit/samplers/test_ranked_envelope.py",
    ),
    "the best are others in their block, too": (
        "samplers/other_candidates.py",
        "table[row, places] = 0",
        "pass",
        "tests/unit/samplers/test_ranked_envelope.py",
    ),
    "masses that are corrected are rounded down": (
        "samplers/envelope.py",
        "self._masses[numbers] = -(-sums // _WEIGHTS_PER_MASS)",
        "self._masses[numbers] = sums // _WEIGHTS_PER_MASS",
        "tests/unit/samplers/test_ranked_envelope.py",
    ),
    "the best count in the unit of others": (
        "samplers/ranked_envelope.py",
        "place = chance.pick(self._cumulative, self.total, self._others.unit)",
        "place = chance.pick(self._cumulative, self.total)",
        "tests/unit/samplers/test_ranked_envelope.py -k every_proposal",
    ),
    "what is left of a pick is looked for at any length": (
        "randomness/chance.py",
        "number = min(number, _LARGEST_SUM)",
        "pass",
        "tests/unit/randomness/test_chance.py -k objects",
    ),
    "a pick among long integers has 63 bits": (
        "randomness/chance.py",
        "cumulative.dtype != object",
        "True",
        "tests/unit/randomness/test_chance.py -k integers_of_any_length",
    ),
    "columns without anybody have the best": (
        "samplers/columns.py",
        "keys[np.count_nonzero(there):] = 0",
        "pass",
        "tests/unit/samplers/test_columns.py -k without_them",
    ),
    "columns still stand for the best": (
        "samplers/columns.py",
        "values[found | (members >= scores.size)] = columns.high if smallest else columns.low",
        "values[members >= scores.size] = columns.high if smallest else columns.low",
        "tests/unit/samplers/test_columns.py -k without_them",
    ),
    "values in no class are none of the best": (
        "samplers/order_statistics.py",
        "places = np.concatenate([np.add.outer(np.arange(_CLASS) * length, chosen).ravel(), np.arange(_CLASS * length, values.size)])",
        "places = np.add.outer(np.arange(_CLASS) * length, chosen).ravel()",
        "tests/unit/samplers/test_levels.py -k those_of_a_sort",
    ),
    "one class fewer than there are best": (
        "samplers/order_statistics.py",
        "chosen = best_places(leaders, smallest, count)[:count]",
        "chosen = best_places(leaders, smallest, count)[:count - 1]",
        "tests/unit/samplers/test_levels.py -k those_of_a_sort",
    ),
    "a list is no longer than there are columns": (
        "samplers/columns.py",
        "if count > leaders.size:",
        "if False:",
        "tests/unit/samplers/test_columns.py -k longer_than",
    ),
    "a table of more others than add up": (
        "samplers/ranking.py",
        "folded = columns is not None and isinstance(distances, ArrayDistances)",
        "folded = columns is not None",
        "tests/unit/samplers/test_ranking.py -k add_up",
    ),
    "the best are counted at their level, too": (
        "samplers/levels.py",
        "np.subtract.at(self._table, (self.best // self._chunk, self._levels[self.best]), 1)",
        "pass",
        "tests/unit/samplers/test_levels.py -k found_once",
    ),
    "the best are found at their level, too": (
        "samplers/levels.py",
        "self._levels[self.best] = number",
        "pass",
        "tests/unit/samplers/test_levels.py -k found_once",
    ),
    "the best are sorted into their level, too": (
        "samplers/levels.py",
        "levels[self.best] = number\nself._order = sorted_places(levels.view(np.uint64), pieces_of(number))",
        "self._order = sorted_places(levels.view(np.uint64), pieces_of(number))",
        "tests/unit/samplers/test_levels.py -k found_once",
    ),
    "chunks that share their levels": (
        "samplers/levels.py",
        "own = self._levels[part] + shifts[:part.stop - start]",
        "own = self._levels[part]",
        "tests/unit/samplers/test_levels.py -k found_once",
    ),
    "levels are deeper than the distance": (
        "samplers/levels.py",
        "cells / GRAINS_PER_SCALE * ROUNDED",
        "cells / GRAINS_PER_SCALE * 1.1",
        "tests/unit/samplers/test_levels.py -k no_deeper",
    ),
    "members of other chunks are not counted": (
        "samplers/levels.py",
        "nth_places(members.ravel(), ranks + here.cumsum() - here)",
        "nth_places(members.ravel(), ranks)",
        "tests/unit/samplers/test_levels.py -k found_once",
    ),
    "levels that have no number": (
        "samplers/joint_field.py",
        "self._numbers[places - 1].tolist()",
        "places.tolist()",
        "tests/unit/samplers/test_joint_field.py -k reaches",
    ),
    "joint lists are not counted": (
        "samplers/joint_ranking.py",
        "lists = math.prod(reach - place for place, reach in enumerate(reaches))",
        "lists = math.prod(reaches)",
        f"{_TAPES} -k TestJoint",
    ),
    "joint lists with repetitions": (
        "randomness/chance.py",
        "moved[chosen] = moved.get(place, place)",
        "pass",
        f"{_TAPES} -k TestJoint",
    ),
    "gaps within reach are cut off": (
        "samplers/levels.py",
        "np.minimum(gaps, np.uint64(cut))",
        "np.minimum(gaps, np.uint64(cut // 8))",
        "tests/unit/samplers/test_joint_field.py -k no_less_than_its_cells",
    ),
    "candidates within reach are cut off": (
        "samplers/levels.py",
        "np.minimum(behind.view(np.uint64), np.uint64(deepest))",
        "np.minimum(behind.view(np.uint64), np.uint64(deepest // 8))",
        "tests/unit/samplers/test_levels.py -k found_once",
    ),
    "bounds count the better ones twice": (
        "samplers/joint_field.py",
        "np.subtract(window, place, out=factors)",
        "np.subtract(window, 2 * place, out=factors)",
        "tests/unit/samplers/test_joint_field.py -k bounds",
    ),
    "bounds of margins rounded down": (
        "samplers/joint_ranking.py",
        "bounds = np.floor(np.ldexp(mantissas, exponents - self._exponent)).astype(np.int64) + 1",
        "bounds = np.floor(np.ldexp(mantissas, exponents - self._exponent)).astype(np.int64)",
        f"{_TAPES} -k far_margins_where_candidates_are_counted",
    ),
    "joint margins without their coin": (
        "samplers/joint_ranking.py",
        "if chance.decay(lambda: behind, numerator, denominator, likely=False):",
        "if True:",
        f"{_TAPES} -k TestJoint",
    ),
}

_ORDER = "tests/unit/samplers/test_order_statistics.py"
_TAKE_PART = "tests/unit/mechanisms/test_unknown_domain.py"

TIME: Mutants = {
    "a list of one takes the way of longer ones": (
        "samplers/ranking.py",
        "if count == 1:",
        "if False:",
        f"{_TAPES} -k TestListOfOne",
    ),
    "partition comes back to unknown domains": (
        "mechanisms/unknown_domain.py",
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
        "mechanisms/unknown_domain.py",
        "choices = [place + _die(others - place if place < missing else 1, chance) for place in range(limit)]",
        "choices = [place + _die(others - place, chance) for place in range(missing)] + list(range(missing, limit))",
        f"{_TAKE_PART} -k work",
    ),
    "fewer bits for fewer ties": (
        "mechanisms/unknown_domain.py",
        "return chance.below(sides << spare) >> spare",
        "return chance.below(sides)",
        f"{_TAKE_PART} -k work",
    ),
    "the order of the table decides among equal digests": (
        "mechanisms/unknown_domain.py",
        "listed = sorted(alike, key=lambda place: _text(_label(counts, place)))",
        "listed = alike",
        f"{_TAKE_PART} -k table_does_not_decide",
    ),
    "an item without a name is named": (
        "mechanisms/unknown_domain.py",
        "if winner == self.limit or not scores[winner]:",
        "if winner == self.limit:",
        f"{_TAPES} -k TestLimitedDomain",
    ),
}

UNKNOWN_DOMAINS: Mutants = {
    "trap: the threshold is one person lower": (
        "mechanisms/unknown_domain.py",
        "return 1 + (ball(items) / ball(delta)).log() / ball(epsilon)",
        "return (ball(items) / ball(delta)).log() / ball(epsilon)",
        f"{_LISTS} -k 'TestUnknownDomain'",
    ),
    "trap: the number of other items lowers the threshold": (
        "mechanisms/unknown_domain.py",
        "items = min(self.items_per_person or self.limit, self.limit)",
        "items = 1",
        f"{_LISTS} -k 'TestUnknownDomain'",
    ),
    "the threshold stands on the ground": (
        "mechanisms/unknown_domain.py",
        "listed = [*scores, _GRID * next_count + int(self.height * _GRID)]",
        "listed = [*scores, int(self.height * _GRID)]",
        f"{_TAPES} -k TestLimitedDomain",
    ),
    "places that no item has count for one person": (
        "mechanisms/unknown_domain.py",
        "values = np.zeros(max(size, found), dtype=np.uint64)",
        "values = np.ones(max(size, found), dtype=np.uint64)",
        f"{_TAPES} -k TestLimitedDomain",
    ),
    "the whole delta for composition and for the threshold": (
        "mechanisms/unknown_domain.py",
        "half = self.delta / 2",
        "half = self.delta",
        f"{_LISTS} -k 'each_way_to_share'",
    ),
    "each call has the whole delta": (
        "mechanisms/pay_what_you_get.py",
        "self._delta = half / self._calls",
        "self._delta = half",
        f"{_LISTS} -k 'TestPayWhatYouGet'",
    ),
    "nothing is free": (
        "mechanisms/pay_what_you_get.py",
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
