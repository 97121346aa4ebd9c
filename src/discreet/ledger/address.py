"""Where a ledger is: a URL, and how it is shown without its password."""

from __future__ import annotations

import re
import select
from pathlib import Path

from discreet.errors import LedgerError, ParameterError, ParameterTypeError
from discreet.ledger.group_commit import Store
from discreet.ledger.postgresql import PostgreSQLStore
from discreet.ledger.sqlite import SQLiteStore

_RULE = "a URL such as 'sqlite:///budget.db' or 'postgresql+psycopg://user@host/database'"
_SERVERS = ("postgresql", "postgresql+psycopg", "postgres")
# strict, because a password with a / or an @ would be taken for something else, and shown
_HOST = r"(\[[0-9a-fA-F:.]+\]|[^:/?#@,\s\[\]]*)(:[0-9]*)?"
_SERVER = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+]*)://((?P<user>[^:/?#@\s]*)(?P<secret>:[^/?#@\s]*)?@)?"
    rf"(?P<place>{_HOST}(,{_HOST})*(/[^/?#@\s]*)?)(?P<options>\?[^@]*)?"
)
_SLASHES = "A file is its path after sqlite:///, with three slashes."
_UNREADABLE = "(a URL that cannot be read)"


def open_store(url: str, timeout: float, create: bool) -> Store:
    """Open what the URL names."""
    if not isinstance(url, str):
        raise ParameterTypeError("Ledger", "url", _RULE, type(url).__name__)
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = rest.removeprefix("/")
        if not rest.startswith("/") or not path or path == ":memory:" or "\0" in path:
            in_memory = path in ("", ":memory:")
            hint = "A ledger in memory would not survive." if in_memory else _SLASHES
            raise ParameterError("Ledger", "url", _RULE, url, hint)
        return SQLiteStore(Path(path), timeout, create=create)
    if is_server(url):
        if not hasattr(select, "poll"):
            raise LedgerError("A ledger on a server needs Linux or macOS. Use a file here.")
        return PostgreSQLStore("postgresql://" + rest, shown(url), timeout, create=create)
    hint = "In a password, write / as %2F and @ as %40." if scheme in _SERVERS else _SLASHES
    raise ParameterError("Ledger", "url", _RULE, shown(url), hint)


def is_server(url: str) -> bool:
    """Whether it is the address of a server, and one that can be shown without a password."""
    return url.partition("://")[0] in _SERVERS and shown(url) != _UNREADABLE


def shown(url: str) -> str:
    """The URL without its password and without its options, which may hold one too; of
    one that we do not understand, nothing.
    """
    if url.startswith("sqlite://"):
        return url
    found = _SERVER.fullmatch(url)
    if found is None:
        return _UNREADABLE
    user = "" if found["user"] is None else f"{found['user']}@"
    return f"{found['scheme']}://{user}{found['place']}"
