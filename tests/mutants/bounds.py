"""Mutants of accuracy and of many draws at once: see test_mutants.py."""

from __future__ import annotations

_ACCURACY = "tests/contracts/test_accuracy.py"
_NUMBERS = "tests/contracts/test_accuracy_of_numbers.py"
_BULK = "tests/unit/samplers/test_bulk.py"

BOUNDS = {
    "accuracy a list forgets that it has k picks": (
        "mechanisms/peeling_top_k.py",
        "return _LAW_OF_PICK[self.mechanism].error(candidates, 1, failure_probability / self.k)",
        "return _LAW_OF_PICK[self.mechanism].error(candidates, 1, failure_probability) / 2",
        f"{_ACCURACY} -k list_is_within",
    ),
    "accuracy a joint list claims what peeling may": (
        "mechanisms/joint_top_k.py",
        "return 'places'",
        "return 'list'",
        f"{_ACCURACY} -k places_only",
    ),
    "counts above a threshold said to be near the truth": (
        "release.py",
        "accuracy.statement == 'named'",
        "accuracy.statement == 'never'",
        "tests/contracts/test_histograms.py -k said_to_be_too_low",
    ),
    "accuracy a split is as near as a search": (
        "mechanisms/error_bounds.py",
        "drawn = _persons(softmax_error(points, 1, failure) + _STRETCHED, rate)",
        "drawn = _persons(softmax_error(points, 1, failure), rate)",
        f"{_ACCURACY} -k where_a_split_is_drawn",
    ),
    "accuracy half of the rank error": (
        "mechanisms/error_bounds.py",
        "return _persons(softmax_error(points, 1, failure_probability), rate)",
        "return _persons(softmax_error(points, 1, failure_probability), 3 * rate)",
        f"{_ACCURACY} -k 'quantile_is_within or never_below'",
    ),
    "accuracy whole numbers rounded once too often": (
        "accuracy.py",
        "return math.floor(bound * _SLACK)",
        "return math.floor(bound * _SLACK / 2)",
        f"{_ACCURACY} -k 'small_score_vectors'",
    ),
    "accuracy numbers shown rounded down": (
        "accuracy.py",
        "rounded = math.ceil(Fraction(bound) * scale) / scale",
        "rounded = math.floor(Fraction(bound) * scale) / scale",
        f"{_ACCURACY} -k shown_rounded_up",
    ),
    "accuracy a gap for the price of none": (
        "tables/questions.py",
        "loss = made.loss_with_gap() if with_gap else made.privacy_loss()",
        "loss = made.privacy_loss()",
        f"{_ACCURACY} -k tells_the_gap",
    ),
    "accuracy a whole number as if there were one": (
        "mechanisms/lattice.py",
        "softmax_error(2, 1, beta)",
        "softmax_error(1, 1, beta)",
        f"{_NUMBERS} -k whole_number",
    ),
    "accuracy a point as if the grid had one": (
        "mechanisms/interval.py",
        "softmax_error(self._size, 1, beta)",
        "softmax_error(1, 1, beta)",
        f"{_NUMBERS} -k a_point",
    ),
    "accuracy a threshold in a stream of one query": (
        "mechanisms/above_threshold.py",
        "self._error(beta / (queries * (queries + 1)))",
        "self._error(beta)",
        f"{_NUMBERS} -k threshold_is_told",
    ),
    "accuracy noise within several bounds counted once": (
        "mechanisms/bounded_laplace.py",
        "ball(beta / len(self._boxes))",
        "ball(2 * beta)",
        f"{_NUMBERS} -k within_bounds",
    ),
    "accuracy runs that never end": (
        "mechanisms/private_candidate.py",
        "(1 - beta) / (1 + beta * (1 / law.stop - 1))",
        "(1 - beta) / (1 + 2 * beta * (1 / law.stop - 1))",
        f"{_NUMBERS} -k best_run",
    ),
    "accuracy shares with the smaller variance": (
        "local/categories.py",
        "hoeffding = math.sqrt(small / (2 * reports))",
        "hoeffding = math.sqrt(small / (16 * reports))",
        f"{_NUMBERS} -k shares_are",
    ),
    "accuracy an item at the threshold is named": (
        "mechanisms/histogram_top_k.py",
        "return self._height + self._noise.error_bound(share)",
        "return self._height",
        f"{_NUMBERS} -k is_named",
    ),
    "bulk a tie goes to the left without looking": (
        "samplers/bulk.py",
        "        for place in unsure[least != most].tolist():\n"
        "            found[place] = self.decided(int(words[place]), chance)\n",
        "",
        f"{_BULK} -k 'every_word or tie'",
    ),
    "bulk a cell inside an enclosure decides": (
        "samplers/bulk.py",
        "self._first != self._low.searchsorted(starts + (1 << width))",
        "np.isin(starts >> width, np.append(self._low, self._high) >> width)",
        f"{_BULK} -k wide_enclosure",
    ),
    "bulk permute-and-flip with one node too few": (
        "samplers/bulk.py",
        "_rule(-(-len(odds) // 2), ctx.prec)",
        "_rule(max(1, len(odds) // 2 - 1), ctx.prec)",
        f"{_BULK} -k running_sums",
    ),
}
