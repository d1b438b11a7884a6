"""YAML is data: what it may be, what it may not, and where each value stands."""

from __future__ import annotations

import contextlib
import math
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.golden import Golden
from regatta.host.errors import SpecError
from regatta.spec import yaml_lines
from regatta.spec.yaml_lines import MAX_BYTES, Mark, as_text, dotted_path, parse_yaml, read_yaml


def problem_of(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(SpecError) as caught:
        parse_yaml(data, "f.yml")
    assert len(caught.value.problems) == 1
    return str(caught.value)


def test_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    text = "[1, -9, 0o17, 0xff, 1.5, 5., 1e3, .inf, -.inf, true, null, ~, yes, off, 1_000, 0b1, 12:30, 2026-01-01, '1']"
    value = parse_yaml(text.encode(), "f.yml").value
    assert value[:7] == [1, -9, 15, 255, 1.5, 5.0, 1000.0]
    assert value[7:9] == [math.inf, -math.inf]
    assert value[9:12] == [True, None, None]
    assert value[12:] == ["yes", "off", "1_000", "0b1", "12:30", "2026-01-01", "1"]
    assert math.isnan(parse_yaml(b"[.nan]", "f.yml").value[0])


def test_a_version_directive_does_not_bring_back_yaml_1_1() -> None:
    assert parse_yaml(b"%YAML 1.1\n---\na: yes", "f.yml").value == {"a": "yes"}


def test_plain_numbers_remember_how_they_were_written() -> None:
    value = parse_yaml(b"[1.10, -9, 0x10, 1e3, true, 'x']", "f.yml").value
    assert [as_text(item) for item in value] == ["1.10", "-9", "0x10", "1e3", "true", "x"]


def test_an_empty_file_holds_nothing() -> None:
    assert parse_yaml(b"", "f.yml").value is None
    assert parse_yaml(b"# only a comment\n", "f.yml").value is None


def test_every_value_knows_its_line_and_column() -> None:
    document = parse_yaml(b"a: 1\nb:\n  - x\n  - c: 2\n    d: [3, 4]\n", "f.yml")
    assert document.mark(("b",)) == Mark("f.yml", 2, 1)
    assert document.mark(("b", 0)) == Mark("f.yml", 3, 5)
    assert document.mark(("b", 1, "d", 1)) == Mark("f.yml", 5, 12)
    assert document.where(("b", 1, "d", 1)) == "f.yml:5:b[1].d[1]"


def test_what_is_missing_stands_where_its_parent_does() -> None:
    assert parse_yaml(b"a:\n  b: 1\n", "f.yml").where(("a", "c")) == "f.yml:1:a.c"


def test_a_key_path_is_written_with_dots_and_brackets() -> None:
    assert dotted_path(("benchmarks", 0, "size")) == "benchmarks[0].size"
    assert dotted_path(()) == ""


def test_a_duplicate_key_is_an_error_with_both_lines(golden: Golden) -> None:
    golden("duplicate key", problem_of("a: 1\nb: 2\na: 3\n"))


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object:os.system x",
        "a: !!python/object/apply:os.system [echo]",
        "a: !!binary aGk=",
        "a: !!set {x, y}",
        "!!omap [a: 1]",
        "a: !mine {b: 1}",
        "a: !!int '3'",
        "!<tag:yaml.org,2002:python/name:os.system> x",
    ],
)
def test_no_tag_makes_anything(text: str) -> None:
    assert "plain data without tags" in problem_of(text)


MERGE_KEY = "a: &a {x: 1}\nb:\n  <<: *a\n"


def test_merge_keys_are_refused_and_include_is_named() -> None:
    assert "include:" in problem_of(MERGE_KEY)


def test_an_alias_stands_for_what_it_names() -> None:
    assert parse_yaml(b"a: &x [1, 2]\nb: *x\n", "f.yml").value == {"a": [1, 2], "b": [1, 2]}


def test_billions_of_laughs_end_early() -> None:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    assert "at most 20000 values" in problem_of("\n".join(lines))


def test_aliases_cannot_nest_deeper_than_brackets() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 100)]
    assert "levels of nesting" in problem_of("\n".join(lines))


def test_mappings_that_merge_nothing_many_times_end_early() -> None:
    lines = ["a0: &a0 {}"] + [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 30)]
    with pytest.raises(SpecError, match="at most 20000 values"):
        parse_yaml("\n".join(lines).encode(), "f.yml", merge_keys=True)


def test_a_chain_of_thousands_of_merges_is_an_error_not_a_crash() -> None:
    parts = ["a0: &a0 {}"] + [f"a{i}: &a{i} {{<<: *a{i - 1}}}" for i in range(1, 5000)] + ["<<: *a4999"]
    with pytest.raises(SpecError, match="merge"):
        parse_yaml(f"{{{', '.join(parts)}}}".encode(), "f.yml", merge_keys=True)


def test_an_alias_within_itself_is_an_error() -> None:
    assert "inside its own anchor" in problem_of("a: &a [*a]")


def test_an_alias_of_nothing_is_an_error() -> None:
    assert "*nowhere" in problem_of("a: *nowhere")


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 5_000, "- " * 5_000])
def test_deep_nesting_is_an_error_not_a_crash(text: str) -> None:
    assert "levels of nesting" in problem_of(text)


def test_a_tab_is_named(golden: Golden) -> None:
    golden("tab", problem_of("a:\n\tb: 1\n"))


def test_other_encodings_are_errors_with_their_line(golden: Golden) -> None:
    golden("other encoding", problem_of(b"a: 1\nb: \xff\n"))
    assert "UTF-8" in problem_of("a: 1".encode("utf-16"))


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert parse_yaml(b"\xef\xbb\xbfa: 1", "f.yml").value == {"a": 1}


@pytest.mark.parametrize("text", ["a: \0", 'a: "\\ud800"', 'a: "\\U7fffffff"', "a: \x07", '"\\xZZ"'])
def test_characters_that_are_none_are_errors(text: str) -> None:
    assert problem_of(text).startswith("f.yml:1")


def test_a_huge_file_is_refused_before_it_is_parsed() -> None:
    assert "at most 256 KiB" in problem_of(b"#" * (MAX_BYTES + 1))


def test_values_are_counted_while_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    scalars = []
    scalar = yaml_lines._Composer.scalar
    monkeypatch.setattr(
        yaml_lines._Composer, "scalar", lambda self, event: (scalars.append(event), scalar(self, event))[1]
    )
    assert "at most 20000 values" in problem_of("[" + "x," * 130_000 + "]")
    assert len(scalars) < 20_010


def test_a_file_of_proc_is_not_waited_for() -> None:
    # Who may not open it gets an error; nobody waits.
    with suppress(SpecError):
        assert read_yaml(Path("/proc/kmsg")).value is None


def test_two_documents_are_one_too_many(golden: Golden) -> None:
    golden("two documents", problem_of("a: 1\n---\nb: 2\n"))


def test_a_key_is_text() -> None:
    assert "a string as key" in problem_of("? [a]\n: 1")
    assert "a string as key" in problem_of("~: 1")
    assert parse_yaml(b"1.10: a\ntrue: b", "f.yml").value == {"1.10": "a", "true": "b"}


def test_bad_syntax_has_its_line() -> None:
    problem = problem_of("a: 1\nb: c: d\n")
    assert ":2: expected " in problem
    assert "YAML" in problem


@pytest.mark.parametrize("name", ["missing.yml", ".", "/dev/zero", "a\0b", "x" * 300])
def test_only_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError):
        read_yaml(Path(name))


@given(st.binary(max_size=200))
def test_any_bytes_are_yaml_or_a_spec_error(data: bytes) -> None:
    with contextlib.suppress(SpecError):
        parse_yaml(data, "f.yml")


@given(st.text(alphabet="ab01:-?![]{}&*#|>'\"%@`,\\ \n\t~.<eéU", max_size=60))
def test_any_text_of_yaml_signs_is_yaml_or_a_spec_error(text: str) -> None:
    with contextlib.suppress(SpecError):
        parse_yaml(text.encode(), "f.yml")
