"""Mutants of the statements that state what others have worked out: the sensitivity that a
mechanism keeps and hands on, the loss of a half, and what a plan or a preview takes for granted.
"""

_LOSSES = "tests/contracts/test_stated_losses.py"
_KEPT = f"{_LOSSES} -k keeps_what_it_was_told"
_HISTOGRAMS = "tests/contracts/test_histograms.py"
_ACCURACY = "tests/contracts/test_accuracy.py"
_PLANNED = f"{_ACCURACY} -k 'plan_is_for_the_question'"
_CONVERSIONS = "tests/unit/privacy/test_loss.py"
_QUESTIONS = "tests/contracts/test_table_questions.py"
_BALL = "tests/contracts/test_ball.py"

_HELD = "hold(self, sensitivity=sensitivity, monotonic=monotonic, score_range=score_range)"
_FORGOTTEN = "hold(self, sensitivity=sensitivity and sensitivity / 2, monotonic=monotonic, score_range=score_range)"
_HANDED = "sensitivity=sensitivity, monotonic=monotonic, score_range=score_range, objective=objective, acknowledge=acknowledge"
_HALVED = _HANDED.replace("=sensitivity,", "=sensitivity and sensitivity / 2,")

KEPT = {
    "a mechanism keeps half of its sensitivity": (
        "mechanisms/base.py",
        _HELD,
        _FORGOTTEN,
        _KEPT,
    ),
    "pieces of the line keep half of their sensitivity": (
        "mechanisms/interval.py",
        _HELD,
        _FORGOTTEN,
        _KEPT,
    ),
    "whole numbers keep half of their sensitivity": (
        "mechanisms/lattice.py",
        _HELD,
        _FORGOTTEN,
        _KEPT,
    ),
    "lists keep half of their sensitivity": (
        "mechanisms/peeling_top_k.py",
        _HELD,
        _FORGOTTEN,
        _KEPT,
    ),
    "above threshold keeps half of its sensitivity": (
        "mechanisms/above_threshold.py",
        "hold(self, sensitivity=sensitivity, monotonic=monotonic, step=step)",
        "hold(self, sensitivity=sensitivity / 2, monotonic=monotonic, step=step)",
        _KEPT,
    ),
    "a request for a list forgets the factor 2": (
        "mechanisms/count_lists.py",
        _HELD,
        _HELD.replace("=monotonic", "=sensitivity is not None"),
        f"{_LOSSES} -k door_for_lists",
    ),
    "a box keeps half of its sensitivity": (
        "mechanisms/bounded_laplace.py",
        "hold(self, sensitivity=count(sensitivity, 'sensitivity', owner))",
        "hold(self, sensitivity=(count(sensitivity, 'sensitivity', owner) + 1) // 2)",
        "tests/contracts/test_numbers.py -k the_rate_is_private",
    ),
    "discrete Laplace noise keeps half of its sensitivity": (
        "mechanisms/discrete_laplace.py",
        "hold(self, sensitivity=positive(exact, sensitivity, name, owner))",
        "hold(self, sensitivity=positive(exact, sensitivity, name, owner) / 2)",
        f"{_LOSSES} -k 'attained and discrete'",
    ),
    "discrete Gaussian noise keeps half of its squares": (
        "mechanisms/discrete_gaussian.py",
        "hold(self, squared_sensitivity=positive(exact, squared_sensitivity, name, owner))",
        "hold(self, squared_sensitivity=positive(exact, squared_sensitivity, name, owner) / 2)",
        f"{_HISTOGRAMS} -k never_exceeded",
    ),
    "peeling hands half of the sensitivity on": (
        "mechanisms/peeling_top_k.py",
        f"TopKMechanism.__init__(self, k=k, epsilon=epsilon, delta=delta, {_HANDED})",
        f"TopKMechanism.__init__(self, k=k, epsilon=epsilon, delta=delta, {_HALVED})",
        f"{_LOSSES} -k 'is_attained and peeling'",
    ),
    "noisy max forgets the factor 2": (
        "mechanisms/selection.py",
        f"SelectionMechanism.__init__(self, epsilon=epsilon, {_HANDED})",
        f"SelectionMechanism.__init__(self, epsilon=epsilon, {_HANDED})".replace(
            "=monotonic", "=sensitivity is not None"
        ),
        "tests/contracts/test_mechanisms.py -k 'attained and laplace'",
    ),
    "a pick with its count forgets the factor 2": (
        "mechanisms/counted_selection.py",
        f"make_mechanism(mechanism, half, {_HANDED})",
        f"make_mechanism(mechanism, half, {_HANDED})".replace("=monotonic", "=True"),
        f"{_HISTOGRAMS} -k pick_with_its_count",
    ),
    "the count of a pick by half of its sensitivity": (
        "mechanisms/counted_selection.py",
        "counting_noise(half, sensitivity=sensitivity, moved=1, acknowledge=acknowledge, owner=owner)",
        "counting_noise(half, sensitivity=sensitivity and sensitivity / 2, moved=1, acknowledge=acknowledge, owner=owner)",
        f"{_HISTOGRAMS} -k pick_with_its_count",
    ),
    "counts of a list of which one person moves one": (
        "mechanisms/count_lists.py",
        "counting_noise(epsilon, sensitivity=self.sensitivity, moved=moved, acknowledge=self.acknowledge, owner=self.owner)",
        "counting_noise(epsilon, sensitivity=self.sensitivity, moved=1, acknowledge=self.acknowledge, owner=self.owner)",
        f"{_HISTOGRAMS} -k share_the_epsilon",
    ),
    "a histogram of a table of which one person moves one": (
        "tables/count_questions.py",
        "suiting_noise(inquiry.rule.budget, exact, small, moved=moved)",
        "suiting_noise(inquiry.rule.budget, exact, small, moved=1)",
        "tests/contracts/test_counted_questions.py -k 'was_told and counts'",
    ),
    "a number of persons that one person moves by a half": (
        "tables/count_questions.py",
        "suiting_noise(inquiry.rule.budget, exact, Fraction(0), moved=1)",
        "suiting_noise(inquiry.rule.budget, exact, Fraction(0), moved=Fraction(1, 2))",
        "tests/contracts/test_counted_questions.py -k 'was_told and count'",
    ),
    "a session hands half of a sensitivity on": (
        "tables/session.py",
        "sensitivity=sensitivity, monotonic=monotonic, score_range=score_range, mechanism=self._suiting(mechanism), objective=objective",
        "sensitivity=sensitivity and sensitivity / 2, monotonic=monotonic, score_range=score_range, mechanism=self._suiting(mechanism), objective=objective",
        f"{_QUESTIONS} -k 'attained and expression'",
    ),
}

HALVES = {
    "a pick and its count for half of their price": (
        "mechanisms/counted_selection.py",
        "return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)",
        "return ApproxDP(epsilon, delta) if delta else PureDP(epsilon / 2)",
        f"{_HISTOGRAMS} -k pick_with_its_count",
    ),
    "a list and its counts for half of their epsilon": (
        "mechanisms/counted_selection.py",
        "return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)",
        "return ApproxDP(epsilon / 2, delta) if delta else PureDP(epsilon)",
        f"{_HISTOGRAMS} -k unknown_domains",
    ),
    "directions of a covariance that cost half": (
        "mechanisms/covariance.py",
        "return {BoundedRange(half / drawn): drawn, PureDP(half): 1}",
        "return {BoundedRange(half / (2 * drawn)): drawn, PureDP(half): 1}",
        "tests/contracts/test_subspaces.py -k share_half",
    ),
    "sums of a covariance that cost half": (
        "mechanisms/covariance.py",
        "return {BoundedRange(half / drawn): drawn, PureDP(half): 1}",
        "return {BoundedRange(half / drawn): drawn, PureDP(half / 2): 1}",
        "tests/contracts/test_subspaces.py -k share_half",
    ),
    "an error bound of half of the sums": (
        "mechanisms/covariance.py",
        "DiscreteLaplace(epsilon=half, sensitivity=_FINENESS + 1 + k)",
        "DiscreteLaplace(epsilon=half, sensitivity=(_FINENESS + 1 + k) / 2)",
        "tests/contracts/test_subspaces.py -k noise_of_a_covariance",
    ),
    "a ball for half of its range": (
        "mechanisms/ball.py",
        "return BoundedRange(read_epsilon(self.epsilon, self.acknowledge, owner))",
        "return BoundedRange(read_epsilon(self.epsilon, self.acknowledge, owner) / 2)",
        f"{_BALL} -k both_losses",
    ),
    "a ball for half of its rho": (
        "mechanisms/ball.py",
        "return ZCDP(read_rho(self.rho, self.acknowledge, owner))",
        "return ZCDP(read_rho(self.rho, self.acknowledge, owner) / 2)",
        f"{_BALL} -k both_losses",
    ),
    "a ball that says half of the range of a row": (
        "mechanisms/ball.py",
        "return BoundedRange(target.rate * self._range_of_row(target.radius))",
        "return BoundedRange(target.rate * self._range_of_row(target.radius) / 2)",
        f"{_BALL} -k both_losses",
    ),
    "a histogram for half of its epsilon": (
        "mechanisms/histogram_top_k.py",
        "return ApproxDP(self.epsilon, delta) if delta else PureDP(self.epsilon)",
        "return ApproxDP(self.epsilon / 2, delta) if delta else PureDP(self.epsilon)",
        f"{_HISTOGRAMS} -k that_of_the_noise",
    ),
    "a histogram with noise for one of a person's items": (
        "mechanisms/histogram_top_k.py",
        "make_noise(self.epsilon, self.delta, moved=self.items_per_person, acknowledge=acknowledge)",
        "make_noise(self.epsilon, self.delta, moved=1, acknowledge=acknowledge)",
        f"{_HISTOGRAMS} -k lose_epsilon",
    ),
    "the rho of a threshold for one of a person's items": (
        "mechanisms/histogram_top_k.py",
        "gaussian_rho(self.epsilon, self.delta * share, moved=self.items_per_person)",
        "gaussian_rho(self.epsilon, self.delta * share, moved=1)",
        f"{_HISTOGRAMS} -k the_gaussian_threshold",
    ),
    "the rho of a histogram for finer steps than it has": (
        "mechanisms/count_noise.py",
        "gaussian_rho(epsilon, delta, moved=moved)",
        "gaussian_rho(epsilon, delta, moved=1000 * moved)",
        f"{_HISTOGRAMS} -k as_many_items",
    ),
    "independent quantiles planned as pure ones": (
        "mechanisms/quantiles.py",
        "plan(queries=len(self.q), budget=budget, kind=BoundedRange, adaptive=False)",
        "plan(queries=len(self.q), budget=budget, kind=PureDP, adaptive=False)",
        f"{_LOSSES} -k are_ranges",
    ),
    "outcomes of an unknown domain at twice their range": (
        "mechanisms/unknown_domain.py",
        "return BoundedRange(pick_loss(k, epsilon, delta, BoundedRange).epsilon)",
        "return BoundedRange(2 * pick_loss(k, epsilon, delta, BoundedRange).epsilon)",
        f"{_LOSSES} -k parts_of_a_list",
    ),
    "outcomes of an unknown domain for half of k": (
        "mechanisms/unknown_domain.py",
        "pick_loss(k, epsilon, delta, BoundedRange)",
        "pick_loss((k + 1) // 2, epsilon, delta, BoundedRange)",
        f"{_LOSSES} -k parts_of_a_list",
    ),
    "a count for the rho of half of its epsilon": (
        "mechanisms/count_noise.py",
        "rho = PureDP(epsilon).to_zcdp().rho",
        "rho = PureDP(epsilon / 2).to_zcdp().rho",
        "tests/contracts/test_counted_questions.py -k budget_of_rho",
    ),
    "a name with its count by half of the sensitivity": (
        "tables/count_questions.py",
        "sensitivity=1, monotonic=True, with_counts=True, squares=squares_of(rule, epsilon), owner=_MODE",
        "sensitivity=0.5, monotonic=True, with_counts=True, squares=squares_of(rule, epsilon), owner=_MODE",
        "tests/contracts/test_counted_questions.py -k 'groups_of_names and mode'",
    ),
    "an unknown domain with counts by half of the sensitivity": (
        "functions.py",
        "sensitivity=1, monotonic=True, acknowledge=acknowledge, with_counts=require_flag(with_counts, 'with_counts', owner), owner=owner",
        "sensitivity=0.5, monotonic=True, acknowledge=acknowledge, with_counts=require_flag(with_counts, 'with_counts', owner), owner=owner",
        f"{_HISTOGRAMS} -k unknown_domain_move",
    ),
}

CONVERTED = {
    "pure DP written as half of it": (
        "privacy/loss.py:PureDP.to_approx_dp",
        "return ApproxDP(self.epsilon, 0)",
        "return ApproxDP(self.epsilon / 2, 0)",
        _CONVERSIONS,
    ),
    "bounded range written as half of it": (
        "privacy/loss.py:BoundedRange.to_approx_dp",
        "return ApproxDP(self.epsilon, 0)",
        "return ApproxDP(self.epsilon / 2, 0)",
        _CONVERSIONS,
    ),
    "logistic DP written as half of it": (
        "privacy/loss.py:LogisticDP.to_approx_dp",
        "return ApproxDP(self.epsilon, 0)",
        "return ApproxDP(self.epsilon / 2, 0)",
        f"{_CONVERSIONS} -k transitive_along_every_chain",
    ),
    "bounded range implies pure DP of half": (
        "privacy/loss.py:BoundedRange.to_pure_dp",
        "return PureDP(self.epsilon)",
        "return PureDP(self.epsilon / 2)",
        _CONVERSIONS,
    ),
    "logistic DP implies pure DP of half": (
        "privacy/loss.py:LogisticDP.to_pure_dp",
        "return PureDP(self.epsilon)",
        "return PureDP(self.epsilon / 2)",
        _CONVERSIONS,
    ),
    "a part with a delta that counts twice in rho": (
        "ledger/validation.py",
        "pure = PureDP(loss.epsilon) if isinstance(loss, ApproxDP) else loss",
        "pure = PureDP(2 * loss.epsilon) if isinstance(loss, ApproxDP) else loss",
        "tests/unit/ledger/test_budget_terms.py -k parts_with_a_delta",
    ),
    "halvings that are ranges of half": (
        "privacy/loss.py",
        "(*map(BoundedRange, halves[:-1]), BoundedRange(2 * halves[-1]))",
        "(*map(BoundedRange, halves[1:]), BoundedRange(2 * halves[-1]))",
        "tests/contracts/test_gap_law.py -k bounded_ranges",
    ),
    "a manifest with half of its rho": (
        "service/questions.py",
        "return ZCDP(rho)",
        "return ZCDP(rho / 2)",
        "tests/service/test_manifest.py -k is_written",
    ),
    "a manifest with twice its epsilon": (
        "service/questions.py",
        "return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)",
        "return ApproxDP(epsilon, delta) if delta else PureDP(2 * epsilon)",
        "tests/service/test_manifest.py -k is_written",
    ),
    "a manifest with twice its epsilon beside a delta": (
        "service/questions.py",
        "return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)",
        "return ApproxDP(2 * epsilon, delta) if delta else PureDP(epsilon)",
        "tests/service/test_manifest.py -k is_written",
    ),
    "the reach of a plan for half of its range": (
        "accounting/planner.py",
        "renyi.total_curve({BoundedRange(most): queries})",
        "renyi.total_curve({BoundedRange(most / 2): queries})",
        "tests/unit/accounting/test_planner.py",
    ),
}

_PREVIEW = "tests/unit/cli/test_preview.py"
PROMISED = {
    "a plan for a list of half the sensitivity": (
        "mechanisms/accuracy_planner.py",
        "sensitivity=1, monotonic=True, squares=given.squares(epsilon, listed['delta']), owner=given.owner",
        "sensitivity=0.5, monotonic=True, squares=given.squares(epsilon, listed['delta']), owner=given.owner",
        _PLANNED,
    ),
    "a plan for counts of which a person moves one": (
        "mechanisms/accuracy_planner.py",
        "suiting_noise(given.budget, epsilon, small, moved=moved())",
        "suiting_noise(given.budget, epsilon, small, moved=1)",
        _PLANNED,
    ),
    "a plan for a list in a budget whose epsilons add up": (
        "mechanisms/accuracy_planner.py",
        "sensitivity=1, monotonic=True, squares=given.squares(epsilon, listed['delta']), owner=given.owner",
        "sensitivity=1, monotonic=True, squares=None, owner=given.owner",
        f"{_ACCURACY} -k told_beforehand",
    ),
    "a plan for counts in another budget": (
        "mechanisms/accuracy_planner.py",
        "suiting_noise(given.budget, epsilon, small, moved=moved())",
        "suiting_noise(None, epsilon, small, moved=moved())",
        f"{_ACCURACY} -k told_beforehand",
    ),
    "a bound for what counts is told of everything": (
        "tables/contribution_cap.py",
        "return None if isinstance(unit, OneRow) else items",
        "return None",
        f"{_ACCURACY} -k it_is_said",
    ),
    "a bound that holds with 100 %": (
        "accuracy.py",
        "math.floor(100 * share * 10**digits)",
        "round(100 * share * 10**digits)",
        f"{_ACCURACY} -k more_than_it_does",
    ),
    "a plan for a number that a person moves by 2": (
        "mechanisms/accuracy_planner.py",
        "suiting_noise(given.budget, epsilon, Fraction(0), moved=1)",
        "suiting_noise(given.budget, epsilon, Fraction(0), moved=2)",
        _PLANNED,
    ),
    "a plan for half of the highest price": (
        "mechanisms/accuracy_planner.py",
        "one(epsilon, words, sensitivity=span, monotonic=True)",
        "one(epsilon, words, sensitivity=span / 2, monotonic=True)",
        f"{_ACCURACY} -k plan_for_prices",
    ),
    "a plan for half of a person": (
        "mechanisms/accuracy_planner.py",
        "partial(one, words=persons, sensitivity=1, monotonic=True)",
        "partial(one, words=persons, sensitivity=0.5, monotonic=True)",
        _PLANNED,
    ),
    "a bound for half of the largest sensitivity": (
        "mechanisms/generalized_exponential.py",
        "self.accuracy(candidates=candidates.size, sensitivity=different[-1])",
        "self.accuracy(candidates=candidates.size, sensitivity=different[-1] / 2)",
        "tests/contracts/test_accuracy_of_numbers.py -k sensitive_candidates",
    ),
    "a statement for half of a sensitivity": (
        "mechanisms/generalized_exponential.py",
        "self.error_bound(candidates=candidates, sensitivity=sensitivity)",
        "self.error_bound(candidates=candidates, sensitivity=sensitivity / 2)",
        "tests/contracts/test_accuracy_of_numbers.py -k sensitive_candidates",
    ),
    "a preview of half of the noise": (
        "simulation.py",
        "make_mechanism(pick, epsilon, sensitivity=1, monotonic=True)",
        "make_mechanism(pick, epsilon, sensitivity=0.5, monotonic=True)",
        _PREVIEW,
    ),
    "a preview of lists with half of the noise": (
        "simulation.py",
        "sensitivity=1, monotonic=True, method=method",
        "sensitivity=0.5, monotonic=True, method=method",
        _PREVIEW,
    ),
    "a preview of lists in a budget whose epsilons add up": (
        "simulation.py",
        "None if rule is None else squares_of(rule, epsilon, delta)",
        "None",
        f"{_PREVIEW} -k as_a_session_would",
    ),
    "a preview of lists without a cap": (
        "simulation.py",
        "moved = candidates if most is None else min(most, candidates)",
        "moved = candidates",
        f"{_PREVIEW} -k as_a_session_would",
    ),
    "a preview of a service for twice the epsilon": (
        "service/previews.py",
        "dict(enumerate(ordered, start=1)), k=k, epsilon=epsilon",
        "dict(enumerate(ordered, start=1)), k=k, epsilon=2 * epsilon",
        "tests/service/test_previews.py",
    ),
}
