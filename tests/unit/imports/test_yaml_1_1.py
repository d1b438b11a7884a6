"""Plain scalars mean what they mean to the tools whose files are imported: PyYAML, which both use, is asked."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from test_import_problems import REBENCH, RUNNING_NG

from helpers.specs.imported import commands, load, of_rebench, of_running_ng
from regatta.host.errors import SpecError
from regatta.imports.reader import resolve_plain_1_1
from regatta.spec.yaml_lines import parse_yaml

_words = st.sampled_from(
    ["yes", "No", "oN", "OFF", "y", "n", "TRUE", "~", "Null", "1_000", "010", "-0o17", "0x_1F", "0b101", "1e3", "1.e+3",
     "1.5e3", ".5", "._5", "-.inf", ".NaN", "190:20:30", "1:30.5", "09", "0_", "+12", "1.10", "8_", "1__0.0_1"]
)  # fmt: skip


@given(_words | st.from_regex(r"\A[-+]?[0-9_.:exobnaf+-]{1,12}\Z"))
@example("2026-11-21")
def test_a_plain_scalar_is_what_it_is_to_pyyaml(text: str) -> None:
    node = yaml.ScalarNode(yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False)), text)
    try:
        theirs = yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError):
        theirs = datetime.date.min
    if isinstance(theirs, datetime.date):
        with pytest.raises(ValueError):  # noqa: PT011 - any of them is told with its place
            resolve_plain_1_1(text)
        return
    ours = resolve_plain_1_1(text)
    assert type(ours) is type(theirs)
    assert ours == theirs or (isinstance(theirs, float) and math.isnan(theirs) and math.isnan(ours))


def test_text_in_quotes_stays_text() -> None:
    document = parse_yaml(b"a: ['010', \"yes\", 010]", "in.conf", resolve=resolve_plain_1_1)
    assert document.value == {"a": ["010", "yes", 8]}


def test_a_value_of_a_rebench_file_is_the_one_that_rebench_gives_a_command(tmp_path: Path) -> None:
    text = REBENCH.replace("executions: [E]", "executions: [E], input_sizes: [1_000, 010, 1e3, yes, 1.10]")
    (tmp_path / "in.conf").write_text(text.replace('"%(benchmark)s"', '"%(benchmark)s %(input)s"'))
    (experiment,) = load(of_rebench(tmp_path / "in.conf"), tmp_path / "out").values()
    assert {words[-1] for _, words, _ in commands(experiment)} == {"1000", "8", "1e3", "True", "1.1"}


def test_a_value_of_a_running_ng_file_is_the_one_that_running_ng_reads(tmp_path: Path) -> None:
    (tmp_path / "in.yml").write_text(RUNNING_NG.replace("invocations: 3", "invocations: 010"))
    (experiment,) = load(of_running_ng(tmp_path / "in.yml"), tmp_path / "out").values()
    assert experiment.invocations == 8


def test_a_date_without_quotes_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "in.conf").write_text(f"{REBENCH}description: 2026-11-21\n")
    with pytest.raises(SpecError, match=r"in.conf:7: .* got 2026-11-21.*quotes"):
        of_rebench(tmp_path / "in.conf")
