"""One experiment on several hosts: what they say together, and whether it depends on the host."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment, write_facts, write_journal, write_plan
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.topics.hosts.topic import HOSTS

_FOLDER = Path(__file__).parents[4] / "reference"
REFERENCE = json.loads((_FOLDER / "hosts.json").read_text())
WELCH = json.loads((_FOLDER / "hosts_welch.json").read_text())
CELLS = [cell("serial"), cell("g1"), cell("z")]


def on_hosts(directory: Path, rows: list[list[float]], cells: list[dict[str, Any]] = CELLS) -> Path:
    """Rows are host, block, alternative (all from 1), log of the value."""
    for host in sorted({int(row[0]) for row in rows}):
        name = f"host-{host}"
        own = [row for row in rows if row[0] == host]
        write_plan(directory, cells, max(int(row[1]) for row in own), host=name, plan_id=name)
        write_journal(
            directory,
            [
                record(
                    cells[int(alternative) - 1],
                    int(block) - 1,
                    [1e9 * math.exp(value)],
                    host=name,
                    plan_id=name,
                    position=int(alternative) - 1,
                )
                for _, block, alternative, value in own
            ],
            host=name,
        )
    write_facts(directory)
    return directory


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_the_pooled_ratio_and_the_test_of_the_hosts_are_those_of_the_reference(
    tmp_path: Path, name: str
) -> None:
    answer = answer_experiment(on_hosts(tmp_path, REFERENCE[name]["rows"]))
    over = HOSTS.of(answer)
    assert len(over.hosts) == (4 if name == "holes" else 3)
    g1 = over.comparisons[0]
    assert (g1.a_name, g1.b_name) == ("jdk-21 g1", "jdk-21 serial")
    pooled, every = WELCH[name]["pooled"], WELCH[name]["all"]
    assert [math.log(x) for x in (g1.ratio.point, g1.ratio.low, g1.ratio.high)] == pytest.approx(
        [pooled["point"], pooled["low"], pooled["high"]], rel=1e-7
    )
    assert g1.ratio.method == "fixed-hosts"
    assert (g1.interaction.f, g1.interaction.df_error) == pytest.approx(
        (pooled["f"], pooled["f_df_error"]), rel=1e-6
    )
    (family,) = over.families
    assert (family.interaction.f, family.interaction.df_interaction, family.interaction.df_error) == (
        pytest.approx((every["f"], every["df"], every["df_error"]), rel=1e-6)
    )
    assert [one.host for one in g1.per_host] == list(over.hosts)
    assert g1.per_host[0].ratio == answer.comparisons[0].ratio


def test_sentences_name_the_hosts_and_always_tell_whether_it_depends_on_them(
    tmp_path: Path, golden: Golden
) -> None:
    answer = answer_experiment(on_hosts(tmp_path, REFERENCE["balanced"]["rows"]))
    leader, g1, z, family = answer.findings["hosts"]
    golden("leader", leader)
    golden("same-on-all-hosts", g1)
    golden("different-on-a-host", z)
    golden("all-alternatives", family)


def test_random_hosts_take_their_means_as_the_sample(tmp_path: Path, golden: Golden) -> None:
    expected = REFERENCE["balanced"]["random"]
    answer = answer_experiment(on_hosts(tmp_path, REFERENCE["balanced"]["rows"]), random_hosts=True)
    g1 = HOSTS.of(answer).comparisons[0]
    assert (math.log(g1.ratio.low), math.log(g1.ratio.high)) == pytest.approx(
        (expected["low"], expected["high"]), rel=1e-7
    )
    assert HOSTS.of(answer).random
    golden("random-hosts", g1.words)


def test_one_host_speaks_of_itself_only(tmp_path: Path, golden: Golden) -> None:
    rows = [row for row in REFERENCE["balanced"]["rows"] if row[0] == 1]
    answer = answer_experiment(on_hosts(tmp_path, rows))
    assert HOSTS.of(answer).comparisons == ()
    golden("one-host", "\n".join(answer.findings["hosts"]))


def test_a_host_on_which_one_side_failed_is_named_and_takes_no_part(tmp_path: Path, golden: Golden) -> None:
    rows = [row for row in REFERENCE["balanced"]["rows"] if not (row[0] == 3 and row[2] == 2)]
    answer = answer_experiment(on_hosts(tmp_path, rows))
    g1, z = HOSTS.of(answer).comparisons
    assert g1.interaction.df_interaction == 1
    golden("failed-on-a-host", g1.words)
    assert z.words.startswith("local (3 hosts), ")
    json.dumps(document_of(answer), allow_nan=False)


def test_hosts_that_measured_nothing_leave_nothing_to_pool(tmp_path: Path, golden: Golden) -> None:
    for host in ("alpha", "beta"):
        write_plan(tmp_path, CELLS, 3, host=host)
        write_journal(tmp_path, [record(CELLS[0], 0, status="failed", reason="exit 1", host=host)], host=host)
    write_facts(tmp_path)
    answer = answer_experiment(tmp_path)
    for one in HOSTS.of(answer).comparisons:
        assert math.isnan(one.ratio.point)
        golden(f"nothing-to-pool-{one.a_name}", f"{one.ratio.reason}\n{one.words}")


def test_back_to_back_hosts_are_pooled_without_blocks(tmp_path: Path) -> None:
    cells = CELLS[:2]
    for number, host in enumerate(("alpha", "beta")):
        write_plan(tmp_path, cells, 4, host=host)
        records = [
            record(one, r, [1e9 * (1 + number + 0.3 * i + 0.01 * ((r * 7 + i) % 4))], host=host, order="back-to-back")
            for i, one in enumerate(cells)
            for r in range(4)
        ]  # fmt: skip
        write_journal(tmp_path, records, host=host)
    write_facts(tmp_path)
    (one,) = HOSTS.of(answer_experiment(tmp_path)).comparisons
    assert one.ratio.n == 16
    assert 0 < one.interaction.df_error <= 12
    assert one.words.startswith("local (2 hosts), ")
    assert "(n = 16 invocations); " in one.words


def test_an_experiment_on_one_host_has_no_pooled_comparison(tmp_path: Path) -> None:
    answer = answer_experiment(write_experiment(tmp_path, CELLS, [], 2))
    assert HOSTS.of(answer).comparisons == ()
