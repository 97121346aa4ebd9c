"""The command line: `discreet top-k` and other commands ask a table, `discreet select`
asks a file of scores, and `discreet demo` shows how.

The commands ask through the public names of discreet. To read options, files and types
of columns they also use some modules that are not public. Typer, Rich, DuckDB and
Narwhals come with the extra ``discreet[cli]`` and are imported late, so that a missing
one is reported by a sentence and not by a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from discreet import MissingExtraError
from discreet.errors import OutdatedLibraryError
from discreet.versions import require

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 2 for a bad request, 130 after Ctrl-C."""
    try:
        for module in ("rich", "typer"):
            require(module)
        # those that open tables are heavy: they are looked for here, and imported by the
        # commands that need them
        for module in ("duckdb", "narwhals"):
            if find_spec(module) is None:
                raise ImportError
    except OutdatedLibraryError as error:
        print("Error:", error, file=sys.stderr)
        return 2
    except ImportError:
        print(MissingExtraError("The command line", "cli"), file=sys.stderr)
        return 2
    from discreet.cli.application import run

    return run(sys.argv[1:] if arguments is None else arguments)
