"""Every mutant fits the code of today, and every mechanism has one."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from contracts.public_mechanisms import is_mechanism
from mutants import edit
from mutants.catalogue import for_file, mutants
from public_names import PUBLIC

PACKAGE = Path(__file__).parents[2] / "src" / "discreet"


def test_every_mutant_fits_the_code():
    """Also those that are not tried today: a mutant of code that is gone tests nothing."""
    for mutant in mutants():
        source = (PACKAGE / mutant.file).read_text(encoding="utf-8")
        try:
            edit.replacement(source, mutant.true, mutant.wrong, mutant.scope)
        except AssertionError as error:
            pytest.fail(f"{mutant.id} {error}")


def test_no_two_mutants_have_the_same_id():
    ids = Counter(each.id for each in mutants())
    assert [each for each, times in ids.items() if times > 1] == []


def test_every_public_mechanism_has_a_mutant():
    """In the module that defines it: who writes a mechanism also writes what would break it."""
    missing = []
    for name in filter(is_mechanism, PUBLIC):
        defined = sys.modules[PUBLIC[name].__module__].__file__
        if not for_file(Path(defined).relative_to(PACKAGE).as_posix()):
            missing.append(f"{name}, defined in {defined}")
    assert not missing, "\n".join(missing)


def test_layout_and_quotes_do_not_count():
    source = 'def f(x):\n    # why\n    if (x["a"]\n        > 1):\n        return g(\n  x,\n )\n'
    assert "if x['a'] < 1:" in edit.mutate(source, "if x['a'] > 1:", "if x['a'] < 1:")
    assert edit.mutate(source, "return g(x)", "pass\nreturn x").endswith(
        "        pass\n        return x"
    )


def test_a_snippet_is_looked_for_in_its_class_alone():
    method = "    def f(self):\n        return 1\n"
    source = f"class A:\n{method}class B:\n{method}"
    wrong = edit.mutate(source, "return 1", "return 2", "B.f")
    assert wrong == edit.canonical(source.rpartition("1")[0] + "2")
    with pytest.raises(AssertionError, match="no longer fits"):
        edit.mutate(source, "return 1", "return 2")


def test_an_edit_that_changes_nothing_is_no_mutant():
    with pytest.raises(AssertionError, match="changes nothing"):
        edit.mutate("x = (1)", "x = 1", "x = (1)")
