"""How many coins a budget has: certified by the game, once, and kept.

Common budgets come with the package. The others are played for and kept in a file of
the user, who is trusted with it as much as with the package. Still it is read only if
it is a plain file of this user that nobody else may write, and no number is taken from
it that exceeds what is possible at all. Whatever is wrong with it, the number is
computed again: a cache never makes anything fail.
"""

from __future__ import annotations

import json
import math
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from fractions import Fraction
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path

from discreet.accounting.coin_prices import (
    MENU,
    NOISE,
    STEPS,
    CoinTerms,
    coin_parts,
    coins_at_least,
    coins_at_most,
    is_playable,
)
from discreet.exact.rationals import read_written, readable
from discreet.platforms import BINARY, NO_LINK, NO_WAIT, has_owners, is_owned

RULES = 2
"""Raised when the menu, the units or the moves change: numbers of other rules are not read."""

_SHIPPED = "coins.json"
_LARGEST_FILE = 1 << 20
_MOST_ENTRIES = 2000

Key = tuple[Fraction, Fraction, int]

_MAY_PLAY: ContextVar[bool] = ContextVar("discreet_may_play", default=True)


class NotCertifiedError(Exception):
    """Raised where a number of coins would have to be played for, and nobody may wait for that.

    budget: its epsilon and the delta for coins, as `coin_terms` takes them.
    """

    def __init__(self, epsilon: Fraction, delta: Fraction) -> None:
        super().__init__("The coins of a budget are not certified yet.")
        self.budget = epsilon, delta


@contextmanager
def without_playing() -> Iterator[None]:
    """In here no game is played: a number that is not at hand is a `NotCertifiedError`."""
    token = _MAY_PLAY.set(False)
    try:
        yield
    finally:
        _MAY_PLAY.reset(token)


def coin_terms(epsilon: Fraction, delta: Fraction) -> CoinTerms:
    """Unit, menu and number of coins of a budget, the number certified.

    Privacy: everything that is admitted while its coins add up to at most `coins` is
        together (epsilon, delta)-DP, however the questions were chosen.
    Cost: common budgets come with the package. Others are computed once, in some ten
        seconds, and kept in the user's cache directory. `coins_at_least` and
        `coins_at_most` answer at once.
    """
    parts = coin_parts(epsilon, delta)
    return CoinTerms(epsilon / parts, coins=_coins(epsilon, delta, parts))


@lru_cache(maxsize=256)
def _coins(epsilon: Fraction, delta: Fraction, parts: int) -> int:
    least, most = coins_at_least(epsilon, delta), coins_at_most(epsilon, delta)
    if not is_playable(epsilon, least):
        return least
    found = shipped(epsilon, delta, parts)
    if found is None:
        found = kept(epsilon, delta, parts)
    if found is None or found > most:
        if not _MAY_PLAY.get():
            raise NotCertifiedError(epsilon, delta)
        found = play(epsilon, [delta], parts)[0]
        remember(epsilon, delta, parts, found)
    return max(least, found)


def play(epsilon: Fraction, deltas: Sequence[Fraction], parts: int) -> tuple[int, ...]:
    """The certified coins of several deltas, in one game."""
    # the game is heavy, and budgets that are in the table need none
    from discreet.accounting.adversary_value import CoinGame, Window
    from discreet.accounting.noise_move import make_noise_move

    most = coins_at_most(epsilon, max(deltas))
    # about the deviations of a Gaussian that has a tail of the smallest delta
    tail = math.sqrt(-2 * math.log(min(deltas)))
    window = Window(below=tail + 0.25, above=1.0, reach=tail + 1.25)
    unit = epsilon / parts
    # what lies beyond the kernel of the noise costs a thousandth of delta in all moves together
    far = math.sqrt(2 * math.log(1000 * most) - 2 * math.log(min(deltas)))
    noise = make_noise_move(NOISE * unit / 2, unit / STEPS, below=far)
    game = CoinGame(epsilon / parts, parts, MENU, most, window=window, noise=noise)
    with showing_progress(
        f"epsilon {readable(epsilon)}, delta {readable(deltas[0])}", most
    ) as watch:
        return game.largest(deltas, watch)


@contextmanager
def showing_progress(
    budget: str, most: int, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[int], None]]:
    """Say on the standard error what takes so long, and on a terminal how far it is.

    Nothing is said in the first second.
    """
    words = f"Computing, once, how many questions fit a budget of {budget}"
    started, said, bar = clock(), "", sys.stderr is not None and sys.stderr.isatty()

    def watch(done: int) -> None:
        nonlocal said
        if sys.stderr is None or clock() < started + 1:
            return
        line = f"\r{words}: {100 * done // most}%" if bar else f"{words}. The result is kept.\n"
        if line != said and (bar or not said):
            said = line
            with suppress(OSError, ValueError):
                print(line, end="", file=sys.stderr, flush=True)

    try:
        yield watch
    finally:
        if bar and said:
            with suppress(OSError, ValueError):
                print("\r" + " " * len(said) + "\r", end="", file=sys.stderr, flush=True)


def shipped(epsilon: Fraction, delta: Fraction, parts: int) -> int | None:
    """The number that comes with the package for this budget, if it has one."""
    return _shipped().get((epsilon, delta, parts))


@cache
def _shipped() -> dict[Key, int]:
    text = resources.files("discreet.accounting").joinpath(_SHIPPED).read_text(encoding="utf-8")
    return read_entries(text)


def kept(epsilon: Fraction, delta: Fraction, parts: int) -> int | None:
    """The number that this user computed before for this budget, if there is one."""
    return _read_file().get((epsilon, delta, parts))


def remember(epsilon: Fraction, delta: Fraction, parts: int, coins: int) -> None:
    """Keep a number for the next time; do nothing where that is not possible."""
    entries = _read_file() | {(epsilon, delta, parts): coins}
    newest = dict(list(entries.items())[-_MOST_ENTRIES:])
    try:
        _write_file(write_entries(newest))
    except OSError:
        return


def read_entries(text: str) -> dict[Key, int]:
    """Read what `write_entries` wrote; nothing, if it is anything else."""
    try:
        content = json.loads(text)
        if content["rules"] != RULES:
            return {}
        return dict(_read_entry(entry) for entry in content["budgets"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}


def write_entries(entries: dict[Key, int]) -> str:
    """The numbers as text, one budget a line: epsilon, delta, parts of epsilon in a unit, coins."""
    lines = [
        json.dumps([str(epsilon), str(delta), parts, coins])
        for (epsilon, delta, parts), coins in entries.items()
    ]
    return f'{{"rules": {RULES}, "budgets": [\n' + ",\n".join(lines) + "\n]}\n"


def _read_entry(entry: list[object]) -> tuple[Key, int]:
    epsilon, delta, parts, coins = entry
    if type(parts) is not int or type(coins) is not int or coins < 0:
        raise ValueError("parts and coins are whole numbers")
    budget = read_written(epsilon), read_written(delta)
    if min(budget) < 0:
        raise ValueError("no budget is negative")
    return (*budget, parts), coins


def _file() -> Path:
    """The usual place of a cache on this platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "discreet" / "coins.json"


def _read_file() -> dict[Key, int]:
    try:
        # neither a link to another user's file nor a pipe to wait for
        with open(os.open(_file(), os.O_RDONLY | BINARY | NO_LINK | NO_WAIT), "rb") as file:
            if not _is_ours(os.fstat(file.fileno())):
                return {}
            return read_entries(file.read(_LARGEST_FILE).decode("utf-8"))
    except (OSError, ValueError, RuntimeError):
        # RuntimeError: a user without a home directory
        return {}


def _is_ours(status: os.stat_result) -> bool:
    """True if it is a plain file of this user that nobody else may write."""
    if not stat.S_ISREG(status.st_mode):
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return not has_owners() or (is_owned(status) and not status.st_mode & others)


def _write_file(text: str) -> None:
    """Replace the file as a whole, so that no reader sees half of it."""
    try:
        file = _file()
    except RuntimeError:
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # made with the permissions 0600
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".coins-")
    try:
        with open(handle, "w", encoding="utf-8") as written:
            written.write(text)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
