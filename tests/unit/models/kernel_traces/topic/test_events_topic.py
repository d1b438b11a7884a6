"""What a transaction of a traced cell costs: values, tables and bars from records with known answers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.synthetic_answers import empty_answer
from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.report.page import render
from regatta.answers.spine.result import Answer
from regatta.figures.section import Section
from regatta.host.errors import HostError
from regatta.models.kernel_traces.topic.bars import phase_figures
from regatta.models.kernel_traces.topic.result import TIMES, TracedCell
from regatta.models.kernel_traces.topic.tables import number_text
from regatta.models.kernel_traces.topic.topic import EVENTS
from regatta.models.kernel_traces.topic.words import overhead_words
from regatta.stats.estimate import Interval, undefined

FEW, MANY = "web/static:default servers=5", "web/static:default servers=50"
TRACED = "events-apache"
Rows = list[list[Any]]


def rows_of(scale: float = 1.0, **more: float) -> Rows:
    """Measurements of one traced invocation: 10 us in each of two phases, of which 4 wait for a CPU."""
    found: list[tuple[str, float, str, Mapping[str, str] | None]] = [
        ("event_transactions", 100.0, "count", None),
        ("event_throughput", 50.0, "ops/s", None),
        ("event_response", 9_000.0 * scale, "ns", None),
        ("event_user", 5_000.0 * scale, "ns", None),
        ("event_kernel", 3_000.0 * scale, "ns", None),
        ("event_spin", 1_000.0 * scale, "ns", None),
        ("event_interrupt", 600.0 * scale, "ns", {"kind": "network"}),
        ("event_switches", 2.0, "count", None),
        ("event_wakeups", 1.5, "count", {"cause": "network"}),
        ("event_wakeups", 0.5, "count", {"cause": "process"}),
        ("event_unneeded_wakeups", 0.25, "count", None),
        ("event_uses", 1.0, "count", {"object": "accept-mutex", "kind": "lock"}),
        ("event_use", 700.0, "ns", {"object": "accept-mutex", "kind": "lock"}),
        ("event_wait", 200.0, "ns", {"object": "accept-mutex", "kind": "lock"}),
        ("event_uses", 3.0, "count", {"object": "kernel locks", "kind": "lock"}),
        ("event_use", 0.0, "ns", {"object": "kernel locks", "kind": "lock"}),
        ("event_wait", 50.0, "ns", {"object": "kernel locks", "kind": "lock"}),
    ]
    for phase, cause in (("2-lock", "lock"), ("4-process", "timer")):
        found += [
            ("event_phase", 10_000.0 * scale, "ns", {"phase": phase}),
            ("event_phase_cpu", 4_500.0 * scale, "ns", {"phase": phase}),
            ("event_phase_spin", 500.0 * scale, "ns", {"phase": phase}),
            ("event_phase_interrupts", 300.0 * scale, "ns", {"phase": phase}),
            ("event_phase_ready", 4_000.0 * scale, "ns", {"phase": phase}),
            ("event_phase_wait", 1_200.0 * scale, "ns", {"phase": phase, "cause": cause}),
            ("event_phase_wakeups", 1.0, "count", {"phase": phase}),
        ]
    found += [(name, value, "ns", None) for name, value in more.items()]
    return [
        [0, name, value, unit, None, dict(given) if given else None] for name, value, unit, given in found
    ]


def own(elapsed: float) -> Rows:
    return [
        [0, "elapsed", elapsed, "ns", None, None],
        [0, "throughput", 1e9 / elapsed, "ops/s", None, None],
    ]


def experiment(folder: Path, traced: Sequence[Rows], benchmark: str = FEW, partner: bool = True) -> Path:
    """Traced invocations that are 25 % slower than the untraced ones."""
    cells = [native(benchmark, modifiers=TRACED), *([native(benchmark)] if partner else [])]
    records = []
    for round_, rows in enumerate(traced):
        slow = 1 + 0.01 * round_
        records.append(record(cells[0], round_, own(1250.0 * slow) + rows, position=0))
        if partner:
            records.append(record(cells[1], round_, own(1000.0 * slow), position=1))
    return write_experiment(folder, cells, records, len(traced))


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    return answer_experiment(experiment(tmp_path / "made-up", [rows_of(0.9), rows_of(1.0), rows_of(1.1)]))


def the_cell(answer: Answer) -> TracedCell:
    (cell,) = EVENTS.of(answer).cells
    return cell


def section(answer: Answer) -> Section:
    found = EVENTS.section_of(View(answer))
    assert found is not None
    return found


def points(of: Mapping[str, Interval]) -> dict[str, float]:
    return {key: round(value.point, 6) for key, value in of.items()}


def test_the_costs_of_a_transaction_are_means_over_invocations(answer: Answer) -> None:
    cell = the_cell(answer)
    assert (cell.n, cell.without_events, cell.settings) == (3, 0, {"servers": "5"})
    assert cell.response.point == pytest.approx(9000)
    # t(0.975; 2) = 4.3027, standard error 900 / sqrt(3)
    assert cell.response.high == pytest.approx(9000 + 4.302653 * 900 / math.sqrt(3))
    assert points(cell.cpu) == {
        "user": 5000, "kernel": 3000, "spin": 1000, "disk": 0, "network": 600, "timer": 0, "interrupt": 0, "total": 9600,
    }  # fmt: skip
    assert (cell.wakeups["network"].point, cell.wakeups["process"].point) == (1.5, 0.5)
    assert (cell.wakeups["disk"].point, cell.unneeded.point, cell.switches.point) == (0, 0.25, 2)


def test_the_times_of_a_phase_add_up_to_its_elapsed_time(answer: Answer) -> None:
    lock, process = the_cell(answer).phases
    assert (lock.name, process.name) == ("2-lock", "4-process")
    assert points(lock.times) == {
        "process": 4000, "spin": 500, "interrupts": 300, "ready": 4000, "network": 0, "disk": 0, "lock": 1200, "others": 0,
        "rest": 0,
    }  # fmt: skip
    assert process.times["lock"].point == 0
    assert process.times["rest"].point == pytest.approx(1200)
    for phase in (lock, process):
        assert sum(phase.times[key].point for key in TIMES) == pytest.approx(phase.elapsed.point)


def test_tracing_costs_what_the_ratio_to_the_same_cell_without_it_says(answer: Answer) -> None:
    cell = the_cell(answer)
    assert (cell.metric, cell.unit) == ("throughput", "ops/s")
    assert cell.overhead.point == pytest.approx(0.8)
    assert cell.untraced.point == pytest.approx(cell.traced.point / 0.8)


def test_locks_of_the_kernel_have_no_time_of_holding(answer: Answer) -> None:
    cell = the_cell(answer)
    assert points(cell.objects) == {"disk": 0, "lock": 700, "lock wait": 250}
    mutex, kernel = cell.uses
    assert (mutex.name, mutex.used.point, mutex.waited.point, mutex.uses.point) == (
        "accept-mutex",
        700,
        200,
        1,
    )
    assert math.isnan(kernel.used.point)
    assert kernel.used.reason
    assert kernel.waited.point == 50


def test_records_that_do_not_say_what_an_object_is_leave_sums_undefined(tmp_path: Path) -> None:
    rows = rows_of()
    for row in rows:
        if row[5]:
            row[5].pop("kind" if "object" in row[5] else "", None)
    cell = the_cell(answer_experiment(experiment(tmp_path / "made-up", [rows, rows])))
    assert math.isnan(cell.objects["disk"].point)
    assert cell.uses[0].used.point == 700


def test_what_did_not_occur_in_one_invocation_counts_as_0(tmp_path: Path) -> None:
    with_disk = [*rows_of(), [0, "event_wakeups", 4.0, "count", None, {"cause": "disk"}]]
    cell = the_cell(answer_experiment(experiment(tmp_path / "made-up", [with_disk, rows_of()])))
    assert (cell.wakeups["disk"].point, cell.wakeups["disk"].n) == (2, 2)


def test_invocations_without_transactions_have_a_rate_and_nothing_per_transaction(tmp_path: Path) -> None:
    nothing: Rows = [[0, "event_transactions", 0.0, "count", None, None]]
    cell = the_cell(answer_experiment(experiment(tmp_path / "made-up", [nothing, nothing, nothing])))
    assert cell.transactions.point == 0
    assert math.isnan(cell.response.point)
    assert cell.response.reason
    assert cell.phases == ()


def test_a_traced_cell_without_a_partner_has_no_overhead(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "made-up", [rows_of(), rows_of(1.1)], partner=False)
    cell = the_cell(answer_experiment(folder))
    assert math.isnan(cell.overhead.point)
    assert cell.overhead.reason
    assert math.isfinite(cell.traced.point)


def test_only_the_recording_modifier_is_missing_in_the_partner(tmp_path: Path) -> None:
    cells = [
        native(FEW, modifiers=f"fast+{TRACED}"), native(FEW), native(MANY, modifiers="fast"), native(FEW, modifiers="fast"),
    ]  # fmt: skip
    elapsed = (2000.0, 500.0, 700.0, 1000.0)
    records = [
        record(cell, r, own(time * (1 + 0.01 * r)) + (rows_of() if at == 0 else []), position=at)
        for r in range(3)
        for at, (cell, time) in enumerate(zip(cells, elapsed, strict=True))
    ]
    cell = the_cell(answer_experiment(write_experiment(tmp_path / "made-up", cells, records, 3)))
    assert cell.overhead.point == pytest.approx(0.5)


def two_cells(folder: Path) -> Answer:
    cells = [native(FEW, modifiers=TRACED), native(FEW), native(MANY, modifiers=TRACED), native(MANY)]
    records = [
        record(
            cell,
            r,
            own(1000.0 * (1.25 if at % 2 == 0 else 1) * (1 + 0.01 * (r * r + at)))
            + (rows_of(1 + at + 0.1 * r) if at % 2 == 0 else []),
            position=at,
        )
        for r in range(3)
        for at, cell in enumerate(cells)
    ]
    return answer_experiment(write_experiment(folder, cells, records, 3))


def test_the_words_name_the_longest_time_and_the_cost_of_tracing(tmp_path: Path, golden: Golden) -> None:
    answer = two_cells(tmp_path / "made-up")
    golden("two-cells", "\n".join(answer.findings["events"]))
    assert answer.headline[:2] == answer.findings["events"][:2]


def test_remarks_say_what_is_missing(tmp_path: Path, golden: Golden) -> None:
    folder = experiment(tmp_path / "made-up", [rows_of(), []], partner=False)
    golden("remarks", "\n".join(answer_experiment(folder).findings["events"]))


def test_the_overhead_is_a_change_only_if_its_interval_says_so(answer: Answer, golden: Golden) -> None:
    cell = the_cell(answer)
    ratios = {
        "lower": Interval(9, 0.9, 0.85, 0.95, 0.95, "t"),
        "open": Interval(9, 0.99, 0.95, 1.03, 0.95, "t"),
        "alone": Interval(1, 0.9, math.nan, math.nan, 0.95, "t", "one value"),
        "undefined": undefined(0, 0.95, "t", "no values"),
    }
    golden(
        "overheads",
        "\n".join(
            f"{name}: {overhead_words(replace(cell, overhead=ratio))}" for name, ratio in ratios.items()
        ),
    )


def test_tables_have_the_numbers_of_the_cells(tmp_path: Path) -> None:
    answer = two_cells(tmp_path / "made-up")
    results, usage, uses, few, many, wakeups = EVENTS.tables_of(View(answer))
    assert results.columns[:2] == ("servers", "n")
    assert [row[:2] for row in results.rows] == [("5", "3"), ("50", "3")]
    assert usage.columns == ("", "servers=5", "servers=50")
    first, second = EVENTS.of(answer).cells
    user = {row[0]: row[1:] for row in usage.rows}["process user"]
    assert user == tuple(number_text(cell.cpu["user"], 1e-3) for cell in (first, second))
    assert len(uses.rows) == 4
    for table, cell in ((few, first), (many, second)):
        assert table.columns == ("", "2-lock", "4-process")
        assert table.rows[0][1] == number_text(cell.phases[0].elapsed, 1e-3)
        assert len(table.rows) == 1 + len(TIMES)
    assert len({row[0] for row in wakeups.rows}) == len(wakeups.rows)


@pytest.mark.parametrize(
    ("ends", "factor", "text"),
    [
        ((387_354.0, 380_000.0, 394_000.0), 1e-3, "387 [380, 394]"),
        ((12.345, 11.0, 13.0), 1.0, "12.3 [11.0, 13.0]"),
        ((0.0123, 0.011, 0.013), 1.0, "0.012 [0.011, 0.013]"),
        ((4_796_000.0, 4_553_000.0, 5_040_000.0), 1e-3, "4,796 [4,553, 5,040]"),
        ((2.0, math.nan, math.nan), 1.0, "2.00"),
        ((0.0, math.nan, math.nan), 1.0, "0"),
    ],
)
def test_numbers_of_tables(ends: tuple[float, float, float], factor: float, text: str) -> None:
    assert number_text(Interval(3, *ends, 0.95, "t"), factor) == text


def test_undefined_numbers_of_tables_have_their_reason() -> None:
    assert number_text(undefined(0, 0.95, "t", "no values")) == "n.d. (no values)"


def test_bars_have_the_times_of_the_phases_in_us(answer: Answer) -> None:
    (figure,) = phase_figures(EVENTS.of(answer))
    drawn = {one["name"]: one["x"] for one in figure.traces}
    assert drawn[TIMES["ready"]] == [4.0, 4.0]
    assert drawn[TIMES["lock"]] == [1.2, 0.0]
    assert TIMES["disk"] not in drawn
    assert figure.layout["yaxis"]["ticktext"] == ["2-lock", "4-process"]
    assert len({one["marker"]["color"] for one in figure.traces}) == len(figure.traces)


def test_a_recording_that_cannot_be_read_leaves_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = experiment(tmp_path / "made-up", [rows_of(0.9), rows_of(1.0), rows_of(1.1)])
    lines = (folder / "journal" / "alpha" / "0.jsonl").read_text().splitlines()
    by_round = {json.loads(line)["round"]: json.loads(line) for line in lines if '"event_user"' in line}
    for one in by_round.values():
        kept = folder / "journal" / "alpha" / "kept" / f"{one['invocation_id']}-a0"
        kept.mkdir(parents=True)
        (kept / "events.dat").write_bytes(b"")
    asked: list[Path] = []

    def refuse(recording: Path, _: Path) -> None:
        asked.append(recording)
        raise HostError("trace-cmd", "a program", "none", "install it")

    monkeypatch.setattr("regatta.models.kernel_traces.topic.window.import_recording", refuse)
    found = section(answer_experiment(folder))
    # the recording of the median response time
    assert [one.name for one in asked] == [f"{by_round[1]['invocation_id']}-a0"]
    assert not found.groups[-1].figures
    assert "trace-cmd" in found.groups[-1].note


def test_the_page_and_the_document_have_the_topic(answer: Answer) -> None:
    assert '<section id="events">' in render(answer)
    document = json.loads(json.dumps(document_of(answer)))
    (cell,) = document["events"]["cells"]
    assert cell["response"]["point"] == pytest.approx(9000)
    assert "recording" not in cell


def test_an_answer_without_traced_cells_has_no_such_section() -> None:
    assert EVENTS.section_of(View(empty_answer())) is None
    assert EVENTS.tables_of(View(empty_answer())) == []
