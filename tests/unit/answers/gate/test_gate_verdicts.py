"""The verdicts of a gate, and the files that show them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from scipy.stats import nct

from regatta.answers.gate.compute import _of_other, _overall, is_too_often, verdict_of
from regatta.answers.gate.document import gate_document, json_of, junit_of, markdown_of, write_gate
from regatta.answers.gate.result import FalseAlarms, GateAnswer, GateRow, Outcome
from regatta.answers.gate.words import change_words, drawing, gate_table, headline, notes
from regatta.answers.spine.parts import Place
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import Contrast, Interval, undefined
from regatta.stats.intervals import t_quantile
from regatta.stats.looks import level_of_looks, smallest_found
from regatta.stats.proportion import proportion_interval, too_often_p

SCHEMA = Path(__file__).parents[4] / "docs" / "gate.schema.json"
OUTCOMES: tuple[Outcome, ...] = ("better", "worse", "equivalent", "undecided", "failed")


def ratio(low: float, point: float, high: float, method: str = "sidak-paired-log-t") -> Interval:
    return Interval(12, point, low, high, 0.95, method)


def row(title: str, verdict: Outcome, own: Interval, reason: str = "") -> GateRow:
    place = Place("alpha", "x86", f"suite/{title}:default", "new", "", "none", Heap())
    return GateRow(title, "new", "old", place, "elapsed", "ns", "lower", {}, verdict, reason, own, 1.5)


def alarms(gates: int = 1, with_alarm: int = 0, copies: int = 2, count: int = 0) -> FalseAlarms:
    rate = proportion_interval(with_alarm, gates)
    return FalseAlarms(copies, count, gates, with_alarm, rate, too_often_p(with_alarm, gates, 0.05))


def answer(*rows: GateRow, problems: tuple[str, ...] = (), so_far: FalseAlarms | None = None) -> GateAnswer:
    return GateAnswer(
        "work-gate", _overall(rows, problems), ("new",), "old", {"alpha": {"cpu": "fast"}}, 2.0, 5.0, 0.95, rows,
        problems, so_far or alarms(),
    )  # fmt: skip


ROWS = (
    row("parse", "worse", ratio(1.032, 1.041, 1.05)),
    row("print", "equivalent", ratio(0.999, 1.001, 1.003)),
    row("sort", "undecided", ratio(0.9, 1.0, 1.2)),
    row(
        "load", "failed", undefined(0, 0.95, "paired-log-t", "no values"), "3 invocations failed: exit code 1"
    ),
)


@pytest.mark.parametrize(
    ("low", "high", "better", "verdict"),
    [
        (1.001, 1.03, "lower", "worse"),
        (1.001, 1.03, "higher", "better"),
        (0.9, 0.999, "lower", "better"),
        (0.9, 0.999, "higher", "worse"),
        # within the relevance: also where it excludes 1
        (1.001, 1.019, "lower", "equivalent"),
        (1 / 1.0199, 1.0199, "lower", "equivalent"),
        # the relevance is symmetric on logarithms: 2 % more is as large as 1 / 1.02
        (0.9803, 1.0, "lower", "undecided"),
        (0.99, 1.021, "lower", "undecided"),
        (1.0, 1.5, "lower", "undecided"),
    ],
)
def test_verdict_of_an_interval(low: float, high: float, better: str, verdict: str) -> None:
    contrast = Contrast(ratio(low, math.sqrt(low * high), high), 0.01)
    assert verdict_of(contrast, better, 2.0) == (verdict, "")


def test_no_verdict_without_an_interval_and_from_disturbed_values() -> None:
    lacking = Contrast(undefined(1, 0.95, "paired-log-t", "one block"), math.nan)
    assert verdict_of(lacking, "lower", 2.0) == ("undecided", "one block")
    disturbed = Contrast(ratio(1.2, 1.3, 1.4).disturbed(), math.nan)
    assert verdict_of(disturbed, "lower", 2.0) == ("undecided", "disturbed")


def test_exact_counts_are_judged_exactly() -> None:
    more = Contrast(ratio(1.03, 1.03, 1.03, "paired-log-t, no variance"), 0.0)
    same = Contrast(ratio(1.0, 1.0, 1.0, "paired-log-t, no variance"), 1.0)
    assert [verdict_of(one, "lower", 2.0)[0] for one in (more, same)] == ["worse", "equivalent"]


@pytest.mark.parametrize(
    ("found", "problems", "verdict"),
    [
        (("equivalent", "better"), (), "better"),
        (("equivalent",), (), "equivalent"),
        (("equivalent",), ("host beta: no answer",), "undecided"),
        (("better", "undecided"), (), "undecided"),
        (("undecided", "worse"), (), "worse"),
        (("worse", "failed"), (), "failed"),
        ((), (), "undecided"),
    ],
)
def test_the_verdict_on_all_is_the_worst(
    found: tuple[Outcome, ...], problems: tuple[str, ...], verdict: str
) -> None:
    assert _overall(tuple(row(one, one, ratio(1, 1, 1)) for one in found), problems) == verdict


def test_false_alarms_of_other_gates_count_for_the_same_hosts_only(tmp_path: Path) -> None:
    found = []
    for name, content in {
        "same": json_of(answer(*ROWS, so_far=alarms(count=1))),
        "other-hosts": json_of(answer(*ROWS)).replace('"alpha"', '"beta"'),
        "no-copies": json_of(answer(*ROWS, so_far=alarms(copies=0))),
        "other-level": json_of(answer(*ROWS)).replace('"level": 0.95,\n "rows"', '"level": 0.9,\n "rows"'),
        "other-processor": json_of(answer(*ROWS)).replace('"fast"', '"slow"'),
        "torn": '{"hosts": {"alpha"',
        "strange": '{"hosts": {"alpha": {}}, "false_alarms": {"copies": "many", "alarms": []}}',
    }.items():
        (tmp_path / name).write_text(content)
        found.append(_of_other(tmp_path / name, {"alpha": {"cpu": "fast"}}, 0.95))
    assert found == [[True], *[[]] * 6]


def test_more_false_alarms_than_the_budget_are_reported() -> None:
    assert not is_too_often(alarms(20, 2))
    often = alarms(20, 5)
    assert is_too_often(often)
    assert any("do not rely" in note for note in notes(answer(*ROWS, so_far=often)))


@pytest.mark.parametrize(("maximum", "level", "chance"), [(3, 0.95, 0.9), (30, 0.999, 0.8), (200, 0.9, 0.99)])
def test_smallest_change_that_is_found_has_that_power(maximum: int, level: float, chance: float) -> None:
    found = smallest_found(0.02, maximum, level, chance)
    last = t_quantile(maximum - 1, level_of_looks(level, maximum))
    centre = found / 0.02 * math.sqrt(maximum)
    assert nct.sf(last, maximum - 1, centre) == pytest.approx(chance, abs=1e-4)


def test_changes_are_percentages_and_no_end_is_shown_as_none() -> None:
    assert change_words(ROWS[0]) == "+4.1 % [+3.2, +5.0]"
    assert change_words(ROWS[3]) == "–"
    near = row("near", "better", ratio(0.90, 0.95, 0.9996))
    assert change_words(near) == "-5.00 % [-10.00, -0.04]"
    assert change_words(row("count", "worse", ratio(1.03, 1.03, 1.03, "paired-log-t, no variance"))).endswith(
        "exact"
    )


def test_first_line_is_the_verdict_and_the_worst_rows_are_first() -> None:
    text = markdown_of(answer(*ROWS))
    first = text.splitlines()[0]
    assert first == f"**{headline(answer(*ROWS))}**"
    assert re.findall(r"1 (\w+)", first) == ["failed", "worse", "undecided", "equivalent"]
    assert [one[0] for one in gate_table(answer(*ROWS)).rows] == ["load", "parse", "sort", "print"]
    assert text.count("```") == 2


def test_names_from_outside_cannot_break_a_comment_or_xml() -> None:
    evil = "a|b`</table><script>@everyone\n## [x](http://e)\x1b[31m"
    bad = answer(replace(ROWS[0], title=evil, reason=evil), problems=(evil,))
    text = markdown_of(bad)
    table = [line for line in text.splitlines() if line.startswith("|")]
    # the header, the line below it, and the row: with as many cells each
    assert len(table) == 3
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert not [line for line in text.splitlines() if line.startswith("#")]
    assert "\x1b" not in text
    outside = text.split("```")[0] + text.split("```")[2]
    assert "<script" not in outside.replace("\\<", "")
    assert "@everyone" not in outside
    case = ElementTree.fromstring(junit_of(bad)).find("testsuite/testcase")
    assert case is not None
    assert "</table>" in case.attrib["name"]


def test_junit_counts_what_it_lists() -> None:
    suite = ElementTree.fromstring(junit_of(answer(*ROWS, problems=("host beta: no answer",)))).find(
        "testsuite"
    )
    assert suite is not None
    assert {key: suite.attrib[key] for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "1", "errors": "1", "skipped": "2",
    }  # fmt: skip
    assert len(suite.findall("testcase/failure")) == 1
    assert len(suite.findall("testcase/skipped")) == 2


@pytest.mark.parametrize("rows", [ROWS, ROWS[3:], ()])
def test_documents_match_the_schema(rows: tuple[GateRow, ...], tmp_path: Path) -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(gate_document(answer(*rows)))
    assert schema["$defs"]["verdict"]["enum"] == list(OUTCOMES)
    write_gate(answer(*rows), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gate.json", "gate.md", "gate.xml"]
    jsonschema.Draft202012Validator(schema).validate(json.loads((tmp_path / "gate.json").read_text()))


def test_drawing_puts_each_point_between_its_ends() -> None:
    lines = drawing(answer(*ROWS))
    # the scale, and all rows that have an interval
    assert len(lines) == 4
    parse = next(line for line in lines if line.startswith("parse"))
    middle = lines[0].index("0", len("print"))
    assert parse.index("●") > middle
    wide = row("wide", "undecided", ratio(0.0001, 1.0, 9000.0))
    drawn = drawing(answer(*ROWS, wide))[-2:]
    assert any("<" in line and ">" in line for line in drawn)
