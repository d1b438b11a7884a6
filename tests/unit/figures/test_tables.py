"""Tables of sections."""

from __future__ import annotations

from regatta.figures.section import Column, table_of


def test_a_table_of_objects_has_one_row_each_and_knows_its_numeric_and_folded_columns() -> None:
    columns = [
        Column[int]("name", lambda row: f"n{row}"),
        Column[int]("square", lambda row: str(row * row), numeric=True),
        Column[int]("note", lambda row: "" if row < 2 else "large", folded=True),
    ]

    table = table_of("squares", range(1, 3), columns)

    assert table.columns == ("name", "square", "note")
    assert table.rows == [("n1", "1", ""), ("n2", "4", "large")]
    assert (table.numeric, table.folded, table.detail) == (frozenset({1}), frozenset({2}), False)
    assert table.of_columns([1]).numeric == frozenset({0})
    assert table_of("nothing", (), columns).columns == table.columns
