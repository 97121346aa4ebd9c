"""For all tests: tiers, the plugins of `tests/plugins`, and a cache that only tests use."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
from pathlib import Path

import pytest
from plugins import changed, cpu_times

CERTIFIED = Path(__file__).parent / "reference" / "coins.json"
"""Coins of budgets that tests have and that do not come with the package, ten seconds of work or
more for each; `make slow` certifies them again.
"""


SLOW = 1200
"""Seconds after which a slow test hangs, where it does not say so itself. The slowest take one or
two minutes on a quiet machine.
"""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays until the end: looking through it for garbage, again and again as
    it grows, took a fifth of the time. So it is looked through once, and never again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        # DuckDB tells of all that is left when Python ends
        atexit.register(gc.unfreeze)
        gc.enable()


TIERS = {"sizes", "pairs", "audits", "kills", "mutants"}
"""Tests that `make test` leaves out: each tier has a command of its name, and `make slow` runs all
of them. tests/README.md says what each tier proves.
"""


def pytest_addoption(parser):
    changed.add_options(parser)
    cpu_times.add_options(parser)


def pytest_configure(config):
    cpu_times.start(config)
    changed.start(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if marks & TIERS:
            item.add_marker(pytest.mark.slow)
            if "timeout" not in marks:
                item.add_marker(pytest.mark.timeout(SLOW))


@pytest.fixture(scope="session", autouse=True)
def _a_cache_of_their_own(tmp_path_factory):
    from discreet.accounting import coin_table

    place = tmp_path_factory.mktemp("cache") / "discreet" / "coins.json"
    place.parent.mkdir(mode=0o700)
    shutil.copyfile(CERTIFIED, place)
    place.chmod(0o600)
    usual, named = coin_table._file, os.environ.get("XDG_CACHE_HOME")
    with pytest.MonkeyPatch.context() as patch:
        # a test that names a folder means that one
        patch.setattr(
            coin_table,
            "_file",
            lambda: place if os.environ.get("XDG_CACHE_HOME") == named else usual(),
        )
        yield


@pytest.fixture
def high_precision():
    """Enclosures as fine as those of the references."""
    from flint import ctx
    from reference.exact import PRECISION

    before, ctx.prec = ctx.prec, PRECISION
    yield
    ctx.prec = before
