"""A team's service from Python: the session's words, and the same `Release`."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from http.client import HTTPException
from typing import Any, NoReturn, SupportsIndex, TypeVar
from urllib import request as http
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit

from discreet.errors import (
    BudgetClosedError,
    BudgetExceededError,
    EngineError,
    ParameterError,
    ReservationLostError,
    ServiceError,
    called_as,
    escaped,
)
from discreet.questions import (
    BestPrice,
    Count,
    Counts,
    Mode,
    Quantile,
    Quantiles,
    Question,
    TopK,
)
from discreet.questions.question import asks
from discreet.questions.row_filters import filters_of
from discreet.release import Release

__all__ = ["Connection", "RemoteDataset", "connect"]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LONGEST = 24 * 3600
_TRIES = 4
_AGAIN = ("busy", "still-running")
# what proxies say in their own words
_GATEWAY = (502, 503, 504)
_LARGEST = 64 * 1024 * 1024
"""The most bytes of a reply; a list of 10,000 names has about one MB."""
_LONGEST_TOLD = 1000
"""The most characters of what a service says of a refusal."""


Found = TypeVar("Found")


def connect(url: str, *, key: str, timeout: float = 120) -> Connection:
    """A connection to a service that `discreet serve` runs.

    url: its address: https, or http on this computer.
    key: yours, from the steward: it begins with "dsc_". Keep it out of notebooks: read it
        from the environment.
    timeout: how many seconds to wait for one reply.

    >>> connect("http://example.org", key="dsc_")
    Traceback (most recent call last):
    discreet.errors.ParameterError: The 'url' parameter of connect must be https, or http on this \
computer, because a key must not travel unencrypted. Got 'http://example.org'.
    """
    if not isinstance(url, str) or not _is_safe(url):
        rule = "https, or http on this computer, because a key must not travel unencrypted"
        named = isinstance(url, str) and "@" in url
        hint = "Leave the user and the password out: the key says who asks." if named else ""
        raise ParameterError("url", rule, url, hint, owner="connect")
    if not isinstance(key, str) or not key.startswith("dsc_") or not _is_word(key):
        rule = 'text that begins with "dsc_", without spaces or ends of lines'
        raise ParameterError("key", rule, "another", owner="connect")
    if not isinstance(timeout, (int, float)) or not 0 < timeout <= _LONGEST:
        rule = f"a number of seconds, greater than 0 and at most {_LONGEST}"
        raise ParameterError("timeout", rule, timeout, owner="connect")
    return Connection(url.rstrip("/"), key, timeout)


def _is_safe(url: str) -> bool:
    """True if an address keeps a key secret on its way, and is one at all."""
    try:
        parts = urlsplit(url)
        # a port that is no number is found when it is asked for
        extra = parts.query or parts.fragment or parts.username or parts.port == 0
    except ValueError:
        return False
    if extra or not parts.hostname or not url.isprintable() or " " in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def _is_word(text: str) -> bool:
    """Whether it is letters, digits and signs of ASCII, as a header has them."""
    return text.isascii() and text.isprintable() and " " not in text


class _HoldsKey:
    """Something that must not be stored or passed on, because a key would go with it."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse pickle, copy.copy and copy.deepcopy."""
        raise TypeError(
            "A connection holds your key, so it cannot be copied or pickled. Call "
            "discreet.connect again where you need it."
        )


class _Key(_HoldsKey):
    """A key that no representation shows."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "a key"


class Connection(_HoldsKey):
    """A service, and whose key it is asked with. See `discreet.connect`.

    It cannot be copied or pickled: that would store the key.
    """

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self._url, self._key, self._timeout = url, _Key(key), timeout
        # what is sent in clear stays on this computer, whatever proxy the environment names
        direct = [] if urlsplit(url).scheme == "https" else [http.ProxyHandler({})]
        self._opener = http.build_opener(_NoRedirects, *direct)

    def __repr__(self) -> str:
        return f"Connection({self._url!r})"

    def datasets(self) -> list[str]:
        """The names of the data sets that you have a share of."""
        found = self.call("GET", "/v1/datasets")
        return _read(lambda: [str(each["name"]) for each in found["datasets"]])

    def dataset(self, name: str) -> RemoteDataset:
        """One data set, to ask."""
        return RemoteDataset(self, name)

    def answers(self) -> Iterator[Mapping[str, Any]]:
        """Your answers, newest first, each with its question; pages are fetched as needed."""
        before: int | None = None
        while True:
            words = {"limit": 100} | ({} if before is None else {"before": before})
            page = self.call("GET", f"/v1/answers?{urlencode(words)}")
            answers, following = _read(partial(_page_of, page))
            yield from answers
            if following is None:
                return
            if type(following) is not int or (before is not None and following >= before):
                # else a service could go on for ever
                raise _unreadable(200)
            before = following

    def call(
        self, method: str, path: str, body: Any = None, *, attempt: str | None = None
    ) -> dict[str, Any]:
        """Send one request. If no reply comes, it is sent again only if that can neither
        pay nor change anything twice.

        path: begins with a slash.
        attempt: names a fresh draw, so that it is paid for once however often it is sent.
        """
        if not path.startswith("/"):
            # it would go on with the name of the host, and the key go to another one
            rule = "one that begins with a slash"
            raise ParameterError("path", rule, path, owner="Connection.call")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._key.text}", "Content-Type": "application/json"}
        if attempt is not None:
            headers["Idempotency-Key"] = attempt
        is_safe = _is_repeatable(method, path, body, attempt)
        repeated = (*_AGAIN, "unreachable") if is_safe else _AGAIN
        for tried in range(1, _TRIES + 1):
            asked = http.Request(self._url + path, data, headers, method=method)
            try:
                return self._send(asked)
            except ServiceError as error:
                if tried == _TRIES or error.name not in repeated:
                    raise
            time.sleep(0.25 * 2**tried)
        raise self._unreachable()

    def _send(self, asked: http.Request) -> dict[str, Any]:
        refused: Exception = self._unreachable()
        try:
            status, text = self._exchange(asked)
            found = _loaded(text or b"{}") if status < 300 else None
            if isinstance(found, dict):
                return found
            refused = _refusal(status, text)
        except (OSError, ValueError, HTTPException):
            # also a reply that breaks off: there was none
            pass
        raise refused

    def _exchange(self, asked: http.Request) -> tuple[int, bytes]:
        """The status and the body of a reply."""
        try:
            with self._opener.open(asked, timeout=self._timeout) as reply:
                return reply.status, _text_of(reply, reply.status)
        except HTTPError as error:
            with error:
                return error.code, _text_of(error, error.code)

    def _unreachable(self) -> ServiceError:
        return ServiceError("unreachable", 0, f"The service at {self._url} did not answer.")


class RemoteDataset(_HoldsKey):
    """A published data set, to ask with the words of a `Session`.

    where: a mapping from columns to a list of values, or to {"at_least": …, "below": …}.
    windows: of a data set with windows, those that are looked at.
    fresh: draw anew, and pay again; else the same question is free the second time, also
        in a notebook that is run again.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection, self.name = connection, name
        self._path = f"/v1/datasets/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"RemoteDataset({self.name!r})"

    def describe(self) -> Mapping[str, Any]:
        """Columns, candidates, filters and the unit."""
        return self._connection.call("GET", self._path)

    def budget(self, *, each: Any = None, windows: Sequence[str] = ()) -> Mapping[str, Any]:
        """Your share: limit, spent and left, and why it was raised.

        each: an epsilon, to count questions left.
        windows: of a data set with windows, those whose shares are wanted.
        """
        words = [("window", window) for window in windows]
        words += [] if each is None else [("each", _plain(each))]
        asked = f"?{urlencode(words)}" if words else ""
        return self._connection.call("GET", f"{self._path}/budget{asked}")

    def price(self, question: Question, **options: Any) -> Mapping[str, Any]:
        """What a question would cost. Free."""
        body = {"questions": [_body(question, options)]}
        found = self._connection.call("POST", f"{self._path}/prices", body)
        price: Mapping[str, Any] = _read(lambda: found["prices"][0])
        return price

    def wish(self, reason: str) -> None:
        """Ask the steward for more budget."""
        self._connection.call("POST", f"{self._path}/wishes", {"reason": reason})

    mode = asks(Mode)
    top_k = asks(TopK)
    counts = asks(Counts)
    count = asks(Count)
    best_price = asks(BestPrice)
    quantile = asks(Quantile)
    quantiles = asks(Quantiles)

    def ask(self, question: Question, /, **options: Any) -> Release:
        """Ask a question, such as `discreet.questions.Mode`.

        windows, fresh: as above.
        again: pay again for an answer that was lost.
        or_stronger: take an answer of yours for nothing that is at least as accurate.
        """
        body = _body(question, options)
        # a fresh draw that is sent again after a broken connection must not pay twice
        attempt = secrets.token_hex(16) if body.get("fresh") else None
        found = self._connection.call("POST", f"{self._path}/answers", body, attempt=attempt)
        return _read(lambda: Release.from_json(json.dumps(found["release"])))


def _body(question: Question, options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request that asks a question."""
    owner, body = f"RemoteDataset.{question.name}", question.to_json()
    for each in question.parameters:
        if each.name in body and each.name != "where" and each.not_over_http:
            got = getattr(question, each.name)
            raise ParameterError(each.name, "left out", got, each.not_over_http, owner=owner)
    if "where" in body:
        with called_as(owner):
            body["where"] = filters_of(question.rows()[0], "where")
    return body | {name: _plain(value) for name, value in options.items() if value is not None}


def _is_repeatable(method: str, path: str, body: Any, attempt: str | None) -> bool:
    """True if a request that may have arrived can be sent again: it only looks, or it asks a
    question that is paid for once. Anything else would be done twice.
    """
    if method == "GET":
        return True
    if method != "POST" or not isinstance(body, dict):
        return False
    if path.endswith("/answers"):
        # a fresh draw pays with each request, unless all of them name one attempt
        return not body.get("again") and (not body.get("fresh") or attempt is not None)
    return path.endswith(("/prices", "/previews"))


class _NoRedirects(http.HTTPRedirectHandler):
    """A key goes to the address that was given, and nowhere else."""

    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        return None


def _plain(value: Any) -> Any:
    """A value as the service reads it: numbers that are not whole as text, exactly."""
    if isinstance(value, (float, Fraction, Decimal, date)):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


def _page_of(page: Mapping[str, Any]) -> tuple[list[Any], Any]:
    return list(page["answers"]), page["next"]


def _text_of(reply: Any, status: int) -> bytes:
    """All of a reply, unless it has no end."""
    text: bytes = reply.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise _unreadable(status)
    stated = reply.headers.get("Content-Length", "")
    if stated.isdecimal() and len(text) < int(stated):
        # Python says it of a reply that is read as a whole only
        raise HTTPException("a reply that breaks off")
    return text


def _loaded(text: bytes) -> Any:
    """What JSON says; a ValueError where it is none."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("too deep") from None


def _read(read: Callable[[], Found]) -> Found:
    """What is read from a reply, if it is there."""
    try:
        return read()
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise _unreadable(200)


def _unreadable(status: int) -> ServiceError:
    said = "The reply does not come from a discreet service, or from one of another version."
    return ServiceError("unreadable", status, said)


def _refusal(status: int, text: bytes) -> Exception:
    """The error that a problem stands for."""
    try:
        problem = _loaded(text)
        name, title = str(problem["type"]).rpartition("/")[2], _told(problem["title"])
        first = (problem.get("errors") or [{}])[0]
        pointer, rule = _told(first.get("pointer", "")), _told(first.get("rule", ""))
        detail = _told(problem.get("detail", ""))
    except (ValueError, LookupError, TypeError, AttributeError):
        if status in _GATEWAY:
            said = "A proxy got no reply from the service in time."
            return ServiceError("unreachable", status, said)
        return _unreadable(status)
    if name == "budget-exceeded":
        return BudgetExceededError(detail or title)
    if name == "budget-closed":
        return BudgetClosedError(title)
    if name == "engine-failed":
        return EngineError()
    if name == "answer-lost":
        return ReservationLostError(title)
    if detail:
        return ServiceError(name, status, f"{title} {detail}")
    place = pointer.lstrip("/").replace("/", ".") or "It"
    said = f"{title} {place} must be {rule}." if rule else title
    return ServiceError(name, status, said)


def _told(said: Any) -> str:
    """What a service says of a refusal: one line that no terminal obeys."""
    return escaped(str(said)[:_LONGEST_TOLD])
