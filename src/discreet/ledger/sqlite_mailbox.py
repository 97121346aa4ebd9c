"""A folder beside a ledger's file where processes post operations for the one that has
the turn, and are told what became of them.

All posts go through one named pipe, which the process that has the turn empties by one
read. A process that waits has a pipe of its own in the folder and sleeps until another
one writes to it: the outcomes, or an empty line, which means that the turn is free. What
is too long for a pipe is in a file. Nothing here has to be durable: what counts is in
the ledger, and after a crash the folder is only litter. A post is lost if the process
that has read it dies; the process that waits for its outcome posts it again.

The folder also has a file for each process that uses the ledger, locked as long as the
process lives. A request that was charged and has no answer is running, or lost. The
entry of the charge names the process that holds it, and a process that asks for the
same key looks whether that one is still there. This decides only which of two errors
comes: an answer is never computed again for the same charge.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import select
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from discreet.ledger.fork_safety import ByProcess, PerProcess
from discreet.ledger.group_commit import MOST_AT_ONCE, Posted

with suppress(ImportError):
    # Windows lacks it, and sessions without a ledger import this, too
    import fcntl

T = TypeVar("T")
Told = list[Any]
"""Operations, or outcomes, as JSON."""

_TURN, _POSTS = "turn", "posts"
_POST, _DRAFT, _PIPE, _LONG = ".post", ".draft", ".pipe", ".long"
# seconds after which nobody waits for an outcome any more
_LITTER = 600.0
# seconds after which a folder that nobody uses is removed
_OLD = 86400.0
# a pipe takes this many bytes at once or not at all
_ATOMIC = getattr(select, "PIPE_BUF", 512)
# What the pipe of all posts holds, where the system lets us say so, and elsewhere more than it
# holds. One read of this many bytes empties it, so that no line is cut in two.
_ROOM = 1 << 18
# the operations, or the outcomes, are in a file
_ELSEWHERE = "long"
# what comes through a pipe must not lead to another file
_POST_NAME = re.compile("[0-9a-z]{1,32}-[0-9]{1,32}")
_NUMBER = {"number"}
_BEFORE_NUMBER, _AFTER_NUMBER = b'[{"number": ', b"}]"
_HOLDER = ".holder"
_HOLDER_NAME = re.compile("[0-9a-f]{32}")


class Mailbox:
    """The folder as one thread sees it, and the turn."""

    def __init__(self, folder: Path) -> None:
        # as text: pathlib would take longer than the system calls
        self._folder = os.fspath(folder)
        self._name = secrets.token_hex(8)
        # of what we posted last
        self._post = self._name
        self._count = 0
        # whether that was posted more than once
        self._is_repeated = False
        self._pipe: int | None = None
        self._posts: int | None = None
        self._turn: int | None = None
        self._cleaned = 0.0

    def in_turn(self, work: Callable[[], T]) -> T | None:
        """Work, if it is our turn, which ends with the work; else None.

        Not a context manager: a signal handler could raise where the block has ended and
        its end has not begun, and the turn would stay ours.
        """
        # A description of our own, so that threads exclude each other too.
        if self._turn is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._turn = os.open(self._path(_TURN), flags, 0o600)
        descriptor = self._turn
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            return work()
        finally:
            # in a child that was forked meanwhile, it was let go of already
            if self._turn is not None:
                # Also for such a child, which has the descriptor too. Where it was not our turn,
                # this does nothing.
                fcntl.flock(descriptor, fcntl.LOCK_UN)

    def post(self, text: str) -> None:
        """Let others carry out the operations of a text, a list in JSON. Where the pipe is
        full, nobody will until it is posted again.
        """
        if self._pipe is None:
            self._pipe = _open_pipe(self._path(self._name, _PIPE))
        self._is_repeated = self._post != self._name
        if not self._is_repeated:
            # a new name, so that what is told too late is not taken for this one's outcome
            self._count += 1
            self._post = f"{self._name}-{self._count}"
        self._put([self._line(self._post, text, _POST)])

    def withdraw(self) -> None:
        """Take back what was posted, if nobody has told us what became of it."""
        if self._post != self._name:
            gone, self._post = self._post, self._name
            self._put([line for line in self._take() if _name_of(line) != gone])
            _remove(self._path(gone, _POST))

    def wait(self, seconds: float) -> Told | None:
        """Sleep until another process writes to our pipe; the outcomes, if it wrote them."""
        # we have posted
        assert self._pipe is not None
        select.select([self._pipe], [], [], seconds)
        return self.told()

    def told(self) -> Told | None:
        """The outcomes of the operations we have posted, if another process has written them."""
        if self._pipe is None:
            return None
        found: Told | None = None
        for line in _lines(self._pipe):
            post, text = self._read(line, _LONG)
            if post == self._post and text:
                found = _read_outcomes(text)
        if found is not None and self._is_repeated:
            # what was refused must not be carried out later
            self.withdraw()
        elif found is not None:
            self._post = self._name
        return found

    def posted(self) -> Posted:
        """What others have posted, by the name of the post; it is not there any more then."""
        lines = self._take()
        self._put(lines[MOST_AT_ONCE:])
        found: Posted = {}
        for line in lines[:MOST_AT_ONCE]:
            name, text = self._read(line, _POST)
            operations = _parse(text)
            if name == self._post:
                # who has the turn carries out its own
                self._post = self._name
            elif name and _owner(name) != self._name and isinstance(operations, list):
                found[name] = operations
        return found

    def tell(self, post: str, outcomes: Told) -> None:
        """Tell the process that posted these operations what became of them."""
        self._send(_owner(post), self._line(post, _written(outcomes), _LONG))

    def wake(self) -> bool:
        """Tell one of the processes that wait that the turn is free; whether anything is
        posted, be it by one that is gone.
        """
        lines = self._take()
        self._put(lines)
        for owner in dict.fromkeys(_owner(_name_of(line)) for line in lines):
            if owner != self._name and self._send(owner, b"\n"):
                break
        return bool(lines)

    def clean(self, is_used: Callable[[str], bool] = lambda file: False) -> None:
        """Now and then, remove what dead processes left behind.

        is_used: whether a file that is not of the mailbox is still needed.
        """
        now = time.time()
        if now - self._cleaned < _LITTER:
            return
        self._cleaned = now
        for name in os.listdir(self._folder):
            path = self._path(name)
            with suppress(OSError):
                old = name not in (_TURN, _POSTS) and now - os.stat(path).st_mtime > _LITTER
                if old and not self._is_read(name) and not is_used(name):
                    os.unlink(path)

    def close(self) -> None:
        """Remove our pipe."""
        if self._pipe is not None:
            _remove(self._path(self._name, _PIPE))
        self.forget()

    def forget(self) -> None:
        """In a forked child: let go of what is the parent's, and leave the parent's files alone."""
        descriptors = (self._pipe, self._posts, self._turn)
        self._pipe = self._posts = self._turn = None
        for descriptor in descriptors:
            if descriptor is not None:
                os.close(descriptor)

    def _all_posts(self) -> int:
        """The pipe of all posts."""
        if self._posts is None:
            self._posts = _open_pipe(self._path(_POSTS))
            # elsewhere than on Linux it holds what it holds
            if hasattr(fcntl, "F_SETPIPE_SZ"):
                with suppress(OSError):
                    fcntl.fcntl(self._posts, fcntl.F_SETPIPE_SZ, _ROOM)
        return self._posts

    def _take(self) -> list[bytes]:
        """Everything that is posted; it is not there any more then."""
        try:
            pipe = self._all_posts()
        except OSError:
            # some file systems have no pipes: who is alone there needs none
            return []
        return _lines(pipe)

    def _put(self, lines: list[bytes]) -> None:
        """Post lines; what does not fit is lost until the process that waits posts it again."""
        try:
            for line in lines:
                os.write(self._all_posts(), line)
        except BlockingIOError:
            return

    def _line(self, post: str, text: str, ending: str) -> bytes:
        """Operations, or outcomes, for a pipe; what is longer than that in a file with this
        ending.
        """
        if len(post) + len(text) + 2 > _ATOMIC:
            self._write(self._path(post, ending), text)
            text = _ELSEWHERE
        return f"{post} {text}\n".encode()

    def _read(self, line: bytes, ending: str) -> tuple[str, bytes]:
        """The name of the post, and the operations or outcomes."""
        name, _, text = line.rstrip(b"\n").partition(b" ")
        post = _checked(name)
        if post and text == _ELSEWHERE.encode():
            path = self._path(post, ending)
            text = _content(path)
            _remove(path)
        return post, text

    def _send(self, name: str, line: bytes) -> bool:
        """Write a line into the pipe of a waiting process; False if no process reads it."""
        try:
            pipe = os.open(self._path(name, _PIPE), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                os.write(pipe, line)
            finally:
                os.close(pipe)
        except TimeoutError:
            # of a signal handler, who means us, and not the process that waits
            raise
        except OSError:
            return False
        return True

    def _is_read(self, file: str) -> bool:
        return file.endswith(_PIPE) and self._send(file.removesuffix(_PIPE), b"\n")

    def _path(self, name: str, ending: str = "") -> str:
        return f"{self._folder}/{name}{ending}"

    def _write(self, path: str, text: str) -> None:
        draft = path + _DRAFT
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        # buffered: that writes all of it, or raises
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
        # whole or not at all
        os.rename(draft, path)


def mailbox_in(folder: Path) -> PerProcess[Mailbox]:
    """A folder as each process sees it."""
    return PerProcess(lambda: Mailbox(folder), Mailbox.close, Mailbox.forget)


def meeting_place(what: str) -> Path | None:
    """A folder of this user alone where the processes that use the same thing meet; None
    where there is none that others cannot write to, or put another one in the place of.
    """
    try:
        # the process may change its folder
        base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()).resolve(strict=True)
        if not all(_keeps_names(path) for path in (base, *base.parents)):
            return None
        home = base / f"discreet-{os.geteuid()}"
        folder = home / hashlib.sha256(what.encode()).hexdigest()[:32]
        is_new = not folder.exists()
        for path in (home, folder):
            path.mkdir(mode=0o700, exist_ok=True)
            found = os.lstat(path)
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
            if not ours or found.st_mode & 0o077:
                return None
        if is_new:
            _remove_old_places(home)
    except OSError:
        return None
    return folder


def _keeps_names(folder: Path) -> bool:
    """Whether nobody but us and root can rename what is ours in a folder: its owner can, and
    whoever may write to it, unless it is as that for temporary files.
    """
    found = os.stat(folder)
    loose = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
    return found.st_uid in (os.geteuid(), 0) and not loose


def _remove_old_places(home: Path) -> None:
    """Remove the folders that nobody uses: each start of a server leaves one behind."""
    for folder in home.iterdir():
        with suppress(OSError):
            found = os.lstat(folder)
            # what a link leads to is not ours to remove
            old = stat.S_ISDIR(found.st_mode) and time.time() - found.st_mtime > _OLD
            if old and not _is_open(folder / _POSTS):
                for file in folder.iterdir():
                    file.unlink()
                folder.rmdir()


def _is_open(pipe: Path) -> bool:
    """Whether a process reads a pipe."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _open_pipe(path: str) -> int:
    """A named pipe, for reading and for writing, so that it does not end when the last one
    who wrote to it closes it. What is there instead of one, such as a link, is refused: we
    write to it.
    """
    with suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    if not stat.S_ISFIFO(os.fstat(pipe).st_mode):
        os.close(pipe)
        raise OSError(f"{path} must be a pipe. Got something else")
    return pipe


def _lines(pipe: int) -> list[bytes]:
    """What is in a pipe, with the ends of the lines."""
    try:
        return os.read(pipe, _ROOM).splitlines(keepends=True)
    except BlockingIOError:
        return []


def _name_of(line: bytes) -> str:
    """The post that a line is about; empty text for what is none."""
    return _checked(line.partition(b" ")[0])


def _checked(written: bytes) -> str:
    name = written.decode(errors="replace")
    return name if _POST_NAME.fullmatch(name) else ""


def _owner(post: str) -> str:
    """The process that waits for the outcomes of a post."""
    return post.partition("-")[0]


def _content(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError:
        return b""


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# What most are told is written and read by hand: who is told has slept, and each function that
# it needs has left the processor's caches meanwhile.


def _written(outcomes: Told) -> str:
    """Outcomes as JSON."""
    if len(outcomes) == 1 and outcomes[0].keys() == _NUMBER:
        return f'[{{"number": {outcomes[0]["number"]}}}]'
    return json.dumps(outcomes)


def _read_outcomes(text: bytes) -> Told:
    """Outcomes that another process has written."""
    number = text[len(_BEFORE_NUMBER) : -len(_AFTER_NUMBER)]
    if text == _BEFORE_NUMBER + number + _AFTER_NUMBER and number.isdigit():
        return [{"number": int(number)}]
    outcomes: Told = json.loads(text)
    return outcomes


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


class Holders:
    """The files of the processes that use one ledger."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fspath(folder)
        # A forked child has a file of its own: the lock is not inherited.
        self._mine: ByProcess[_Holder] = ByProcess(lambda: _Holder(self._folder))

    def mine(self) -> str:
        """The name of this process."""
        return self._mine.here().name

    def is_alive(self, name: str) -> bool:
        """Whether the process of this name still uses the ledger."""
        if name in _ours.here():
            return True
        # the name comes from an entry, which another process wrote: it must not lead elsewhere
        if not _HOLDER_NAME.fullmatch(name):
            return False
        try:
            descriptor = os.open(f"{self._folder}/{name}{_HOLDER}", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def is_used(self, file: str) -> bool:
        """Whether a file is that of a process that is still there."""
        return file.endswith(_HOLDER) and self.is_alive(file.removesuffix(_HOLDER))

    def close(self) -> None:
        """Say that this process does not use the ledger any more."""
        mine = self._mine.forget()
        if mine is not None:
            mine.close()


class _Holder:
    """The file of one process, and its lock."""

    def __init__(self, folder: str) -> None:
        self.name = secrets.token_hex(16)
        self._path = f"{folder}/{self.name}{_HOLDER}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._descriptor: int | None = os.open(self._path, flags, 0o600)
        # Of this process alone, unlike flock: a child that was forked does not keep it.
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        _ours.here().add(self.name)

    def close(self) -> None:
        _ours.here().discard(self.name)
        if self._descriptor is not None:
            with suppress(OSError):
                os.unlink(self._path)
            os.close(self._descriptor)
            self._descriptor = None


_ours: ByProcess[set[str]] = ByProcess(set)
"""The names of this process. Its own locks do not stop it, and to open and close such a
file here would lose the lock.
"""
