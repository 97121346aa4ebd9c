"""Sessions and hostile rows: ours let no row decide, and those that do are found."""

from dataclasses import dataclass

import pandas
import pytest
from tiers import more

from discreet import Person, PureDP, Release, Session
from discreet.auditing import audit_session
from discreet.auditing.sessions import hostile_rows

ROWS = [{"person": n, "item": "abc"[n % 3], "price": float(n), "age": 20 + n} for n in range(9)]


def make_ours(rows):
    return Session(pandas.DataFrame(rows), unit=Person("person"), budget=PureDP(5))


QUESTIONS = {
    "mode": lambda s: s.mode("item", candidates=["a", "b", "c"], epsilon=1),
    "quantile": lambda s: s.quantile("price", q=0.5, bounds=(0, 10), step=1, epsilon=1, rule="max"),
}


@pytest.mark.parametrize(
    "name", ["mode", *(more(name, tier="audits") for name in QUESTIONS if name != "mode")]
)
def test_no_row_decides_anything_in_ours(name):
    report = audit_session(make_ours, QUESTIONS[name], rows=ROWS)
    assert not report.violated, str(report)
    assert len(report.tried) > 30
    assert str(report).startswith("No row decides anything")


@dataclass
class Careless:
    """A session that fails, warns or charges because of a row."""

    rows: list
    fault: str

    def spent(self):
        return len(self.rows) if self.fault == "charge" else 1

    def ask(self):
        if self.fault == "error":
            return self._release(int(sum(row["price"] or 0 for row in self.rows)))
        if self.fault == "type":
            return self._release(sum(row["price"] or 0 for row in self.rows) or 0)
        return self._release(1)

    def _release(self, value):
        return Release(value=value, loss=PureDP(1), mechanism="x", candidates=None)


@pytest.mark.parametrize(("fault", "differs"), [("error", "error"), ("charge", "charged")])
def test_a_row_that_decides_is_found(fault, differs):
    report = audit_session(
        lambda rows: Careless(rows, fault), lambda session: session.ask(), rows=ROWS
    )
    assert report.violated
    assert all(differs in finding.differs for finding in report.findings)
    assert "One row decides" in str(report)
    if fault == "error":
        names = [finding.name for finding in report.findings]
        assert names == ["price = nan", "price = inf", "price = -inf"]
        assert report.findings[0].with_it.error.startswith("ValueError: cannot convert float NaN")
    assert report.to_dict()["findings"][0]["differs"]


def test_a_table_that_does_not_open_is_found():
    def make(rows):
        if any(row["item"] is None for row in rows):
            raise KeyError("empty cell")
        return Careless(rows, "none")

    report = audit_session(make, lambda session: session.ask(), rows=ROWS)
    assert {"no item", "nothing at all"} == {finding.name for finding in report.findings}
    assert report.findings[0].with_it.opened == "KeyError: 'empty cell'"


def test_the_odds_of_the_answers():
    """A question that gives away how many rows there are."""
    report = audit_session(
        lambda rows: rows,
        lambda rows: Release(value=len(rows), loss=PureDP(1), mechanism="count", candidates=None),
        rows=ROWS,
        draws=2000,
    )
    assert report.findings == ()
    assert report.violated
    assert report.answers.lower_bound > 1


def test_hostile_rows_have_the_types_of_their_columns():
    rows = dict(hostile_rows(ROWS))
    assert rows["age = 9223372036854775807"]["age"] == 2**63 - 1
    assert rows["price = nan"]["item"] == "a"
    assert rows["nothing at all"] == dict.fromkeys(ROWS[0])
