"""`regatta ingest`: what it writes, what it refuses and how it says so. What goes wrong on the way is in test_influx_faults."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import time
from pathlib import Path

import pytest

from helpers.influx_ingests import (
    CELLS,
    Said,
    assert_all_there,
    database_statuses,
    database_values,
    ingest,
    journal_values,
    some_records,
    write_big_experiment,
)
from helpers.influx_server import InfluxServer
from helpers.synthetic_journal import (
    START_NS,
    cell,
    describe,
    record,
    write_experiment,
    write_journal,
    write_plan,
)
from regatta.host.journal.record import encode_record
from regatta.influx.client import Client
from regatta.influx.settings import read_settings
from regatta.store.events import append_event

#: as InfluxDB 1.x answers
LOAD_CONFLICT = 'field "load1" on measurement "host_state" is type float, already exists as type string'


class Place:
    """An experiment and a database of its own."""

    def __init__(self, server: InfluxServer, tmp_path: Path) -> None:
        self.server = server
        self.database = server.new_database()
        self.tmp_path = tmp_path
        self.folder = tmp_path / "made-up"
        self.settings = server.write_settings(tmp_path / "settings", self.database)

    def set(self, **more: object) -> None:
        """Write the settings again."""
        self.settings = self.server.write_settings(self.tmp_path / "settings", self.database, **more)  # type: ignore[arg-type]

    def ingest(self, *options: str) -> Said:
        return ingest(self.folder, self.settings, *options)

    def all_there(self) -> None:
        assert_all_there(self.server, self.database, self.folder, self.settings)

    def tags(self, name: str, measurement: str = "iteration") -> set[str]:
        rows = self.server.query(f'SHOW TAG VALUES FROM "{measurement}" WITH KEY = "{name}"', self.database)
        return {value for one in rows for _, value in one["values"]}


@pytest.fixture
def place(influx_server: InfluxServer, tmp_path: Path) -> Place:
    return Place(influx_server, tmp_path)


@pytest.mark.smoke
def test_all_that_is_recorded_is_there_and_the_second_time_nothing_is_written(place: Place) -> None:
    write_big_experiment(place.folder)
    append_event(place.folder, "experiment_started")
    first = json.loads(place.ingest("--json").out)
    assert (first["records"], first["events"], first["written"]) == (120, 1, 120 * 22 + 1)
    assert (first["waiting"], first["reason"], first["refused"]) == (0, None, 0)
    place.all_there()
    again = json.loads(place.ingest("--json").out)
    assert (again["written"], again["records"], again["events"]) == (0, 0, 0)
    append_event(place.folder, "experiment_ended", text="complete")
    assert json.loads(place.ingest("--json").out)["written"] == 1
    place.all_there()


def test_what_was_ingested_may_be_ingested_again_from_nothing(place: Place) -> None:
    write_big_experiment(place.folder)
    assert place.ingest().code == 0
    for path in place.folder.glob("influx/*/*"):
        path.unlink()
    assert json.loads(place.ingest("--json").out)["records"] == 120
    place.all_there()


def test_what_a_dropped_database_had_is_written_again(place: Place) -> None:
    write_big_experiment(place.folder)
    append_event(place.folder, "experiment_started")
    assert place.ingest().code == 0
    place.server.query(f'DROP DATABASE "{place.database}"')
    place.server.make_database(place.database)
    said = place.ingest()
    assert said.code == 0
    assert "0 of 60 records of alpha: " in said.err
    assert "writing all points again" in said.err
    place.all_there()


def test_who_may_only_write_ingests_all_the_same(place: Place) -> None:
    place.set(reader=None)
    write_big_experiment(place.folder)
    assert place.ingest().code == 0
    assert json.loads(place.ingest("--json").out)["written"] == 0
    place.set()
    place.all_there()


def test_a_record_larger_than_a_batch_is_cut(place: Place) -> None:
    place.set(batch_points=370)
    write_big_experiment(place.folder, hosts=("alpha",), segments=1, records=3, iterations=12_000)
    assert place.ingest().code == 0
    place.all_there()


def test_a_torn_line_waits_for_its_end_and_a_damaged_one_is_passed_over(place: Place) -> None:
    write_big_experiment(place.folder, hosts=("alpha",), segments=1)
    path = place.folder / "journal" / "alpha" / "0.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = lines[3].replace(b'"status":"failed"', b'"status":"broken"')
    assert damaged != lines[3]
    path.write_bytes(b"".join([*lines[:3], damaged, *lines[4:-1], lines[-1][:50]]))
    said = place.ingest("--json")
    assert said.code == 0
    done = json.loads(said.out)
    assert (done["records"], done["damaged"], done["waiting"]) == (28, 1, 0)
    path.write_bytes(b"".join([*lines[:3], damaged, *lines[4:]]))
    assert json.loads(place.ingest("--json").out)["records"] == 1
    whole = {at: value for at, value in journal_values(place.folder).items() if at[2] != 3}
    assert database_values(place.server, place.database) == whole
    assert place.ingest("--verify").code == 0


@pytest.mark.parametrize("way", ["replaced", "shortened", "gone"])
def test_a_journal_that_is_another_one_is_told_and_rebuilt(place: Place, way: str) -> None:
    write_big_experiment(place.folder)
    assert place.ingest().code == 0
    path = place.folder / "journal" / "alpha" / "1.jsonl"
    if way == "replaced":
        write_big_experiment(place.folder, seed=2)
    elif way == "shortened":
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    else:
        path.unlink()
    # Another journal may have as many points, so that counting alone would not tell.
    for said in (place.ingest(), place.ingest("--verify")):
        assert said.code == 3
        assert "first 30 records" in said.err
        assert "--rebuild" in said.err
    assert place.ingest("--rebuild").code == 0
    place.all_there()


def test_points_of_a_wrong_type_are_named_and_all_others_are_there(place: Place) -> None:
    write_big_experiment(place.folder)
    # Somebody else wrote text where our load is.
    place.server.write(f'host_state,host=elsewhere load1="much" {START_NS}', place.database)
    said = place.ingest()
    assert said.code == 1
    assert said.err.count("rejected: host_state,experiment=made-up,host=") == 20
    assert LOAD_CONFLICT in said.err
    assert "rejected: 100 more" in said.err
    assert "120 rejected: field type conflict" in said.err
    assert database_values(place.server, place.database) == journal_values(place.folder)
    again = place.ingest()
    assert again.code == 1, "they are still not there"
    assert "120 rejected in earlier calls" in again.err
    assert "field type conflict" in again.err
    verified = place.ingest("--verify")
    assert verified.code == 1
    assert re.search(r"host=alpha,platform=local: 60 points .*, 0 in ", verified.out)
    place.server.query("DROP MEASUREMENT host_state", place.database)
    assert place.ingest("--rebuild").code == 0
    place.all_there()


def test_points_that_the_retention_policy_drops_are_named(place: Place) -> None:
    place.server.query(
        f'CREATE RETENTION POLICY "a week" ON "{place.database}" DURATION 7d REPLICATION 1 DEFAULT'
    )
    recent = time.time_ns() - 3600 * 10**9
    write_big_experiment(place.folder, hosts=("alpha",), segments=1, started_ns=recent)
    old = some_records(random.Random(4), "alpha", 1, 5, 20)
    write_journal(place.folder, old, "alpha", 1)
    said = place.ingest()
    assert said.code == 1
    assert f"got {5 * 22} rejected: points beyond" in said.err
    there = {at: value for at, value in journal_values(place.folder).items() if at[1] == 0}
    assert database_values(place.server, place.database) == there
    verified = place.ingest("--verify")
    assert verified.code == 1
    assert f"{5 * 22} points have expired" in verified.out
    assert "(a week: 168h0m0s)" in verified.out


def test_too_many_series_are_refused_with_the_reason_and_before_they_are_written(place: Place) -> None:
    place.set(series_limit=12)
    write_big_experiment(place.folder)
    said = place.ingest()
    assert said.code == 3
    assert ":series_limit: " in said.err
    assert "at most 12 series" in said.err
    assert "in made-up; " in said.err
    assert len(place.server.counts(place.database)) <= 12
    place.set(series_limit=1000)
    assert place.ingest().code == 0
    place.all_there()


def test_series_of_earlier_calls_and_of_other_hosts_count(place: Place) -> None:
    write_big_experiment(place.folder, hosts=("alpha",))
    assert place.ingest().code == 0
    count = len(place.server.counts(place.database))
    place.set(series_limit=count + 2)
    write_plan(place.folder, CELLS, 30, "beta")
    write_journal(place.folder, some_records(random.Random(5), "beta", 0, 30, 5), "beta", 0)
    said = place.ingest()
    assert said.code == 3
    assert f"expected at most {count + 2} series" in said.err
    assert place.tags("host") == {"alpha"}


def renamed(cells: list[dict[str, object]], name: str) -> list[dict[str, object]]:
    return [{**one, "runtime": name} for one in cells]


def test_cells_keep_the_names_under_which_they_were_first_recorded(place: Place) -> None:
    cells = [cell("g1"), cell("serial")]
    records = [record(cells[number % 2], number, [1.0 + number]) for number in range(8)]
    write_experiment(place.folder, cells, records[:4], 8)
    describe(place.folder, cells)
    assert place.ingest().code == 0
    # The same cells: an id is a hash of what is measured, not of its name.
    write_plan(place.folder, renamed(cells, "jdk-twenty-one"), 8)
    write_journal(place.folder, records)
    said = place.ingest()
    assert said.code == 0
    assert "2 cells have other names" in said.err
    for option in ((), ("--rebuild",)):
        assert place.ingest(*option).code == 0
        assert place.tags("runtime") == {"jdk-21"}
        place.all_there()


def test_records_of_cells_that_are_planned_no_more_keep_their_names(place: Place) -> None:
    cells = [cell("g1"), cell("serial")]
    records = [record(cells[number % 2], number, [1.0 + number]) for number in range(8)]
    write_experiment(place.folder, cells, records[:6], 8)
    describe(place.folder, cells)
    assert place.ingest().code == 0
    write_plan(place.folder, cells[:1], 8)
    write_journal(place.folder, records)
    for option in ((), ("--rebuild",)):
        assert place.ingest(*option).code == 0
        assert place.tags("collector") == {"g1", "serial"}
        place.all_there()


def test_an_older_journal_takes_names_from_the_plan(place: Place) -> None:
    cells = [cell("g1"), cell("serial")]
    write_experiment(place.folder, cells, [record(one, 0, [1.0]) for one in cells], 1)
    write_plan(place.folder, cells[:1], 1)
    assert place.ingest().code == 0
    assert place.tags("collector") == {"g1", "unknown"}
    place.all_there()


def test_a_rebuild_deletes_plans_that_earlier_versions_wrote(place: Place) -> None:
    cells = [cell("g1"), cell("serial")]
    write_experiment(place.folder, cells, [record(one, 0, [1.0]) for one in cells], 1)
    lines = [b'plan,experiment=made-up,host=none text="{}" 1\n', b'cell,experiment=other text="{}" 1\n']
    Client(read_settings(place.settings)).write(lines)
    assert ingest(place.folder, place.settings, "--rebuild", "--verify", estimates=True).code == 0
    left = place.server.counts(place.database)
    assert [key for key in left if key.startswith(("plan,", "cell,"))] == ["cell,experiment=other"]


def test_verify_names_the_series_that_lost_or_gained_points(place: Place) -> None:
    write_big_experiment(place.folder)
    assert place.ingest().code == 0
    before = place.server.counts(place.database)
    place.server.query("DELETE FROM iteration WHERE collector = 'g1' AND host = 'alpha'", place.database)
    lost = [key for key in before if key not in place.server.counts(place.database)]
    assert lost
    said = place.ingest("--verify", "--json")
    assert said.code == 1
    verified = json.loads(said.out)["verified"]
    assert not verified["holds"]
    assert verified["differing"] == len(lost)
    assert all(one["database"] == 0 and one["journal"] > 0 for one in verified["differences"])
    assert place.ingest("--rebuild", "--verify").code == 0
    (series,) = place.server.query("SELECT * FROM iteration WHERE collector = 'g1' LIMIT 1", place.database)
    row = dict(zip(series["columns"], series["values"][0], strict=True))
    tags = ",".join(f"{name}={str(row[name]).replace(' ', chr(92) + ' ')}" for name in (
        "experiment", "host", "platform", "benchmark", "runtime", "collector", "modifiers", "heap", "metric", "unit",
        "parameters", "status"))  # fmt: skip
    place.server.write(f"iteration,{tags} value=1,line=0i 5", place.database)
    gained = place.ingest("--verify")
    assert gained.code == 1
    assert "1 series that differ" in gained.err


@pytest.mark.parametrize("secret", ["password", "token"])
def test_a_wrong_account_is_told_and_nothing_is_lost_or_shown(place: Place, secret: str) -> None:
    write_big_experiment(place.folder)
    wrong = place.tmp_path / "settings" / "wrong"
    wrong.write_text("wr0ng-s3cret")
    wrong.chmod(0o600)
    account = (
        {"user": "writer", "password_file": "wrong"} if secret == "password" else {"token_file": "wrong"}
    )
    place.set(write=account)
    said = place.ingest()
    assert said.code == 3
    assert f"write.{secret}_file: expected " in said.err
    assert "got 401 " in said.err
    assert "wr0ng-s3cret" not in said.err + said.out
    place.set()
    assert place.ingest().code == 0
    place.all_there()


def test_without_an_influxdb_it_says_what_starts_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_big_experiment(tmp_path / "made-up", records=1)
    said = ingest(folder, Path("none"))
    assert said.code == 2
    assert "`regatta up` starts one" in said.err


def test_a_workflow_is_told_by_a_receipt_and_not_stopped(place: Place) -> None:
    write_big_experiment(place.folder)
    size = sum(path.stat().st_size for path in place.folder.glob("journal/alpha/*.jsonl"))
    receipt = place.tmp_path / "receipt.json"
    options = ("--host", "alpha", "--patience-s", "0", "--receipt", str(receipt))
    place.set(url="http://127.0.0.1:9")
    said = place.ingest(*options)
    assert said.code == 0
    assert "InfluxDB is incomplete: http://127.0.0.1:9: " in said.err
    waiting = json.loads(receipt.read_text())
    assert (waiting["waiting"], waiting["written"], waiting["records"]) == (size, 0, 0)
    assert "Connection refused" in waiting["reason"]
    place.set(write={"user": "writer", "password_file": "absent"})
    assert place.ingest(*options).code == 0
    assert os.strerror(errno.ENOENT) in json.loads(receipt.read_text())["reason"]
    place.set()
    # Without patience, a database that answers after more than two seconds counts as away.
    assert place.ingest(*options, "--patience-s", "300").code == 0
    done = json.loads(receipt.read_text())
    assert (done["waiting"], done["reason"], done["written"]) == (0, None, 60 * 22)
    assert place.tags("host") == {"alpha"}


def test_one_host_alone_is_written_verified_and_rebuilt(place: Place) -> None:
    write_big_experiment(place.folder)
    assert place.ingest("--host", "beta").code == 0
    assert place.tags("host") == {"beta"}
    assert place.ingest("--host", "beta", "--verify").code == 0
    assert place.ingest("--verify").code == 1
    assert place.ingest().code == 0
    assert place.ingest("--host", "beta", "--rebuild").code == 0
    place.all_there()
    unknown = place.ingest("--host", "gamma")
    assert unknown.code == 3
    assert "one of alpha, beta" in unknown.err


def test_rebuilding_leaves_what_it_cannot_write_again(place: Place) -> None:
    write_big_experiment(place.folder)
    append_event(place.folder, "experiment_started")
    assert place.ingest().code == 0
    place.server.write('event,experiment=made-up,host=none,kind=stage text="x" 5', place.database)
    for kind in ("shift", "obsolete"):
        place.server.write(f"estimate,experiment=made-up,host=none,kind={kind} n=1i 5", place.database)
    place.server.write('event,experiment=another,host=none,kind=stage text="x" 5', place.database)
    place.server.write("invocation,experiment=another,host=alpha elapsed_ns=1i 5", place.database)
    assert place.ingest("--rebuild").code == 0
    kinds = place.server.query("SELECT count(text) FROM event GROUP BY experiment, kind", place.database)
    assert {(one["tags"]["experiment"], one["tags"]["kind"]): one["values"][0][1] for one in kinds} == {
        ("made-up", "experiment_started"): 1, ("another", "stage"): 1,
    }  # fmt: skip
    assert ingest(place.folder, place.settings, "--rebuild", estimates=True).code == 0
    counted = place.server.query("SELECT count(n) FROM estimate GROUP BY kind", place.database)
    kept = {one["tags"]["kind"] for one in counted}
    assert "shift" in kept
    assert "obsolete" not in kept
    assert place.tags("experiment", "invocation") == {"made-up", "another"}


def test_a_renamed_folder_is_still_the_same_experiment(place: Place) -> None:
    write_big_experiment(place.folder)
    assert place.ingest().code == 0
    place.folder = place.folder.rename(place.tmp_path / "another name")
    place.all_there()
    assert place.ingest("--rebuild").code == 0
    assert database_statuses(place.server, place.database).total() == 120
    place.all_there()


def test_the_answer_is_written_and_verified_too(place: Place) -> None:
    cells = [cell("g1"), cell("serial")]
    generator = random.Random(6)
    records = [
        record(cells[number % 2], number // 2, [generator.gauss(1e9, 1e7)], position=number % 2)
        for number in range(16)
    ]
    write_experiment(place.folder, cells, records, 8)
    said = ingest(place.folder, place.settings, estimates=True)
    assert said.code == 0, said.err
    assert ingest(place.folder, place.settings, "--verify", estimates=True).code == 0
    means = place.server.query(
        "SELECT n, point FROM estimate WHERE kind = 'mean' GROUP BY collector", place.database
    )
    found = {one["tags"]["collector"]: one["values"][0][1:] for one in means}
    for index, name in enumerate(("g1", "serial")):
        values = [one["iterations"][0][2] for one in records[index::2]]
        assert found[name] == [8, pytest.approx(sum(values) / 8)]
    place.server.query("DELETE FROM estimate", place.database)
    gone = ingest(place.folder, place.settings, "--verify", estimates=True)
    assert gone.code == 1
    assert "estimate," in gone.out


def test_a_record_of_another_shape_is_counted_as_damage_and_the_others_are_ingested(place: Place) -> None:
    write_big_experiment(place.folder, hosts=("alpha",), segments=1, records=2)
    path = place.folder / "journal" / "alpha" / "0.jsonl"
    with path.open("ab") as file:
        file.write(encode_record({"v": 1, "invocation_id": "x", "iterations": [["too", "short"]]}))
    said = place.ingest()
    assert said.code == 0
    assert "2 records" in said.out
    assert "1 damaged lines" in said.err
