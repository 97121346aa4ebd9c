"""The one rule for files that we trust: a ledger, the keys and the manifest of a service, an
anchor.

Whoever writes such a file decides who may ask, or what is left of a budget. So it must be
a plain file that nobody else could have made, can write, or can put another one in the
place of. Folders further up are not checked. Windows does not say who owns a file in a way
that we could check, so only that it is a plain file is checked there.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from discreet.errors import LedgerError
from discreet.platforms import has_owners, is_owned

_MOST_LINKS = 40
"""Links that are followed, one after the other; the system follows as many."""


def require_trusted(path: Path, name: str) -> None:
    """Refuse a file that another user may have made, or may put another one in the place of.

    path: may be a link; then whoever can put another link there could lead us elsewhere.
    name: how an error calls it, such as "ledger budget.db".
    """
    place = path
    for _ in range(_MOST_LINKS):
        if not _is_kept(place.parent):
            rule = "in a folder that only you, root or your group can write to"
            raise wrong(
                name, rule, "a folder that belongs to somebody else, or that everybody can write"
            )
        if not place.is_symlink():
            break
        place = place.parent / place.readlink()
    file = os.stat(path)
    if not stat.S_ISREG(file.st_mode):
        raise wrong(name, "a file that you can read and write", "something else")
    if not _is_kept(path):
        rule = "a file that belongs to you or root, or that your group may write"
        raise wrong(name, rule, "a file that belongs to somebody else, or that everybody can write")


def is_trusted(found: os.stat_result) -> bool:
    """True if it belongs to us, to root, or to a team of ours that may write it."""
    if is_owned(found, 0):
        return True
    ours = found.st_gid == os.getegid() or found.st_gid in os.getgroups()
    return ours and bool(found.st_mode & 0o020)


def _is_kept(path: Path) -> bool:
    """True if nobody whom we do not trust can write it. What is mounted read-only, as settings
    are in a container, is the word of whoever mounts it.
    """
    found = os.stat(path)
    # the mode of a file on Windows says only whether it may be written to
    if not has_owners() or (is_trusted(found) and not found.st_mode & 0o002):
        return True
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def wrong(name: str, rule: str, got: str, hint: str = "") -> LedgerError:
    """The error for a file that is not as it has to be."""
    return LedgerError(f"The {name} must be {rule}. Got {got}.{hint}")
