"""Mutants of the selection family: see test_mutants.py. What is wrong: (file, the true text, the
mutated text, tests that must fail).
"""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

DIFFERENT_SENSITIVITIES: Mutants = {
    "generalized the factor 2 of the range is missing": (
        "mechanisms/generalized_exponential.py",
        "self.epsilon / 2 / smallest",
        "self.epsilon / smallest",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'Privacy and attained'",
    ),
    "generalized sensitivities paid for twice": (
        "mechanisms/generalized_exponential.py",
        "self.epsilon / 2 / smallest",
        "self.epsilon / 4 / smallest",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'Privacy and attained'",
    ),
    "generalized the penalty is dropped (private, but useless)": (
        "samplers/generalized_distances.py",
        "costs = [abs(best - score) * behind + width * self.penalty for score, width in zip(scores, self.widths, strict=True)]",
        "costs = [abs(best - score) * behind for score, width in zip(scores, self.widths, strict=True)]",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'reference_and_estimates'",
    ),
    "generalized the penalty is dropped everywhere": (
        "mechanisms/generalized_exponential.py",
        "Fraction(max(1, math.ceil(exact * 1024)), 1024)",
        "Fraction(1, 1024)",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'penalty or insensitive'",
    ),
    "generalized the penalty is rounded down": (
        "mechanisms/generalized_exponential.py",
        "max(1, math.ceil(exact * 1024))",
        "max(1, math.floor(exact * 1024))",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'penalty'",
    ),
    "generalized the least steep corner": (
        "samplers/generalized_distances.py",
        "low, high = (middle + 1, high) if here <= following else (low, middle)",
        "low, high = (middle + 1, high) if here >= following else (low, middle)",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'tangent_is'",
    ),
    "generalized the rival's sensitivity forgotten": (
        "samplers/generalized_distances.py",
        "return (cost - self.costs[low]) / (width + self.widths[low])",
        "return (cost - self.costs[low]) / width",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'tangent_is'",
    ),
    "generalized the rival's sensitivity forgotten (privacy)": (
        "samplers/generalized_distances.py",
        "return (cost - self.costs[low]) / (width + self.widths[low])",
        "return (cost - self.costs[low]) / width",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'Privacy and no_neighbour'",
    ),
    "generalized a hull that drops corners": (
        "samplers/generalized_distances.py",
        "while len(corners) > 1:",
        "while len(corners) > 2:",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'only_corners'",
    ),
    "generalized a hull of the highest point alone": (
        "samplers/generalized_distances.py",
        "self.widths, self.costs = [widths[corner] for corner in corners], [costs[corner] for corner in corners]",
        "self.widths, self.costs = [widths[corners[-1]]], [costs[corners[-1]]]",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'tangent_is'",
    ),
    "generalized a lower hull": (
        "samplers/generalized_distances.py",
        "if fall * (width - widths[first]) > (costs[first] - cost) * across:",
        "if fall * (width - widths[first]) < (costs[first] - cost) * across:",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'tangent_is'",
    ),
    "generalized the falling part of the hull kept": (
        "samplers/generalized_distances.py",
        "while len(corners) > 1 and costs[corners[-1]] >= costs[corners[-2]]:",
        "while False:",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'only_corners'",
    ),
    "generalized estimates above the truth": (
        "samplers/generalized_distances.py",
        "_DOWN, _UP = 1 - 2.0**-50, 1 + 2.0**-50",
        "_DOWN, _UP = 1.0, 0.9999",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'reference_and_estimates'",
    ),
    "generalized estimates from the wrong corner": (
        "samplers/generalized_distances.py",
        "corner += step * (self._intercepts[edge] + self._slopes[edge] * widths >= out)",
        "corner += 0 * step",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'reference_and_estimates'",
    ),
    "generalized roundings of far sensitivities ignored": (
        "samplers/generalized_distances.py",
        "_LARGEST_SPREAD = 2**34",
        "_LARGEST_SPREAD = 2**90",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'far_apart'",
    ),
    "generalized the best of each sensitivity is the worst": (
        "samplers/generalized_distances.py",
        "(np.minimum if smallest else np.maximum).at",
        "(np.maximum if smallest else np.minimum).at",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'reference_and_estimates'",
    ),
    "generalized max and min exchanged": (
        "mechanisms/generalized_exponential.py",
        "return measure_tangents(candidates.scores, (candidates.low, candidates.high), different, place, rate=rational(rate), penalty=_penalty(candidates.size, self.failure_probability), smallest=self.objective == 'min')",
        "return measure_tangents(candidates.scores, (candidates.low, candidates.high), different, place, rate=rational(rate), penalty=_penalty(candidates.size, self.failure_probability), smallest=self.objective != 'min')",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'Law'",
    ),
    "generalized the largest sensitivity decides how fine floats must be": (
        "mechanisms/generalized_exponential.py",
        "smallest = Fraction(*different[0].as_integer_ratio())",
        "smallest = Fraction(*different[-1].as_integer_ratio())",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'smallest_sensitivity_decides'",
    ),
    "generalized sensitivities of zero accepted": (
        "mechanisms/generalized_exponential.py",
        "right = (values > 0) & np.isfinite(values)",
        "right = (values >= 0) & np.isfinite(values)",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'bad_sensitivities'",
    ),
    "generalized labels ignored": (
        "mechanisms/generalized_exponential.py",
        "return [by_label[label] for label in wanted]",
        "return values",
        "tests/unit/mechanisms/test_generalized_exponential.py -k 'means_the_same'",
    ),
    "generalized seeded releases not marked": (
        "mechanisms/generalized_exponential.py",
        "return Release(value=candidates.label(index), loss=self.privacy_loss(), mechanism=self.name, candidates=candidates.size, seeded=chance.bits.seeded, accuracy=self.accuracy(candidates=candidates.size, sensitivity=different[-1]))",
        "return Release(value=candidates.label(index), loss=self.privacy_loss(), mechanism=self.name, candidates=candidates.size, seeded=False, accuracy=self.accuracy(candidates=candidates.size, sensitivity=different[-1]))",
        "tests/unit/mechanisms/test_generalized_exponential.py -k seeded",
    ),
}

THRESHOLDS: Mutants = {
    "above threshold the factor 2 of the queries' noise is missing": (
        "mechanisms/above_threshold.py",
        "(move if monotonic else 2 * move)",
        "move",
        "tests/unit/mechanisms/test_above_threshold.py -k 'Privacy and no_neighbour'",
    ),
    "above threshold the factor 2 is paid even by monotonic queries": (
        "mechanisms/above_threshold.py",
        "(move if monotonic else 2 * move)",
        "(2 * move)",
        "tests/unit/mechanisms/test_above_threshold.py -k 'attained'",
    ),
    "above threshold epsilon spent on the threshold and again on the queries": (
        "mechanisms/above_threshold.py",
        "rate = (exact_epsilon - first) / (move if monotonic else 2 * move)",
        "rate = exact_epsilon / (move if monotonic else 2 * move)",
        "tests/unit/mechanisms/test_above_threshold.py -k 'Privacy and no_neighbour'",
    ),
    "above threshold all of epsilon for the threshold, and the rest for the queries": (
        "mechanisms/above_threshold.py",
        "rational(first / move)",
        "rational(epsilon / move)",
        "tests/unit/mechanisms/test_above_threshold.py -k 'passed_over'",
    ),
    "above threshold moves off the lattice rounded down": (
        "mechanisms/above_threshold.py",
        "move = math.ceil(exact_sensitivity / exact_step)",
        "move = max(1, math.floor(exact_sensitivity / exact_step))",
        "tests/unit/mechanisms/test_above_threshold.py -k 'off_the_lattice'",
    ),
    "above threshold no noise on the threshold": (
        "mechanisms/above_threshold.py",
        "limit = self._limit + draw_laplace(self._threshold_rate, chance)",
        "limit = self._limit",
        "tests/unit/mechanisms/test_above_threshold.py -k 'every_tape'",
    ),
    "above threshold no noise on the queries": (
        "mechanisms/above_threshold.py",
        "self._whole_steps(answer) + draw_laplace(self._query_rate, chance) - limit",
        "self._whole_steps(answer) - limit",
        "tests/unit/mechanisms/test_above_threshold.py -k 'every_tape'",
    ),
    "above threshold rates exchanged": (
        "mechanisms/above_threshold.py",
        "draw_laplace(self._query_rate, chance) - limit",
        "draw_laplace(self._threshold_rate, chance) - limit",
        "tests/unit/mechanisms/test_above_threshold.py -k 'every_tape'",
    ),
    "above threshold greater instead of at least": (
        "mechanisms/above_threshold.py",
        "if steps >= 0:",
        "if steps > 0:",
        "tests/unit/mechanisms/test_above_threshold.py -k 'every_tape'",
    ),
    "above threshold the sign of the gap": (
        "mechanisms/above_threshold.py",
        "return position, steps",
        "return position, -steps",
        "tests/unit/mechanisms/test_above_threshold.py -k 'every_tape'",
    ),
    "above threshold the gap without the threshold's noise": (
        "mechanisms/above_threshold.py",
        "return position, steps",
        "return position, steps + limit - self._limit",
        "tests/unit/mechanisms/test_above_threshold.py -k 'every_tape'",
    ),
    "above threshold the threshold rounded down": (
        "mechanisms/above_threshold.py",
        "math.ceil(exact_threshold / exact_step)",
        "math.floor(exact_threshold / exact_step)",
        "tests/unit/mechanisms/test_above_threshold.py -k 'rounded_up'",
    ),
    "above threshold one query too few counted in the error": (
        "mechanisms/above_threshold.py",
        "float_above(self._error(beta / queries))",
        "float_above(self._error(beta))",
        "tests/unit/mechanisms/test_above_threshold.py -k 'hardest'",
    ),
    "above threshold a term of the tail forgotten": (
        "mechanisms/above_threshold.py",
        "(x_below + x_inside + x_above)",
        "(x_below + x_above)",
        "tests/unit/mechanisms/test_above_threshold.py -k 'hardest'",
    ),
    "above threshold seeded releases not marked": (
        "mechanisms/above_threshold.py",
        "return Release(value=position, loss=self.privacy_loss(), mechanism=self.name, candidates=None, gap=None if steps is None else steps * self._step, seeded=chance.bits.seeded, accuracy=None if position is None else self.accuracy(position=position))",
        "return Release(value=position, loss=self.privacy_loss(), mechanism=self.name, candidates=None, gap=None if steps is None else steps * self._step, seeded=False, accuracy=None if position is None else self.accuracy(position=position))",
        "tests/unit/mechanisms/test_above_threshold.py -k seeded",
    ),
    "above threshold an answer shown": (
        "mechanisms/above_threshold.py",
        "raise ScoresTypeError(f\"The 'answers' of {owner} must be numbers. Got a {type(answer).__name__} among them.\")",
        "raise ScoresTypeError(f\"The 'answers' of {owner} must be numbers. Got {answer!r}.\")",
        "tests/unit/mechanisms/test_above_threshold.py -k 'not_a_number'",
    ),
    "geometric zero counts twice": (
        "randomness/whole_numbers.py",
        "if size or not negative:",
        "if True:",
        "tests/unit/randomness/test_geometric.py -k laplace_numbers",
    ),
    "geometric places kept without their coin": (
        "randomness/whole_numbers.py",
        "if place == 0 or _survives(rate * place, chance):",
        "if True:",
        "tests/unit/randomness/test_geometric.py -k geometric_numbers",
    ),
    "geometric laps at the rate of a step": (
        "randomness/whole_numbers.py",
        "lap, laps = rate * length, 0",
        "lap, laps = rate, 0",
        "tests/unit/randomness/test_geometric.py -k geometric_numbers",
    ),
    "geometric one step at a time": (
        "randomness/whole_numbers.py",
        "length = max(1, int((1 / rate).floor()))",
        "length = 1",
        "tests/unit/randomness/test_geometric.py -k 'few_coins and 1e-06'",
    ),
}

PRIVATE_CANDIDATES: Mutants = {
    "the geometric number of runs costs like the logarithmic one": (
        "accounting/random_stopping.py",
        '2 if word == "geometric" else 1',
        "1",
        "tests/unit/accounting/test_random_stopping.py -k some_by_almost",
    ),
    "the probabilities to stop and to go on exchanged": (
        "accounting/random_stopping.py",
        "((stop + go * other) / (stop + go * v))",
        "((go + stop * other) / (go + stop * v))",
        "tests/unit/accounting/test_random_stopping.py -k published_values",
    ),
    "what one run costs forgotten": (
        "accounting/random_stopping.py",
        "return width + share.log() + law.lift(v, v / share)",
        "return law.lift(v, v / share)",
        "tests/unit/accounting/test_random_stopping.py -k published_values",
    ),
    "geometric stopping free for bounded range": (
        "accounting/random_stopping.py",
        "self.power * self.stop >= self.power - 1",
        "self.stop < 1",
        "tests/unit/accounting/test_random_stopping.py -k same_for_runs",
    ),
    "Poisson stopping free for bounded range": (
        "accounting/random_stopping.py",
        "return self.mean <= 1",
        "return True",
        "tests/unit/accounting/test_random_stopping.py -k same_for_runs",
    ),
    "public choices of bounded range for the price of none": (
        "accounting/random_stopping.py",
        "choices or isinstance(each, LogisticDP)",
        "isinstance(each, LogisticDP)",
        "tests/unit/accounting/test_random_stopping.py -k no_two_settings",
    ),
    "stopping free for bounded range even with public choices": (
        "accounting/random_stopping.py",
        "isinstance(each, BoundedRange) and not choices and law.spares_range",
        "isinstance(each, BoundedRange) and law.spares_range",
        "tests/unit/accounting/test_random_stopping.py -k refute",
    ),
    "public choices lifted by the root of what they are": (
        "accounting/random_stopping.py",
        "return 2 * self.power * ((1 + root * small) / (small + root)).log()",
        "return self.power * ((1 + root * small) / (small + root)).log()",
        "tests/unit/accounting/test_random_stopping.py -k no_two_settings",
    ),
    "public choices lifted by half with Poisson stopping": (
        "accounting/random_stopping.py",
        "ball(self.mean) * (epsilon / 4).tanh()",
        "ball(self.mean) * (epsilon / 8).tanh()",
        "tests/unit/accounting/test_random_stopping.py -k no_two_settings",
    ),
    "silence about public choices taken for none": (
        "accounting/random_stopping.py",
        '        raise ParameterTypeError(owner, "public_choices", rule, None, hint)',
        "        return False",
        "tests/unit/mechanisms/test_private_candidate.py -k what_is_said",
    ),
    "bounded range with its middle top instead of its worst": (
        "accounting/random_stopping.py",
        "law.worst_share((-ball(epsilon)).exp())",
        "(-ball(epsilon) / 2).exp()",
        "tests/unit/accounting/test_random_stopping.py -k worst_top",
    ),
    "the mean number of runs missing in the divergence": (
        "accounting/random_stopping.py",
        "return lambda order: renyi_divergence(each, order) + self.power * ball(lift) + ball(self.mean).log() / (order - 1)",
        "return lambda order: renyi_divergence(each, order) + self.power * ball(lift)",
        "tests/unit/accounting/test_random_stopping.py -k published_divergences",
    ),
    "the answer that there was no run forgotten": (
        "accounting/random_stopping.py",
        "(more.exp() * one.expm1()).log1p()",
        "(more.exp() * one.exp()).log()",
        "tests/unit/accounting/test_random_stopping.py -k larger_divergence",
    ),
    "the delta of one run at too large an epsilon": (
        "accounting/random_stopping.py",
        "(1 / (order - 1)).log1p()",
        "(2 / (order - 1)).log1p()",
        "tests/unit/accounting/test_random_stopping.py -k poisson_number",
    ),
    "the delta of a run paid once": (
        "accounting/random_stopping.py",
        "law.mean * each.delta",
        "each.delta",
        "tests/unit/accounting/test_random_stopping.py -k paid_by_every_run",
    ),
    "a logarithmic law with a smaller mean than asked for": (
        "accounting/random_stopping.py",
        "return Fraction(high, _GRAIN)",
        "return Fraction(low, _GRAIN)",
        "tests/unit/accounting/test_random_stopping.py -k mean_that_was_asked",
    ),
    "every geometric number kept": (
        "randomness/whole_numbers.py",
        "return count if chance.coin(1, count) else None",
        "return count",
        "tests/unit/randomness/test_run_counts.py -k logarithmic",
    ),
    "digits of the number of runs with the odds of a run": (
        "randomness/whole_numbers.py",
        "chance.coin(go, go + total)",
        "chance.coin(go, total)",
        "tests/unit/randomness/test_run_counts.py -k geometric",
    ),
    "a Poisson number of too many parts": (
        "randomness/whole_numbers.py",
        "_try_poisson(mean / parts, chance)",
        "_try_poisson(mean, chance)",
        "tests/unit/randomness/test_run_counts.py -k equal_small",
    ),
    "Poisson without its factorials": (
        "randomness/whole_numbers.py",
        "(2 * math.factorial(count))",
        "(2 * 2**count)",
        "tests/unit/randomness/test_run_counts.py -k poisson",
    ),
    "the threshold has to be exceeded": (
        "mechanisms/private_candidate.py",
        "if rank >= goal:",
        "if rank > goal:",
        "tests/unit/mechanisms/test_private_candidate.py -k equality",
    ),
    "the number of runs in the release": (
        "mechanisms/private_candidate.py",
        "return Release(value=_best(run, _draw(law, stopping, chance), goal, smallest), loss=loss, mechanism=f'private-candidate-{stopping}', candidates=None, seeded=chance.bits.seeded, accuracy=told)",
        "return Release(value=_best(run, _draw(law, stopping, chance), goal, smallest), loss=loss, mechanism=f'private-candidate-{stopping}', candidates=_draw(law, stopping, chance), seeded=chance.bits.seeded, accuracy=told)",
        "tests/unit/mechanisms/test_private_candidate.py -k how_many_runs",
    ),
    "the result of a run in a message": (
        "mechanisms/private_candidate.py",
        "raise ParameterTypeError(_OWNER, 'run', 'a function that returns a pair (score, output), always', run)",
        "raise ParameterTypeError(_OWNER, 'run', 'a function that returns a pair (score, output), always', result)",
        "tests/unit/mechanisms/test_private_candidate.py -k bad_result",
    ),
    "NaN is the best score": (
        "mechanisms/private_candidate.py",
        "_NOT_A_NUMBER = (-2, Fraction(0))",
        "_NOT_A_NUMBER = (2, Fraction(0))",
        "tests/unit/mechanisms/test_private_candidate.py -k best_score",
    ),
    "the smallest score never wins": (
        "mechanisms/private_candidate.py",
        "return 0, -score if smallest else score",
        "return 0, score",
        "tests/unit/mechanisms/test_private_candidate.py -k best_score",
    ),
    "the laws of the number of runs mixed up": (
        "mechanisms/private_candidate.py",
        "return logarithmic(law.stop, chance) if stopping == 'logarithmic' else geometric(law.stop, chance)",
        "return logarithmic(law.stop, chance) if stopping == 'geometric' else geometric(law.stop, chance)",
        "tests/unit/mechanisms/test_private_candidate.py -k mixed_up",
    ),
    "a seeded number of runs not marked": (
        "mechanisms/private_candidate.py",
        "return Release(value=_best(run, _draw(law, stopping, chance), goal, smallest), loss=loss, mechanism=f'private-candidate-{stopping}', candidates=None, seeded=chance.bits.seeded, accuracy=told)",
        "return Release(value=_best(run, _draw(law, stopping, chance), goal, smallest), loss=loss, mechanism=f'private-candidate-{stopping}', candidates=None, seeded=False, accuracy=told)",
        "tests/unit/mechanisms/test_private_candidate.py -k seeded",
    ),
}
