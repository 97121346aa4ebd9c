"""Two questions that differ in meaning have two forms: a kept answer is never given for another."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pytest
from asking import ask_of

from discreet import CsvFile, Ledger, OneRow, PublicTable, PureDP, Session, column, row_count
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
        session = Session(table, unit=OneRow(), budget=PureDP(128), numbers_in_text=True)

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
        assert self.digest(whole) == self.digest(np.arange(30)) == self.digest([*whole[:-1], 29.0])

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


class Changing(list):
    """Labels that are others each time they are looked at."""

    def __iter__(self):
        self.looks = getattr(self, "looks", 0) + 1
        return iter([f"{label} {self.looks}" for label in list.__iter__(self)])


class Pet(str):
    """Text that prints as something else, as that of an Enum does."""

    __slots__ = ()

    def __str__(self):
        return f"Pet.{self.upper()}"


class TestLabels:
    def asked(self, **parts):
        """What a session wrote down about two questions."""
        session = Session(PETS, unit=OneRow(), budget=PureDP(128))
        pairs = zip(*parts.values(), strict=True)
        answers = [
            ask_of(
                session, "mode", "pet", epsilon=64, **dict(zip(parts, values, strict=True))
            ).value
            for values in pairs
        ]
        return answers, [each.asked for each in session.history()]

    def test_an_iterator_is_what_it_gave(self):
        answers, asked = self.asked(candidates=[iter(["cat"]), iter(["dog"])])
        assert answers == ["cat", "dog"]
        assert [each["candidates"] for each in asked] == [["cat"], ["dog"]]

    def test_groups_are_what_they_list(self):
        middle = [[*map(str, range(4)), name, *map(str, range(4, 8))] for name in ("cat", "dog")]
        listed = [pandas.Series(each) for each in middle]
        with pandas.option_context("display.max_rows", 4):
            # a long one shows its ends only
            assert repr(listed[0]) == repr(listed[1])
            given = {"candidates": [["cat", "dog"]] * 2, "by": ["pet"] * 2, "groups": listed}
            answers, asked = self.asked(**given)
        assert answers[0]["cat"] == "cat"
        assert answers[1]["dog"] == "dog"
        again = [question_form("mode", groups=each)["groups"] for each in middle]
        assert [each["groups"] for each in asked] == again

    def test_groups_and_candidates_of_iterators(self):
        answers, _ = self.asked(
            candidates=[iter(["cat", "dog"])], by=["pet"], groups=[iter(["cat", "dog"])]
        )
        assert answers == [{"cat": "cat", "dog": "dog"}]

    def test_labels_are_looked_at_once(self):
        (answer,), (asked,) = self.asked(candidates=[Changing(["cat", "dog"])])
        assert answer in asked["candidates"]

    def test_a_short_float_is_the_number_that_it_is_compared_as(self):
        table = polars.DataFrame({"x": [0.1, float(np.float32(0.1))]})
        session = Session(table, unit=OneRow(), budget=PureDP(4))
        for label in (0.1, np.float32(0.1)):
            session.counts("x", candidates=[label], epsilon=1)
        assert session.spent() == 2

    def test_prices_of_an_iterator(self):
        session = Session(polars.DataFrame({"x": [9.0]}), unit=OneRow(), budget=PureDP(4))
        for price in (1, 2):
            assert session.best_price("x", prices=iter([price]), epsilon=1).value == price
        assert session.spent() == 2

    def test_text_is_what_it_is_compared_as(self):
        assert form(candidates=[Pet("cat")]) == form(candidates=["cat"])
        assert form(candidates=[Pet("cat")]) != form(candidates=["Pet.CAT"])


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
