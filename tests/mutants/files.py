"""Mutants of the readers of files: see test_mutants.py."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

_LINES = "tests/unit/data/test_lines.py"
_FILES = "tests/unit/data/test_files.py"

FILES: Mutants = {
    "an open quote goes on in the next line": (
        "data/lines.py",
        "\"delim = '', quote = '', escape = ''",
        "\"delim = '', quote = '\\\"', escape = '\\\"'",
        f"{_LINES} -k many_cells",
    ),
    "lines of any length": (
        "data/lines.py",
        "and strlen(line) <= {LONGEST}",
        "",
        f"{_LINES} -k long_lines",
    ),
    "bytes that are no text fail the file": (
        "data/lines.py",
        "ignore_errors = true",
        "ignore_errors = false",
        f"{_LINES} -k compressed",
    ),
    "a quote that is not closed has no end": (
        "data/delimited.py",
        """'(?:"[^"]*(?:"|$))*'""",
        """'(?:"[^"]*")*'""",
        f"{_LINES} -k many_cells",
    ),
    "columns that differ in capitals only": (
        "data/delimited.py",
        "Counter(map(str.lower, names))",
        "Counter(names)",
        f"{_FILES} -k headers_that_name",
    ),
    "a line that is no JSON fails the file": (
        "data/json_lines.py",
        "try_cast(line as json)",
        "cast(line as json)",
        f"{_LINES} -k out_of_hand",
    ),
    "large numbers pass through a float": (
        "data/json_lines.py",
        "abs({number}) < 1e15",
        "abs({number}) < 1e18",
        f"{_LINES} -k numbers_of_one_person",
    ),
    "exponents without a limit": (
        "data/json_lines.py",
        "[0-9]{1,15})?$",
        "[0-9]+)?$",
        f"{_LINES} -k out_of_hand",
    ),
    "Parquet refuses a cell that is no text": (
        "data/files.py",
        "utf8_validation = 'replace'",
        "utf8_validation = 'strict'",
        f"{_FILES} -k BytesThatAreNoText",
    ),
    "Arrow's text is taken for text": (
        "data/table.py",
        '"VARCHAR": "try(decode(encode({0}))) as {0}",',
        '"VARCHAR": "{0}",',
        f"{_FILES} -k BytesThatAreNoText",
    ),
    "URLs reach DuckDB": (
        "data/files.py",
        "    if found:\n        scheme",
        "    if False:\n        scheme",
        f"{_FILES} -k network",
    ),
    "views read other files": (
        "data/table.py",
        'enable_external_access="false"',
        'enable_external_access="true"',
        f"{_FILES} -k only_tables",
    ),
    "pairs are spilled where anybody can read them": (
        "data/connection.py",
        '"temp_directory": spill_folder(os.getpid()),',
        "",
        f"{_FILES} -k nobody_else",
    ),
    "whole floats mean what they print": (
        "data/canonical.py",
        "int(value) if value.is_integer() else Decimal(repr(value))",
        "Decimal(repr(value))",
        f"{_FILES} -k TestOnePerson",
    ),
    "a byte that is nothing in the encoding fails the file": (
        "data/transcoding.py",
        '(encoding)("replace")',
        '(encoding)("strict")',
        f"{_FILES} -k every_byte",
    ),
    "the first row is shown as names": (
        "data/table.py",
        "        if not self.headed:\n",
        "        if True:\n",
        f"{_FILES} -k first_row",
    ),
    "Python objects are persons in Polars": (
        "data/table.py",
        'str(self.schema[column]) == "Object"',
        'str(self.schema[column]) == "None"',
        f"{_FILES} -k objects_in_polars",
    ),
    "a column called * is asked for": (
        "data/table.py",
        "        if self._is_pattern(column):",
        "        if False:",
        f"{_FILES} -k TestNames",
    ),
}
