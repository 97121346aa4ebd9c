"""Mutants of tight laws: what a winner with a gap costs, and what follows from it."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

GAP_LAW = "tests/contracts/test_gap_law.py"
LOGISTIC = "tests/unit/accounting/test_logistic_dp.py"
MECHANISMS = "tests/contracts/test_mechanisms.py"
LOSSES = "tests/unit/privacy/test_loss.py"

DISTRIBUTION = "tests/unit/accounting/test_loss_distribution.py"
PAIRS = "tests/unit/accounting/test_dominating_pairs.py"

LAWS: Mutants = {
    "a gap with exponential noise is logistic DP": (
        "mechanisms/laws.py",
        "PERMUTE_AND_FLIP_LAW = Law(loss=PureDP, draw=draw_permute_and_flip, log_probabilities=probabilities.first_heads, error=error_bounds.softmax_error, expected_error=error_bounds.softmax_expected_error, ends=permute_and_flip_ends, hazard=EXPONENTIAL, gap_loss=PureDP, lead=error_bounds.exponential_lead)",
        "PERMUTE_AND_FLIP_LAW = Law(loss=PureDP, draw=draw_permute_and_flip, log_probabilities=probabilities.first_heads, error=error_bounds.softmax_error, expected_error=error_bounds.softmax_expected_error, ends=permute_and_flip_ends, hazard=EXPONENTIAL, gap_loss=LogisticDP, lead=error_bounds.exponential_lead)",
        f"{GAP_LAW} -k law_of_its_noise",
    ),
    "a gap with Gumbel noise is bounded range": (
        "mechanisms/laws.py",
        "EXPONENTIAL_LAW = Law(loss=BoundedRange, draw=draw_exponential, log_probabilities=probabilities.softmax, error=error_bounds.softmax_error, expected_error=error_bounds.softmax_expected_error, ends=exponential_ends, hazard=GUMBEL, gap_loss=LogisticDP, lead=error_bounds.gumbel_lead)",
        "EXPONENTIAL_LAW = Law(loss=BoundedRange, draw=draw_exponential, log_probabilities=probabilities.softmax, error=error_bounds.softmax_error, expected_error=error_bounds.softmax_expected_error, ends=exponential_ends, hazard=GUMBEL, gap_loss=BoundedRange, lead=error_bounds.gumbel_lead)",
        f"{GAP_LAW} -k law_of_its_noise",
    ),
    "the rho of logistic DP is that of bounded range": (
        "privacy/loss.py",
        "return ZCDP(_rho_of_logistic_dp(self.epsilon))",
        "return ZCDP(_rho_of_bounded_range(self.epsilon))",
        f"{LOSSES} -k conversion",
    ),
    "logistic DP implies bounded range of the same epsilon": (
        "privacy/loss.py",
        "return self.to_pure_dp(), self.to_zcdp(), self.to_approx_dp(), BoundedRange(2 * self.epsilon)",
        "return self.to_pure_dp(), self.to_zcdp(), self.to_approx_dp(), BoundedRange(self.epsilon)",
        f"{LOSSES} -k no_theorem",
    ),
    "pure DP implies logistic DP of the same epsilon": (
        "privacy/loss.py",
        "doubled.to_logistic_dp()",
        "LogisticDP(self.epsilon)",
        f"{LOSSES} -k no_theorem",
    ),
    "the rest of logistic DP has the range of its half": (
        "privacy/loss.py",
        "BoundedRange(2 * halves[-1])",
        "BoundedRange(halves[-1])",
        f"{GAP_LAW} -k bounded_ranges",
    ),
    "a divergence of logistic DP that forgets the order": (
        "accounting/renyi.py",
        "(2 * order - 1) * -(-epsilon).expm1()",
        "(2 * order) * -(-epsilon).expm1()",
        f"{LOGISTIC} -k divergences",
    ),
    "the best of many logistic runs costs as one": (
        "accounting/random_stopping.py",
        "choices or isinstance(each, LogisticDP)",
        "choices and not isinstance(each, LogisticDP)",
        f"{LOGISTIC} -k best_of_many_runs",
    ),
    "the worst mean error of one candidate less": (
        "mechanisms/error_bounds.py",
        "odds = Fraction(candidates - best, best)",
        "odds = Fraction(candidates - best - 1, best)",
        f"{MECHANISMS} -k expected_error_bound",
    ),
    "a mean error rounded down": (
        "mechanisms/error_bounds.py",
        "return at_precision(_PRECISION, lambda: up((ball(odds) * arb(-1).exp()).lambertw()))",
        "return at_precision(_PRECISION, lambda: -up(-(ball(odds) * arb(-1).exp()).lambertw()))",
        f"{MECHANISMS} -k expected_error_bound",
    ),
    "a lead rounded up": (
        "mechanisms/error_bounds.py",
        "return at_precision(_PRECISION, lambda: down(ball(Fraction(gap)) + ball(beta).log()))",
        "return at_precision(_PRECISION, lambda: -down(-ball(Fraction(gap)) - ball(beta).log()))",
        f"{MECHANISMS} -k lead_bound_is_rounded_down",
    ),
    "a lead in scores rounded up": (
        "mechanisms/base.py",
        "-float_above(-Fraction(scales) / self.rate)",
        "float_above(Fraction(scales) / self.rate)",
        f"{MECHANISMS} -k lead_bound_is_rounded_down",
    ),
    "a reach of Laplace noise as floats have it": (
        "mechanisms/error_bounds.py",
        "return rounded_up(_laplace_reach((candidates - best) / failure_probability))",
        "return _laplace_reach((candidates - best) / failure_probability)",
        f"{MECHANISMS} -k error_bound_of_laplace_noise",
    ),
    "an error of a threshold rounded down": (
        "mechanisms/above_threshold.py",
        "return float_above(self._error(beta / queries))",
        "return -float_above(-self._error(beta / queries))",
        "tests/unit/mechanisms/test_above_threshold.py -k between_floats",
    ),
    "a mean error in scores rounded to the nearest": (
        "mechanisms/base.py",
        "return float_above(Fraction(scales) / self.rate)",
        "return self._in_scores(scales)",
        f"{MECHANISMS} -k rounded_up_in_scores",
    ),
    "masses rounded down after a product": (
        "accounting/loss_distribution.py",
        "return -(-units >> bits)",
        "return units >> bits",
        f"{DISTRIBUTION} -k products",
    ),
    "masses of a pair rounded down": (
        "accounting/loss_distribution.py",
        "return max(0, math.ceil(exact))",
        "return max(0, math.floor(exact))",
        f"{DISTRIBUTION} -k everywhere",
    ),
    "negative masses are kept": (
        "accounting/loss_distribution.py",
        "return max(0, math.ceil(exact))",
        "return math.ceil(exact)",
        f"{DISTRIBUTION} -k not_convex",
    ),
    "what is cut off above is forgotten": (
        "accounting/loss_distribution.py",
        "beyond = sum(self.masses[stop:])",
        "beyond = 0",
        f"{DISTRIBUTION} -k cut_off",
    ),
    "what is cut off below is forgotten": (
        "accounting/loss_distribution.py",
        "moved = from_below[start - 1] if start else 0",
        "moved = 0",
        f"{DISTRIBUTION} -k cut_off",
    ),
    "infinite losses meet only finite ones": (
        "accounting/loss_distribution.py",
        "infinite = self.infinite * (theirs + other.infinite) + mine * other.infinite",
        "infinite = self.infinite * theirs",
        f"{DISTRIBUTION} -k products",
    ),
    "a curve that ends at nothing": (
        "accounting/loss_distribution.py",
        "_units(dots[-1], bits)",
        "0",
        f"{DISTRIBUTION} -k not_convex",
    ),
    "the lowest point without the line to its left": (
        "accounting/loss_distribution.py",
        "1 - dots[0] - near * falls[0] / normal if falls else 1 - dots[0]",
        "arb(0)",
        f"{DISTRIBUTION} -k everywhere",
    ),
    "discounts rounded up": (
        "accounting/loss_distribution.py",
        "discounted.append(mass + (discounted[-1] * shrink >> self.bits))",
        "discounted.append(mass + (discounted[-1] * shrink >> self.bits) + 9)",
        f"{DISTRIBUTION} -k profile",
    ),
    "an epsilon one piece too low": (
        "accounting/loss_distribution.py",
        "return min(end, max(start, end + back))",
        "return start",
        f"{DISTRIBUTION} -k epsilon_of_a_delta",
    ),
    "a rest of a block that is not asked for": (
        "accounting/dominating_pairs.py",
        "return blocks + ([Block(step, stages[rest - 1], 1)] if rest else [])",
        "return blocks",
        f"{PAIRS} -k its_rest",
    ),
    "a block of one query less": (
        "accounting/dominating_pairs.py",
        "blocks = [Block(step, stages[size - 1], whole)]",
        "blocks = [Block(step, stages[size - 2], whole)]",
        f"{PAIRS} -k adversary_reaches",
    ),
    "ranges next to blocks are forgotten": (
        "accounting/dominating_pairs.py",
        "return _blocks_of_one(main, ranges[main], delta), Counter(others)",
        "return _blocks_of_one(main, ranges[main], delta), Counter()",
        f"{PAIRS} -k in_no_block",
    ),
    "a pair takes the place of another of its epsilon": (
        "accounting/dominating_pairs.py",
        "pairs[loss] += times",
        "pairs[loss] = times",
        f"{PAIRS} -k in_no_block",
    ),
    "a logistic pair that is a response of its half": (
        "accounting/dominating_pairs.py",
        "return root * root / -(-ball(epsilon)).expm1()",
        "return root * root",
        f"{PAIRS} -k by_integration",
    ),
    "every so many points of another step": (
        "accounting/dominating_pairs.py",
        "every = int(step / block.step)",
        "every = 1 + int(step / block.step)",
        f"{PAIRS} -k adversary_reaches",
    ),
}
