"""Mutants of questions to tables: what one person can do to a score, conditions, totals and ballots."""

QUESTIONS = "tests/contracts/test_table_questions.py"
CONDITIONS = "tests/engines/test_conditions.py"
TOTALS = "tests/engines/test_totals.py"
BALLOTS = "tests/engines/test_ballots.py"
ON_POLARS = '-k "polars and not lazy"'

RANGES = {
    "mode pays for half of a vote": (
        "questions/mode.py",
        "make_mechanism(mechanism, epsilon, sensitivity=1, monotonic=True)",
        "make_mechanism(mechanism, epsilon, sensitivity=0.5, monotonic=True)",
        f"{QUESTIONS} -k attained",
    ),
    "top_k pays for half of a vote": (
        "questions/top_k.py",
        "sensitivity=1, monotonic=True, method=method",
        "sensitivity=0.5, monotonic=True, method=method",
        f"{QUESTIONS} -k attained",
    ),
    "best_price pays for the lowest price": (
        "questions/best_price.py",
        "sensitivity=max(exact.values())",
        "sensitivity=min(exact.values())",
        f"{QUESTIONS} -k attained",
    ),
    "scores that move in both directions pay for one": (
        "data/totals.py",
        "return highest - lowest",
        "return max(highest, -lowest)",
        f"{QUESTIONS} -k attained",
    ),
    "a quantile over rows pays for one row": (
        "mechanisms/quantiles.py",
        "each = cast(Fraction, self.epsilon) / self.rows",
        "each = cast(Fraction, self.epsilon)",
        f"{QUESTIONS} -k rows",
    ),
    "layers of quantiles over rows pay for one row": (
        "mechanisms/quantiles.py",
        "/ (2 if twice else 1) / self.rows",
        "/ (2 if twice else 1)",
        f"{QUESTIONS} -k rows",
    ),
    "joint quantiles over rows pay for one row": (
        "mechanisms/quantiles.py",
        "rate = self._epsilon / self.rows / (2 * move) / scale",
        "rate = self._epsilon / (2 * move) / scale",
        f"{QUESTIONS} -k rows",
    ),
    "more rows of a person are kept than are paid for": (
        "data/capping.py",
        "filter(nw.col(_RANK) <= self.items)",
        "filter(nw.col(_RANK) <= self.items + 1)",
        f"{QUESTIONS} -k rows",
    ),
    "the largest of a person's values by default": (
        "data/capping.py",
        "    if rule is None:\n",
        "    if rule is None:\n        return 'max'\n    if rule is None:\n",
        f"{QUESTIONS} -k has_to_be_said",
    ),
}

CONDITION_MUTANTS = {
    "not is forgotten": (
        "data/condition_matching.py",
        "sign = OPPOSITE[condition.sign] if negated else condition.sign",
        "sign = condition.sign",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "not of and is and": (
        "data/condition_matching.py",
        "_all(parts) if isinstance(condition, And) != negated else _any(parts)",
        "_all(parts) if isinstance(condition, And) else _any(parts)",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "NaN is larger than every number": (
        "data/condition_matching.py",
        " & ~nw.col(column).is_nan()",
        "",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "half a number is rounded to the wrong side": (
        "data/condition_matching.py",
        "edge = math.ceil(value)",
        "edge = math.floor(value)",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "constants that the column's type cannot hold": (
        "data/condition_matching.py",
        "possible = value.denominator == 1 and low <= value <= high",
        "possible = value.denominator == 1",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "longer numbers than engines can read": (
        "data/cell_numbers.py",
        "([eE][+-]?[0-9]{1,2})?",
        "([eE][+-]?[0-9]{1,4})?",
        f"{CONDITIONS} -k duckdb",
    ),
    "text against a number without a look at the text": (
        "data/condition_matching.py",
        "return _signed(cell_number(self._table, column), sign, float(value))\n        text =",
        "return _signed(self._cell_text(column).cast(__import__('narwhals').Float64), sign, float(value))\n        text =",
        f"{CONDITIONS} -k duckdb",
    ),
    "steps without a place are passed over": (
        "data/condition_expressions.py",
        "        return _of_column(term.name, node, owner)\n    return refuse(node.name, owner)",
        "        return _of_column(term.name, node, owner)\n    return term",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "steps on a column are passed over": (
        "data/condition_expressions.py",
        '        return between(name, *bounds, closed=node.kwargs.get("closed", "both"))\n    return refuse(node.name, owner)',
        '        return between(name, *bounds, closed=node.kwargs.get("closed", "both"))\n    return NamedColumn(name)',
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "the kind of an engine's failure is told": (
        "session.py",
        "    raise EngineError\n",
        "    raise ValueError('the engine failed') \n",
        "tests/engines/test_failures.py",
    ),
}

TOTAL_MUTANTS = {
    "a person counts for more than the bounds": (
        "data/total_sums.py",
        "whole.clip(first, last).cast(nw.Float64)",
        "whole.cast(nw.Float64)",
        f"{TOTALS} -k duckdb",
    ),
    "a row counts for more than the bounds": (
        "data/total_sums.py",
        ".floor().clip(float(first), float(last))",
        ".floor()",
        f"{TOTALS} -k duckdb",
    ),
    "halves of 32 bits": (
        "data/total_sums.py",
        "part.cast(nw.Int64)",
        "part.cast(nw.Int32)",
        f"{TOTALS} -k wrap_around",
    ),
    "a stated sensitivity is believed": (
        "questions/score.py",
        "clipped = [each.within(low, high) for each in totals]",
        "clipped = [each.within(-2**30, 2**30) for each in totals]",
        f"{TOTALS} -k enforced",
    ),
    "a sum without bounds is taken": (
        "data/total_expressions.py",
        "    if term.low is None or term.high is None:\n        _refuse(",
        "    if term.low is None or term.high is None:\n"
        "        term = replace(term, low=Fraction(-99), high=Fraction(99))\n    if False:\n        _refuse(",
        f"{TOTALS} -k refused",
    ),
}

BALLOT_MUTANTS = {
    "a row counts twice for what its ballot lists twice": (
        "data/items.py",
        "return cells.list.unique() if once else cells",
        "return cells",
        f"{BALLOTS} -k polars",
    ),
    "a ballot is taken for one item": (
        "data/capping.py",
        "if isinstance(unit, OneRow) and asked.is_ballot(table):",
        "if False:",
        f"{BALLOTS} -k protected",
    ),
}

LIMITS = {
    "totals with steps that are 0 in floats": (
        "data/totals.py",
        "if not _SMALLEST <= step <= _LARGEST:",
        "if step <= 0:",
        "tests/unit/data/test_totals.py -k floats",
    ),
}

LANGUAGE = {
    "conditions with lists of several kinds": (
        "data/conditions.py",
        "if len({_kind(value) for value in every}) > 1:",
        "if len({_kind(value) for value in dict.fromkeys(every)}) > 1:",
        "tests/unit/data/test_condition_language.py -k too_much",
    ),
    "conditions whose negation forgets that a cell is unknown": (
        "data/condition_matching.py",
        "return ~found & _present(column) if negated else found & _present(column)",
        "return ~(found & _present(column)) if negated else found & _present(column)",
        "tests/unit/data/test_condition_language.py -k words",
    ),
    "conditions with NaN above every number": (
        "data/condition_matching.py",
        "sign, near) & ~nw.col(column).is_nan()",
        "sign, near)",
        "tests/unit/data/test_condition_language.py -k what_it_means",
    ),
    "conditions that do not move negations through and": (
        "data/condition_matching.py",
        "isinstance(condition, And) != negated",
        "isinstance(condition, And)",
        "tests/unit/data/test_condition_language.py -k words",
    ),
    "conditions with a column of truth values": (
        "data/where.py",
        'raise ParameterTypeError(owner, "where", _RULE, where, _hint(where))',
        "return None",
        "tests/unit/test_session.py -k 'test_where and series and mode'",
    ),
}

WINDOWS = {
    "a window pays for all rows": (
        "session.py",
        "condition = _both(read_where(where, owner), self._window_condition())",
        "condition = read_where(where, owner)",
        "tests/unit/test_session_windows.py -k days",
    ),
    "a window has a day too many": (
        "data/conditions.py",
        'Compare(column, "<", edge(after))',
        'Compare(column, "<=", edge(after))',
        "tests/unit/test_session_windows.py -k days",
    ),
}

ATTACKS = "tests/attacks/test_one_row_decides.py"
ONE_ROW = {
    "times that nanoseconds cannot hold are cast": (
        "data/condition_matching.py",
        "if not _FIRST_NANOSECOND < plain < _LAST_NANOSECOND:",
        "if False:",
        f"{ATTACKS} -k 'beyond and arrow'",
    ),
    "JSON is taken for text": (
        "data/condition_matching.py",
        'if native_kind(self._table, column) == "JSON":',
        "if False:",
        f"{ATTACKS} -k json_that",
    ),
    "candidates are cast to decimals that cannot hold them": (
        "data/counting.py",
        "if isinstance(kind, nw.Decimal) and not table.frame.implementation.is_ibis():",
        "if False:",
        f"{ATTACKS} -k do_not_fit",
    ),
    "far times are multiplied by the engine": (
        "data/table.py",
        "connection.from_arrow(_in_microseconds(arrow))",
        "connection.from_arrow(arrow)",
        f"{ATTACKS} -k far_away",
    ),
    "numbers of 128 bits without a sign are compared": (
        "data/items.py",
        "if not known or kind == nw.UInt128:",
        "if not known:",
        f"{ATTACKS} -k every_width",
    ),
    "lists are looked into before the charge": (
        "data/table.py",
        "            return replace(self, listed=self.mixed.intersection(lists))\n",
        "            if self.lister: self.lister(self.mixed.intersection(lists))\n"
        "            return replace(self, listed=self.mixed.intersection(lists))\n",
        f"{ATTACKS} -k after_the_charge",
    ),
    "an element of a list is shown": (
        "errors.py",
        "wrong = type(error)(error.owner, error.name, error.rule, Hidden(type_name(value)), error.hint)",
        "wrong = error",
        f"{ATTACKS} -k mistake",
    ),
    "a text column is a condition by itself": (
        "data/condition_matching.py",
        "        if isinstance(condition, Flag):\n",
        "        if False:\n",
        "tests/engines/test_totals.py -k refused",
    ),
}

TABLES = RANGES | CONDITION_MUTANTS | TOTAL_MUTANTS | BALLOT_MUTANTS | LIMITS | LANGUAGE | WINDOWS | ONE_ROW
