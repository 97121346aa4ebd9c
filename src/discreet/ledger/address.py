"""Where a ledger is: a URL, and how it is shown without its password."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from discreet.errors import ParameterError, ParameterTypeError
from discreet.ledger.combining import Store
from discreet.ledger.postgresql import PostgreSQLStore
from discreet.ledger.sqlite import SQLiteStore

_RULE = "a URL such as 'sqlite:///budget.db' or 'postgresql+psycopg://user@host/database'"
_SERVERS = ("postgresql", "postgresql+psycopg", "postgres")


def open_store(url: str, timeout: float) -> Store:
    """Open what the URL names."""
    if not isinstance(url, str):
        raise ParameterTypeError("Ledger", "url", _RULE, type(url).__name__)
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = rest.removeprefix("/")
        if not rest.startswith("/") or not path or path == ":memory:":
            raise ParameterError("Ledger", "url", _RULE, url, "A ledger in memory would not survive.")
        return SQLiteStore(Path(path), timeout)
    if scheme in _SERVERS:
        return PostgreSQLStore("postgresql://" + rest, shown(url), timeout)
    raise ParameterError("Ledger", "url", _RULE, shown(url))


def shown(url: str) -> str:
    """The URL without its password and without its options, which may hold one too."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(a URL that cannot be read)"
    if parts.scheme == "sqlite":
        return url
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, user.partition(":")[0] + at + host, parts.path, "", ""))
