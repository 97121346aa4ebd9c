"""Mutants of the readers of files: see test_mutants.py."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

_LINES = "tests/unit/tables/test_lines.py"
_FILES = "tests/unit/tables/test_files.py"

FILES: Mutants = {
    "an open quote goes on in the next line": (
        "tables/lines.py",
        "return f\"select line from read_csv([{listed}], auto_detect = false, delim = '', quote = '', escape = '', comment = '', new_line = '\\\\n', header = {str(header).lower()}, strict_mode = false, null_padding = true, ignore_errors = true, max_line_size = {_BUFFER}, encoding = 'utf-8', hive_partitioning = false, columns = {{'line': 'VARCHAR'}}) where line is not null and strlen(line) <= {LONGEST}\"",
        "return f\"\"\"select line from read_csv([{listed}], auto_detect = false, delim = '', quote = '\"', escape = '\"', comment = '', new_line = '\\\\n', header = {str(header).lower()}, strict_mode = false, null_padding = true, ignore_errors = true, max_line_size = {_BUFFER}, encoding = 'utf-8', hive_partitioning = false, columns = {{'line': 'VARCHAR'}}) where line is not null and strlen(line) <= {LONGEST}\"\"\"",
        f"{_LINES} -k many_cells",
    ),
    "lines of any length": (
        "tables/lines.py",
        "return f\"select line from read_csv([{listed}], auto_detect = false, delim = '', quote = '', escape = '', comment = '', new_line = '\\\\n', header = {str(header).lower()}, strict_mode = false, null_padding = true, ignore_errors = true, max_line_size = {_BUFFER}, encoding = 'utf-8', hive_partitioning = false, columns = {{'line': 'VARCHAR'}}) where line is not null and strlen(line) <= {LONGEST}\"",
        "return f\"select line from read_csv([{listed}], auto_detect = false, delim = '', quote = '', escape = '', comment = '', new_line = '\\\\n', header = {str(header).lower()}, strict_mode = false, null_padding = true, ignore_errors = true, max_line_size = {_BUFFER}, encoding = 'utf-8', hive_partitioning = false, columns = {{'line': 'VARCHAR'}}) where line is not null \"",
        f"{_LINES} -k long_lines",
    ),
    "bytes that are no text fail the file": (
        "tables/lines.py",
        "ignore_errors = true",
        "ignore_errors = false",
        f"{_LINES} -k compressed",
    ),
    "a quote that is not closed has no end": (
        "tables/delimited.py",
        "closed = f\"case when {written} = '' then {_open(place, separator)} else {written} end\"",
        "closed = written",
        f"{_LINES} -k many_cells",
    ),
    "quotes within a cell are taken for quotes around it": (
        "tables/delimited.py",
        'bare = f"""case when starts_with({written}, \'"\') then replace({written}, \'"\', \'\') end"""',
        'bare = f"""replace({written}, \'"\', \'\')"""',
        f"{_LINES} -k every_short_line",
    ),
    "columns that differ in capitals only": (
        "tables/delimited.py",
        "Counter(map(str.lower, names))",
        "Counter(names)",
        f"{_FILES} -k headers_that_name",
    ),
    "a line that is no JSON fails the file": (
        "tables/json_lines.py",
        "rows = f'select try_cast(line as json) as document from ({lines(files)})'",
        "rows = f'select cast(line as json) as document from ({lines(files)})'",
        f"{_LINES} -k out_of_hand",
    ),
    "large numbers pass through a float": (
        "tables/json_lines.py",
        "return f'({number} = 0 or abs({number}) >= 0.0001 and abs({number}) < 1e15)'",
        "return f'({number} = 0 or abs({number}) >= 0.0001 and abs({number}) < 1e18)'",
        f"{_LINES} -k numbers_of_one_person",
    ),
    "the digits of a list are looked up for each item anew": (
        "tables/json_lines.py",
        "f'exact_{place}[place]'",
        "f\"json_extract_string(json_extract({_EXACT}, {_key(name)}), '$[*]')[place]\"",
        "tests/attacks/test_one_row_decides.py -k long_line",
    ),
    "large numbers in lists have no digits": (
        "tables/json_lines.py",
        "not coalesce(",
        "coalesce(",
        "tests/attacks/test_one_row_decides.py -k long_line",
    ),
    "Parquet files are cast to what the first one has": (
        "tables/files.py",
        "if len(files) > 1:",
        "if False:",
        "tests/attacks/test_one_row_decides.py -k several_types",
    ),
    "folders are named after what is no text": (
        "tables/files.py",
        "_require_text_names(found)",
        "pass",
        "tests/attacks/test_one_row_decides.py -k no_text",
    ),
    "the names of folders decide a type": (
        "tables/files.py",
        "hive_types_autocast = false",
        "hive_types_autocast = true",
        "tests/attacks/test_one_row_decides.py -k named_after",
    ),
    "a member of an enumeration is the name that it prints": (
        "tables/canonical_text.py",
        "return str.__str__(value)",
        "return str(value)",
        f"{_FILES} -k TestOnePerson",
    ),
    "exponents without a limit": (
        "tables/json_lines.py",
        "_NUMBER = '^-?[0-9]+(\\\\.[0-9]+)?([eE][+-]?[0-9]{1,15})?$'",
        "_NUMBER = '^-?[0-9]+(\\\\.[0-9]+)?([eE][+-]?[0-9]+)?$'",
        f"{_LINES} -k out_of_hand",
    ),
    "Parquet refuses a cell that is no text": (
        "tables/files.py",
        "utf8_validation = 'replace'",
        "utf8_validation = 'strict'",
        f"{_FILES} -k BytesThatAreNoText",
    ),
    "Arrow's text is taken for text": (
        "tables/valid_cells.py",
        "texts = {'VARCHAR': 'try(decode(encode({0}))) as {0}'",
        "texts = {'VARCHAR': '{0}'",
        f"{_FILES} -k BytesThatAreNoText",
    ),
    "a DuckDB file has times of any age": (
        "tables/opening.py",
        "_of_relation(castable_relation(read_database(alone, str(name))), alone)",
        "_of_relation(read_database(alone, str(name)), alone)",
        "tests/attacks/test_one_row_decides.py -k 'file_of_duckdb or beyond_its_digits'",
    ),
    "decimals have more digits than they say": (
        "tables/valid_cells.py",
        "return _read_in(relation, texts | _NEAR | _within_digits(relation))",
        "return _read_in(relation, texts | _NEAR)",
        "tests/attacks/test_one_row_decides.py -k beyond_its_digits",
    ),
    "decimals of Parquet have more digits than they say": (
        "tables/opening.py",
        "castable_relation(read_parquet(connection, str(source)))",
        "read_parquet(connection, str(source))",
        "tests/attacks/test_one_row_decides.py -k beyond_its_digits",
    ),
    "decimals of DuckDB files have more digits than they say": (
        "tables/valid_cells.py",
        "ways = _NEAR | _within_digits(relation)",
        "ways = _NEAR",
        "tests/attacks/test_one_row_decides.py -k 'beyond_its_digits and database'",
    ),
    "decimals are cast before they are looked at": (
        "tables/valid_cells.py",
        "f'case when {{0}} >= {number} then greatest({{0}}, {number}) end as {{0}}'",
        "f'case when {{0}} >= {number} then {{0}} end as {{0}}'",
        "tests/attacks/test_one_row_decides.py -k beyond_its_digits",
    ),
    "URLs reach DuckDB": (
        "tables/files.py",
        "if found:",
        "if False:",
        f"{_FILES} -k network",
    ),
    "views read other files": (
        "tables/opening.py",
        "alone = connect('Reading files', str(source), read_only=True, enable_external_access='false')",
        "alone = connect('Reading files', str(source), read_only=True, enable_external_access='true')",
        f"{_FILES} -k only_tables",
    ),
    "pairs are spilled where anybody can read them": (
        "tables/duckdb_connection.py",
        "guards: dict[str, Any] = {'autoinstall_known_extensions': 'false', 'autoload_known_extensions': 'false', 'python_enable_replacements': 'false', 'temp_directory': spill_folder(os.getpid())}",
        "guards: dict[str, Any] = {'autoinstall_known_extensions': 'false', 'autoload_known_extensions': 'false', 'python_enable_replacements': 'false'}",
        f"{_FILES} -k nobody_else",
    ),
    "whole floats mean what they print": (
        "tables/canonical_text.py",
        "int(value) if value.is_integer() else Decimal(repr(value))",
        "Decimal(repr(value))",
        f"{_FILES} -k TestOnePerson",
    ),
    "a byte that is nothing in the encoding fails the file": (
        "tables/lines.py",
        "decoder = codecs.getincrementaldecoder(encoding)('replace')",
        "decoder = codecs.getincrementaldecoder(encoding)('strict')",
        f"{_FILES} -k every_byte",
    ),
    "the first row is shown as names": (
        "tables/table.py",
        "if not self.headed:",
        "if True:",
        f"{_FILES} -k first_row",
    ),
    "Python objects are persons in Polars": (
        "tables/table.py",
        'str(self.schema[column]) == "Object"',
        'str(self.schema[column]) == "None"',
        f"{_FILES} -k objects_in_polars",
    ),
    "Spark takes a part of a column for one with a point in its name": (
        "tables/table.py",
        "any((sign in column for sign in read))",
        "False",
        f"{_FILES} -k points_and_backticks",
    ),
    "Spark over a network brings bytes that are no text": (
        "tables/valid_cells.py",
        "rows.implementation.is_spark_like()",
        "rows.implementation.is_pyspark()",
        "tests/unit/tables/test_table.py -k is_none_on_spark",
    ),
    "any lazy engine is asked": (
        "tables/opening.py",
        "if frame.implementation.name not in _LAZY:",
        "if frame.implementation is None:",
        "tests/unit/tables/test_table.py -k nobody_has_tried",
    ),
    "a column called * is asked for": (
        "tables/table.py",
        "if self._is_pattern(column):",
        "if False:",
        f"{_FILES} -k TestNames",
    ),
}
