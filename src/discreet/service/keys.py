"""The keys of people and programs: 256 random bits, of which only a hash is kept."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field

_KEY = re.compile(r"dsc_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
ROLES = ("analyst", "steward", "both")
"""The roles of keys: analysts ask, stewards look after the data sets, or both."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made. Later its text is not known any more."""

    id: str
    text: str = field(repr=False)
    hash: str = field(repr=False)


def make_key() -> NewKey:
    """Make a new key. Its text is shown once."""
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    text = f"dsc_{name}_{secret}"
    return NewKey(name, text, hashed(text))


def key_id(text: str) -> str:
    """The public part of a key; for text that is no key, a name that no key has."""
    found = _KEY.fullmatch(text)
    return found[1] if found else "-"


def make_secret() -> str:
    """A new secret for a link or a cookie."""
    return secrets.token_urlsafe(32)


def hashed(text: str) -> str:
    """The hash that is kept of a secret. A secret has 256 random bits, so nobody can
    find it from a plain hash.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def form_token(cookie: str) -> str:
    """The token in the forms of a person who is signed in; no other site can know it."""
    return hashlib.sha256(f"form {cookie}".encode()).hexdigest()
