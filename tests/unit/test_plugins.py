"""The plugins that measure tests and choose the ones that a change affects."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from plugins.changed import Allowance, Change, Selection
from plugins.cpu_times import SECONDS, Stopwatch, Summary
from plugins.dependencies import PACKAGE, ROOT, TESTS, depends_on, distances


def a_test(file, **parameters):
    return SimpleNamespace(path=ROOT / file, callspec=SimpleNamespace(params=parameters))


TAPES = "tests/contracts/test_every_tape.py"
CLIENT = "tests/service/test_client.py"


@pytest.mark.parametrize(
    ("changed", "file", "affected"),
    [
        # through the mechanisms that draw with it
        ("src/discreet/samplers/permute_and_flip.py", TAPES, True),
        ("src/discreet/samplers/permute_and_flip.py", "tests/unit/exact/test_rationals.py", False),
        # a public name that is imported when it is first used
        ("src/discreet/functions.py", "tests/unit/test_functions.py", True),
        # a command that the shell imports when it is called, by way of a conftest file
        ("src/discreet/cli/commands/audit.py", "tests/unit/cli/test_audit.py", True),
        ("src/discreet/client.py", CLIENT, True),
        ("src/discreet/client.py", TAPES, False),
        # data inside the package stands for the modules around it
        ("src/discreet/service/templates/ask.html", "tests/service/test_pages.py", True),
        ("src/discreet/service/templates/ask.html", TAPES, False),
        # helpers of tests, and tests themselves
        ("tests/reference/exact.py", TAPES, True),
        (TAPES, TAPES, True),
        # a page that a test reads, the examples of a page, and those of a module
        ("docs/proofs/tables.md", "tests/docs/test_proofs.py", True),
        ("docs/explanation/range.md", "docs/explanation/range.md", True),
        ("src/discreet/samplers/envelope.py", "docs/explanation/range.md", True),
        ("src/discreet/privacy/loss.py", "src/discreet/functions.py", True),
        ("src/discreet/auditing/events.py", "src/discreet/privacy/loss.py", False),
        ("pyproject.toml", TAPES, True),
    ],
)
def test_a_change_affects_the_tests_that_depend_on_it(changed, file, affected):
    assert (Change([changed]).distance(a_test(file)) is not None) == affected


def test_a_mutant_is_affected_by_the_file_it_edits_and_by_its_test():
    edit = SimpleNamespace(file="privacy/loss.py", test="tests/unit/privacy/test_loss.py::test_a")
    mutant = a_test("tests/mutants/test_mutants.py", mutant=edit)
    for file in ("src/discreet/privacy/loss.py", "tests/unit/privacy/test_loss.py"):
        assert Change([file]).distance(mutant) == 0
    assert Change(["src/discreet/exact/rationals.py"]).distance(mutant) is None


def test_imports_for_type_checkers_do_not_count():
    # `discreet/__init__.py` imports everything for type checkers, and nothing when it runs
    assert depends_on(PACKAGE / "__init__.py") == {PACKAGE / "lazy.py"}


@pytest.mark.sizes
def test_every_module_of_the_package_is_reached_by_some_test():
    reached = distances(TESTS.rglob("test_*.py"))
    modules = {file for file in PACKAGE.rglob("*.py") if file.name != "__main__.py"}
    # examples, which the pages that show them run
    modules -= set((PACKAGE / "cli" / "data").iterdir())
    assert {str(file) for file in modules - reached.keys() if file.stat().st_size} == set()


def test_the_closest_tests_come_first_and_the_seed_decides_about_the_rest():
    change = Change(["src/discreet/samplers/envelope.py"])
    close, far = "tests/unit/samplers/test_envelope.py", "tests/unit/cli/test_select.py"
    assert change.distance(a_test(close)) < change.distance(a_test(far))
    gone = []
    config = SimpleNamespace(
        hook=SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))
    )
    unaffected = a_test("tests/unit/privacy/test_cost.py")
    orders = []
    for seed in "aab":
        items = [a_test(far), *(a_test(close) for _ in range(20)), unaffected]
        for number, item in enumerate(items):
            item.number = number
        Selection(change, seed).pytest_collection_modifyitems(config, items)
        assert len(items) == 21
        assert items[-1].path == ROOT / far
        orders.append([item.number for item in items])
    assert orders[0] == orders[1] != orders[2]
    assert gone == [unaffected] * 3


def test_no_test_starts_after_the_allowance():
    assert Allowance(1e9).pytest_runtest_protocol() is None
    spent = Allowance(0)
    assert spent.pytest_runtest_protocol() is True
    assert spent.left_out == 1


def test_pauses_do_not_count_and_nested_ones_count_once():
    now = 0.0
    watch = Stopwatch(lambda: now)
    now = 1.0
    with watch.pause():
        now = 3.0
        with watch.pause():
            now = 7.0
    now = 8.0
    assert watch.read() == 2.0


def reports(test, *seconds, everyday=True):
    return [
        SimpleNamespace(nodeid=test, cpu_seconds=each, is_everyday=everyday) for each in seconds
    ]


@pytest.mark.parametrize("limit", [True, False])
def test_everyday_tests_above_the_limit_are_named_and_fail_where_asked(limit):
    # a hundred times the limit: no machine is that slow
    much = 100 * SECONDS
    summary = Summary(limit)
    for report in (
        *reports("short", 0.1, 0.1, 0.1),
        *reports("in three parts", much / 3, much / 3, much / 3),
        *reports("of a tier", much, everyday=False),
        *reports("docs/page.md::page.md", 2 * SECONDS),
    ):
        summary.pytest_runtest_logreport(report)
    assert [test for test, _ in summary.too_long()] == ["in three parts"]
    session = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    summary.pytest_sessionfinish(session)
    assert bool(session.exitstatus) == limit
