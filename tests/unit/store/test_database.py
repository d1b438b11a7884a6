"""The embedded database is what the journal says, whole, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.synthetic_journal import cell, native, record, write_experiment, write_journal, write_plan
from regatta.host.errors import StoreError
from regatta.store import database
from regatta.store.database import ensure_database, open_database, rebuild
from regatta.store.tables import CELLS, INVOCATIONS, ITERATIONS

G1, GZIP = cell("g1"), native()


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    records = [record(G1, r, [100.0 + r, 90.0]) for r in range(3)]
    records.append(
        record(
            GZIP,
            0,
            [[0, "elapsed", 5, "ns", None, None], [0, "latency", 1.5, "ns", 1000, {"stride": 64, "a": "b"}]],
        )
    )
    records.append(record(GZIP, 1, status="failed", reason="exit 3: \udcff é"))
    return write_experiment(tmp_path / "made-up", [G1, GZIP], records, 3)


def test_every_record_and_measurement_is_a_row(experiment: Path) -> None:
    made = rebuild(experiment)
    assert (made.invocations, made.iterations, made.cells, made.damaged) == (5, 8, 2, 0)
    iterations = pq.read_table(experiment / "store/iterations.parquet").to_pylist()
    assert iterations[7] == {
        "record": 3, "iteration": 0, "metric": "latency", "value": 1.5, "unit": "ns", "operations": 1000,
        "parameters": '{"a":"b","stride":64}',
    }  # fmt: skip
    cells = pq.read_table(experiment / "store/cells.parquet").to_pylist()
    assert [c["planned"] for c in cells] == [3, 3]
    assert [c["collector"] for c in cells] == ["g1", ""]


def test_text_that_is_no_unicode_is_kept_readable(experiment: Path) -> None:
    rebuild(experiment)
    reasons = pq.read_table(experiment / "store/invocations.parquet")["reason"].to_pylist()
    assert reasons[4] == "exit 3: \\udcff é"


def test_types_stay_when_a_column_is_null_everywhere_or_the_journal_is_empty(tmp_path: Path) -> None:
    write_experiment(tmp_path, [], [], 0)
    rebuild(tmp_path)
    for name, schema in (("invocations", INVOCATIONS), ("iterations", ITERATIONS), ("cells", CELLS)):
        assert pq.read_schema(tmp_path / f"store/{name}.parquet").remove_metadata().equals(schema)


def test_duckdb_holds_the_same_tables_wherever_the_folder_lies(experiment: Path, tmp_path: Path) -> None:
    rebuild(experiment)
    moved = experiment.rename(tmp_path / "moved")
    with duckdb.connect(str(moved / "store/regatta.duckdb"), read_only=True) as connection:
        assert connection.execute("select count(*) from iterations").fetchone() == (8,)
        good = "select count(*) from invocations where status = 'ok'"
        assert connection.execute(good).fetchone() == (4,)


def test_batches_give_what_one_reading_gives(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rebuild(experiment)
    whole = [pq.read_table(experiment / f"store/{name}.parquet") for name in database.TABLES]
    monkeypatch.setattr(database, "_BATCH_RECORDS", 2)
    rebuild(experiment)
    assert [pq.read_table(experiment / f"store/{name}.parquet") for name in database.TABLES] == whole


def test_torn_and_damaged_lines_are_counted_and_not_used(experiment: Path) -> None:
    path = next((experiment / "journal").glob("*/*.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"round":1', b'"round":7')
    path.write_bytes(b"".join(lines) + b'{"v":1,"invocation')
    made = rebuild(experiment)
    assert (made.invocations, made.damaged) == (4, 2)


def test_the_database_is_made_again_only_when_the_journal_or_the_plan_changed(experiment: Path) -> None:
    ensure_database(experiment)
    first = (experiment / "store/cells.parquet").stat().st_ino
    ensure_database(experiment)
    write_plan(experiment, [G1, GZIP], 3)  # written again, unchanged
    ensure_database(experiment)
    assert (experiment / "store/cells.parquet").stat().st_ino == first
    write_journal(experiment, [record(G1, 9, [1.0])], segment=1)
    ensure_database(experiment)
    assert pq.read_metadata(experiment / "store/invocations.parquet").num_rows == 6
    write_plan(experiment, [G1], 3)
    ensure_database(experiment)
    assert pq.read_metadata(experiment / "store/cells.parquet").num_rows == 1


def test_the_database_can_be_deleted(experiment: Path) -> None:
    ensure_database(experiment)
    for path in (experiment / "store").iterdir():
        path.unlink()
    ensure_database(experiment)
    assert pq.read_metadata(experiment / "store/invocations.parquet").num_rows == 5


def test_a_damaged_or_missing_file_of_the_database_is_made_again(experiment: Path) -> None:
    ensure_database(experiment)
    (experiment / "store/iterations.parquet").write_bytes(b"PAR1 not really")
    (experiment / "store/regatta.duckdb").unlink()
    ensure_database(experiment)
    assert pq.read_metadata(experiment / "store/iterations.parquet").num_rows == 8
    assert (experiment / "store/regatta.duckdb").exists()


def test_a_record_of_foreign_types_is_damage_and_the_others_stay(experiment: Path) -> None:
    odd = record(G1, 8, [1.0])
    odd["elapsed_ns"] = "soon"
    write_journal(experiment, [record(G1, 7, [1.0]), odd], segment=1)
    made = rebuild(experiment)
    assert (made.invocations, made.damaged) == (6, 1)


def test_a_plan_that_is_none_is_named(experiment: Path) -> None:
    (experiment / "plan/alpha/plan.json").write_text("[]")
    with pytest.raises(StoreError, match=r"plan\.json"):
        rebuild(experiment)


def test_a_plan_of_any_size_is_refused_before_it_is_read(experiment: Path) -> None:
    (plan,) = experiment.glob("plan/*/plan.json")
    os.truncate(plan, 6 << 30)
    with pytest.raises(StoreError, match=r"plan\.json.*more than"):
        ensure_database(experiment)


def test_a_folder_that_cannot_be_written_is_an_error_that_says_so(experiment: Path) -> None:
    (experiment / "store").write_text("in the way")
    with pytest.raises(StoreError, match="a writable folder"):
        rebuild(experiment)


def test_a_kill_anywhere_leaves_whole_files(experiment: Path) -> None:
    write_journal(
        experiment, [record(G1, 100 + r, [float(i) for i in range(50)]) for r in range(400)], segment=1
    )
    rebuild(experiment)
    command = [sys.executable, "-c", "import sys, pathlib; from regatta.store.database import rebuild\n"
               "while True: rebuild(pathlib.Path(sys.argv[1]))", str(experiment)]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for delay in (0.0, 0.03, 0.06, 0.1, 0.15, 0.25):
        process = subprocess.Popen(command, env=environment)
        time.sleep(0.4 + delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for name in database.TABLES:
            assert isinstance(pq.read_table(experiment / f"store/{name}.parquet"), pa.Table)
        with duckdb.connect(str(experiment / "store/regatta.duckdb"), read_only=True) as connection:
            assert connection.execute("select count(*) from invocations").fetchone() == (405,)
    rebuild(experiment)
    assert not list((experiment / "store").glob("*.new"))


def test_a_kill_between_the_renames_is_seen_by_the_next_reader(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild(experiment)
    write_journal(experiment, [record(G1, 9, [1.0])], segment=1)
    renamed: list[Path] = []
    whole = database._put_in_place

    def killed(path: Path) -> None:
        if len(renamed) == 2:
            raise KeyboardInterrupt
        renamed.append(path)
        whole(path)

    monkeypatch.setattr(database, "_put_in_place", killed)
    with pytest.raises(KeyboardInterrupt):
        rebuild(experiment)
    monkeypatch.setattr(database, "_put_in_place", whole)
    with open_database(experiment) as connection:
        assert connection.execute("select count(*) from invocations").fetchone() == (6,)
    assert not list((experiment / "store").glob("*.new"))


def test_a_reader_keeps_its_generation_while_another_process_rebuilds(experiment: Path) -> None:
    with open_database(experiment) as connection:
        write_journal(experiment, [record(G1, 9, [1.0])], segment=1)
        script = "import sys, pathlib; from regatta.store.database import rebuild; rebuild(pathlib.Path(sys.argv[1]))"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", script, str(experiment)], env=environment, check=True)
        assert connection.execute("select count(*) from invocations").fetchone() == (5,)
        assert connection.execute("select count(*) from iterations").fetchone() == (8,)


def test_a_damaged_duckdb_file_is_made_again(experiment: Path) -> None:
    ensure_database(experiment)
    (experiment / "store/regatta.duckdb").write_bytes(b"no database" * 1000)
    with open_database(experiment) as connection:
        assert connection.execute("select count(*) from cells").fetchone() == (2,)
