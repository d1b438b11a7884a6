import hashlib
import json
import shutil
from itertools import count

import pytest
from click.testing import CliRunner

from helpers.chat_experiment import write_chat_experiment
from helpers.rich_experiment import write_rich_experiment
from helpers.scaling_experiment import write_scaling_experiment
from helpers.synthetic_journal import START_NS, cell, describe, record, write_facts, write_journal, write_plan
from regatta.answers.answer import answer_experiment
from regatta.answers.documents import document_of
from regatta.cli.main import cli
from regatta.host.errors import StoreError
from regatta.influx.client import Client
from regatta.influx.plan_documents import _id, _json, _parts, newest_record_ns, plan_points, read_plan
from regatta.influx.reading import experiment_from_influx
from regatta.influx.settings import read_settings
from regatta.store.database import open_database
from regatta.store.folder import Folder

TABLES = {
    "invocations": "select * from invocations order by record",
    "iterations": "select * from iterations order by record, rowid",
    "cells": "select * from cells order by host, place",
    "unplanned_cells": "select * from unplanned_cells order by host, cell_id",
}


@pytest.fixture
def settings(influx_server, tmp_path):
    """Settings of an empty database."""
    return influx_server.write_settings(tmp_path / "settings", influx_server.new_database())


def regatta(settings, *arguments):
    """Run a command in this process, which must end well; returns what it printed."""
    done = CliRunner().invoke(
        cli, [*map(str, arguments)], env={"REGATTA_INFLUX": str(settings)}, catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.stdout


def tables_of(folder):
    with open_database(folder) as connection:
        return {name: connection.execute(query).fetchall() for name, query in TABLES.items()}


def read_back(settings, experiment="made-up", say=lambda text: None):
    return experiment_from_influx(Client(read_settings(settings), "read"), experiment, say)


def write_troubled_experiment(folder):
    """Two hosts whose clocks step back, segments, retries, failures, cells of another plan, values that no field holds."""
    cells = [
        cell(),
        cell("parallel", modifiers="a, b=c"),
        cell("serial", benchmark='apps/h2:small text="ü %"'),
    ]
    # Longer than a field holds.
    cells[0]["environment"] = {"LONG": '"ü' * 30_000}
    gone = cell("z")
    numbers = count()
    for host in ("alpha", "beta gamma"):
        write_plan(folder, cells, 6, host=host, discarded_rounds=1)
        for segment in range(3):
            records = []
            for r in (2 * segment, 2 * segment + 1):
                for position, one in enumerate([*cells, gone]):
                    started = START_NS + 10**9 * (next(numbers) - 40 * segment)
                    odd = [1e6 + r + position, 2**53 + 1, -0.0, 10**30, 7, 5e-324][: 3 + position]
                    rows = [
                        *([i, "elapsed", value, "ns", i or None, None] for i, value in enumerate(odd)),
                        [0, "latency", 1.5, "ns", None, {"b": 1, "a": "x y,=\\\n"}],
                        [0, "latency", 1.5, "ns", None, {"a": "long " * 400}],
                    ]
                    more = {"host": host, "block": r, "position": position, "started": started}
                    if position == 1 and r == 3:
                        records.append(record(one, r, rows, status="perturbed", reason="steal", **more))
                        more |= {"attempt": 1, "started": started + 5}
                    if position == 2 and r == 4:
                        records.append(
                            record(one, r, status="crashed", reason='SIGSEGV "at"\n0x0 \udcff', **more)
                        )
                    else:
                        records.append(record(one, r, rows, **more))
            write_journal(
                folder,
                [{**one, "segment": segment, "info": {"a": [1, "é"]}} for one in records],
                host,
                segment,
            )
        describe(folder, [cells[0], gone], host)
    write_plan(folder, cells, 6, host="silent")
    write_facts(
        folder, method="fixed", warmup=1, baseline={"collector": "g1"}, impossible=[["x", "why", "alpha"]]
    )
    experiment = json.loads((folder / "plan" / "experiment.json").read_text())
    (folder / "plan" / "experiment.json").write_text(
        json.dumps({**experiment, "left_out": {"lost": "no ssh"}})
    )
    receipt = folder / "receipts" / "silent" / "00000.json"
    receipt.parent.mkdir(parents=True)
    receipt.write_text(json.dumps({"left_out": "it never answered"}))
    decisions = {"v": 1, "groups": {"k": {"needed": 3}}}
    (folder / "journal" / "alpha" / "decisions.json").write_text(json.dumps(decisions))
    return folder


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: write_rich_experiment(folder, rounds=3),
        lambda folder: write_chat_experiment(folder, rounds=3, runtimes=["temurin-21"]),
        lambda folder: write_scaling_experiment(folder, rounds=3),
        write_troubled_experiment,
    ],
    ids=["collectors", "chat", "load", "troubled"],
)
def test_the_answer_from_the_database_is_that_from_the_journal_to_the_last_digit(write, settings, tmp_path):
    folder = tmp_path / "made-up"
    folder.mkdir()
    write(folder)
    regatta(settings, "ingest", folder)
    wanted = regatta(settings, "analyze", folder, "--json")
    tables = tables_of(folder)
    shutil.rmtree(folder)
    with read_back(settings) as again:
        # repr tells -0.0 from 0.0.
        assert repr(tables_of(again)) == repr(tables)
    assert regatta(settings, "analyze", "made-up", "--from", "influx", "--json") == wanted
    assert json.loads(wanted)["cells"]


def test_an_answer_with_another_baseline_is_the_same_as_well(settings, tmp_path):
    folder = tmp_path / "made-up"
    folder.mkdir()
    regatta(settings, "ingest", write_troubled_experiment(folder))
    options = ["--baseline", "modifiers=none", "--method", "georges2007", "--csv"]
    wanted = regatta(settings, "analyze", folder, *options)
    assert regatta(settings, "analyze", "made-up", "--from", "influx", *options) == wanted


def test_ingesting_again_after_more_rounds_gives_the_newer_answer(settings, tmp_path):
    folder = tmp_path / "made-up"
    for rounds in (3, 5):
        one = cell()
        write_plan(folder, [one], 5)
        write_facts(folder)
        write_journal(folder, [record(one, r, [1e6 + r]) for r in range(rounds)])
        regatta(settings, "ingest", folder)
    with read_back(settings) as again:
        assert document_of(answer_experiment(again)) == document_of(answer_experiment(folder))
        assert answer_experiment(again).recorded == 5


def test_an_experiment_that_is_not_there_is_told(settings):
    with pytest.raises(StoreError, match=r"nobody.*regatta ingest"), read_back(settings, "nobody"):
        pass


def asking(points):
    """Answers the queries of `read_plan` of these points, as InfluxQL would."""

    def ask(query):
        wanted = query.split('"host" = ')[1].split(" AND ")[0]
        for point in reversed(points):
            own = f'FROM "{point.measurement}"' in query and (point.tags[1] or "none") in wanted
            if own and ("document =" not in query or point.fields["document"] in query):
                yield {"time": point.time_ns, **point.fields}

    return ask


def documents_of(hosts, counts=None, own=None):
    """Points of an experiment's documents as somebody wrote them, with these names of hosts."""
    plan = {"v": 2, "plan": {}, "planned": [], "decisions": None, "cells": _id(""), **(own or {})}
    host = _json(plan)
    whole = {"v": 2, "experiment": {}, "hosts": {name: _id(host) for name in hosts}, "counts": counts or {}}
    points = [*_parts("made-up", "", _json(whole), START_NS)]
    for name in hosts:
        points += _parts("made-up", name, host, START_NS + 1_000_000)
    return points


@pytest.mark.parametrize(
    "name",
    ["../escaped", "/tmp/escaped", "a/b", "..", ".", "", "nul\0", "long" * 100],
    ids=lambda one: one[:12],
)
def test_no_host_of_the_database_becomes_another_folder_than_one_below_the_plan(name):
    with pytest.raises(StoreError, match="valid folder names"):
        read_plan(asking(documents_of([name])), "made-up")
    with pytest.raises(StoreError, match="valid folder names"):
        read_plan(asking(documents_of(["alpha"], {name: {"records": 1, "lines": 1}})), "made-up")


@pytest.mark.parametrize(
    "points",
    [
        documents_of(["alpha"], {"alpha": {"records": "many", "lines": 1}}),
        documents_of(["alpha"], {"alpha": 3}),
        documents_of(["alpha"], own={"v": 1}),
        documents_of(["alpha"], own={"cells": "another"}),
        [*_parts("made-up", "", _json({"v": 2, "hosts": [], "counts": {}, "experiment": {}}), 1)],
        [*_parts("made-up", "", _json({"v": 2, "hosts": {"alpha": 3}, "counts": {}, "experiment": {}}), 1)],
        [*_parts("made-up", "", _json({"v": 2, "hosts": {}}), 1)],
        [*_parts("made-up", "", "[3]", 1)],
        [*_parts("made-up", "", "no JSON", 1)],
    ],
)  # fmt: skip
def test_documents_that_are_none_of_ours_are_told(points):
    with pytest.raises(StoreError, match="the plan of"):
        read_plan(asking(points), "made-up")


def test_the_plan_of_a_host_called_none_is_not_taken_for_that_of_the_experiment(settings, tmp_path):
    folder, one = tmp_path / "made-up", cell()
    for host in ("alpha", "none"):
        write_plan(folder, [one], 3, host=host)
        write_journal(folder, [record(one, r, [1e6 + r], host=host) for r in range(3)], host)
    write_facts(folder)
    regatta(settings, "ingest", folder)
    wanted = regatta(settings, "analyze", folder, "--json")
    assert regatta(settings, "analyze", "made-up", "--from", "influx", "--json") == wanted


def test_records_that_the_plan_does_not_count_yet_are_told_and_answered(settings, tmp_path):
    folder, one = tmp_path / "made-up", cell()
    write_plan(folder, [one], 5)
    write_facts(folder)
    write_journal(folder, [record(one, r, [1e6 + r]) for r in range(3)])
    regatta(settings, "ingest", folder)
    write_journal(folder, [record(one, r, [1e6 + r]) for r in range(4)])
    regatta(settings, "ingest", folder, "--no-estimates")
    said = []
    with read_back(settings, say=said.append) as again:
        assert answer_experiment(again).recorded == 4
    assert "holds 4 records of alpha" in said[0]


def test_records_that_were_lost_are_no_answer(settings, influx_server, tmp_path):
    folder, one = tmp_path / "made-up", cell()
    write_plan(folder, [one], 3)
    write_facts(folder)
    write_journal(folder, [record(one, r, [1e6 + r]) for r in range(3)])
    regatta(settings, "ingest", folder)
    database = read_settings(settings).database
    for measurement in ("iteration", "invocation"):
        influx_server.query(f"DELETE FROM {measurement} WHERE time < {START_NS + 10**9}", database)
    with (
        pytest.raises(StoreError, match=r"alpha .* 3 records · got 2: .*--rebuild"),
        read_back(settings),
    ):
        pass


@pytest.mark.parametrize("other", [cell(), cell("parallel")], ids=["the same cell", "another cell"])
def test_two_runs_of_one_name_are_no_answer(settings, influx_server, tmp_path, other):
    # Who may not ask cannot see that another run is there.
    blind = influx_server.write_settings(tmp_path / "blind", read_settings(settings).database, reader=None)
    for name, one, later in (("first", cell(), 0), ("second", other, 86_400 * 10**9)):
        folder = tmp_path / name / "made-up"
        write_plan(folder, [one], 3)
        write_facts(folder)
        write_journal(
            folder, [record(one, r, [1e6 + r], started=START_NS + later + r * 10**9) for r in range(3)]
        )
        regatta(blind, "ingest", folder)
    with (
        pytest.raises(StoreError, match="one run · got 2 records"),
        read_back(settings),
    ):
        pass
    regatta(settings, "ingest", folder, "--rebuild")
    with read_back(settings) as again:
        assert document_of(answer_experiment(again)) == document_of(answer_experiment(folder))


def test_a_record_without_all_its_lines_is_no_answer(settings, influx_server, tmp_path):
    folder, one = tmp_path / "made-up", cell()
    write_plan(folder, [one], 2)
    write_facts(folder)
    write_journal(folder, [record(one, r, [1e6 + r, 2e6]) for r in range(2)])
    regatta(settings, "ingest", folder)
    database = read_settings(settings).database
    influx_server.query(f"DELETE FROM iteration WHERE time = {START_NS + 1000}", database)
    with pytest.raises(StoreError, match=r"expected 2 measurements · got 1 .*--verify"), read_back(settings):
        pass


def hash_of(number):
    """What does not become smaller."""
    return hashlib.sha256(str(number).encode()).hexdigest()


def test_a_large_plan_is_cut_into_parts_and_read_back_whole(tmp_path):
    folder = Folder(tmp_path)
    cells = [cell(benchmark=f"apps/h2:{hash_of(n)}", runtime=hash_of(-n)) for n in range(1500)]
    cells[7]["environment"] = {"LONG": "ü\n" * 30_000}
    write_plan(tmp_path, cells, 2)
    write_facts(tmp_path, labels={str(n): hash_of(n) for n in range(2000)})
    write_journal(tmp_path, [record(cells[0], 0, [1.0])])
    points = list(plan_points(folder, newest_record_ns(folder)))
    texts = [point.fields.get("text") or point.fields["description"] for point in points]
    assert max(map(len, texts)) <= 60_000
    assert {point.measurement for point in points if point.fields["parts"] > 2} == {"plan", "cell"}
    assert len({(point.measurement, point.tags, point.time_ns) for point in points}) == len(points)
    documents = read_plan(asking(points), "made-up")
    assert documents.hosts["alpha"]["plan"] == folder.host_header("alpha")
    assert documents.hosts["alpha"]["planned"] == [2] * 1500
    assert documents.counts == {"alpha": {"records": 1, "lines": 1}}
    of_cells = [n for n, point in enumerate(points) if point.measurement == "cell"]
    for lacking in (of_cells[3], of_cells[8]):
        with pytest.raises(StoreError, match="description of each cell"):
            read_plan(asking(points[:lacking] + points[lacking + 1 :]), "made-up")
    own = next(n for n, point in enumerate(points) if point.measurement == "plan" and point.tags[1])
    with pytest.raises(StoreError, match="other contents"):
        read_plan(asking(points[:own] + points[own + 1 :]), "made-up")
    with pytest.raises(StoreError, match="its complete plan"):
        read_plan(asking([point for point in points if point.tags[1]]), "made-up")


def test_what_an_older_version_wrote_asks_for_another_ingest(settings):
    line = 'event,experiment=made-up,host=none,kind=plan text="eJyrVg==",document="x",part=0i,parts=1i 1\n'
    Client(read_settings(settings)).write([line.encode()])
    with (
        pytest.raises(StoreError, match=r"complete plan · got none.*`regatta"),
        read_back(settings),
    ):
        pass


@pytest.mark.parametrize(
    "line",
    [
        'plan,experiment=hostile,host=none document="x",part="one",parts="many"',
        'plan,experiment=hostile,host=none document=1,part=0i,parts=1i',
        'plan,experiment=hostile,host=none part=0i,parts=1i',
    ],
)  # fmt: skip
def test_points_of_other_types_than_ours_are_told(settings, line):
    Client(read_settings(settings)).write([f"{line} 1\n".encode()])
    with pytest.raises(StoreError, match="hostile"), read_back(settings, "hostile"):
        pass
