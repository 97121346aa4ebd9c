"""The lines of the package are as short as the house has it, also where the linter looks away."""

from pathlib import Path

from loops import loop_over

import discreet

SOURCE = Path(discreet.__file__).parent
LONGEST = 100


FOLDERS = sorted({file.parent for file in SOURCE.rglob("*.py")})


@loop_over("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_line_is_too_long(folder):
    """Ruff passes over lines that end in a comment for it, and those with a `noqa`."""
    for file in folder.glob("*.py"):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if len(line) > LONGEST] == [], file.name
