"""A list of questions: priced as a whole, refused unless all of it fits, resumed without paying
twice.
"""

from __future__ import annotations

import multiprocessing
import os
from fractions import Fraction

import pandas
import pytest

from discreet import (
    ApproxDP,
    BudgetExceededError,
    Ledger,
    OneRow,
    PureDP,
    Session,
)
from discreet.errors import ParameterTypeError, ReservationLostError
from discreet.questions import Count, Mode, TopK
from discreet.questions.runner import QuestionRunner
from discreet.testing import SeededBits

PETS = pandas.DataFrame({"pet": ["cat"] * 40 + ["dog"] * 3, "age": [3] * 43})
LABELS = ["cat", "dog"]
FIRST = Mode("pet", candidates=LABELS, epsilon=0.25)
SECOND = TopK("pet", k=2, candidates=LABELS, epsilon=0.25)
THIRD = Count(epsilon=0.5)
ALL = [FIRST, SECOND, THIRD]


@pytest.fixture
def session():
    with Session(PETS, unit=OneRow(), budget=PureDP(1)) as opened:
        yield opened


@pytest.fixture
def path(tmp_path):
    PETS.to_csv(tmp_path / "pets.csv", index=False)
    with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
        ledger.open("pets", budget=PureDP(2))
    return tmp_path


def opened(path):
    ledger = Ledger(f"sqlite:///{path}/budget.db")
    return Session(path / "pets.csv", unit=OneRow(), ledger=ledger, dataset="pets")


class TestAsking:
    def test_answers_come_in_the_order_of_the_questions(self, session):
        releases = session.ask(ALL)
        assert [release.asked["what"] for release in releases] == ["mode", "top_k", "count"]
        assert session.remaining() == 0

    def test_each_answer_is_that_of_the_question_alone(self, session):
        releases = session.ask(ALL)
        assert [session.ask(each).value for each in ALL] == [each.value for each in releases]
        assert [line.what for line in session.history()] == ["mode", "top_k", "count"]

    def test_a_list_that_does_not_fit_is_not_charged_at_all(self, session):
        session.ask(FIRST)
        larger = [SECOND, Mode("pet", candidates=LABELS, epsilon=0.75)]
        assert all(map(session.would_fit, larger))
        with pytest.raises(BudgetExceededError, match="cost 1 epsilon together") as refused:
            session.ask(larger)
        assert "Nothing was charged" in str(refused.value)
        assert session.spent() == Fraction(1, 4)

    def test_what_was_answered_or_is_there_twice_is_paid_once(self, session):
        session.ask(FIRST)
        one, _, _, four = session.ask([SECOND, FIRST, THIRD, SECOND])
        assert one.value == four.value
        one.value.clear()
        assert four.value
        assert session.remaining() == 0

    def test_a_fresh_list_pays_for_all_of_it(self, session):
        session.ask([FIRST, SECOND])
        session.ask([FIRST, SECOND], fresh=True)
        assert session.remaining() == 0

    def test_a_wrong_question_stops_the_list_before_anything_is_paid(self, session):
        with pytest.raises(ValueError, match="column"):
            session.ask([FIRST, Mode("pets", candidates=LABELS, epsilon=0.25)])
        assert session.spent() == 0

    @pytest.mark.parametrize("wrong", [[], ["mode"], "mode", [[FIRST]], {FIRST: 1}, None])
    def test_only_lists_of_questions(self, session, wrong):
        for call in (session.ask, session.price, session.would_fit):
            with pytest.raises(ParameterTypeError):
                call(wrong)

    def test_facts_are_filled_in_everywhere(self):
        facts = {"pet": {"candidates": LABELS}}
        with Session(PETS, unit=OneRow(), budget=PureDP(1), public=facts) as session:
            bare = [Mode("pet", epsilon=0.25), TopK("pet", k=2, epsilon=0.25)]
            assert [release.candidates for release in session.ask(bare)] == [2, 2]
            assert session.price([FIRST, SECOND]).amount == 0

    def test_a_simulated_list_is_drawn_each_time(self, session):
        values = [session.ask([FIRST], bits=SeededBits(1))[0].value for _ in range(2)]
        assert values == ["cat", "cat"]
        assert session.spent() == Fraction(1, 2)


class TestPrices:
    @pytest.mark.parametrize("budget", [PureDP(3), ApproxDP(1, 1e-6)])
    def test_a_list_costs_what_its_questions_do(self, budget):
        with Session(PETS, unit=OneRow(), budget=budget) as session:
            price = session.price([FIRST, SECOND, FIRST])
            assert price.amount == session.price(FIRST).amount + session.price(SECOND).amount
            before = session.remaining()
            session.ask([FIRST, SECOND, FIRST])
            assert session.remaining() == before - price.amount
            assert session.price([SECOND, FIRST]).amount == 0
            assert session.price([SECOND, FIRST], fresh=True).amount == price.amount

    def test_prices_say_which_questions_fit_after_those_before(self, session):
        price = session.price([*ALL, Count(where="age > 1", epsilon=0.25)])
        assert [each.fits for each in price.prices] == [True, True, True, False]
        assert not price.fits
        assert session.would_fit(ALL)
        assert session.spent() == 0

    def test_an_untouched_budget_admits_its_whole_loss_once(self):
        whole = Mode("pet", candidates=LABELS, epsilon=1)
        with Session(PETS, unit=OneRow(), budget=PureDP(1)) as session:
            assert session.would_fit([whole])
            assert not session.would_fit([whole, FIRST])
            assert not session.would_fit([FIRST, whole])


class TestResuming:
    def test_another_process_pays_for_the_rest_only(self, path):
        def break_off():
            answered = []
            answer = QuestionRunner._paid

            def paid(*given):
                if len(answered) == 2:
                    os._exit(9)
                answered.append(answer(*given))
                return answered[-1]

            QuestionRunner._paid = paid
            opened(path).ask(ALL)

        process = multiprocessing.get_context("fork").Process(target=break_off)
        process.start()
        process.join()
        assert process.exitcode == 9
        with opened(path) as session:
            assert session.spent() == Fraction(1, 2)
            assert session.price(ALL).amount == Fraction(1, 2)
            assert len(session.ask(ALL)) == 3
            assert session.spent() == 1
            session.ask(ALL)
            assert session.spent() == 1

    def test_a_lost_answer_is_paid_for_again_only_on_demand(self, path, monkeypatch):
        with monkeypatch.context() as broken, opened(path) as session:
            broken.setattr(QuestionRunner, "_answered", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                session.ask(SECOND)
        with opened(path) as session:
            assert session.spent() == Fraction(1, 4)
            with pytest.raises(ReservationLostError, match="'top_k' about 'pet' was charged"):
                session.ask(ALL)
            assert session.spent() == Fraction(1, 4)
            assert len(session.ask(ALL, again=True)) == 3
            assert session.spent() == Fraction(5, 4)
            session.ask(ALL, again=True)
            assert session.spent() == Fraction(5, 4)

    def test_a_single_question_can_be_paid_again_too(self, path, monkeypatch):
        with monkeypatch.context() as broken, opened(path) as session:
            broken.setattr(QuestionRunner, "_answered", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                session.ask(FIRST)
        with opened(path) as session:
            with pytest.raises(ReservationLostError):
                session.mode("pet", candidates=LABELS, epsilon=0.25)
            session.mode("pet", candidates=LABELS, epsilon=0.25, again=True)
            assert session.spent() == Fraction(1, 2)

    def test_a_list_that_does_not_fit_a_shared_budget_is_not_charged(self, path):
        with opened(path) as session:
            with pytest.raises(BudgetExceededError, match="Nothing was charged"):
                session.ask([*ALL, Count(where="age > '1'", epsilon=1.5)])
            assert session.spent() == 0
