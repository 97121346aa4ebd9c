"""The published data sets: their rows, their budgets in the ledger, and sessions on
them.

The sources of a manifest are opened and checked before a ledger is touched: a budget
that was opened for a manifest with a mistake would not agree with the corrected one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from threading import Lock
from typing import Any

from discreet import (
    BudgetExceededError,
    DiscreetError,
    EngineError,
    ParameterError,
    Person,
    Session,
)
from discreet import column as public_column
from discreet.accounting import Amount, Cost
from discreet.ledger import Account
from discreet.questions import QUESTIONS as CLASSES
from discreet.questions import Count, Quantile, Question
from discreet.service.canonical import CheckedQuestion
from discreet.service.fixed_time import PacedLedger
from discreet.service.manifest import Dataset, Manifest, ManifestError
from discreet.service.problems import NOT_FOUND, RefusedError, invalid, too_expensive
from discreet.session import Price

_MOST_SESSIONS = 32
_MOST_QUESTIONS = 200
"""After this many questions a session is closed, because it remembers each of them."""
_MOST_USES = 3200
"""After this many uses all sessions are opened anew: an engine frees the memory of past
questions only when the last session on it is closed.
"""

# from the names of a session's parameters to the words of a manifest
_WORDS = {
    "unit": "person",
    "separator": "separator",
    "encoding": "encoding",
    "decimal": "decimal",
    "numbers_in_text": "numbers_in_text",
    "table_name": "table",
}
# the types of a column of days; in files without types it is text
_DAYS = ("Date", "Datetime", "String")
# from the names of a session's parameters to the words of a question, where they differ
_ASKED = {"window": "windows"}


class SourceGoneError(Exception):
    """A table that was there when the service started cannot be opened any more."""


class Published:
    """The data sets of a manifest, open for questions."""

    def __init__(self, manifest: Manifest, ledger: PacedLedger) -> None:
        self.manifest, self.ledger = manifest, ledger
        self._idle: OrderedDict[tuple[Any, ...], list[Session]] = OrderedDict()
        self._lock = Lock()
        self._uses = self._age = 0
        self.notes: list[str] = []
        self._shares: set[tuple[str, str]] = set()
        # the budgets that the ledger has already
        self._found = {
            (each.dataset, each.analyst): each for each in ledger.accounts() if each.window is None
        }
        for name, dataset in manifest.datasets.items():
            self._open(name, dataset)

    def close(self) -> None:
        """Close all sessions."""
        with self._lock:
            sessions = [each for idle in self._idle.values() for each in idle]
            self._idle.clear()
        for session in sessions:
            session.close()

    def names(self, analyst: str) -> list[str]:
        """The names of the data sets that an analyst has a share of."""
        return [name for name in self.manifest.datasets if self.has_share(name, analyst)]

    def dataset(self, name: str, analyst: str) -> Dataset:
        """A data set that the analyst has a share of; any other, and an unknown one,
        are refused alike.
        """
        found = self.manifest.datasets.get(name)
        mine = self.has_share(name, analyst)
        if found is None or not mine:
            raise RefusedError(NOT_FOUND)
        return found

    def is_at_hand(self, name: str, analyst: str) -> bool:
        """True if `dataset` finds the share in memory, without the ledger."""
        return (name, analyst) in self._shares

    def known(self, name: str) -> Dataset:
        """A data set for its steward; an unknown one is refused."""
        if name not in self.manifest.datasets:
            raise RefusedError(NOT_FOUND)
        return self.manifest.datasets[name]

    def has_share(self, name: str, analyst: str) -> bool:
        """True if the ledger has a share of this analyst. A share may be closed, but
        never disappears, so one that was seen once is remembered.
        """
        if (name, analyst) in self._shares:
            return True
        try:
            self.ledger.account(name, analyst=analyst)
        except ParameterError:
            return False
        self._shares.add((name, analyst))
        return True

    def account(self, name: str, analyst: str | None, window: str | None = None) -> Account:
        """A budget of the ledger; for a window that nobody has used yet, the unused one."""
        try:
            return self.ledger.account(name, analyst=analyst, window=window)
        except ParameterError as error:
            raise invalid("/windows", error.rule) from None

    def state(self, name: str) -> str:
        """State of the data set's budget: open, or closed permanently. What is left of
        it is not shown to analysts: it tells what others have asked.
        """
        return "open" if self.account(name, None).closed is None else "closed"

    def price(self, question: CheckedQuestion, analyst: str) -> Price:
        """What a question would cost. Free: no row is read."""
        try:
            with self.session(question, analyst) as session:
                return checked_price(session, question, self.manifest.datasets[question.dataset])
        except ParameterError as error:
            raise public_mistake(error) from None

    def left(self, question: CheckedQuestion, analyst: str, price: Price) -> int:
        """How many questions of this price fit what is left of the analyst's own share."""
        return min(_times_left(account, price.cost) for account in self.accounts(question, analyst))

    def fits(self, question: CheckedQuestion, analyst: str, price: Price) -> bool:
        """True if a question fits the analyst's own share. What is left of the data set's
        budget does not matter here: prices are free, so many of them would tell what
        others have spent.
        """
        cost = price.cost
        return self.state(question.dataset) == "open" and all(
            account.closed is None
            and account.rule.after(account.sums, account.rule.spending(cost), cost.loss) is not None
            for account in self.accounts(question, analyst)
        )

    def accounts(self, question: CheckedQuestion, analyst: str) -> list[Account]:
        """The analyst's own budgets that a question is taken from: one for each window."""
        windows: tuple[str | None, ...] = question.windows or (None,)
        return [self.account(question.dataset, analyst, each) for each in windows]

    def questions_left(self, account: Account, epsilon: Fraction) -> int:
        """How many questions of an epsilon fit what is left of one budget."""
        return _times_left(account, Cost(account.rule.question(epsilon)))

    @contextmanager
    def session(self, question: CheckedQuestion, analyst: str) -> Iterator[Session]:
        """A session for one question or its price. Sessions are kept, because opening a
        table takes time; one that has failed, or has answered many questions, is not
        used again.
        """
        key = (question.dataset, analyst, question.windows)
        with self._lock:
            idle, age = self._idle.get(key), self._age
            session = idle.pop() if idle else None
        if session is None:
            session = self._open_session(question, analyst)
        try:
            yield session
        except (RefusedError, DiscreetError) as error:
            gone = isinstance(error, ParameterError) and error.name == "table"
            if gone or isinstance(error, EngineError):
                session.close()
            else:
                self._give_back(key, session, age)
            if gone:
                raise SourceGoneError from None
            raise
        except BaseException:
            session.close()
            raise
        self._give_back(key, session, age)

    def _open_session(self, question: CheckedQuestion, analyst: str) -> Session:
        """A new session on a data set, for one analyst and some windows."""
        dataset = self.manifest.datasets[question.dataset]
        try:
            return Session(
                self.manifest.source(question.dataset),
                unit=Person(dataset.person),
                ledger=self.ledger,
                dataset=question.dataset,
                analyst=analyst,
                window=list(question.windows) or None,
                table_name=dataset.table,
                time_limit=dataset.time_limit,
                numbers_in_text=dataset.numbers_in_text,
                # the version of the table is part of the question
                table_label=f"{question.dataset} as of {dataset.as_of}",
            )
        except ParameterError as error:
            if error.name == "window":
                raise public_mistake(error) from None
        # The table was there when the service started. That it is gone is no mistake of the
        # analyst, and no rule that a reply could name.
        raise SourceGoneError

    def _give_back(self, key: tuple[Any, ...], session: Session, age: int) -> None:
        """Keep a session for the next question, unless it is old.

        age: how often all sessions had been opened anew when this one was taken.
        """
        dropped: list[Session] = []
        with self._lock:
            is_old = age != self._age or len(session.history()) >= _MOST_QUESTIONS
        if is_old:
            session.close()
            return
        with self._lock:
            self._idle.setdefault(key, []).append(session)
            self._idle.move_to_end(key)
            self._uses += 1
            if self._uses >= _MOST_USES:
                dropped = [each for idle in self._idle.values() for each in idle]
                self._idle.clear()
                self._uses = 0
                self._age += 1
            elif len(self._idle) > _MOST_SESSIONS:
                dropped = self._idle.popitem(last=False)[1]
        for old in dropped:
            old.close()

    def _open(self, name: str, dataset: Dataset) -> None:
        """Open the budgets of a data set in the ledger, or find that they agree with it."""
        window = dataset.window
        if self._is_closed(name, None):
            # its shares cannot be opened any more, and its answers can still be read
            return
        self._open_budget(
            name,
            dataset,
            None,
            unit=Person(dataset.person),
            **({"window_column": window.column, "window_every": window.every} if window else {}),
        )
        for analyst in dataset.share:
            if not self._is_closed(name, analyst):
                self._open_budget(name, dataset, analyst)

    def _is_closed(self, name: str, analyst: str | None) -> bool:
        """True if the ledger has this budget and it was closed there for good, which the
        steward reads at the start.
        """
        found = self._found.get((name, analyst))
        if found is None or found.closed is None:
            return False
        said = _budget_of(name, analyst)
        self.notes.append(
            f"{said} was closed permanently in the ledger, which overrides the manifest."
        )
        return True

    def _open_budget(self, name: str, dataset: Dataset, analyst: str | None, **about: Any) -> None:
        said = dataset.budget if analyst is None else dataset.share[analyst]
        path = ["dataset", name] + (["budget"] if analyst is None else ["share", analyst])
        found = self._found.get((name, analyst))
        budget = said.loss if found is None else found.budget
        if found is not None and found.budget != said.loss:
            self.notes.append(
                f"{_budget_of(name, analyst)} is {found.budget!r} in the ledger and {said.loss!r} "
                f"in the manifest. The ledger overrides the manifest."
            )
        try:
            self.ledger.open(name, budget=budget, analyst=analyst, **about)
        except DiscreetError as error:
            why = str(error).removesuffix(".")
            raise self.manifest.error(path, f"does not agree with the ledger: {why}") from None


def _budget_of(name: str, analyst: str | None) -> str:
    return f"The budget of {analyst!r} on {name!r}" if analyst else f"The budget of {name!r}"


def checked_price(session: Session, question: CheckedQuestion, dataset: Dataset) -> Price:
    """The price of a question; refused if it is larger than the manifest allows."""
    try:
        price = question.price(session)
    except BudgetExceededError as error:
        raise too_expensive(str(error)) from None
    if dataset.ceiling is not None:
        dataset.ceiling.require(price.cost)
    return price


def public_mistake(error: ParameterError) -> RefusedError:
    """The refusal of a parameter that a session refuses: its name and the rule, without
    the value.
    """
    return invalid(f"/{_ASKED.get(error.name, error.name)}", f"{error.rule}")


def cost_in(account: Account, cost: Cost) -> Amount:
    """What a cost takes from a budget, in the unit of what is left of it."""
    return account.rule.amount(account.rule.spending(cost), account.remaining)


def _times_left(account: Account, cost: Cost) -> int:
    """How many times a cost, also its delta, fits what is left of a budget."""
    return 0 if account.closed is not None else account.rule.questions_left(account.sums, cost)


def require_sources(manifest: Manifest) -> None:
    """Refuse a manifest if a source cannot be opened or lacks a column, or if
    candidates do not fit their column. No row is asked about.
    """
    for name, dataset in manifest.datasets.items():
        with _opened(manifest, name, dataset) as session:
            _require_columns(manifest, name, dataset, session.columns)
            for column in dataset.column:
                _require_candidates(manifest, name, column, session)
                _require_numbers(manifest, name, column, session)


def _opened(manifest: Manifest, name: str, dataset: Dataset) -> Session:
    here = ["dataset", name]
    try:
        return Session(
            manifest.source(name),
            unit=Person(dataset.person),
            budget=dataset.budget.loss,
            table_name=dataset.table,
            numbers_in_text=dataset.numbers_in_text,
        )
    except ManifestError:
        raise
    except ParameterError as error:
        word = _WORDS.get(error.name, "source")
        raise manifest.error([*here, word], f"must be {error.rule}") from None
    except Exception:
        # the text of an engine's error may show rows
        raise manifest.error([*here, "source"], "cannot be opened") from None


def _require_columns(
    manifest: Manifest, name: str, dataset: Dataset, columns: dict[str, str]
) -> None:
    here = ["dataset", name]
    for column in dataset.column:
        if column not in columns:
            rule = f"names {column!r}, which the source does not have"
            raise manifest.error([*here, "column", column], rule)
    if dataset.window is None:
        return
    place, column = [*here, "window", "column"], dataset.window.column
    if column not in columns:
        raise manifest.error(place, f"names {column!r}, which the source does not have")
    if not columns[column].startswith(_DAYS):
        raise manifest.error(place, "must be a column of days")


def _require_numbers(manifest: Manifest, name: str, column: str, session: Session) -> None:
    """Refuse questions about numbers, and numbers to filter by, where the column is text of
    which nobody has said how its numbers are written: a price tells.
    """
    said = manifest.datasets[name].column[column]
    epsilon = Fraction(1, 100)
    tried: dict[str, Question] = {}
    if any(CLASSES[what].takes & {"bounds", "prices"} for what in said.ask):
        tried["ask"] = Quantile(column, q=0.5, points=[0, 1], rule="max", epsilon=epsilon)
    if isinstance(said.filter, list) and isinstance(said.filter[0], int):
        tried["filter"] = Count(where=public_column(column) == said.filter[0], epsilon=epsilon)
    for word, question in tried.items():
        try:
            with suppress(BudgetExceededError):
                session.price(question)
        except ParameterError as error:
            hint = ". Say decimal or numbers_in_text" if "said to" in error.rule else ""
            rule = f"is about numbers: the column must be {error.rule}{hint}"
            raise manifest.error(["dataset", name, "column", column, word], rule) from None


def _require_candidates(manifest: Manifest, name: str, column: str, session: Session) -> None:
    """Refuse candidates that a question about the column would refuse: its price tells."""
    said = manifest.datasets[name].column[column]
    if not said.labels:
        return
    for what in said.ask:
        if "candidates" in CLASSES[what].takes:
            about: dict[str, Any] = {
                "column": column,
                "candidates": said.labels,
                "split": said.split,
            }
            about |= {"epsilon": Fraction(1, 100)} | (
                {"k": 1} if "k" in CLASSES[what].takes else {}
            )
            # the budget may be smaller than the epsilon that is tried here
            try:
                with suppress(BudgetExceededError):
                    session.price(CLASSES[what](**about))
            except ParameterError as error:
                word = error.name if error.name in ("candidates", "split") else "ask"
                place = ["dataset", name, "column", column, word]
                raise manifest.error(place, f"must be {error.rule}") from None
