"""The audit of experiments that are made up so that every claim can be judged by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import (
    cell,
    native,
    record,
    write_experiment,
    write_facts,
    write_journal,
    write_plan,
)
from regatta.answers.audit.compute import DRAWS, audit_experiment
from regatta.answers.audit.document import audit_document
from regatta.answers.audit.page import sections_of_audit
from regatta.answers.audit.result import Audit, Tally
from regatta.figures.axes import Figure
from regatta.stats.prevalent import CLASSES

MS = 1_000_000


def experiment(folder: Path, columns: Sequence[tuple[dict[str, Any], Sequence[Any]]], **facts: Any) -> Audit:
    """Audit cells with one number (or a list of iterations, or a status) an invocation, all of a round in one block."""
    records = []
    for position, (one, values) in enumerate(columns):
        for round_, value in enumerate(values):
            if isinstance(value, str):
                records.append(record(one, round_, status=value, position=position))
            else:
                rows = value if isinstance(value, list) else [value]
                records.append(record(one, round_, [v * MS for v in rows], position=position))
    rounds = max(len(values) for _, values in columns)
    write_experiment(folder, [one for one, _ in columns], records, rounds, **facts)
    return audit_experiment(folder)


def of(audit: Audit, name: str, theta: float = 1.0, group: str = "all", who: str = "") -> Tally:
    """The one tally of a method."""
    (found,) = [
        t
        for t in audit.tallies
        if (t.method.name, t.theta_percent, t.group, t.of) == (name, theta, group, who)
    ]
    return found


def first(found: Tally) -> dict[str, int]:
    """Classes that hold comparisons, when the runs measured first are taken."""
    return {name: count for name, count in zip(CLASSES, found.first, strict=True) if count}


#: g1 is 10 % slower than serial in every block: a difference that nobody can miss
FAST, SLOW = [100.0, 101.0, 102.0, 103.0], [110.0, 111.0, 112.3, 113.0]
#: serial's luck: its best and its second are 10 % below z's, though nobody can tell their means apart
LUCKY, STEADY = [90.0, 91.0, 109.0, 110.0], [100.0, 100.5, 99.5, 100.2]


def test_a_clear_difference_is_found_by_every_method_and_a_lucky_run_misleads_the_best(
    tmp_path: Path,
) -> None:
    audit = experiment(
        tmp_path,
        [
            (cell("serial", benchmark="s/clear:x"), FAST),
            (cell("g1", benchmark="s/clear:x"), SLOW),
            (cell("serial", benchmark="s/lucky:x"), LUCKY),
            (cell("g1", benchmark="s/lucky:x"), STEADY),
        ],
    )
    assert [(p.place.benchmark, p.a, p.b, p.verdict) for p in audit.pairs] == [
        ("s/clear:x", "serial", "g1", -1),
        ("s/lucky:x", "serial", "g1", 0),
    ]
    # First three of lucky: 90, 91, 109 against 99.5, 100, 100.5.
    assert first(of(audit, "best of 3")) == {"correct": 1, "misleading": 1}
    assert first(of(audit, "second best of 3")) == {"correct": 1, "misleading": 1}
    assert first(of(audit, "worst of 3")) == {"correct": 1, "misleading": 1}
    assert first(of(audit, "mean of 3")) == {"correct": 1, "misleading": 1}
    # All four: means 100 and 100.05, medians 100 and 100.1: both say what the intervals say.
    assert first(of(audit, "mean of all")) == {"correct": 1, "indicative": 1}
    assert first(of(audit, "median of all")) == {"correct": 1, "indicative": 1}
    assert first(of(audit, "best of all")) == {"correct": 1, "misleading": 1}
    # A theta above every difference leaves no claim.
    assert first(of(audit, "best of all", 2.0)) == {"correct": 1, "misleading": 1}
    assert of(audit, "best of all", 2.0, "benchmark", "s/clear:x").comparisons == 1
    assert first(of(audit, "best of all", 2.0, "benchmark", "s/lucky:x")) == {"misleading": 1}


def test_drawing_runs_averages_what_the_methods_say_over_all_their_chances(tmp_path: Path) -> None:
    audit = experiment(tmp_path, [(cell("serial"), LUCKY), (cell("g1"), STEADY)])
    found = of(audit, "best of 3")
    assert sum(found.shares) == pytest.approx(1.0)
    # Three of four lucky runs always hold 90 or 91: the best misleads whatever is drawn.
    assert found.shares[CLASSES.index("misleading")] == 1.0
    # The median of three is 91 or 109 however they are drawn: 9 % off.
    assert of(audit, "median of 3").shares[CLASSES.index("misleading")] == 1.0
    # The mean of three is 96.7, 97, 103 or 103.3: over 2 % off.
    assert of(audit, "mean of 3", 2.0).shares[CLASSES.index("misleading")] == 1.0
    assert audit.draws == DRAWS
    again = experiment(tmp_path / "again", [(cell("serial"), LUCKY), (cell("g1"), STEADY)])
    assert audit.tallies == again.tallies


def test_an_order_that_is_the_other_way_round_is_incorrect(tmp_path: Path) -> None:
    slow = [120.0, 121.0, 122.0, 123.0, 121.0, 120.0, 122.0, 121.5, 90.0]
    fast = [100.0, 101.0, 100.0, 102.0, 101.0, 100.5, 101.5, 100.0, 101.0]
    audit = experiment(tmp_path, [(cell("serial"), slow), (cell("g1"), fast)])
    assert [p.verdict for p in audit.pairs] == [1]
    assert first(of(audit, "best of all")) == {"incorrect": 1}
    assert first(of(audit, "best of 5")) == {"correct": 1}
    # One of nine runs is drawn among three in a third of the draws.
    assert of(audit, "best of 3").shares[CLASSES.index("incorrect")] == pytest.approx(1 / 3, abs=0.12)
    assert any("incorrect" in sentence for sentence in audit.findings)


def test_steady_methods_take_the_first_iterations_of_some_invocations(tmp_path: Path) -> None:
    slow = [[150.0, 99.0 + i, 110.0, 111.0] for i in range(4)]
    fast = [[140.0, 100.0 + 0.1 * i, 100.0, 101.0] for i in range(4)]
    audit = experiment(tmp_path, [(cell("serial"), slow), (cell("g1"), fast)], method="fixed", warmup=2)
    assert [p.verdict for p in audit.pairs] == []
    slow = [[150.0, 99.0 + i, 110.0 + 0.1 * i, 111.0] for i in range(4)]
    audit = experiment(tmp_path / "b", [(cell("serial"), slow), (cell("g1"), fast)], method="fixed", warmup=2)
    assert [p.verdict for p in audit.pairs] == [1]
    # Best of the first three iterations of the first invocation: 99 against 100.
    assert first(of(audit, "best (1, 3)")) == {"incorrect": 1}
    # Medians over three invocations: 150, 100, 110.1 against 140, 100.1, 100.
    assert first(of(audit, "best of median (3, 3)")) == {"misleading and incorrect": 1}
    names = {t.method.name for t in audit.tallies}
    assert "best (3, 3)" in names
    assert not names & {"best (5, 3)", "best (1, 5)"}


def test_short_cells_and_failures_are_left_out_and_said(tmp_path: Path, golden: Golden) -> None:
    audit = experiment(
        tmp_path,
        [
            (cell("serial"), FAST),
            (cell("g1"), SLOW),
            (cell("z"), [1.0, 2.0, "oom", "failed"]),
            (cell("epsilon"), ["oom", "oom", "crashed", "timeout"]),
        ],
    )
    assert [(p.a, p.b) for p in audit.pairs] == [("serial", "g1")]
    golden("excluded", "\n".join(audit.left_out))


@pytest.mark.parametrize(
    "columns",
    [
        [(cell("serial"), FAST)],
        [(cell("serial"), ["oom"] * 3), (cell("g1"), ["failed"] * 3)],
        [(cell("serial"), [1.0]), (cell("g1"), [2.0])],
        [(cell("serial"), [5.0] * 4), (cell("g1"), [5.0] * 4)],
        [(cell("serial"), [0.0] * 4), (cell("g1"), [1.0, 2.0, 3.0, 4.0])],
        [(native(), FAST)],
    ],
)
def test_an_experiment_without_a_comparison_is_told_so(
    tmp_path: Path, columns: list[tuple[dict[str, Any], list[Any]]]
) -> None:
    audit = experiment(tmp_path, columns)
    assert audit.pairs == ()
    assert audit.tallies == ()
    assert "Nothing to audit" in audit.findings[0]


def test_runtimes_and_modifiers_are_audited_where_they_are_what_differs(tmp_path: Path) -> None:
    audit = experiment(tmp_path / "a", [(cell(runtime="jdk-21"), FAST), (cell(runtime="jdk-25"), SLOW)])
    assert audit.factor == "runtime"
    assert [(p.a, p.b, p.place.runtime, p.place.collector) for p in audit.pairs] == [
        ("jdk-21", "jdk-25", "jdk-21", "g1")
    ]
    audit = experiment(tmp_path / "b", [(native(), FAST), (native(modifiers="thp"), SLOW)])
    assert audit.factor == "modifiers"
    assert [(p.a, p.b, p.verdict) for p in audit.pairs] == [("none", "thp", -1)]


def test_of_rates_the_highest_is_the_best(tmp_path: Path) -> None:
    audit = experiment(
        tmp_path, [(cell("serial", better="higher"), LUCKY), (cell("g1", better="higher"), STEADY)]
    )
    # Highest of 90, 91, 109 against the highest of 100, 100.5, 99.5.
    assert first(of(audit, "best of 3")) == {"misleading": 1}
    assert first(of(audit, "worst of 3")) == {"misleading": 1}


def test_widths_and_needed_invocations_are_of_each_cell(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    audit = experiment(
        tmp_path,
        [(cell("serial"), rng.normal(100, 0.1, 6).tolist()), (cell("g1"), rng.normal(100, 20, 6).tolist())],
    )
    quiet, loud = audit.precisions
    assert [len(p.widths_percent) for p in (quiet, loud)] == [6, 6]
    assert quiet.needed[0][:2] == (2.0, 3)
    assert loud.needed[0] == (2.0, 0, 31)


def test_the_family_that_went_astray_most_comes_first(tmp_path: Path) -> None:
    audit = experiment(
        tmp_path,
        [
            (cell("serial", heap_factor=1.0), FAST),
            (cell("g1", heap_factor=1.0), SLOW),
            (cell("serial", heap_factor=4.0), LUCKY),
            (cell("g1", heap_factor=4.0), STEADY),
        ],
    )
    assert audit.pairs[audit.telling[0][0]].place.heap.factor == 4.0


def test_the_papers_way_judges_the_values_without_their_blocks(tmp_path: Path) -> None:
    # Rounds drift by 10 % and more, and g1 is 1 % slower in each: only pairs within a round show that.
    drift = [100.0, 120.0, 140.0, 110.0, 130.0, 105.0]
    slower = [1.01 * value + 0.01 * (i % 2) for i, value in enumerate(drift)]
    audit = experiment(tmp_path, [(cell("serial"), drift), (cell("g1"), slower)])
    papers = audit_experiment(tmp_path, method="georges2007")
    assert [[p.verdict for p in one.pairs] for one in (audit, papers)] == [[-1], [0]]
    assert papers.method == "georges2007"
    assert first(of(papers, "mean of all")) == {"misleading": 1}


def test_several_hosts_are_tallied_together_and_apart(tmp_path: Path) -> None:
    cells = [cell("serial"), cell("g1")]
    columns = {"alpha": (FAST, SLOW), "beta": (LUCKY, STEADY)}
    for host, values in columns.items():
        write_plan(tmp_path, cells, 4, host)
        records = [
            record(one, r, [value * MS], host=host, position=i)
            for i, one in enumerate(cells)
            for r, value in enumerate(values[i])
        ]
        write_journal(tmp_path, records, host)
    write_facts(tmp_path)
    audit = audit_experiment(tmp_path)
    assert [(p.place.host, p.verdict) for p in audit.pairs] == [("alpha", -1), ("beta", 0)]
    assert first(of(audit, "best of all")) == {"correct": 1, "misleading": 1}
    assert first(of(audit, "best of all", 1.0, "host", "alpha")) == {"correct": 1}
    assert first(of(audit, "best of all", 1.0, "host", "beta")) == {"misleading": 1}


def replayed(folder: Path, controlled: Sequence[str], method: str = "replay") -> Audit:
    """Serial and g1 without control and under `plan`: clear in every first iteration, later by luck of serial."""
    cells = [cell(c, modifiers=m) for m in ("none", "plan") for c in ("serial", "g1")]
    records = [
        record(one, round_, [first * MS, later * MS], position=position)
        for position, one in enumerate(cells)
        for round_, (first, later) in enumerate(
            zip(*((FAST, LUCKY) if one["collector"] == "serial" else (SLOW, STEADY)), strict=True)
        )
    ]
    write_experiment(folder, cells, records, 4, method=method, warmup=1)
    path = folder / "plan/experiment.json"
    facts = json.loads(path.read_text())
    facts["experiment"]["controlled"] = [*controlled]
    path.write_text(json.dumps(facts))
    return audit_experiment(folder)


def test_claims_are_split_by_plain_mix_and_stable_replay(tmp_path: Path) -> None:
    audit = replayed(tmp_path, ["plan"])
    kinds = ["plain, startup", "plain, steady state", "plan, mix", "plan, stable"]
    assert sorted({pair.compilation for pair in audit.pairs}) == kinds
    for kind, expected in zip(kinds, ["correct", "misleading"] * 2, strict=True):
        found = of(audit, "best of 3", group="compilation", who=kind)
        assert (found.comparisons, first(found)) == (1, {expected: 1})
        # The table for theta sweeps is for all comparisons only.
        assert {t.theta_percent for t in audit.tallies if t.of == kind} == {1.0, 2.0}
    assert first(of(audit, "best of 3")) == {"correct": 2, "misleading": 2}
    assert sorted(tally.of for tally in audit.by_compilation()) == kinds
    assert {tally.method.name for tally in audit.by_compilation()} == {"best of 3"}
    document = audit_document(audit)
    assert {one["of"] for one in document["tallies"] if one["group"] == "compilation"} == set(kinds)
    assert [bar for bar in (figure.title for figure in _figures(audit)) if bar in kinds]


def test_modifiers_that_do_not_control_compilation_have_no_phases_of_replay(tmp_path: Path) -> None:
    audit = replayed(tmp_path, [])
    assert {pair.compilation for pair in audit.pairs} == {
        "plain, startup", "plain, steady state", "plan, startup", "plan, steady state"
    }  # fmt: skip


def test_control_without_replay_is_split_by_modifiers(tmp_path: Path) -> None:
    audit = replayed(tmp_path, ["plan"], method="fixed")
    assert {pair.compilation for pair in audit.pairs} == {"plain", "plan"}


def test_an_experiment_without_control_and_replay_is_not_split(tmp_path: Path) -> None:
    audit = replayed(tmp_path, [], method="fixed")
    assert {pair.compilation for pair in audit.pairs} == {""}
    assert not [tally for tally in audit.tallies if tally.group == "compilation"]
    assert audit.by_compilation() == []


def _figures(audit: Audit) -> list[Figure]:
    return [
        figure for section in sections_of_audit(audit) for group in section.groups for figure in group.figures
    ]
