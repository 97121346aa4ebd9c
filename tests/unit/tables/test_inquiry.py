"""Two questions that differ in meaning have two forms: a kept answer is never given for another."""

from __future__ import annotations

import numpy
import pandas
import polars
import pytest

from discreet import (
    CsvFile,
    Ledger,
    OneRow,
    PublicTable,
    PureDP,
    Session,
    column,
    row_count,
)
from discreet.tables import inquiry
from discreet.tables.inquiry import digest, question_form
from discreet.tables.payment import Asked

PETS = pandas.DataFrame({"pet": ["cat"] * 30 + ["dog"] * 3})


def form(**parts):
    return digest(question_form("mode", **parts))


@pytest.fixture
def ledger(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/budget.db") as opened:
        yield opened


class TestConditions:
    @pytest.mark.parametrize("other", ["1", True, "true"])
    def test_a_number_is_not_the_text_that_shows_it(self, other):
        assert form(where=column("k") == 1) != form(where=column("k") == other)
        assert form(where=column("k").is_in([1])) != form(where=column("k").is_in([other]))

    def test_spellings_of_one_number_are_one(self):
        assert form(where=column("k") == 1) == form(where=column("k") == 1.0)

    def test_each_gets_its_own_answer(self):
        # as a number 01 is 1, and as text it is not
        cells = {"k": ["1"] * 10 + ["01"] * 20, "pet": ["cat"] * 10 + ["dog"] * 20}
        table = pandas.DataFrame(cells)
        session = Session(table, unit=OneRow(), budget=PureDP(128))

        def asked(value):
            return session.mode(
                "pet", candidates=["cat", "dog"], epsilon=64, where=column("k") == value
            ).value

        assert [asked(1), asked("1")] == ["dog", "cat"]


class TestCandidates:
    """Digests of long lists are those that kept answers of earlier versions are named by."""

    TEXT = tuple(f'"{n} ünï\\' for n in range(30))
    WHOLE = (*range(-15, 15), 2**63 - 1, -(2**63))

    def digest(self, labels):
        return question_form("mode", candidates=labels)["candidates"]["digest"]

    def test_text_and_whole_numbers_keep_their_names(self):
        text, whole = self.digest(self.TEXT), self.digest(self.WHOLE)
        assert text == "61d15a0fa3730459c123cb88cc288920ad547ba6d4cc07f53504150193d4fdab"
        assert whole == "23daa3658c201479cc14abe4642310b4a9fabef3646554bd92dd87a67362ce1f"

    @pytest.mark.parametrize("labels", [TEXT, WHOLE], ids=["text", "whole"])
    def test_at_once_they_are_named_as_one_by_one(self, labels, monkeypatch):
        at_once = self.digest(labels), self.digest(labels[::-1]), self.digest(list(labels))
        monkeypatch.setattr(inquiry, "_is_usual", lambda given: False)
        assert set(at_once) == {self.digest(labels)}

    def test_other_kinds_are_other_lists(self):
        whole = list(range(30))
        lists = [whole, list(map(str, whole)), [*whole[:-1], "29"], [False, True, *whole[2:]]]
        assert len(set(map(self.digest, lists))) == 4
        # once more, as each may be remembered by now
        assert len({self.digest(each) for each in reversed(lists)}) == 4
        assert (
            self.digest(whole) == self.digest(numpy.arange(30)) == self.digest([*whole[:-1], 29.0])
        )

    def test_very_large_numbers_have_names(self):
        assert self.digest([*range(30), 2**64]) != self.digest([*range(30), 2**65])


class TestPublicTables:
    def candidates(self, middle):
        return polars.DataFrame({"c": [*map(str, range(50)), middle, *map(str, range(50, 99))]})

    def test_frames_that_look_the_same_are_different(self):
        one, other = self.candidates("a"), self.candidates("b")
        assert repr(one) == repr(other)
        assert form(candidates=PublicTable(one, "c")) != form(candidates=PublicTable(other, "c"))
        assert form(candidates=PublicTable(one, "c")) == form(candidates=PublicTable(one, "c"))

    def test_a_frame_that_is_gone_gives_its_name_to_no_other(self):
        names = {form(candidates=PublicTable(self.candidates("a"), "c")) for _ in range(50)}
        assert len(names) == 50

    def test_what_cannot_be_watched_is_another_one_each_time(self):
        names = {form(candidates=PublicTable((1, 2), "c")) for _ in range(2)}
        assert len(names) == 2

    def test_a_path_is_the_file_that_it_leads_to(self, tmp_path, monkeypatch):
        names = []
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
            monkeypatch.chdir(tmp_path / folder)
            names.append(form(candidates=PublicTable("pets.csv", "pet")))
        assert names[0] != names[1]
        assert names[1] == form(candidates=PublicTable(tmp_path / "b" / "pets.csv", "pet"))


class TestTables:
    def identity(self, table, **named):
        return Asked(unit=OneRow(), table=table, **named).identity

    def test_how_a_file_is_written_makes_another_table_of_it(self):
        ways = [{}, {"separator": ";"}, {"encoding": "latin-1"}, {"multiline": True}]
        ways.append({"quoted": False})
        names = {self.identity(CsvFile("a.csv", **way)) for way in ways}
        assert len(names) == len(ways)
        assert self.identity("a.csv") == self.identity(CsvFile("a.csv"))

    def test_the_name_of_a_table_is_no_part_of_the_path(self):
        assert self.identity("a.duckdb b") != self.identity("a.duckdb", table_name="b")


class TestWindows:
    def test_the_same_question_about_another_window_is_another_one(self, ledger):
        ledger.open("monthly", budget=PureDP(2), windows=True)

        def asked(window):
            session = Session(
                PETS,
                unit=OneRow(),
                ledger=ledger,
                dataset="monthly",
                window=window,
                table_label="x",
            )
            return session.mode("pet", candidates=["cat", "dog"], epsilon=1)

        first = asked("2026-10")
        asked("2026-11")
        assert ledger.spent("monthly", window="2026-11") == 1
        assert asked("2026-10") == first
        assert asked(["2026-11", "2026-10"]) == asked(["2026-10", "2026-11"])
        assert ledger.spent("monthly", window="2026-10") == 2


class TestLongQuestions:
    """A ledger writes the question down, and takes 64 KiB."""

    def ask(self, ledger, number, long=0):
        session = Session(PETS, unit=OneRow(), ledger=ledger, dataset="pets", table_label="pets")
        return session.select(
            candidates=[f"pet {place}" + long * "x" for place in range(number)],
            score=lambda pet: row_count(where=column("pet") == pet, most=1),
            epsilon=1,
        )

    def test_are_written_by_their_digest(self, ledger):
        ledger.open("pets", budget=PureDP(4))
        first = self.ask(ledger, 3, long=30_000)
        assert self.ask(ledger, 3, long=30_000) == first
        assert ledger.spent("pets") == 1
        self.ask(ledger, 4, long=30_000)
        assert ledger.spent("pets") == 2
        (charge, _) = ledger.history("pets")
        assert set(charge.request["scores"]) == {"characters", "digest"}

    def test_short_ones_are_written_in_full(self, ledger):
        ledger.open("pets", budget=PureDP(4))
        self.ask(ledger, 3)
        (charge,) = ledger.history("pets")
        assert "pet 2" in str(charge.request["scores"])
