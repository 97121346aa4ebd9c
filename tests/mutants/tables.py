"""Mutants of questions to tables: what one person can do to a score, conditions, totals and
ballots.
"""

QUESTIONS = "tests/contracts/test_table_questions.py"
COUNTED = "tests/contracts/test_counted_questions.py"
HISTOGRAMS = "tests/contracts/test_histograms.py"
CONDITIONS = "tests/engines/test_conditions.py"
TOTALS = "tests/engines/test_totals.py"
BALLOTS = "tests/engines/test_ballots.py"
ON_POLARS = '-k "polars and not lazy"'

RANGES = {
    "mode pays for half of a vote": (
        "tables/questions.py",
        "make_mechanism(mechanism, epsilon, sensitivity=1, monotonic=True)",
        "make_mechanism(mechanism, epsilon, sensitivity=0.5, monotonic=True)",
        f"{QUESTIONS} -k attained",
    ),
    "top_k pays for half of a vote": (
        "mechanisms/count_lists.py",
        "return make_top_k(self.k, epsilon, self.delta, sensitivity=self.sensitivity, monotonic=self.monotonic, score_range=self.score_range, method=method, objective=self.objective, acknowledge=self.acknowledge)",
        "return make_top_k(self.k, epsilon, self.delta, sensitivity=self.sensitivity / 2, monotonic=self.monotonic, score_range=self.score_range, method=method, objective=self.objective, acknowledge=self.acknowledge)",
        f"{QUESTIONS} -k attained",
    ),
    "a list of a table is asked for with half of a vote": (
        "tables/count_questions.py",
        "items_per_person=most, sensitivity=1, monotonic=True",
        "items_per_person=most, sensitivity=0.5, monotonic=True",
        f"{QUESTIONS} -k 'attained and top_k'",
    ),
    "a list of a table says nothing of votes that go both ways": (
        "tables/count_questions.py",
        "items_per_person=most, sensitivity=1, monotonic=True",
        "items_per_person=most, sensitivity=1, monotonic=False",
        f"{QUESTIONS} -k 'attained and top_k'",
    ),
    "mode with its count pays for half of a vote": (
        "tables/count_questions.py",
        "make_counted(mechanism, epsilon, _MODE, sensitivity=1, monotonic=True)",
        "make_counted(mechanism, epsilon, _MODE, sensitivity=0.5, monotonic=True)",
        f"{QUESTIONS} -k 'attained and mode'",
    ),
    "counts are asked for as if a person had one item": (
        "mechanisms/count_noise.py",
        "noise = make_noise(epsilon, delta, moved=moved)",
        "noise = make_noise(epsilon, delta, moved=1)",
        f"{COUNTED} -k noise_was_told",
    ),
    "Gaussian counts for half of their price": (
        "mechanisms/count_noise.py",
        "return (noise, ApproxDP(epsilon, delta))",
        "return (noise, ApproxDP(epsilon / 2, delta))",
        f"{COUNTED} -k loss_is_that_of_the_noise",
    ),
    "deepest point for half of its price": (
        "mechanisms/deepest_point.py",
        ", _loss=BoundedRange(exact))",
        ", _loss=BoundedRange(exact / 2))",
        "tests/contracts/test_deepest_point.py -k further_than_the_loss",
    ),
    "a histogram pays for one of a person's items": (
        "mechanisms/count_noise.py",
        "laplace = DiscreteLaplace(epsilon=epsilon, sensitivity=moved, acknowledge=acknowledge)",
        "laplace = DiscreteLaplace(epsilon=epsilon, sensitivity=1, acknowledge=acknowledge)",
        f"{COUNTED} -k noise_was_told",
    ),
    "a Gaussian histogram pays for one of a person's items": (
        "mechanisms/count_noise.py",
        "gaussian = DiscreteGaussian(rho=rho, squared_sensitivity=moved, acknowledge=acknowledge)",
        "gaussian = DiscreteGaussian(rho=rho, squared_sensitivity=1, acknowledge=acknowledge)",
        f"{HISTOGRAMS} -k that_of_the_noise",
    ),
    "Gaussian counts of a budget of rho pay for one of a person's items": (
        "mechanisms/count_noise.py",
        "noise = DiscreteGaussian(rho=rho, squared_sensitivity=moved)",
        "noise = DiscreteGaussian(rho=rho, squared_sensitivity=1)",
        f"{COUNTED} -k rho_of_epsilon",
    ),
    "a column of a table may have the name of one of ours": (
        "tables/table.py",
        "any((each.lower().startswith(_OWN) for each in names))",
        "any((each.startswith(_OWN + '_') for each in names))",
        "tests/engines/test_groups.py -k use_themselves",
    ),
    "a list of candidates without its cap": (
        "tables/count_questions.py",
        "counts = count_candidates(table, unit, items, labels, cap)",
        "counts = count_candidates(table, unit, items, labels)",
        f"{COUNTED} -k noise_was_told",
    ),
    "a histogram without its cap": (
        "tables/count_questions.py",
        "counts = count_candidates(table, unit, items, labels, draw_cap(most, unit, chance))",
        "counts = count_candidates(table, unit, items, labels)",
        f"{COUNTED} -k noise_was_told",
    ),
    "a threshold for items of two persons": (
        "mechanisms/histogram_top_k.py",
        "return (1 + max(1, math.ceil(upper_bound(above))), noise, self.delta)",
        "return (max(1, math.ceil(upper_bound(above))), noise, self.delta)",
        f"{HISTOGRAMS} -k an_item_of_one_person",
    ),
    "a threshold that forgets how many items a person has": (
        "mechanisms/histogram_top_k.py",
        "share = ball(self.delta / self.items_per_person)",
        "share = ball(self.delta)",
        f"{HISTOGRAMS} -k an_item_of_one_person",
    ),
    "a Gaussian threshold that forgets it": (
        "mechanisms/gaussian_profile.py",
        "allowed = min(allowed, left / most)",
        "allowed = min(delta, left)",
        f"{HISTOGRAMS} -k gaussian_threshold",
    ),
    "a Gaussian threshold for items of two persons": (
        "mechanisms/gaussian_profile.py",
        "middle = height - Fraction(3, 2)",
        "middle = height - Fraction(1, 2)",
        f"{HISTOGRAMS} -k gaussian_threshold",
    ),
    "a Gaussian histogram that is as good as one count": (
        "mechanisms/gaussian_profile.py",
        "shift = (ball(moved) / ball(variance)).sqrt()",
        "shift = (1 / ball(variance)).sqrt()",
        f"{HISTOGRAMS} -k upper_bound",
    ),
    "whole numbers cost what real ones cost": (
        "mechanisms/gaussian_profile.py",
        "return falls * share ** ball(behind / moved) * ball(moved / (behind + moved))",
        "return arb(0)",
        f"{HISTOGRAMS} -k upper_bound",
    ),
    "items named that do not occur": (
        "mechanisms/histogram_top_k.py",
        "if true and number >= self._height",
        "if number >= self._height",
        f"{HISTOGRAMS} -k does_not_occur",
    ),
    "a histogram that costs half": (
        "mechanisms/histogram_top_k.py",
        "return ApproxDP(self.epsilon, delta) if delta else PureDP(self.epsilon)",
        "return ApproxDP(self.epsilon, delta) if delta else PureDP(self.epsilon / 2)",
        f"{HISTOGRAMS} -k names_and_counts",
    ),
    "counts of a list with noise for one": (
        "mechanisms/counted_selection.py",
        "return DiscreteLaplace(epsilon=epsilon, sensitivity=moved * exact, acknowledge=acknowledge)",
        "return DiscreteLaplace(epsilon=epsilon, sensitivity=exact, acknowledge=acknowledge)",
        f"{HISTOGRAMS} -k share_the_epsilon",
    ),
    "names of another reading than their places": (
        "mechanisms/counted_selection.py",
        "places = self._places(candidates, chance)",
        "places = self._places(self._read(scores), chance)",
        f"{HISTOGRAMS} -k one_reading",
    ),
    "counts that come free with picks": (
        "mechanisms/counted_selection.py",
        "epsilon = self.picked.epsilon + self.noise.epsilon",
        "epsilon = self.picked.epsilon",
        f"{COUNTED} -k public_table",
    ),
    "a person in several groups": (
        "tables/groups.py",
        "return rows.filter(nw.col(_FIRST) == _OWN)",
        "return rows.filter(nw.col(_PLACE) == _OWN)",
        f"{COUNTED} -k 'one_group and polars'",
    ),
    "a group that knows of none before it": (
        "tables/groups.py",
        "if before:\n    earlier = is_one_of(cell, before, rows, kind)\n    place = nw.coalesce(nw.when(earlier).then(nw.lit(0)), place)",
        "",
        f"{COUNTED} -k 'one_group and polars'",
    ),
    "a charge that takes nothing": (
        "tables/curator.py",
        "with self.budget.charge(Cost(loss), asked, None) as payment:",
        "with self.budget.charge(Cost(PureDP(1e-9)), asked, None) as payment:",
        f"{COUNTED} -k TestCharge",
    ),
    "best_price pays for the lowest price": (
        "tables/questions.py",
        "made = make_mechanism(mechanism, epsilon, sensitivity=max(exact.values()), monotonic=True)",
        "made = make_mechanism(mechanism, epsilon, sensitivity=min(exact.values()), monotonic=True)",
        f"{QUESTIONS} -k attained",
    ),
    "scores that move in both directions pay for one": (
        "tables/totals.py",
        "return highest - lowest",
        "return max(highest, -lowest)",
        f"{QUESTIONS} -k attained",
    ),
    "a quantile over rows pays for one row": (
        "mechanisms/quantiles.py",
        "'What the search may cost for one value of a person.'\nreturn self.epsilon / self.rows",
        "return self.epsilon",
        f"{QUESTIONS} -k rows",
    ),
    "layers of quantiles over rows pay for one row": (
        "mechanisms/quantiles.py",
        "return self._layer.epsilon / (2 if twice else 1) / self.rows",
        "return self._layer.epsilon / (2 if twice else 1)",
        f"{QUESTIONS} -k rows",
    ),
    "joint quantiles over rows pay for one row": (
        "mechanisms/quantiles.py",
        "return self.epsilon / self.rows / (2 * move)",
        "return self.epsilon / (2 * move)",
        f"{QUESTIONS} -k rows",
    ),
    "more rows of a person are kept than are paid for": (
        "tables/contribution_cap.py",
        "filter(nw.col(_RANK) <= self.items)",
        "filter(nw.col(_RANK) <= self.items + 1)",
        f"{QUESTIONS} -k rows",
    ),
    "what is said of one group is said of all": (
        "tables/groups.py",
        "one(failure / len(every))",
        "one(failure)",
        "tests/contracts/test_counted_questions.py -k all_of_them_together",
    ),
    "the largest of a person's values by default": (
        "tables/contribution_cap.py",
        "if rule is None:\n    raise ParameterTypeError(owner, 'rule', 'given where a person can have several rows', None, hint)",
        "if rule is None:\n    return allowed[0]",
        f"{QUESTIONS} -k has_to_be_said",
    ),
}

CONDITION_MUTANTS = {
    "candidates are compared with JSON": (
        "tables/items.py",
        "if _OF_JSON.fullmatch(native_kind(table, column)):",
        "if native_kind(table, column) is None:",
        "tests/attacks/test_one_row_decides.py -k items_of_json",
    ),
    "lists of text may have any collation": (
        "tables/items.py",
        "return bool(inner == nw.String)",
        "return bool(kind == nw.String)",
        "tests/engines/test_spelling.py -k 'in_lists and duckdb'",
    ),
    "what an engine did not say of its texts is good": (
        "tables/items.py",
        "if confused is not None:\n    table.plain.add(column)",
        "table.plain.add(column)",
        "tests/engines/test_spelling.py -k asked_again",
    ),
    "items of lists are numbers without a sign of any size": (
        "tables/items.py",
        "if not simple or kind == nw.UInt128:",
        "if not simple:",
        "tests/attacks/test_one_row_decides.py -k lists_of_large_numbers",
    ),
    "whether a shape is empty may be asked": (
        "tables/condition_matching.py",
        "if _OF_SHAPES.search(native):",
        "if native is None:",
        "tests/attacks/test_one_row_decides.py -k points_that_are_none",
    ),
    "not is forgotten": (
        "tables/condition_matching.py",
        "sign = OPPOSITE[condition.sign] if negated else condition.sign",
        "sign = condition.sign",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "not of and is and": (
        "tables/condition_matching.py",
        "_all(parts) if isinstance(condition, And) != negated else _any(parts)",
        "_all(parts) if isinstance(condition, And) else _any(parts)",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "NaN is larger than every number": (
        "tables/condition_matching.py",
        "return _signed(nw.col(column).cast(nw.Float64), sign, near) & ~nw.col(column).is_nan()",
        "return _signed(nw.col(column).cast(nw.Float64), sign, near)",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "half a number is rounded to the wrong side": (
        "tables/condition_matching.py",
        "edge = math.ceil(value)",
        "edge = math.floor(value)",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "constants that the column's type cannot hold": (
        "tables/condition_matching.py",
        "possible = value.denominator == 1 and low <= value <= high",
        "possible = value.denominator == 1",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "longer numbers than engines can read": (
        "tables/items.py",
        "_NUMBER = '^ *[+-]?[0-9]{1,25}(\\\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})? *$'",
        "_NUMBER = '^ *[+-]?[0-9]{1,25}(\\\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})? *$'",
        f"{CONDITIONS} -k duckdb",
    ),
    "text against a number without a look at the text": (
        "tables/condition_matching.py",
        "if isinstance(value, Fraction):\n    return _signed(cell_number(self._table, column), sign, float(value))",
        "if isinstance(value, Fraction):\n    return _signed(self._cell_text(column).cast(__import__('narwhals').Float64), sign, float(value))",
        f"{CONDITIONS} -k duckdb",
    ),
    "steps without a place are passed over": (
        "tables/condition_expressions.py",
        "if isinstance(term, NamedColumn):\n    return _of_column(term.name, node, owner)\nreturn refuse(node.name, owner)",
        "if isinstance(term, NamedColumn):\n    return _of_column(term.name, node, owner)\nreturn term",
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "steps on a column are passed over": (
        "tables/condition_expressions.py",
        """
        if node.name == 'is_between' and len(node.exprs) == 2:
            low, high = (_constant(_argument(part, owner, text_is_column=not node.str_as_lit), owner) for part in node.exprs)
            bounds = (read_value(value, 'where', owner) for value in (low, high))
            return between(name, *bounds, closed=node.kwargs.get('closed', 'both'))
        return refuse(node.name, owner)
        """,
        """
        if node.name == 'is_between' and len(node.exprs) == 2:
            low, high = (_constant(_argument(part, owner, text_is_column=not node.str_as_lit), owner) for part in node.exprs)
            bounds = (read_value(value, 'where', owner) for value in (low, high))
            return between(name, *bounds, closed=node.kwargs.get('closed', 'both'))
        return NamedColumn(name)
        """,
        f"{CONDITIONS} {ON_POLARS}",
    ),
    "the kind of an engine's failure is told": (
        "tables/curator.py",
        "    raise EngineError\n",
        "    raise ValueError('the engine failed') \n",
        "tests/engines/test_failures.py",
    ),
}

TOTAL_MUTANTS = {
    "a person counts for more than the bounds": (
        "tables/total_questions.py",
        "whole.clip(first, last).cast(nw.Float64)",
        "whole.cast(nw.Float64)",
        f"{TOTALS} -k duckdb",
    ),
    "a row counts for more than the bounds": (
        "tables/total_questions.py",
        "steps = ((near + slack) / size).floor().clip(float(first), float(last))",
        "steps = ((near + slack) / size).floor()",
        f"{TOTALS} -k duckdb",
    ),
    "halves of 32 bits": (
        "tables/total_questions.py",
        "part.cast(nw.Int64)",
        "part.cast(nw.Int32)",
        f"{TOTALS} -k wrap_around",
    ),
    "longer numbers than a half are added as they are": (
        "tables/total_questions.py",
        "max(map(abs, bounds)) <= _HALF",
        "max(map(abs, bounds)) <= 2 * _HALF",
        f"{TOTALS} -k larger_than_a_half",
    ),
    "a stated sensitivity is believed": (
        "tables/total_questions.py",
        "clipped = [each.within(low, high) for each in totals]",
        "clipped = [each.within(-2**30, 2**30) for each in totals]",
        f"{TOTALS} -k enforced",
    ),
    "a sum without bounds is taken": (
        "tables/totals.py",
        "if term.low is None or term.high is None:",
        "if term.low is None or term.high is None:\n    term = replace(term, low=Fraction(-99), high=Fraction(99))\nif False:",
        f"{TOTALS} -k refused",
    ),
}

BALLOT_MUTANTS = {
    "a row counts twice for what its ballot lists twice": (
        "tables/items.py",
        "return cells.list.unique() if once else cells",
        "return cells",
        f"{BALLOTS} -k polars",
    ),
    "a ballot is taken for one item": (
        "tables/contribution_cap.py",
        "if isinstance(unit, OneRow) and asked.is_ballot(table):",
        "if False:",
        f"{BALLOTS} -k protected",
    ),
}

LIMITS = {
    "totals with steps that are 0 in floats": (
        "tables/totals.py",
        "if not _SMALLEST <= step <= _LARGEST:",
        "if step <= 0:",
        "tests/unit/tables/test_totals.py -k floats",
    ),
}

LANGUAGE = {
    "conditions with lists of several kinds": (
        "tables/conditions.py",
        "if len({_kind(value) for value in every}) > 1:",
        "if len({_kind(value) for value in dict.fromkeys(every)}) > 1:",
        "tests/unit/tables/test_condition_language.py -k too_much",
    ),
    "conditions whose negation forgets that a cell is unknown": (
        "tables/condition_matching.py",
        "return ~found & _present(column) if negated else found & _present(column)",
        "return ~(found & _present(column)) if negated else found & _present(column)",
        "tests/unit/tables/test_condition_language.py -k words",
    ),
    "conditions with NaN above every number": (
        "tables/condition_matching.py",
        "return _signed(nw.col(column).cast(nw.Float64), sign, near) & ~nw.col(column).is_nan()",
        "return _signed(nw.col(column).cast(nw.Float64), sign, near)",
        "tests/unit/tables/test_condition_language.py -k what_it_means",
    ),
    "conditions that do not move negations through and": (
        "tables/condition_matching.py",
        "isinstance(condition, And) != negated",
        "isinstance(condition, And)",
        "tests/unit/tables/test_condition_language.py -k words",
    ),
    "conditions with a column of truth values": (
        "tables/condition_expressions.py",
        'raise ParameterTypeError(owner, "where", _RULE, where, _hint(where))',
        "return None",
        "tests/unit/tables/test_session.py -k 'test_where and mode'",
    ),
}

WINDOWS = {
    "a window pays for all rows": (
        "tables/curator.py",
        "condition = _both(own, self._window_condition())",
        "condition = own",
        "tests/unit/tables/test_session_windows.py -k days",
    ),
    "a file is looked for in the folder of today": (
        "tables/files.py",
        "return [os.path.abspath(path)]",
        "return [path]",
        "tests/unit/tables/test_files.py -k 'working_folder and False'",
    ),
    "files of a pattern are looked for in the folder of today": (
        "tables/files.py",
        "files = [os.path.abspath(file) for file, in found]",
        "files = [file for file, in found]",
        "tests/unit/tables/test_files.py -k 'working_folder and True'",
    ),
    "a window has a day too many": (
        "tables/conditions.py",
        'Compare(column, "<", edge(after))',
        'Compare(column, "<=", edge(after))',
        "tests/unit/tables/test_session_windows.py -k days",
    ),
}

ATTACKS = "tests/attacks/test_one_row_decides.py"
ONE_ROW = {
    "times that nanoseconds cannot hold are cast": (
        "tables/condition_matching.py",
        "if not _FIRST_NANOSECOND < plain < _LAST_NANOSECOND:",
        "if False:",
        f"{ATTACKS} -k 'beyond and arrow'",
    ),
    "JSON is taken for text": (
        "tables/condition_matching.py",
        "if native == 'JSON':",
        "if False:",
        f"{ATTACKS} -k json_that",
    ),
    "candidates are cast to decimals that cannot hold them": (
        "tables/counting.py",
        "if isinstance(kind, nw.Decimal) and (not table.frame.implementation.is_ibis()):",
        "if False:",
        f"{ATTACKS} -k do_not_fit",
    ),
    "a person counts once for each row on DuckDB": (
        "tables/duckdb_counting.py",
        "once = '' if isinstance(unit, OneRow) else ', '.join(dict.fromkeys(pair))",
        "once = ''",
        "tests/unit/tables/test_duckdb_counting.py -k steps",
    ),
    "nobody's rows count on DuckDB": (
        "tables/duckdb_counting.py",
        "somebody = [f'{person} is not null']",
        "somebody = ['true']",
        "tests/unit/tables/test_duckdb_counting.py -k steps",
    ),
    "a label is read as SQL": (
        "tables/duckdb_counting.py",
        'text.replace("\'", "\'\'")',
        "text",
        "tests/unit/tables/test_duckdb_counting.py -k steps",
    ),
    "far times are multiplied by the engine": (
        "tables/data_frames.py",
        "connection.from_arrow(_readable(arrow))",
        "connection.from_arrow(arrow)",
        f"{ATTACKS} -k far_away",
    ),
    "a question is named after labels that were looked at twice": (
        "tables/curator.py",
        "asked[name] = listed_once(asked[name])",
        "asked[name]",
        "tests/unit/tables/test_inquiry.py -k TestLabels",
    ),
    "a question is named after what its groups show": (
        "tables/curator.py",
        "groups = None if asking.groups is None else listed_once(asking.groups)",
        "groups = asking.groups",
        "tests/unit/tables/test_inquiry.py -k TestLabels",
    ),
    "text is named after what it prints as": (
        "tables/inquiry.py",
        "str.__str__(value)",
        "str(value)",
        "tests/unit/tables/test_inquiry.py -k TestLabels",
    ),
    "far times that are kept once for many cells are multiplied by the engine": (
        "tables/data_frames.py",
        "if runs or types.is_dictionary(kind):",
        "if runs:",
        f"{ATTACKS} -k far_away_within_a_column",
    ),
    "a price is charged": (
        "tables/preview.py",
        "self.asked.append((Prepared(question, lambda _: release, Cost(loss)), True))",
        "Curator.charge(self, loss, what, owner)",
        "tests/unit/tables/test_session.py -k made_elsewhere",
    ),
    "a month is the person of 30 days": (
        "tables/counting.py",
        "native_kind(table, column).startswith(('JSON', 'INTERVAL'))",
        "native_kind(table, column) == 'JSON'",
        f"{ATTACKS} -k several_spellings",
    ),
    "nested categories are refused": (
        "tables/data_frames.py",
        "pyarrow.types.is_dictionary(kind) and _is_nested(kind.value_type)",
        "False",
        f"{ATTACKS} -k nested_categories",
    ),
    "a table that a fork has closed is asked": (
        "tables/curator.py",
        "if self.table.connection in STOPPED:",
        "if False:",
        "tests/unit/tables/test_duckdb_counting.py -k process_forks",
    ),
    "an engine that has failed serves the next table": (
        "tables/duckdb_connection.py",
        "not (_INSTANCE and _is_alive(_INSTANCE[0]))",
        "not _INSTANCE",
        f"{ATTACKS} -k failed_for_good",
    ),
    "a far time is another person's": (
        "tables/data_frames.py",
        "compute.if_else(near, cells, pyarrow.scalar(None, cells.type)).cast(finer)",
        "cells.cast(finer, safe=False)",
        f"{ATTACKS} -k nobody_else",
    ),
    "far times in structs are multiplied by the engine": (
        "tables/data_frames.py",
        "return kind if same else _made_of(kind, finer_parts)",
        "return kind",
        f"{ATTACKS} -k far_away_within_a_column",
    ),
    "maps stay maps": (
        "tables/data_frames.py",
        "finer_parts == parts and (not types.is_map(kind))",
        "finer_parts == parts",
        f"{ATTACKS} -k key_twice",
    ),
    "maps of another's relation are looked at": (
        "tables/condition_matching.py",
        "if self._table.connection is None and _OF_MAPS.search(native):",
        "if False:",
        f"{ATTACKS} -k key_twice",
    ),
    "decimals of Polars have more digits than they say": (
        "tables/valid_cells.py",
        "native.with_columns(decimals) if decimals else native",
        "native",
        f"{ATTACKS} -k on_polars",
    ),
    "numbers of 128 bits without a sign are compared": (
        "tables/items.py",
        "if not known or kind == nw.UInt128:",
        "if not known:",
        f"{ATTACKS} -k every_width",
    ),
    "lists are looked into before the charge": (
        "tables/table.py",
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
        "tables/condition_matching.py",
        "if isinstance(condition, Flag):",
        "if False:",
        "tests/engines/test_totals.py -k refused",
    ),
}

STATEMENTS = "tests/unit/tables/test_duckdb_counting.py"

IN_ONE_STATEMENT = {
    "a price that is two as floats has its buyers twice": (
        "tables/duckdb_counting.py",
        "0 if edge == after else counts.get(edge, 0)",
        "counts.get(edge, 0)",
        f"{STATEMENTS} -k prices",
    ),
    "what was counted of a public table stays": (
        "tables/candidates.py",
        "connection.execute(f'drop table if exists {self._name}')",
        "pass",
        f"{STATEMENTS} -k gone_after",
    ),
    "a person counts once for each row in a long list": (
        "tables/duckdb_counting.py",
        "held = f'distinct {quoted(unit.column)}'",
        "pass",
        f"{STATEMENTS} -k as_the_steps",
    ),
    "nobody's rows count in a long list": (
        "tables/duckdb_counting.py",
        "where = f\"where {' and '.join(_is_somebody(table, unit))} \"",
        "where = ''",
        f"{STATEMENTS} -k as_the_steps",
    ),
    "candidates of a public table that nobody has are gone": (
        "tables/duckdb_counting.py",
        "left join",
        "join",
        f"{STATEMENTS} -k public_table_is_counted",
    ),
    "candidates of a public relation that nobody has are gone": (
        "tables/duckdb_counting.py",
        "found = labels.set_alias(ITEM).join(counts.set_alias(HELD), f'{ITEM} = {_LABEL}', 'left')",
        "found = labels.set_alias(ITEM).join(counts.set_alias(HELD), f'{ITEM} = {_LABEL}')",
        f"{STATEMENTS} -k public_table_is_counted",
    ),
    "another table after a fork, in another working folder": (
        "tables/session.py",
        "partial(opened, from_anywhere(table))",
        "partial(opened, table)",
        "tests/unit/tables/test_duckdb_counting.py -k another_working_folder",
    ),
    "a working folder is a pattern": (
        "tables/files.py",
        "os.path.join(escape(os.getcwd()), source)",
        "os.path.join(os.getcwd(), source)",
        "tests/unit/tables/test_duckdb_counting.py -k another_working_folder",
    ),
    "a public table of another connection is looked for on ours": (
        "tables/candidates.py",
        "together(table, items.column, public, label)",
        "pass",
        "tests/unit/tables/test_session.py -k test_public_tables",
    ),
    "a long list of labels stays": (
        "tables/duckdb_counting.py",
        "connection.execute(f'drop table if exists {name}')",
        "pass",
        f"{STATEMENTS} -k gone_after",
    ),
    "a long list beside a relation stays": (
        "tables/duckdb_counting.py",
        "del globals()[name]",
        "pass",
        f"{STATEMENTS} -k beside_a_relation",
    ),
    "a long list is named by its kind of truth": (
        "tables/inquiry.py",
        "return kinds == {str} or (kinds == {int} and labels.ends[0] > -_USUAL and (labels.ends[1] < _USUAL))",
        "return kinds == {str} or (kinds <= {int, bool} and labels.ends[0] > -_USUAL and (labels.ends[1] < _USUAL))",
        "tests/unit/tables/test_inquiry.py -k other_kinds",
    ),
    "a text that no engine can hold is taken in a long list": (
        "tables/candidates.py",
        "return labels.kinds == {str} and _is_text(''.join(labels))",
        "return labels.kinds == {str}",
        "tests/unit/tables/test_labels.py",
    ),
    "an infinite price counts": (
        "tables/duckdb_counting.py",
        "[f'isfinite({value})']",
        "[f'{value} is not null']",
        f"{STATEMENTS} -k prices",
    ),
    "a NaN is a person": (
        "tables/duckdb_counting.py",
        "return [*somebody, f'not isnan({person})'] if table.schema[unit.column].is_float() else somebody",
        "return somebody",
        f"{STATEMENTS} -k as_the_steps",
    ),
}

WATCH = "tests/unit/tables/test_engine.py"

ENDINGS = {
    "an answer is given after its question was ended": (
        "tables/curator.py",
        "if watch.ended:",
        "if watch.ended and release is None:",
        f"{WATCH} -k after_the_end",
    ),
    "a question that waits stops the engine of another one": (
        "tables/engine.py",
        "while self.ended and self._at_work and (not self._over) and (self.brake is not None):",
        "while self.ended and (not self._over) and (self.brake is not None):",
        f"{WATCH} -k works_for_others",
    ),
    "a question is ended after its answer": (
        "tables/engine.py",
        "self.ended = self.ended or not self._over",
        "self.ended = True",
        f"{WATCH} -k cannot_be_ended",
    ),
    "a time limit that nothing keeps is taken": (
        "tables/engine.py",
        "if brake is None:",
        "if False:",
        f"{WATCH} -k nothing_could_keep",
    ),
}

_CURATOR = "tests/unit/tables/test_curator.py"

REMEMBERED = {
    "a remembered question confuses True and 1": (
        "tables/curator.py",
        "return (kind, value)",
        "return value",
        f"{_CURATOR} -k told_apart",
    ),
    "a remembered question confuses numbers that are equal": (
        "tables/curator.py",
        "return (kind, repr(value))",
        "return (kind, value)",
        f"{_CURATOR} -k different_spelling",
    ),
    "a remembered question confuses lists of numbers and of text": (
        "tables/curator.py",
        "return (kind, inside.pop(), tuple(value))",
        "return (kind, tuple(map(str, value)))",
        f"{_CURATOR} -k told_apart",
    ),
    "a question is remembered without its rows and groups": (
        "tables/curator.py",
        "said = (asking.what, asking.columns, asking.where, asking.by, asking.groups, asking.ballots)",
        "said = (asking.what, asking.columns)",
        f"{_CURATOR} -k another_one_is_not",
    ),
    "a remembered question keeps a list of the caller's": (
        "tables/curator.py",
        "asking, kept = (replace(asking, groups=deepcopy(asking.groups)), deepcopy(asked))",
        "kept = asked",
        f"{_CURATOR} -k list_of_the_caller",
    ),
    "a question is found without parameters that have no names": (
        "tables/curator.py",
        "spelt = None if args else _spelt(prepare, asking, asked)",
        "spelt = _spelt(prepare, asking, asked)",
        f"{_CURATOR} -k without_names",
    ),
    "a question is remembered by a list that was changed": (
        "tables/curator.py",
        "if self.table is table and _spelt(prepare, asking, kept) == spelt:",
        "if self.table is table:",
        f"{_CURATOR} -k while_it_is_copied",
    ),
    "a release hands out what is remembered": (
        "tables/curator.py",
        "question = replace(prepared.question, asked=deepcopy(prepared.question.asked))",
        "question = prepared.question",
        f"{_CURATOR} -k changed_by_nobody",
    ),
    "a price hands out what is remembered": (
        "tables/preview.py",
        "replace(cost, parts=None if cost.parts is None else dict(cost.parts))",
        "cost",
        f"{_CURATOR} -k price_says",
    ),
    "questions outlive their table": (
        "tables/curator.py",
        "self._prepared.clear()",
        "pass",
        f"{_CURATOR} -k opened_again",
    ),
    "two statements have one plan": (
        "tables/engine.py",
        "used = set(self._seen.values())",
        "used = set()",
        f"{_CURATOR} -k second_time",
    ),
}

TABLES = (
    RANGES
    | REMEMBERED
    | ENDINGS
    | IN_ONE_STATEMENT
    | CONDITION_MUTANTS
    | TOTAL_MUTANTS
    | BALLOT_MUTANTS
    | LIMITS
    | LANGUAGE
    | WINDOWS
    | ONE_ROW
)

# of tables on a server
DATABASES = {
    "numbers of a database keep the zeros at their end": (
        "tables/valid_cells.py",
        "native = _with_one_spelling(native)",
        "native = native",
        "tests/engines/test_capping.py -m postgres -k order_of_rows",
    ),
    "a database looks for patterns in any text": (
        "tables/condition_matching.py",
        "if not table.once(('patterns', column), lambda: _takes_patterns(table.frame, column)):",
        "if table is None:",
        "tests/attacks/test_one_row_decides.py -m postgres -k no_pattern_in",
    ),
    "a database is not asked what it can compare": (
        "tables/condition_matching.py",
        "elif table.frame.implementation.is_ibis():",
        "elif table is None:",
        "tests/attacks/test_one_row_decides.py -m postgres -k cannot_compare",
    ),
}
