"""The door for people who have a table: who is protected, how much may be spent, and questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, ParameterTypeError, called_as, public_function
from discreet.exact.rationals import Number, require_flag
from discreet.privacy.cost import Amount, Cost
from discreet.privacy.loss import Loss, is_loss
from discreet.privacy.parameters import Person, Unit, read_probability, read_unit
from discreet.questions import (
    BestPrice,
    Count,
    Counts,
    FitCovariance,
    FitDeepest,
    FitLinear,
    FitLogistic,
    FitSubspace,
    Mode,
    Quantile,
    Quantiles,
    Question,
    Select,
    TopK,
)
from discreet.questions.prices import (
    ListPrice,
    Price,
    SessionDescription,
    price_of,
    price_of_list,
)
from discreet.questions.question import asks, read_facts
from discreet.questions.runner import Charge, QuestionRunner
from discreet.randomness.chance import Bits
from discreet.release import Release
from discreet.tables.counting import require_person
from discreet.tables.files import from_anywhere
from discreet.tables.inquiry import ChargedQuestion, Prepared
from discreet.tables.items import shown_kind
from discreet.tables.opening import open_table
from discreet.tables.payment import Asked, open_budget
from discreet.tables.table import Table, with_numbers

if TYPE_CHECKING:
    from discreet.ledger import Ledger

__all__ = ["ChargedQuestion", "ListPrice", "Price", "Session", "SessionDescription"]


class Session:
    """Private questions to one table.

    table: a path or glob (.parquet, .csv, .tsv, .jsonl, .duckdb), a `CsvFile` or
        `JsonFile`, a pandas, Polars or Arrow table, a DuckDB relation, a Spark data frame
        or an Ibis table.
    unit: who is protected: `Person(column)` or `OneRow()`.
    budget: what may be spent in total: `PureDP`, `ZCDP` or `ApproxDP`. It lives as long
        as the session.
    ledger, dataset: in place of a budget, a `Ledger` and the name of a budget in it:
        shared by many processes, and durable.
    analyst, window: whose budget in the ledger, and which windows of the data the table
        is.
    table_name: the table in a DuckDB file.
    table_label: for a budget in a ledger that names its table by a label: which table
        this is.
    delta_for_losses: of an ApproxDP budget, the part of delta for lists from unknown
        domains, which bring a delta of their own; a tenth of it, if not given.
    time_limit: seconds after which a question ends that was paid for, as a
        `QuestionEndedError`. Its price stays charged. Only for engines that can be
        stopped: DuckDB where it reads the table for the session (files, pandas, Arrow),
        and Spark.
    public: what everybody may know about columns, said once: `{"article": {"candidates":
        [...], "split": ";"}}`. A question that leaves it out takes it from there.
    numbers_in_text: whether text such as "44.5" counts as a number, in all columns or in
        those that are listed. Otherwise a question that asks text for numbers is refused
        before it is charged: of "44,50" nobody would notice that it is none. For a CSV file
        say `CsvFile(path, decimal=".")`.

    A session is open until `close`, or the end of a `with` block.

    Where no mechanism is named, the budget decides: permute-and-flip where epsilons add
    up (`PureDP`), because it has the smallest error for one epsilon; the exponential
    mechanism where squares do (`ApproxDP`, `ZCDP`), because there permute-and-flip
    costs as much as the exponential mechanism of twice the epsilon. `Release.mechanism`
    says which one it was. Many quantiles follow the same rule.

    The same question again gives the same answer, and costs nothing; `fresh=True` asks
    anew, at full price. So a loop that asks one question until it is refused never ends
    without `fresh=True`.

    A question is checked first: its parameters, its columns and their types. Then the
    budget is taken, and only then a row is read. From there on nothing in the table
    raises, changes the charge or the shape of the answer, or how other rows are read:
    empty cells, NaN, infinities, and text in a column of numbers are left out.

    Privacy: all answers together are within the budget, under adding or removing one
        person with all their rows (or one row). How long the engine takes is not covered
        by it, nor is whether a question ends by a time limit.
    Cost: one aggregation in the engine for each question; what comes back has one row
        for each candidate.

    >>> import pandas
    >>> from discreet import OneRow, Person, PureDP, Session
    >>> votes = pandas.DataFrame({"student": [1, 1, 2, 3], "teacher": ["Ada", "Ada", "Ada", "Bob"]})
    >>> session = Session(votes, unit=Person("student"), budget=PureDP(3))
    >>> release = session.mode("teacher", candidates=["Ada", "Bob", "Cy"], epsilon=1)
    >>> release.loss, session.remaining()
    (PureDP(epsilon=1), 2 epsilon)
    >>> session.questions_left(epsilon=0.5)
    4
    """

    @public_function("Session")
    def __init__(
        self,
        table: Any,
        *,
        unit: Unit,
        budget: Loss | None = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        analyst: str | None = None,
        window: str | Sequence[str] | None = None,
        table_name: str | None = None,
        table_label: str | None = None,
        delta_for_losses: Number | None = None,
        time_limit: Number | None = None,
        public: Mapping[str, Mapping[str, Any]] | None = None,
        numbers_in_text: bool | Sequence[str] = False,
    ) -> None:
        self._facts = read_facts(public)
        protected = read_unit(unit)
        asked = Asked(unit=protected, table=table, table_name=table_name, table_label=table_label)
        paid_from = open_budget(budget, ledger, dataset, analyst, window, asked, delta_for_losses)

        def opened(source: Any) -> Table:
            found = with_numbers(open_table(source, table=table_name), numbers_in_text)
            if isinstance(protected, Person):
                require_person(found, protected.column)
            return found

        found = opened(table)
        self._runner = QuestionRunner(
            table=found,
            unit=protected,
            budget=paid_from,
            identity=asked.identity,
            # this process may work in another folder by then, where a path means another table
            reopen=partial(opened, from_anywhere(table)),
            time_limit=time_limit,
        )

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the session."""
        self.close()

    def close(self) -> None:
        """Let go of the table. What was spent stays spent; no question can be asked any more."""
        self._runner.close()

    def cancel(self) -> None:
        """End the questions that other threads wait for, as `QuestionEndedError` there.

        DuckDB and Spark stop at once where a time limit is possible; any other engine
        finishes the step that it is at. What was charged stays charged.
        """
        self._runner.cancel()

    def __repr__(self) -> str:
        runner = self._runner
        return (
            f"Session(unit={runner.unit!r}, budget={runner.budget.budget!r}, "
            f"questions={len(runner.history)})"
        )

    def _repr_html_(self) -> str:
        return self.describe()._repr_html_()

    @property
    def columns(self) -> dict[str, str]:
        """The names of the table's columns, and the types that they have: both are public."""
        return {name: shown_kind(kind) for name, kind in self._runner.table.schema.items()}

    def describe(self) -> SessionDescription:
        """What the session is about, what it has spent and what is left, for people to read."""
        budget = self._runner.budget
        return SessionDescription(
            unit=self._runner.unit,
            budget=budget.budget,
            spent=budget.spent(),
            remaining=budget.remaining(),
            room=budget.room(),
            questions=len(self._runner.history),
            columns=self.columns,
            decimal=self._runner.table.decimal,
        )

    def remaining(self) -> Amount:
        """What is left of the budget: epsilon, rho, or coins, which print as a share of it."""
        return self._runner.budget.remaining()

    def spent(self) -> Amount:
        """What is spent of the budget, in the unit of `remaining`."""
        return self._runner.budget.spent()

    @public_function("Session.questions_left")
    def questions_left(self, *, epsilon: Number) -> int:
        """How many more questions of this epsilon fit, with the mechanism that suits the budget.

        >>> import pandas
        >>> from discreet import ApproxDP, OneRow, Session
        >>> pets = pandas.DataFrame({"pet": ["cat", "dog"]})
        >>> session = Session(pets, unit=OneRow(), budget=ApproxDP(1, 1e-6))
        >>> [session.questions_left(epsilon=epsilon) for epsilon in (0.1, 0.05, 0.01)]
        [21, 85, 2129]
        """
        budget = self._runner.budget
        return budget.questions_left_of(Cost(budget.rule.question(epsilon)))

    @overload
    def ask(
        self,
        question: Question,
        /,
        *,
        fresh: bool = ...,
        again: bool = ...,
        bits: Bits | None = ...,
    ) -> Release: ...
    @overload
    def ask(
        self,
        question: Sequence[Question],
        /,
        *,
        fresh: bool = ...,
        again: bool = ...,
        bits: Bits | None = ...,
    ) -> list[Release]: ...
    def ask(
        self,
        question: Question | Sequence[Question],
        /,
        *,
        fresh: bool = False,
        again: bool = False,
        bits: Bits | None = None,
    ) -> Release | list[Release]:
        """Ask a question, such as `discreet.questions.Mode`, or a list of them.

        A list is refused, and nothing is charged, unless all of it fits the budget. Each of its
        questions is then paid for and answered in turn. If something stops it halfway, ask the
        same list again: what was answered costs nothing. With a ledger that holds in another
        process, too.

        fresh: ask anew, at full price, what was answered before.
        again: with a ledger, pay once more for an answer that was lost because its process
            ended.
        bits: of a simulation.

        >>> import pandas
        >>> from discreet import OneRow, PureDP, Session
        >>> from discreet.questions import Mode
        >>> from discreet.testing import SeededBits
        >>> pets = pandas.DataFrame({"pet": ["cat"] * 40 + ["dog"] * 3})
        >>> session = Session(pets, unit=OneRow(), budget=PureDP(1))
        >>> question = Mode("pet", candidates=["cat", "dog"], epsilon=1)
        >>> session.ask(question, bits=SeededBits(1)).value
        'cat'
        >>> half = Mode("pet", candidates=["cat", "dog"], epsilon=0.5)
        >>> session.ask([half, question])
        Traceback (most recent call last):
        discreet.errors.BudgetExceededError: ...
        """
        if not isinstance(question, Question):
            with called_as("Session.ask"):
                asked = [self._filled(each) for each in _listed(question)]
            return self._runner.ask_all(asked, fresh=fresh, again=again, bits=bits)
        one = self._filled(question)
        return self._runner.ask(one, fresh=fresh, again=again, bits=bits)

    def _ask_charged_by(self, question: Question, charge: Charge) -> Release:
        """Ask a question anew whose cost somebody else takes from the budget."""
        return self._runner.ask(self._filled(question), fresh=True, charge=charge)

    @overload
    def price(self, question: Question, /, *, fresh: bool = ...) -> Price: ...
    @overload
    def price(self, question: Sequence[Question], /, *, fresh: bool = ...) -> ListPrice: ...
    @public_function("Session.price")
    def price(
        self, question: Question | Sequence[Question], /, *, fresh: bool = False
    ) -> Price | ListPrice:
        """What a question would cost, and whether it fits. Free: no row is read.

        question: such as `discreet.questions.Mode`; or a list, for the price of all of it.

        >>> import pandas
        >>> from discreet import OneRow, PureDP, Session
        >>> from discreet.questions import Mode
        >>> pets = pandas.DataFrame({"pet": ["cat", "dog"]})
        >>> session = Session(pets, unit=OneRow(), budget=PureDP(1))
        >>> price = session.price(Mode("pet", candidates=["cat", "dog"], epsilon=0.25))
        >>> price.amount, price.fits, price.questions_left
        (0.25 epsilon, True, 3)
        """
        require_flag(fresh, "fresh")
        if isinstance(question, Question):
            return price_of(self._runner, self._prepared(question), fresh)
        every = [self._prepared(each) for each in _listed(question)]
        return price_of_list(self._runner, every, fresh)

    @public_function("Session.error_bound")
    def error_bound(
        self, question: Question, /, *, failure_probability: Number = USUAL_FAILURE
    ) -> Accuracy:
        """How far off the answer to a question can be, in its own unit. Free: no row is read.

        question: such as `discreet.questions.Mode`.
        failure_probability: how often the bound may fail; 1/20 means 95% confidence.

        Privacy: the bound follows from public numbers, and is the same for every table.

        >>> import pandas
        >>> from discreet import Person, PureDP, Session
        >>> from discreet.questions import Mode
        >>> reads = pandas.DataFrame({"reader": [1, 2], "article": ["a", "b"]})
        >>> session = Session(reads, unit=Person("reader"), budget=PureDP(1))
        >>> articles = [f"article {number}" for number in range(1000)]
        >>> print(session.error_bound(Mode("article", candidates=articles, epsilon=0.1)))
        With 95% confidence, the chosen article is at most 92 readers behind the most frequent one.
        """
        beta = read_probability(failure_probability, "failure_probability")
        accuracy = self._prepared(question).accuracy
        if accuracy is None:
            raise ParameterError("question", "one with a bound", question)
        return accuracy(beta)

    def would_fit(self, question: Question | Sequence[Question], /, *, fresh: bool = False) -> bool:
        """True if a question, or all of a list, would fit what is left of the budget. Free: no
        row is read.
        """
        if isinstance(question, Question):
            return self.price(question, fresh=fresh).fits
        return self.price(question, fresh=fresh).fits

    def _filled(self, question: Question) -> Question:
        """The question with the public facts of its column in place of what it leaves out."""
        if not isinstance(question, Question):
            hint = "For example discreet.questions.Mode('article', epsilon=1)."
            raise ParameterTypeError("question", "a question", question, hint)
        facts = self._facts.get(getattr(question, "column", ""))
        return question.filled(facts) if facts else question

    def _prepared(self, question: Question) -> Prepared:
        """A question that is checked and not asked."""
        return self._runner.prepare(self._filled(question))

    def history(self) -> tuple[ChargedQuestion, ...]:
        """The questions that were charged, in order."""
        return tuple(self._runner.history)

    mode = asks(Mode)
    top_k = asks(TopK)
    counts = asks(Counts)
    count = asks(Count)
    best_price = asks(BestPrice)
    quantile = asks(Quantile)
    quantiles = asks(Quantiles)
    select = asks(Select)
    fit_subspace = asks(FitSubspace)
    fit_covariance = asks(FitCovariance)
    fit_linear = asks(FitLinear)
    fit_logistic = asks(FitLogistic)
    fit_deepest = asks(FitDeepest)

    @public_function("Session.charge")
    def charge(self, loss: Loss, *, what: str) -> None:
        """Take a loss from the budget for an answer that was made elsewhere, such as a sum
        by OpenDP. Ask before that answer is drawn: what does not fit is refused.

        loss: what that answer costs, for the same unit of protection. Nobody can check
            it.
        what: what it is, for the history.

        >>> import pandas
        >>> from discreet import OneRow, PureDP, Session
        >>> session = Session(pandas.DataFrame({"pay": [1]}), unit=OneRow(), budget=PureDP(1))
        >>> session.charge(PureDP(0.25), what="mean pay, by OpenDP")
        >>> session.remaining()
        0.75 epsilon
        """
        if not is_loss(loss):
            raise ParameterTypeError("loss", "a Loss such as PureDP", loss)
        if not isinstance(what, str) or not what:
            raise ParameterTypeError("what", "text that says what the charge is for", what)
        self._runner.charge(loss, what)


def _listed(questions: Sequence[Question]) -> Sequence[Question]:
    """The questions of a list."""
    if isinstance(questions, (list, tuple)) and questions:
        return questions
    hint = "For example discreet.questions.Mode('article', epsilon=1)."
    raise ParameterTypeError("question", "a question, or a list of them", questions, hint)
