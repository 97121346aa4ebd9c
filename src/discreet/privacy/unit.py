"""Who is protected: what "one person more or less" means in a table."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import ParameterTypeError


@dataclass(frozen=True, slots=True)
class Person:
    """All rows with the same value in this column belong to one person, who is protected as a whole.

    Neighbours are tables with and without all rows of one person. Rows where the column is empty belong to nobody and are left out.

    >>> Person("student")
    Person(column='student')
    """

    column: str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise ParameterTypeError("Person", "column", "the name of a column", self.column)


@dataclass(frozen=True, slots=True)
class OneRow:
    """Every row is protected by itself. Right only if no person has more than one row.

    >>> OneRow()
    OneRow()
    """


Unit = Person | OneRow


def read_unit(unit: object, owner: str) -> Unit:
    """Return the unit if it is one."""
    if not isinstance(unit, (Person, OneRow)):
        raise ParameterTypeError(
            owner, "unit", "Person(column) or OneRow()", unit, "Say who is protected; there is no default."
        )
    return unit
