"""Which inputs `make test` tries, and which are left to a tier; many inputs in one test case."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings


def loop_over(
    names: str | tuple[str, ...], values: Iterable[Any], *, usual: int = 0, **_ids: Any
) -> Callable:
    """Run a test with each of the values, as `pytest.mark.parametrize` does, but in one case.

    Pytest spends milliseconds on a case, in each of its processes. Where the inputs are many and
    the test is short, that is most of the time. A failure says which input it was. The inputs
    share the fixtures of the test.

    If `usual` is given, `make test` tries that many, and `make sizes` the others.
    """
    parts = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    rows = [_row(value, len(parts)) for value in values]
    assert rows, "there is nothing to loop over"
    batch = f"batch_of_{parts[0]}"

    def decorate(test: Callable) -> Callable:
        @functools.wraps(test)
        def run(*arguments: Any, **others: Any) -> None:
            for row in rows[others.pop(batch)] if usual else rows:
                given = dict(zip(parts, row, strict=True))
                try:
                    test(*arguments, **others, **given)
                except BaseException as error:
                    error.add_note(f"with {given!r}")
                    raise

        seen = inspect.signature(test)
        assert set(parts) <= seen.parameters.keys(), f"{test.__name__} does not take {parts}"
        left = [each for name, each in seen.parameters.items() if name not in parts]
        if not usual:
            run.__signature__ = seen.replace(parameters=left)
            return run
        left.append(inspect.Parameter(batch, inspect.Parameter.KEYWORD_ONLY))
        run.__signature__ = seen.replace(parameters=left)
        first, rest = slice(usual), slice(usual, None)
        cases = [pytest.param(first, id="usual"), more(rest, id="others")]
        return pytest.mark.parametrize(batch, cases)(run)

    return decorate


def _row(value: Any, length: int) -> tuple[Any, ...]:
    if hasattr(value, "marks"):
        assert not value.marks, "a mark needs a case of its own"
        return tuple(value.values)
    return (value,) if length == 1 else tuple(value)


def more(*value: Any, tier: str = "sizes", **words: Any) -> Any:
    """Mark a value of `pytest.mark.parametrize` as one that only a slow tier tries."""
    return pytest.param(*value, marks=getattr(pytest.mark, tier), **words)


def examples(few: int, many: int) -> Callable:
    """Run a test of hypothesis with few examples, and once more with many by `make sizes`."""

    def decorate(test: Callable) -> Callable:
        @pytest.mark.parametrize("number", [few, more(many)])
        def run(*arguments: Any, number: int) -> None:
            # `settings` decorates a test once, and this one runs twice in a process
            test._hypothesis_internal_use_settings = settings(max_examples=number)
            test(*arguments)

        run.__name__, run.__qualname__ = test.__name__, test.__qualname__
        run.__module__, run.__doc__ = test.__module__, test.__doc__
        number = inspect.Parameter("number", inspect.Parameter.KEYWORD_ONLY)
        seen = inspect.signature(test)
        run.__signature__ = seen.replace(parameters=[*seen.parameters.values(), number])
        return run

    return decorate


def also(*values: Any, tier: str = "sizes") -> list[Any]:
    """Values of one parameter that only a slow tier tries."""
    return [more(value, tier=tier) for value in values]


def first(values: Iterable[Any], keep: int = 1, tier: str = "sizes") -> list[Any]:
    """All values; `make test` tries the first ones, and a slow tier the others."""
    values = list(values)
    rest = (value if isinstance(value, tuple) else (value,) for value in values[keep:])
    return values[:keep] + [more(*value, tier=tier) for value in rest]


def only(everyday: tuple[Any, ...], every: Iterable[Any]) -> list[Any]:
    """All values of one parameter; `make test` tries the everyday ones."""
    values = list(every)
    assert set(everyday) <= set(values)
    return [value if value in everyday else more(value) for value in values]
