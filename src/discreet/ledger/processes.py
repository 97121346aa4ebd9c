"""The processes of one machine that use the same ledger: one has the turn, and carries out
what the others have posted in a folder, too.

Nothing rests on it but time: the turn here is not what keeps transactions apart, and an
operation has a ticket, so that it is not carried out twice, whoever dies when.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.ledger.fork_safety import PerProcess
from discreet.ledger.group_commit import LONGEST_LOOK, LOOK, Operations, Outcomes, Posted
from discreet.ledger.sqlite_mailbox import Mailbox

Work = Callable[[Operations, Posted], tuple[Outcomes, dict[str, Outcomes]]]
Believe = Callable[[list[Any], Operations], Outcomes | None]

_MOST_ROUNDS = 8
"""How often whoever has the turn goes on for others before its own caller gets an answer."""


class Processes:
    """Those who meet in one folder.

    work: carry out my operations and those that others have posted, durably; the
        outcomes of mine, and of each post that was carried out.
    believe: the outcomes, given what another process has told about my operations; None
        if that is not enough.
    is_used: whether a file in the folder that is not of the mailbox is still needed.
    """

    def __init__(
        self,
        folder: Path,
        work: Work,
        believe: Believe,
        is_used: Callable[[str], bool] = lambda file: False,
    ) -> None:
        self._work, self._believe, self._is_used = work, believe, is_used
        self._mailbox = PerProcess(lambda: Mailbox(folder), Mailbox.close, Mailbox.forget)

    def carry_out(self, operations: Operations, patience: float) -> Outcomes | None:
        """Carry out operations, or have them carried out; None if nobody did for so many
        seconds.
        """
        with self._mailbox.hold() as mailbox:
            # The charge before may have been interrupted just after it was posted: what became
            # of that one must not be taken for the outcome of this one.
            mailbox.withdraw()
            outcomes = self._try(mailbox, operations)
            return self._wait(mailbox, operations, patience) if outcomes is None else outcomes

    def close(self) -> None:
        """Let go of the folder."""
        self._mailbox.drop()

    def _wait(self, mailbox: Mailbox, operations: Operations, patience: float) -> Outcomes | None:
        """Wait until another process has carried the operations out, or it is our turn."""
        deadline, pause = time.monotonic() + patience, LOOK
        told = [operation.to_dict() for operation in operations]
        try:
            mailbox.post(told)
            while (left := deadline - time.monotonic()) > 0:
                outcomes = self._try(mailbox, operations)
                if outcomes is None:
                    outcomes = self._read(mailbox.wait(min(pause, left)), operations)
                if outcomes is not None:
                    return outcomes
                if pause == LONGEST_LOOK:
                    # who had read it may have died
                    mailbox.post(told)
                pause = min(2 * pause, LONGEST_LOOK)
        finally:
            mailbox.withdraw()
        return None

    def _try(self, mailbox: Mailbox, operations: Operations) -> Outcomes | None:
        """If it is our turn, use it, and let one of those know who have come meanwhile."""
        with mailbox.turn() as ours:
            if not ours:
                return None
            # somebody may have told us before we had the turn
            outcomes = self._read(mailbox.told(), operations)
            if outcomes is None:
                outcomes = self._lead(mailbox, operations)
        with suppress(OSError):
            mailbox.wake()
        return outcomes

    def _lead(self, mailbox: Mailbox, mine: Operations) -> Outcomes:
        """It is our turn: carry out what waits, and what comes meanwhile.

        Who goes on still knows what it has just read. What is wrong by then is not about
        our own operations, and those whom it is about look for themselves.
        """
        posted = mailbox.posted()
        outcomes = self._round(mailbox, mine, posted)
        with suppress(Exception):
            rounds = 1
            while posted and rounds < _MOST_ROUNDS and (posted := mailbox.posted()):
                self._round(mailbox, (), posted)
                rounds += 1
        return outcomes

    def _round(self, mailbox: Mailbox, mine: Operations, posted: Posted) -> Outcomes:
        outcomes, others = self._work(mine, posted)
        # the disk may be full; who is not told will look into the ledger
        with suppress(OSError):
            for name, other in others.items():
                mailbox.tell(name, [outcome.to_dict() for outcome in other])
            mailbox.clean(self._is_used)
        return outcomes

    def _read(self, told: list[Any] | None, operations: Operations) -> Outcomes | None:
        return None if told is None else self._believe(told, operations)


def meeting_place(what: str) -> Path | None:
    """A folder of this user alone where the processes that use the same thing meet; None
    where there is none that others cannot write to.
    """
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    home = base / f"discreet-{os.geteuid()}"
    folder = home / hashlib.sha256(what.encode()).hexdigest()[:32]
    try:
        for path in (home, folder):
            path.mkdir(mode=0o700, exist_ok=True)
            found = os.lstat(path)
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
            if not ours or found.st_mode & 0o077:
                return None
    except OSError:
        return None
    return folder
