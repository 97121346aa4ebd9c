"""Where a ledger is: the path of a file or the URL of a server, shown without its password."""

from __future__ import annotations

import os
import re
import select
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from discreet.errors import Hidden, LedgerError, ParameterError, ParameterTypeError
from discreet.ledger.sqlite import SQLiteStore

if TYPE_CHECKING:
    from discreet.ledger.postgresql import PostgreSQLStore

_FILE = "sqlite:///"
_SERVERS = ("postgresql", "postgresql+psycopg", "postgres")
# strict, because part of a password with a / or an @ would be shown
_HOST = r"(\[[0-9a-fA-F:.]+\]|[^:/?#@,\s\[\]]*)(:[0-9]*)?"
_SERVER = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+]*)://((?P<user>[^:/?#@\s]*)(?P<secret>:[^/?#@\s]*)?@)?"
    rf"(?P<place>{_HOST}(,{_HOST})*(/[^/?#@\s]*)?)(?P<options>\?[^@]*)?"
)
# what was meant as a URL: as the name of a file it would show a password in the folder
_MISTYPED = re.compile(
    r"(sqlite|postgres|file)[a-z+]*(:|//)|(?![a-z]:[/\\])[^/\\]*:.*@|.*\bpassword\s*=", re.I
)
_SLASHES = "For a file, give its path, or its path after sqlite:/// (three slashes)."


class Address(NamedTuple):
    """Where a ledger is.

    name: how it is shown, without a password.
    path: of a file; None for a server.
    url: of a server, as psycopg reads it.
    """

    name: str
    path: Path | None
    url: str = ""

    @property
    def is_new(self) -> bool:
        """True if it is a file that is not there yet."""
        return self.path is not None and not self.path.exists()


def read_address(
    address: str | os.PathLike[str],
    *,
    owner: str = "Ledger",
    parameter: str = "address",
    example: str = "budget.db",
) -> Address:
    """Read the path of a file or the URL of a server; refuse everything else.

    example: the name of a file that would be right.
    """
    rule = f"a path such as {example!r}, or a URL such as 'postgresql+psycopg://user@host/database'"
    text = os.fspath(address) if isinstance(address, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise ParameterTypeError(parameter, rule, type(address).__name__, owner=owner)
    scheme, _, rest = text.partition("://")
    if scheme in _SERVERS and without_secrets(text):
        return Address(without_secrets(text), None, "postgresql://" + rest)
    is_path = not isinstance(address, str) or not ("://" in text or _MISTYPED.match(text))
    path = text if is_path else text.removeprefix(_FILE) if text.startswith(_FILE) else None
    if path in ("", ":memory:"):
        hint = "A ledger in memory would not survive."
        raise ParameterError(parameter, rule, text, hint, owner=owner)
    if path is None or "\0" in path:
        hint = "In a password, write / as %2F and @ as %40." if scheme in _SERVERS else _SLASHES
        got = without_secrets(text) or Hidden("one that cannot be read")
        raise ParameterError(parameter, rule, got, hint, owner=owner)
    return Address(text, Path(path))


Store: TypeAlias = "SQLiteStore | PostgreSQLStore"
"""Where a ledger is kept: what one of them can do, the other one can."""


def open_store(address: Address, timeout: float, create: bool) -> Store:
    """Open what is at an address."""
    if address.path is not None:
        return SQLiteStore(address.path, timeout, name=address.name, create=create)
    if not hasattr(select, "poll"):
        raise LedgerError("A ledger on a server needs Linux or macOS. Use a file here.")
    from discreet.ledger.postgresql import PostgreSQLStore

    return PostgreSQLStore(address.url, address.name, timeout, create=create)


def without_secrets(url: str) -> str:
    """The URL without its password and its options, which may have one too; empty for a URL that
    we do not understand.
    """
    match = _SERVER.fullmatch(url)
    if match is None:
        return ""
    user = "" if match["user"] is None else f"{match['user']}@"
    return f"{match['scheme']}://{user}{match['place']}"
