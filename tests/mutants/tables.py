"""Wrong edits of how tables are read and added up."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

TOTALS: Mutants = {
    "totals with steps that are 0 in floats": (
        "data/totals.py",
        "if not _SMALLEST <= step <= _LARGEST:",
        "if step <= 0:",
        "tests/unit/data/test_totals.py -k floats",
    ),
}

CONDITIONS: Mutants = {
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
