"""Mutants of what is stated: the loss of each mechanism, and the sensitivities that are handed
on.
"""

_LOSSES = "tests/contracts/test_stated_losses.py"
_HISTOGRAMS = "tests/contracts/test_histograms.py"
_PLANS = "tests/unit/accounting/test_planner.py"
_OTHERS = "tests/unit/accounting/test_interop.py"

STATEMENTS = {
    "a covariance for half of its price": (
        "mechanisms/covariance.py",
        "return PureDP(self.epsilon)",
        "return PureDP(self.epsilon / 2)",
        f"{_LOSSES} -k 'asked_for and covariance'",
    ),
    "a threshold with Laplace noise for one of a person's items": (
        "mechanisms/histogram_top_k.py",
        "make_noise(self.epsilon, Fraction(0), moved=items, acknowledge=acknowledge)",
        "make_noise(self.epsilon, Fraction(0), moved=1, acknowledge=acknowledge)",
        f"{_HISTOGRAMS} -k with_delta_at_most",
    ),
    "a threshold with Gaussian noise for one of a person's items": (
        "mechanisms/histogram_top_k.py",
        "DiscreteGaussian(rho=rho, squared_sensitivity=self.items_per_person, acknowledge=self.acknowledge)",
        "DiscreteGaussian(rho=rho, squared_sensitivity=1, acknowledge=self.acknowledge)",
        f"{_HISTOGRAMS} -k the_gaussian_threshold",
    ),
    "a Gaussian threshold that looks at one of a person's items": (
        "mechanisms/histogram_top_k.py",
        "threshold(self.epsilon, self.delta, noise.variance, moved=self.items_per_person)",
        "threshold(self.epsilon, self.delta, noise.variance, moved=1)",
        f"{_HISTOGRAMS} -k the_gaussian_threshold",
    ),
    "a gap for the price of a bounded range": (
        "mechanisms/base.py",
        "self.privacy_loss() if step is None else self.loss_with_gap()",
        "self.privacy_loss()",
        f"{_LOSSES} -k gap",
    ),
    "above threshold for half of its price": (
        "mechanisms/above_threshold.py",
        "return PureDP(self.epsilon)",
        "return PureDP(self.epsilon / 2)",
        f"{_LOSSES} -k 'asked_for and above'",
    ),
    "reports claim bounded range": (
        "local/base.py",
        "return PureDP(self.epsilon)",
        "from discreet.privacy.loss import BoundedRange\nreturn BoundedRange(self.epsilon)",
        f"{_LOSSES} -k 'asked_for and response'",
    ),
    "a box for half of its price": (
        "mechanisms/bounded_laplace.py",
        "return PureDP(self.epsilon)",
        "return PureDP(self.epsilon / 2)",
        f"{_LOSSES} -k 'asked_for and bounded'",
    ),
    "the generalized mechanism for half of its price": (
        "mechanisms/generalized_exponential.py",
        "return EXPONENTIAL_LAW.loss(self.epsilon)",
        "return EXPONENTIAL_LAW.loss(self.epsilon / 2)",
        f"{_LOSSES} -k 'asked_for and generalized'",
    ),
    "pieces of the line for half of their price": (
        "mechanisms/interval.py",
        "hold(self, _rate=exact / span.value, _loss=BoundedRange(exact))",
        "hold(self, _rate=exact / span.value, _loss=BoundedRange(exact / 2))",
        f"{_LOSSES} -k 'asked_for and interval'",
    ),
    "whole numbers for half of their price": (
        "mechanisms/lattice.py",
        "hold(self, _rate=rational(exact / span.value), _loss=BoundedRange(exact))",
        "hold(self, _rate=rational(exact / span.value), _loss=BoundedRange(exact / 2))",
        f"{_LOSSES} -k 'asked_for and lattice'",
    ),
    "a joint list for half of its price": (
        "mechanisms/joint_top_k.py",
        "return BoundedRange(self.epsilon)",
        "return BoundedRange(self.epsilon / 2)",
        f"{_LOSSES} -k 'asked_for and joint'",
    ),
    "one quantile by permute-and-flip claims bounded range": (
        "mechanisms/quantiles.py",
        "{'permute-and-flip': PureDP, 'exponential': BoundedRange}",
        "{'permute-and-flip': BoundedRange, 'exponential': BoundedRange}",
        f"{_LOSSES} -k 'asked_for and quantile'",
    ),
    "an unknown domain for half of its delta": (
        "mechanisms/unknown_domain.py",
        "hold(self, _loss=ApproxDP(self.epsilon, self.delta))",
        "hold(self, _loss=ApproxDP(self.epsilon, self.delta / 2))",
        f"{_LOSSES} -k delta",
    ),
    "the shell's promise halves epsilon": (
        "cli/show.py",
        "{factor(loss.epsilon)} times as likely.",
        "{factor(loss.epsilon / 2)} times as likely.",
        "tests/unit/cli/test_show.py -k promise",
    ),
    "Laplace noise under the name of Gumbel noise": (
        "mechanisms/catalogue.py",
        "partial(ReportNoisyMax, noise='laplace')",
        "partial(ReportNoisyMax, noise='gumbel')",
        f"{_LOSSES} -k stands_for",
    ),
    "the catalogue forgets the factor 2": (
        "mechanisms/catalogue.py",
        "return MECHANISMS[choice(mechanism, MECHANISM_NAMES, 'mechanism', 'select')](epsilon=epsilon, sensitivity=sensitivity, monotonic=monotonic, score_range=score_range, objective=objective, acknowledge=acknowledge)",
        "return MECHANISMS[choice(mechanism, MECHANISM_NAMES, 'mechanism', 'select')](epsilon=epsilon, sensitivity=sensitivity, monotonic=sensitivity is not None, score_range=score_range, objective=objective, acknowledge=acknowledge)",
        "tests/contracts/test_mechanisms.py -k attained",
    ),
    "a plan rounded up": (
        "accounting/planner.py",
        "return Plan(kind(round_down(best)), method, queries, budget, adaptive, shown)",
        "return Plan(kind(round_down(best) * Fraction(101, 100)), method, queries, budget, adaptive, shown)",
        _PLANS,
    ),
    "a concentrated budget for one query more": (
        "accounting/planner.py",
        "int(budget.rho // read.rho)",
        "int(budget.rho // read.rho) + 1",
        f"{_PLANS} -k 'other_kinds_of_loss or within_a_concentrated'",
    ),
    "the grid stops one query too late": (
        "accounting/planner.py",
        "return queries - 1",
        "return queries",
        f"{_PLANS} -k 'published_numbers_of_queries and not larger'",
    ),
    "deltas of losses are not taken off": (
        "accounting/composition.py",
        "left = delta - losses.delta",
        "left = delta",
        "tests/unit/accounting/test_composition.py",
    ),
    "events with more noise than the loss allows": (
        "accounting/interop.py",
        "return at_precision(bits, lambda: down(formula(ball(epsilon))))",
        "return 2 * at_precision(bits, lambda: down(formula(ball(epsilon))))",
        f"{_OTHERS} -k selections_compose_with_gaussian_noise",
    ),
    "pure DP by Laplace noise of its own epsilon": (
        "accounting/interop.py",
        "return 1 / (2 * (epsilon.expm1() / 2).log1p())",
        "return 1 / epsilon",
        _OTHERS,
    ),
    "Gaussian noise for half of its rho": (
        "accounting/interop.py",
        "return ZCDP(round_up(1 / (2 * _field(event, 'noise_multiplier') ** 2)))",
        "return ZCDP(round_up(1 / (4 * _field(event, 'noise_multiplier') ** 2)))",
        _OTHERS,
    ),
    "a door that blames what is behind it": (
        "errors.py",
        "wrong = error.at(owner, parameters)",
        "wrong = error",
        "tests/contracts/test_doors.py -k 'names_the_door and fit_subspace'",
    ),
    "a session that blames what is behind it": (
        "tables/curator.py",
        "wrong = error.at(inquiry.owner, asked)",
        "wrong = error",
        "tests/contracts/test_doors.py -k 'names_the_door and mode'",
    ),
    "a door that recommends what it does not have": (
        "errors.py",
        "hint = self.hint if set(recommended) <= set(parameters) else ''",
        "hint = self.hint",
        "tests/contracts/test_doors.py -k 'acknowledge and mode'",
    ),
    "a door that speaks for what the caller made": (
        "tables/session.py",
        "scores = read_scores(self._curator.table, candidates, score)",
        "from discreet.errors import door\nscores = door('Session.select')(lambda table, candidates, score, most: read_scores(table, candidates, score))(self._curator.table, candidates, score, None)",
        "tests/contracts/test_doors.py -k speaks_for_itself",
    ),
}

_PARTS = f"{_LOSSES} -k parts_of_a_list"
_ATTAINED = f"{_LOSSES} -k holds_and_is_attained"

_READ = "span = ScoreRange.read(sensitivity=sensitivity, monotonic=monotonic, score_range=score_range, owner=owner)"
_LISTS = "'sensitivity': sensitivity, 'monotonic': monotonic, 'score_range': score_range, 'method': method"
_MADE = "return TOP_K_MECHANISMS[method](k=k, epsilon=epsilon, delta=delta, sensitivity=sensitivity, monotonic=monotonic, score_range=score_range, objective=objective, acknowledge=acknowledge)"
_LAPLACE = "LAPLACE_LAW = Law(loss=PureDP, draw=draw_laplace_max, log_probabilities=probabilities.noisy_laplace, error=error_bounds.laplace_error, expected_error=error_bounds.laplace_expected_error)"

HANDED_ON = {
    "all scores of a mechanism move the same way": (
        "mechanisms/base.py",
        _READ,
        _READ.replace("monotonic=monotonic", "monotonic=sensitivity is not None"),
        "tests/contracts/test_mechanisms.py -k attained",
    ),
    "all scores of the pieces move the same way": (
        "mechanisms/interval.py",
        _READ,
        _READ.replace("monotonic=monotonic", "monotonic=sensitivity is not None"),
        _ATTAINED,
    ),
    "all scores of whole numbers move the same way": (
        "mechanisms/lattice.py",
        _READ,
        _READ.replace("monotonic=monotonic", "monotonic=sensitivity is not None"),
        _ATTAINED,
    ),
    "a list with half of the sensitivity": (
        "mechanisms/peeling_top_k.py",
        _READ,
        _READ.replace("=sensitivity,", "=sensitivity and sensitivity / 2,"),
        _ATTAINED,
    ),
    "the door for lists forgets the factor 2": (
        "functions.py",
        _LISTS,
        _LISTS.replace(": monotonic", ": sensitivity is not None"),
        f"{_LOSSES} -k door_for_lists",
    ),
    "the catalogue of lists forgets the factor 2": (
        "mechanisms/catalogue.py",
        _MADE,
        _MADE.replace("=monotonic", "=sensitivity is not None"),
        f"{_LOSSES} -k door_for_lists",
    ),
    "Laplace noise claims bounded range": (
        "mechanisms/laws.py",
        _LAPLACE,
        _LAPLACE.replace("PureDP", "BoundedRange"),
        f"{_LOSSES} -k 'asked_for and Laplace'",
    ),
    "a peeled list for half of its price": (
        "mechanisms/peeling_top_k.py",
        "return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)",
        "return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon / 2)",
        f"{_LOSSES} -k 'asked_for and peeling'",
    ),
    "a peeled list for half of its delta": (
        "mechanisms/peeling_top_k.py",
        "return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)",
        "return ApproxDP(self.epsilon, self.delta / 2) if self.delta else PureDP(self.epsilon)",
        f"{_LOSSES} -k delta_cost",
    ),
    "picks that cost twice the list": (
        "mechanisms/peeling_top_k.py",
        "plan(queries=k, budget=ApproxDP(epsilon, delta), kind=kind)",
        "plan(queries=k, budget=ApproxDP(2 * epsilon, delta), kind=kind)",
        _PARTS,
    ),
    "quantiles for half of their price": (
        "mechanisms/quantiles.py",
        "return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)",
        "return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon / 2)",
        f"{_LOSSES} -k 'asked_for and many'",
    ),
    "quantiles for half of their delta": (
        "mechanisms/quantiles.py",
        "return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)",
        "return ApproxDP(self.epsilon, self.delta / 2) if self.delta else PureDP(self.epsilon)",
        f"{_LOSSES} -k delta_cost",
    ),
    "joint quantiles for half of their price": (
        "mechanisms/quantiles.py",
        "return BoundedRange(self.epsilon)",
        "return BoundedRange(self.epsilon / 2)",
        f"{_LOSSES} -k 'asked_for and joint'",
    ),
    "layers that cost twice the quantiles": (
        "mechanisms/quantiles.py",
        "pick_loss(self._layers, self.epsilon, self.delta, BoundedRange)",
        "pick_loss(self._layers, 2 * self.epsilon, self.delta, BoundedRange)",
        _PARTS,
    ),
    "independent quantiles that cost twice the whole": (
        "mechanisms/quantiles.py",
        "budget = ApproxDP(self.epsilon, self.delta)",
        "budget = ApproxDP(2 * self.epsilon, self.delta)",
        _PARTS,
    ),
    "pure outcomes that cost twice the list": (
        "mechanisms/unknown_domain.py",
        "pure = (BoundedRange(self.epsilon / self.k), self.delta)",
        "pure = (BoundedRange(2 * self.epsilon / self.k), self.delta)",
        _PARTS,
    ),
    "outcomes and threshold each take the whole delta": (
        "mechanisms/unknown_domain.py",
        "tight = (pick_range(self.k, self.epsilon, half), half)",
        "tight = (pick_range(self.k, self.epsilon, half), self.delta)",
        _PARTS,
    ),
    "an account for half of its price": (
        "mechanisms/pay_what_you_get.py",
        "self._loss = ApproxDP(read_epsilon(epsilon, acknowledge, owner), positive_delta(delta, owner))",
        "self._loss = ApproxDP(read_epsilon(epsilon, acknowledge, owner) / 2, positive_delta(delta, owner))",
        f"{_LOSSES} -k delta_cost",
    ),
    "outcomes that cost twice their account": (
        "mechanisms/pay_what_you_get.py",
        "pick_range(self._outcomes, self._loss.epsilon, half)",
        "pick_range(self._outcomes, 2 * self._loss.epsilon, half)",
        f"{_LOSSES} -k account",
    ),
    "totals with half of their range": (
        "tables/total_questions.py",
        "make_mechanism(mechanism, epsilon, score_range=range_of_totals(totals), objective=objective)",
        "make_mechanism(mechanism, epsilon, score_range=range_of_totals(totals) / 2, objective=objective)",
        "tests/contracts/test_table_questions.py -k attained",
    ),
    "a table of probabilities for half of its epsilon": (
        "mechanisms/probability_table.py",
        "PureDP(self.epsilon)",
        "PureDP(self.epsilon / 2)",
        "tests/unit/mechanisms/test_probability_table.py",
    ),
    "a table of probabilities for half of its range": (
        "mechanisms/probability_table.py",
        "BoundedRange(self.range)",
        "BoundedRange(self.range / 2)",
        "tests/unit/mechanisms/test_probability_table.py",
    ),
    "an (epsilon, delta) loss for half of its epsilon": (
        "accounting/spending.py",
        "pure = self._of_loss(PureDP(loss.epsilon), owner)",
        "pure = self._of_loss(PureDP(loss.epsilon / 2), owner)",
        "tests/unit/accounting/test_privacy_filter.py",
    ),
    "composition forgets the epsilon beside a delta": (
        "accounting/analyses.py",
        "counts[PureDP(loss.epsilon)] += times",
        "counts[PureDP(loss.epsilon / 2)] += times",
        "tests/unit/accounting/test_composition.py",
    ),
    "pure DP with the rho of bounded range": (
        "privacy/loss.py",
        "ZCDP(_rho_of_pure_dp(self.epsilon))",
        "ZCDP(_rho_of_bounded_range(self.epsilon))",
        "tests/unit/privacy/test_loss.py",
    ),
    "bounded range for half of its rho": (
        "privacy/loss.py",
        "ZCDP(_rho_of_bounded_range(self.epsilon))",
        "ZCDP(_rho_of_bounded_range(self.epsilon) / 2)",
        "tests/unit/privacy/test_loss.py",
    ),
    "bounded range implies logistic DP of half": (
        "privacy/loss.py",
        "return LogisticDP(self.epsilon)",
        "return LogisticDP(self.epsilon / 2)",
        "tests/unit/privacy/test_loss.py -k conversions_keep",
    ),
    "pure DP implies bounded range of its own epsilon": (
        "privacy/loss.py",
        "doubled = BoundedRange(2 * self.epsilon)",
        "doubled = BoundedRange(self.epsilon)",
        "tests/unit/privacy/test_loss.py",
    ),
}
