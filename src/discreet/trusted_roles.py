"""The one rule for roles on a PostgreSQL server that we trust: the role that we use, the owner
of the database, and superusers.

Memberships do not count, because on older servers every role may make others its members.
"""

from __future__ import annotations

_TRUSTED = (
    "({0} = (select oid from pg_catalog.pg_roles where rolname = current_user) "
    "or {0} = (select datdba from pg_catalog.pg_database where datname = current_database()) "
    "or {0} in (select oid from pg_catalog.pg_roles "
    "where rolsuper or rolname = 'pg_database_owner'))"
)


def trusted(role: str) -> str:
    """A condition in SQL: whether the role with this number is one that we trust. It is right
    where the search path is `pg_catalog` alone.
    """
    return _TRUSTED.format(role)
