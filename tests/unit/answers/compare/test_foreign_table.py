"""CSV files of other people: what is read, what is left out, and what is refused with a line to look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.golden import Golden
from regatta.answers.compare.table import ForeignTable, read_foreign
from regatta.host.errors import SpecError


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "runs.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path: Path, *columns, **further) -> str:
    with pytest.raises(SpecError) as caught:
        read_foreign(path, *(columns or ("time", "vm")), **further)
    assert caught.value.exit_code == 2
    return "\n".join(str(problem) for problem in caught.value.problems).replace(str(path), "F")


def test_groups_stand_in_the_order_of_first_appearance(tmp_path: Path) -> None:
    path = written(tmp_path, "vm,time\nzing,1\nalpha,2\nzing,3\nmid,4\n")
    table = read_foreign(path, "time", "vm")
    assert table.by.names == ("zing", "alpha", "mid")
    assert [x.tolist() for x in table.groups()] == [[1.0, 3.0], [2.0], [4.0]]
    assert (table.rows, table.left_out, table.block, table.order) == (4, 0, None, ())


def test_numbers_keep_all_their_digits(tmp_path: Path) -> None:
    texts = ["1000000000000.3", "0.1", "1e-300", "+5", " 6 ", "-2.5E3", "4.35"]
    path = written(tmp_path, "vm,time\n" + "".join(f"{'ab'[i % 2]},{t}\n" for i, t in enumerate(texts)))
    assert read_foreign(path, "time", "vm").values.tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("nothing", ["", " ", "NA", "NaN", "nan", "null", "None", "n/a"])
def test_rows_without_a_value_are_left_out_and_counted(tmp_path: Path, nothing: str) -> None:
    path = written(tmp_path, f"vm,time\na,1\nb,{nothing}\nb,2\n")
    table = read_foreign(path, "time", "vm")
    assert (table.rows, table.left_out, table.values.tolist()) == (3, 1, [1.0, 2.0])


def test_a_group_without_any_value_still_is_a_group(tmp_path: Path) -> None:
    table = read_foreign(written(tmp_path, "vm,time\na,1\nb,\na,2\n"), "time", "vm")
    assert [x.size for x in table.groups()] == [2, 0]


def test_what_spreadsheets_write_is_read(tmp_path: Path) -> None:
    text = '\ufeff"vm", "time", note\r\n"a, with -XX",1,"two\r\nlines"\r\n\r\nb,2,\r\n,,\r\n'
    table = read_foreign(written(tmp_path, text), "time", "vm")
    assert table.by.names == ("a, with -XX", "b")
    assert (table.rows, table.left_out) == (3, 1)


def test_blocks_are_rows_and_groups_are_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "day,vm,time\n2,a,1\n2,b,2\n1,b,3\n3,a,4\n")
    table = read_foreign(path, "time", "vm", "day")
    np.testing.assert_array_equal(table.blocks(), [[1, 2], [np.nan, 3], [4, np.nan]])


def test_a_block_never_mixes_levels_of_another_factor(tmp_path: Path) -> None:
    rows = ["1,64,a,1", "1,128,b,2", "1,64,b,3", "1,128,a,4"]
    table = read_foreign(
        written(tmp_path, "day,heap,vm,time\n" + "\n".join(rows)), "time", "vm", "day", ["heap"]
    )
    assert table.blocks().tolist() == [[1.0, 3.0], [4.0, 2.0]]
    assert table.order == ("vm", "heap")


def test_factors_keep_the_given_order_when_the_groups_are_among_them(tmp_path: Path) -> None:
    path = written(tmp_path, "heap,vm,time\n64,a,1\n128,b,2\n")

    def read(*factors: str) -> ForeignTable:
        return read_foreign(path, "time", "vm", None, factors)

    assert read("heap", "vm").order == ("heap", "vm")
    assert read("heap").order == ("vm", "heap")
    assert read("vm").order == ("vm",)
    assert read().order == ()


def test_a_missing_file_is_told(tmp_path: Path, golden: Golden) -> None:
    golden("missing-file", refused(tmp_path / "no.csv"))
    golden("directory", refused(tmp_path))


def test_a_missing_column_is_told_with_the_nearest_name(tmp_path: Path, golden: Golden) -> None:
    path = written(tmp_path, "collector,time_ms\na,1\nb,2\n")
    golden("missing-columns", refused(path, "time", "colector"))


def test_columns_that_are_not_separated_by_commas_are_told(tmp_path: Path, golden: Golden) -> None:
    golden("semicolons", refused(written(tmp_path, "vm;time\na;1\n")))


def test_a_cell_that_is_no_number_is_told_with_its_line(tmp_path: Path, golden: Golden) -> None:
    path = written(tmp_path, 'vm,time\na,1\n\nb,"2,5"\nb,fast\na,inf\na,1_000\n')
    told = refused(path)
    assert [line.split(":")[1] for line in told.splitlines()] == ["4", "5", "6", "7"]
    golden("no-numbers", told)


def test_lines_are_counted_through_cells_of_several_lines(tmp_path: Path) -> None:
    assert refused(written(tmp_path, 'vm,note,time\na,"x\ny",1\nb,z,?\n')).startswith("F:4:time")


def test_many_wrong_rows_are_not_all_told(tmp_path: Path) -> None:
    told = refused(written(tmp_path, "vm,time\n" + "a,x\n" * 1000)).splitlines()
    assert len(told) == 6
    assert "995 more" in told[-1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty-file", ""),
        ("no-rows", "vm,time\n"),
        ("no-values", "vm,time\na,\nb,\n"),
        ("empty-name", "vm,time\na,1\n,2\n"),
        ("short-row", "vm,time\na,1\nb\n"),
        ("column-twice", "vm,time,time\na,1,2\n"),
        ("not-utf-8", b"vm,time\n\xe9,1\n"),
        ("too-many-groups", "vm,time\n" + "".join(f"g{i},1\n" for i in range(101))),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, name: str, text: str | bytes, golden: Golden
) -> None:
    golden(name, refused(written(tmp_path, text)))


def test_an_open_quote_is_refused_with_its_line(tmp_path: Path) -> None:
    told = refused(written(tmp_path, 'vm,time\na,1\nb,"2\n'))
    assert told.startswith("F:3: ")
    assert "a row of CSV" in told


def test_two_values_of_a_group_in_a_block_are_refused_with_both_lines(tmp_path: Path, golden: Golden) -> None:
    path = written(tmp_path, "day,vm,time\n1,a,1\n1,b,2\n1,a,3\n")
    golden("two-values-in-a-block", refused(path, "time", "vm", "day"))


def test_a_factor_of_one_level_is_refused(tmp_path: Path, golden: Golden) -> None:
    path = written(tmp_path, "heap,vm,time\n64,a,1\n64,b,2\n")
    golden("factor-of-one-level", refused(path, "time", "vm", None, ["heap"]))


def test_a_column_cannot_be_two_things(tmp_path: Path, golden: Golden) -> None:
    path = written(tmp_path, "vm,time\na,1\nb,2\n")
    golden("groups-are-values", refused(path, "time", "time"))
    golden("blocks-are-values", refused(path, "time", "vm", "time"))
    golden("groups-are-blocks", refused(path, "time", "vm", "vm"))
    golden("factor-is-block", refused(path, "time", "vm", "day", ["day"]))
