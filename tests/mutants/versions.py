"""Mutants of the refusal of old libraries, and of what is planned before the charge."""

TESTS = "tests/versions/test_versions.py"

VERSIONS = {
    "an old DuckDB is taken": (
        "tables/duckdb_connection.py",
        'require("duckdb")',
        "pass",
        f'{TESTS} -k "tables or files"',
    ),
    "an old Narwhals is taken": (
        "tables/opening.py",
        'require("narwhals")',
        "pass",
        f'{TESTS} -k "tables or files"',
    ),
    "an old PyArrow is taken": (
        "tables/opening.py",
        'require("pyarrow")',
        "pass",
        f'{TESTS} -k "tables or files"',
    ),
    "tables of old libraries are taken": (
        "tables/opening.py",
        "require_makers(nw.to_native(source, pass_through=True))",
        "pass",
        f"{TESTS} -k tables",
    ),
    "a table within a Narwhals frame is not looked at": (
        "tables/opening.py",
        "require_makers(nw.to_native(source, pass_through=True))",
        "require_makers(source)",
        f"{TESTS} -k tables",
    ),
    "a subclass of an old data frame is taken": (
        "versions.py",
        "type(source).__mro__",
        "(type(source),)",
        f"{TESTS} -k tables",
    ),
    "an old Spark behind a new library is taken": (
        "versions.py",
        'require_version("pyspark", str(session.version))',
        "pass",
        f"{TESTS} -k spark",
    ),
    "an old psycopg is taken": (
        "ledger/postgresql.py",
        'require("psycopg")',
        "pass",
        f"{TESTS} -k server",
    ),
    "what comes before a release counts as the release": (
        "versions.py",
        "numbers, _BEFORE.match(found[2]) is None",
        "numbers, True",
        f"{TESTS} -k older",
    ),
    "a version that cannot be read is new enough": (
        "versions.py",
        "return [], False",
        "return [10**9], True",
        f"{TESTS} -k unreadable",
    ),
    "the shell blames the file for an old library": (
        "cli/table_options.py",
        "except (MissingExtraError, OutdatedLibraryError):",
        "except KeyError:",
        f"{TESTS} -k blame",
    ),
    "conditions are tried on the table itself before the charge": (
        "tables/condition_matching.py",
        "_without_rows(table.frame).filter(matched).collect()",
        "table.frame.head(0).filter(matched).collect()",
        "tests/unit/tables/test_condition_planning.py",
    ),
}
