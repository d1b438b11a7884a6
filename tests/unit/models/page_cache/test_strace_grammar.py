"""The parts of a line of strace, and the names of files in it."""

from __future__ import annotations

import pytest

from regatta.models.page_cache.open_files import absolute, is_file
from regatta.models.page_cache.strace_grammar import (
    arguments_of,
    descriptor_of,
    path_of,
    result_of,
    unescaped,
)


def test_a_path_cannot_pass_for_a_result() -> None:
    """A quote in the name of a descriptor begins no string."""
    line = r'unlink("a) = 7 <b") = 0 <0.1>'
    name = r'read(3</tmp/a\") = 9 b>, "", 4) = 0 <0.1>'
    for text in (line, name):
        found = result_of(text)
        assert found is not None
        assert found[1] == "0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('3</a, b>, "c, d", {e, [f, g]}, h', ["3</a, b>", '"c, d"', "{e, [f, g]}", "h"]),
        ("", [""]),
        ('"a\\", b", 2', ['"a\\", b"', "2"]),
        ("4<TCP:[1:2->3:4]>, 5", ["4<TCP:[1:2->3:4]>", "5"]),
    ],
)
def test_arguments_are_split_outside_of_names_and_structures(text: str, expected: list[str]) -> None:
    assert arguments_of(text) == expected


def test_descriptors_have_a_number_a_name_and_a_state() -> None:
    assert descriptor_of("3</a>(deleted)") == (3, "/a", True)
    assert descriptor_of("AT_FDCWD</b>") == (-100, "/b", False)
    assert descriptor_of("0</dev/null<char 1:3>>") == (0, "/dev/null<char 1:3>", False)
    assert descriptor_of("7") == (7, "", False)
    assert descriptor_of("x") is None


@pytest.mark.parametrize(
    ("escaped", "expected"),
    [
        (r"\303\251", "é"),
        (r"\377", r"\xff"),
        (r"\n\t\"\\", '\n\t"\\'),
        (r"\0a", "\0a"),
        ("é", "é"),
        ("\\", "\\"),
    ],
)
def test_escapes_are_replaced(escaped: str, expected: str) -> None:
    assert unescaped(escaped) == expected


def test_addresses_are_no_paths() -> None:
    assert path_of("0x7ffe") is None
    assert path_of('"a"...') is None
    assert path_of('""') == ""


@pytest.mark.parametrize(
    ("folder", "name", "expected"),
    [("/a", "b/../c", "/a/c"), ("/a", "//x", "/x"), ("/", ".", "/"), ("/a", "", "/a")],
)
def test_names_become_absolute(folder: str, name: str, expected: str) -> None:
    assert absolute(folder, name) == expected


def test_shared_memory_is_a_file_and_other_devices_are_not() -> None:
    names = ("/dev/shm/a", "/dev/sda", "/proc/1", "pipe:[1]", "/x", "/dev/null<char 1:3>")
    assert [is_file(name) for name in names] == [True, False, False, False, True, False]
