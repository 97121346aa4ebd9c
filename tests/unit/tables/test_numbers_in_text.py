"""What text says: numbers only where the caller says so, and U+FFFD where it is no text."""

from __future__ import annotations

import gzip

import pandas
import pytest

from discreet import (
    CsvFile,
    Ledger,
    ParameterError,
    Person,
    PureDP,
    Session,
    column,
    row_count,
    total,
)
from discreet.questions import Mode
from discreet.tables import lines
from discreet.tables.opening import open_table

PERSON = Person("who")
NUMBERS = {
    "quantile": lambda session: session.quantile(
        "kg", q=0.5, points=[1, 50], rule="max", epsilon=1
    ),
    "quantiles": lambda session: session.quantiles(
        "kg", q=[0.5], points=[1, 50], rule="max", epsilon=1
    ),
    "best_price": lambda session: session.best_price("kg", prices=[1, 50], rule="max", epsilon=1),
    "where": lambda session: session.count(where="kg > 44.4", epsilon=1),
    "not in": lambda session: session.count(where="not kg in (44, 45)", epsilon=1),
    "total": lambda session: session.select(
        candidates=["a"], score=lambda _: total("kg", bounds=(0, 9), step=1), epsilon=1
    ),
    "where of a total": lambda session: session.select(
        candidates=["a"], score=lambda _: row_count(where=column("kg") > 3), epsilon=1
    ),
    "fit": lambda session: session.fit_subspace(["kg", "cm"], k=1, norm=1, rule="sum", epsilon=1),
}
EACH = pytest.mark.parametrize("ask", NUMBERS.values(), ids=NUMBERS)


def weights(place, rows=9):
    path = place / "weights.csv"
    path.write_text("\n".join(["who;kg;cm", *(f"{who};44,45;180" for who in range(rows))]) + "\n")
    return path


class TestNumbersInText:
    @EACH
    def test_text_is_refused_before_the_charge_with_and_without_rows(self, tmp_path, ask):
        for rows in (0, 9):
            session = Session(weights(tmp_path, rows), unit=PERSON, budget=PureDP(9))
            with pytest.raises(ParameterError, match=r"CsvFile\(path, decimal='\.'\) for 44\.5"):
                ask(session)
            assert session.spent() == 0

    @EACH
    @pytest.mark.parametrize("decimal", [".", ","])
    def test_a_decimal_mark_says_that_text_has_numbers(self, tmp_path, ask, decimal):
        file = CsvFile(weights(tmp_path), decimal=decimal)
        session = Session(file, unit=PERSON, budget=PureDP(9))
        ask(session)
        assert session.spent() == 1

    def test_a_session_takes_it_for_all_columns_or_for_some(self):
        frame = pandas.DataFrame({"who": [1, 2], "kg": ["3", "4"], "cm": ["5", "6"]})
        asked = {"q": 0.5, "points": [1, 4], "rule": "max", "epsilon": 1}
        with pytest.raises(ParameterError, match=r"Session\(table, numbers_in_text=True\)"):
            Session(frame, unit=PERSON, budget=PureDP(9)).quantile("kg", **asked)
        some = Session(frame, unit=PERSON, budget=PureDP(9), numbers_in_text=["kg"])
        some.quantile("kg", **asked)
        with pytest.raises(ParameterError, match="text that is said to have them"):
            some.quantile("cm", **asked)
        every = Session(frame, unit=PERSON, budget=PureDP(9), numbers_in_text=True)
        every.quantile("cm", **asked)

    @pytest.mark.parametrize("said", ["kg", 1, None, ["never"]], ids=str)
    def test_what_says_nothing_is_refused(self, said):
        frame = pandas.DataFrame({"who": [1], "kg": ["3"]})
        with pytest.raises(ParameterError, match="'numbers_in_text' parameter of Session must be"):
            Session(frame, unit=PERSON, budget=PureDP(9), numbers_in_text=said)

    def test_a_point_makes_no_other_table_of_a_file(self, tmp_path):
        path = weights(tmp_path)
        with Ledger(tmp_path / "budget.db") as ledger:
            ledger.open("weights", budget=PureDP(9), unit=PERSON, table=path)
            for source in (path, CsvFile(path, decimal=".")):
                session = Session(source, unit=PERSON, ledger=ledger, dataset="weights")
                session.count(epsilon=1)
            assert ledger.account("weights").spent == 1


class TestBytesThatAreNoText:
    """They become U+FFFD within their cell, so the row counts; as a person they are nobody."""

    @pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl"])
    def test_a_row_counts_and_one_of_nobody_does_not(self, tmp_path, ending):
        path = tmp_path / f"votes.{ending}"
        cells = [(b"p%d" % who, b"caf\xe9") for who in range(50)]
        cells += [(b"\xe9%d" % who, b"tea") for who in range(90)]
        rows = [b"who,item", *(b"%b,%b" % cell for cell in cells)]
        if ending == "jsonl":
            rows = [b'{"who": "%b", "item": "%b"}' % cell for cell in cells]
        content = b"\n".join(rows) + b"\n"
        path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
        session = Session(path, unit=PERSON, budget=PureDP(300))
        pair = ["caf\ufffd", "tea"]
        assert session.counts("item", candidates=pair, epsilon=60).counts.values == (50, 0)
        assert session.count(epsilon=60).value == 50
        assert session.count(where="item = 'tea'", epsilon=60).value == 0
        many = [*(f"x{number}" for number in range(1001)), *pair]
        assert session.mode("item", candidates=many, epsilon=60).value == "caf\ufffd"
        scored = session.select(candidates=pair, score=_rows_with, sensitivity=1, epsilon=60)
        assert scored.value == "caf\ufffd"
        assert session.spent() == 300

    def test_nothing_is_looked_at_before_the_charge(self, tmp_path, monkeypatch):
        path = tmp_path / "votes.csv"
        path.write_bytes(b"who,item\n1,caf\xe9\n")
        looked = []
        monkeypatch.setattr(lines, "_is_utf_8", lambda *file: looked.append(file) or True)
        session = Session(path, unit=PERSON, budget=PureDP(9))
        question = Mode("item", candidates=["tea"], epsilon=1)
        session.price(question)
        assert not looked
        session.ask(question)
        assert looked

    @pytest.mark.parametrize("odd", [b"\xe9", b"\xc3", b"\xf0\x9f", b"\xff\xfe", b"\xed\xa0\x80"])
    @pytest.mark.parametrize("place", [0, 15, 30])
    def test_no_other_row_is_another_one(self, tmp_path, odd, place):
        honest = [b"%d,x%d" % (number, number) for number in range(30)]

        def read(name, rows):
            path = tmp_path / name
            path.write_bytes(b"\n".join([b"who,item", *rows]) + b"\n")
            table = open_table(path).having(["who", "item"])
            return table.rows.collect().rows()

        before = read("before.csv", honest)
        after = read("after.csv", [*honest[:place], odd + b"," + odd, *honest[place:]])
        assert after[:place] + after[place + 1 :] == before
        assert all("\ufffd" in cell for cell in after[place])


def _rows_with(item):
    return row_count(where=column("item") == item)
