"""The end of the interpreter: DuckDB finds nothing of its own still held, and says nothing.

Narwhals keeps what it knows of each engine in caches for good, among it the types of
DuckDB. Where NumPy or PyArrow is loaded, too, the interpreter frees such caches after
DuckDB has looked for what is left, and DuckDB then writes pages about leaks to the
standard error. So they are emptied first, as any program may: without discreet,
`narwhals.from_native(duckdb.sql("select 1"))` does the same.
"""

from __future__ import annotations

import atexit
import sys
from functools import cache


@cache
def empty_caches_at_exit() -> None:
    """Empty Narwhals' caches at the end of the process. A second call does nothing."""
    atexit.register(_empty_caches)


def _empty_caches() -> None:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "narwhals":
            continue
        for value in list(vars(module).values()):
            empty = getattr(type(value), "cache_clear", None)
            if empty is not None:
                empty(value)
