"""Read foreign measurements: a CSV file as values with groups, blocks and factors."""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from regatta.host.errors import Problem, SpecError
from regatta.host.files import bounded_lines
from regatta.spec.problems import nearest, shown
from regatta.stats.estimate import Floats

#: texts that mean "not measured", case-insensitive
NO_VALUE = frozenset({"", "na", "n/a", "nan", "null", "none"})
#: more groups are unlikely to be alternatives; the column is probably the wrong one
MOST_GROUPS = 100
#: maximum number of invalid cells to list; a file with a wrong column has thousands
_NAMED = 5
#: a row with 10,000 columns is shorter
_LONGEST_LINE = 1 << 20

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Labels:
    """A column of names: `names` in order of first appearance, `codes` of shape (n,) index them."""

    column: str
    names: tuple[str, ...]
    codes: Codes


@dataclass(frozen=True)
class ForeignTable:
    """The n rows that have a value.

    `by`: groups to compare. `block`: measurements taken together. `factors`: further factors, without `by`. `order`: all
    factor columns including `by`, in the order of the factorial analysis. `rows`: rows of the file. `left_out`: rows
    without a value. `counts`: whether the values are exact counts, as the user says.
    """

    file: str
    value: str
    values: Floats
    by: Labels
    block: Labels | None
    factors: tuple[Labels, ...]
    order: tuple[str, ...]
    rows: int
    left_out: int
    counts: bool = False

    def groups(self) -> list[Floats]:
        """Return the values of each group in group order; empty for a group without values."""
        return [self.values[self.by.codes == code] for code in range(len(self.by.names))]

    def strata(self) -> list[list[Floats]]:
        """Return the values of each group in each combination of the further factors; empty if it has none."""
        keys = np.zeros(len(self.values), dtype=np.int64)
        for other in self.factors:
            keys = np.unique(keys * len(other.names) + other.codes, return_inverse=True)[1].ravel()
        found = [np.array_split(np.empty(0), int(keys.max()) + 1) for _ in self.by.names]
        order = np.lexsort((keys, self.by.codes))
        edges = np.flatnonzero(np.diff(keys[order]) | np.diff(self.by.codes[order])) + 1
        for rows in np.split(order, edges):
            found[int(self.by.codes[rows[0]])][int(keys[rows[0]])] = self.values[rows]
        return found

    def blocks(self) -> Floats:
        """Return a table of shape (blocks, groups): one value per group and block, NaN where missing.

        A block contains values of equal further factors, so that a heap of 64 MiB is never paired with one of 128 MiB.
        """
        assert self.block is not None
        keys = self.block.codes
        for other in self.factors:
            keys = np.unique(keys * len(other.names) + other.codes, return_inverse=True)[1].ravel()
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        # in file order
        rank = np.argsort(np.argsort(first))[place.ravel()]
        table = np.full((len(first), len(self.by.names)), np.nan)
        table[rank, self.by.codes] = self.values
        return table


@dataclass
class _Column:
    """A column of names while it is read."""

    name: str
    place: int
    numbers: dict[str, int] = field(default_factory=dict)
    codes: array[int] = field(default_factory=lambda: array("q"))

    def labels(self) -> Labels:
        return Labels(self.name, tuple(self.numbers), np.array(self.codes, dtype=np.int64))


@dataclass
class _Reading:
    """The rows read so far. `counts`: whether each value must be a count."""

    counts: bool
    values: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    rows: int = 0
    problems: list[Problem] = field(default_factory=list)
    wrong: int = 0


def read_foreign(
    path: Path,
    value: str,
    by: str,
    block: str | None = None,
    factors: Sequence[str] = (),
    counts: bool = False,
) -> ForeignTable:
    """Read the named columns of a CSV file (comma-separated, UTF-8, names in the first line).

    Args:
        value: the column of numbers. Rows with an empty value (or NA, NaN, null, none) are excluded and counted.
        by: the column of groups.
        block: the column of measurements taken together, or None. A group may have one value per block (and combination
            of factors).
        factors: columns of all factors; `by` is prepended if it is missing.
        counts: whether the values are exact counts, such as instructions or bytes: whole numbers of at least 0.

    Returns:
        Values and codes, with groups in order of first appearance.

    Raises:
        SpecError: lists all problems: missing file or column, cells that are not a finite number (a count) or a name, rows of
            different length, no value, a single group, two values of a group in a block.
    """
    order = tuple(dict.fromkeys(factors if by in factors or not factors else (by, *factors)))
    _check_roles(str(path), value, by, block, order)
    others = [name for name in order if name != by]
    reading = _Reading(counts)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = _records(csv.reader(csv_lines(file), strict=True, skipinitialspace=True), str(path))
            header = _header(rows, str(path))
            place = _places(header, str(path), [value, by, *([block] if block else []), *others])
            columns = {name: _Column(name, place[name]) for name in place if name != value}
            for line, row in rows:
                _take(reading, str(path), line, row, len(header), (value, place[value]), columns)
    except FileNotFoundError:
        raise SpecError([Problem(str(path), "a CSV file", "no such file")]) from None
    except (IsADirectoryError, PermissionError) as error:
        raise SpecError([Problem(str(path), "a readable CSV file", str(error.strerror))]) from None
    except UnicodeDecodeError as error:
        got = f"a byte that is not UTF-8 (0x{error.object[error.start]:02x})"
        raise SpecError([Problem(str(path), "text in UTF-8", got, "save the file as UTF-8")]) from None
    _finish(reading, str(path), value, columns, by, others)
    table = ForeignTable(
        file=str(path),
        value=value,
        values=np.array(reading.values, dtype=np.float64),
        by=columns[by].labels(),
        block=columns[block].labels() if block else None,
        factors=tuple(columns[name].labels() for name in others),
        order=order,
        rows=reading.rows,
        left_out=reading.rows - len(reading.values),
        counts=counts,
    )
    if block:
        _one_value_a_block(table, reading.lines)
    return table


def _check_roles(file: str, value: str, by: str, block: str | None, order: Sequence[str]) -> None:
    """Reject a column that has two roles."""
    problems = []
    for option, name in (("--by", by), ("--block", block), *(("--factors", name) for name in order)):
        if name == value:
            problems.append(
                Problem(f"{file}: {option}", "a column of names", f"the column of values, {shown(name)}")
            )
    for option, name in (("--by", by), *(("--factors", name) for name in order if name != by)):
        if block is not None and name == block:
            expected = "another column than the block"
            problems.append(Problem(f"{file}: {option}", expected, shown(name)))
    if problems:
        raise SpecError(problems)


def csv_lines(file: IO[str]) -> Iterator[str]:
    """Yield the lines of an open CSV file for a reader of `csv`, with a limit. Raises csv.Error."""
    for line in bounded_lines(file, _LONGEST_LINE):
        if len(line) > _LONGEST_LINE:
            raise csv.Error(f"a line of more than {_LONGEST_LINE} characters")
        yield line


def _records(reader: Iterator[list[str]], file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the line number of their start; skip empty lines."""
    line = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise SpecError([Problem(f"{file}:{line}", "a row of CSV", str(error))]) from None
        if row:
            yield line, row
        line = reader.line_num + 1  # type: ignore[attr-defined]


def _header(rows: Iterator[tuple[int, list[str]]], file: str) -> list[str]:
    first = next(rows, None)
    if first is None:
        raise SpecError([Problem(file, "column names in the first line", "an empty file")])
    return [name.strip() for name in first[1]]


def _places(header: Sequence[str], file: str, wanted: Sequence[str]) -> Mapping[str, int]:
    """Return column name -> index."""
    problems = []
    for name in dict.fromkeys(wanted):
        if header.count(name) == 1:
            continue
        if name in header:
            fix = "give each column a unique name"
            problems.append(Problem(f"{file}:1", f"one column {shown(name)}", f"{header.count(name)}", fix))
            continue
        fix = nearest(name, [column for column in header if column])
        if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
            fix = "separate the columns by commas"
        listed = ", ".join(header[:12]) + (", ..." if len(header) > 12 else "")
        problems.append(Problem(f"{file}:1", f"a column {shown(name)}", f"columns {listed}", fix))
    if problems:
        raise SpecError(problems)
    return {name: header.index(name) for name in wanted}


def _take(
    reading: _Reading,
    file: str,
    line: int,
    row: Sequence[str],
    width: int,
    value: tuple[str, int],
    columns: Mapping[str, _Column],
) -> None:
    """Read one row, or record its error."""
    reading.rows += 1
    if len(row) != width:
        _wrong(reading, Problem(f"{file}:{line}", f"{width} cells, as in the first line", str(len(row))))
        return
    name, place = value
    text = row[place].strip()
    labels = [row[column.place].strip() for column in columns.values()]
    if text.lower() in NO_VALUE:
        # A group stays a group even if all its rows are excluded.
        for column, label in zip(columns.values(), labels, strict=True):
            if label:
                column.numbers.setdefault(label, len(column.numbers))
        return
    number = _number(text)
    if not math.isfinite(number):
        fix = "use a decimal point: 1.5" if "," in text else "leave the cell empty for a missing value"
        _wrong(reading, Problem(f"{file}:{line}:{name}", "a finite number", shown(row[place]), fix))
        return
    if reading.counts and not (number >= 0.0 and number.is_integer()):
        expected, fix = "a count, a whole number of at least 0", "leave out --counts"
        _wrong(reading, Problem(f"{file}:{line}:{name}", expected, shown(row[place]), fix))
        return
    for column, label in zip(columns.values(), labels, strict=True):
        if not label:
            _wrong(reading, Problem(f"{file}:{line}:{column.name}", "a name", "an empty cell"))
            return
    reading.values.append(number)
    reading.lines.append(line)
    for column, label in zip(columns.values(), labels, strict=True):
        column.codes.append(column.numbers.setdefault(label, len(column.numbers)))


def _number(text: str) -> float:
    """Parse a number; NaN if invalid. `1_000` is invalid although Python accepts it."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def _wrong(reading: _Reading, problem: Problem) -> None:
    reading.wrong += 1
    if len(reading.problems) < _NAMED:
        reading.problems.append(problem)


def _finish(
    reading: _Reading, file: str, value: str, columns: Mapping[str, _Column], by: str, others: Sequence[str]
) -> None:
    """Raise the collected errors of single rows, or errors of the table as a whole."""
    problems = reading.problems
    if reading.wrong > len(problems):
        further = reading.wrong - len(problems)
        problems.append(Problem(file, "no invalid rows", f"{further} more"))
    if not problems and not reading.values:
        got = f"{reading.rows} rows without a value" if reading.rows else "no rows"
        problems.append(Problem(f"{file}: {value}", "at least one value", got))
    if not problems:
        groups = columns[by].numbers
        if len(groups) > MOST_GROUPS:
            fix = "compare by another column"
            problems.append(
                Problem(f"{file}: {by}", f"at most {MOST_GROUPS} groups", f"{len(groups):,}", fix)
            )
        problems += [
            Problem(f"{file}: {name}", "a factor with at least two levels", "one", "remove it from --factors")
            for name in others
            if len(set(columns[name].codes)) < 2
        ]
    if problems:
        raise SpecError(problems)


def _one_value_a_block(table: ForeignTable, lines: Sequence[int]) -> None:
    """Raise if a group has several values in a block at equal levels of the further factors."""
    assert table.block is not None
    keys = np.column_stack([table.block.codes, table.by.codes, *(other.codes for other in table.factors)])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = place.ravel()
    again = np.flatnonzero(np.arange(len(place)) != first[place])
    if not again.size:
        return
    problems = []
    for row in again[:_NAMED].tolist():
        group, block = (column.names[int(column.codes[row])] for column in (table.by, table.block))
        expected = f"one value of {shown(group)} in block {shown(block)}"
        got = f"a second value, after line {lines[int(first[place[row]])]}"
        fix = "use the mean of a group per block, or unique names of blocks"
        problems.append(Problem(f"{table.file}:{lines[row]}", expected, got, fix))
    if again.size > _NAMED:
        problems.append(Problem(table.file, "no second values", f"{again.size - _NAMED} more"))
    raise SpecError(problems)
