"""A database that may be somebody else's, or half of one: it is made again from the journal before it is believed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.host.cache import cache_dir
from regatta.host.errors import HostError, StoreError
from regatta.store import database, seal
from regatta.store.database import ensure_database, open_database

G1 = cell("g1")
ROUNDS = 4


@pytest.fixture(autouse=True)
def _own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    made = write_experiment(
        tmp_path / "made-up", [G1], [record(G1, r, [100.0]) for r in range(ROUNDS)], ROUNDS
    )
    ensure_database(made)
    return made


def answer(experiment: Path) -> tuple[int, float]:
    with open_database(experiment) as connection:
        query = "select count(*), max(value) from last_attempts join iterations using (record)"
        rows, most = connection.execute(query).fetchall()[0]
    return rows, most


RIGHT = (ROUNDS, 100.0)


def alter(experiment: Path, *statements: str) -> None:
    """Change the database as one who may write it can."""
    with duckdb.connect(str(experiment / "store/regatta.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)


def seal_again(experiment: Path) -> None:
    """Count as current and as one's own, whatever the files hold: what is in them is looked at, too."""
    directory = experiment / "store"
    marks = json.loads((directory / seal.SEAL).read_bytes())["marks"]
    seal.seal(directory, database._FILES, marks)


def test_a_database_without_its_tables_is_made_again_though_it_counts_as_current(experiment: Path) -> None:
    path = experiment / "store/regatta.duckdb"
    path.unlink()
    duckdb.connect(str(path)).close()
    seal_again(experiment)
    assert answer(experiment) == RIGHT


@pytest.mark.parametrize(
    "planted",
    [
        "create view extra as select 1",
        "drop table cells; create view cells as select content as host from read_text('/etc/hostname')",
        "create macro json_extract(a, b) as 'x'",
        "create macro rows() as table select * from read_text('/etc/hostname')",
        "create table extra as select 1",
        "drop table damage",
    ],
)
def test_a_database_of_anything_but_its_tables_is_made_again(experiment: Path, planted: str) -> None:
    alter(experiment, planted)
    seal_again(experiment)
    assert answer(experiment) == RIGHT
    with open_database(experiment) as connection:
        assert connection.execute("select host from cells").fetchall() == [("alpha",)]


def test_forged_numbers_are_not_believed(experiment: Path) -> None:
    alter(experiment, "update iterations set value = 1e9")
    assert answer(experiment) == RIGHT


def test_a_forged_parquet_file_is_not_believed(experiment: Path) -> None:
    path = experiment / "store/iterations.parquet"
    pq.write_table(pq.read_table(path).slice(0, 1), path)
    assert answer(experiment) == RIGHT
    assert pq.read_metadata(path).num_rows == ROUNDS


def forged_log(experiment: Path, version: str) -> bytes:
    """The log of a change to a copy of the database, which DuckDB replays into a database that it lies beside."""
    forgery = experiment.with_name("forgery.duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"attach '{forgery}' as forgery (storage_version '{version}')")
        connection.execute(f"attach '{experiment}/store/regatta.duckdb' as ours (read_only)")
        connection.execute("copy from database ours to forgery")
        connection.execute("checkpoint forgery")
        connection.execute("update forgery.iterations set value = 1e9")
        log = forgery.with_name("forgery.duckdb.wal").read_bytes()
    assert log
    return log


#: of the old format a log belongs to every database with the same tables, of the new one to its own database
@pytest.mark.parametrize("version", ["v0.10.2", "latest"])
@pytest.mark.parametrize("end", ["wal", "wal.checkpoint", "wal.recovery"])
def test_a_log_beside_the_database_is_not_believed(experiment: Path, end: str, version: str) -> None:
    log = experiment / f"store/regatta.duckdb.{end}"
    log.write_bytes(forged_log(experiment, version))
    assert answer(experiment) == RIGHT
    assert not log.exists()


@pytest.mark.parametrize("version", ["v0.10.2", "latest"])
def test_a_log_that_waits_for_a_rebuild_is_not_believed(experiment: Path, version: str) -> None:
    log = experiment / "store/regatta.duckdb.wal"
    log.write_bytes(forged_log(experiment, version))
    database.rebuild(experiment)
    assert answer(experiment) == RIGHT
    assert not log.exists()


def test_a_rebuild_that_is_killed_while_another_waits_leaves_no_tables_of_two_generations(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = database._alone

    @contextmanager
    def killed_first(directory: Path) -> Iterator[None]:
        with alone(directory):
            path = directory / "iterations.parquet"
            other = path.with_name("other")
            pq.write_table(pq.read_table(path).slice(0, 1), other)
            other.replace(path)  # and no seal
            yield

    monkeypatch.setattr(database, "_alone", killed_first)
    (experiment / "vectors").mkdir()
    vector = "{kind: system, name: x, primitives: {a: {unit: byte, cost: 5}}}"
    (experiment / "vectors/x.yml").write_text(vector)
    assert answer(experiment) == RIGHT
    assert pq.read_metadata(experiment / "store/iterations.parquet").num_rows == ROUNDS


def test_a_folder_of_somebody_else_is_made_again_though_its_files_become_ours_as_we_unpack_it(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other:
        other.setenv("REGATTA_CACHE", str(tmp_path / "other"))
        alter(experiment, "update iterations set value = 1e9")
        seal_again(experiment)
        assert answer(experiment) == (ROUNDS, 1e9)
    unpacked = tmp_path / "unpacked"
    shutil.copytree(experiment, unpacked / "made-up")
    assert answer(unpacked / "made-up") == RIGHT
    assert answer(experiment) == RIGHT


def test_nothing_in_a_query_reads_another_file(experiment: Path) -> None:
    for query in (
        "select * from read_text('/etc/hostname')",
        "set enable_external_access = true",
        "load httpfs",
    ):
        with pytest.raises(StoreError), open_database(experiment) as connection:
            connection.execute(query)


def test_an_error_of_the_database_is_one_of_ours(experiment: Path) -> None:
    with pytest.raises(StoreError) as caught, open_database(experiment) as connection:
        connection.execute("select * from nothing")
    problem = caught.value.problems[0]
    assert problem.where == str(experiment / "store/regatta.duckdb")
    assert "`regatta store rebuild made-up`" in problem.fix


def test_a_link_under_the_name_of_a_new_file_is_not_written_through(experiment: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    shutil.rmtree(experiment / "store")
    (experiment / "store").mkdir()
    for name in ("iterations.parquet", "regatta.duckdb"):
        (experiment / f"store/{name}.new").symlink_to(precious)
    assert answer(experiment) == RIGHT
    assert precious.read_text() == "mine"


def test_a_database_folder_that_is_a_link_is_refused_and_nothing_changes_behind_it(
    experiment: Path, tmp_path: Path
) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    for name in ("thesis.new.tex", "cells.parquet", "regatta.duckdb.new"):
        (papers / name).write_text("mine")
    shutil.rmtree(experiment / "store")
    (experiment / "store").symlink_to(papers)
    for read in (answer, ensure_database, database.rebuild):
        with pytest.raises(StoreError) as caught:
            read(experiment)
        assert caught.value.problems[0].where == str(experiment / "store")
    assert {path.name: path.read_text() for path in papers.iterdir()} == {
        "thesis.new.tex": "mine", "cells.parquet": "mine", "regatta.duckdb.new": "mine",
    }  # fmt: skip


def test_a_rebuild_removes_no_file_of_another_name(experiment: Path) -> None:
    (experiment / "store/notes.new.txt").write_text("mine")
    database.rebuild(experiment)
    assert (experiment / "store/notes.new.txt").read_text() == "mine"


def test_the_key_is_its_users_alone(experiment: Path) -> None:
    key = cache_dir() / f"store-{os.geteuid()}.key"
    assert (key.stat().st_mode & 0o777, key.stat().st_size) == (0o600, 32)
    sealed = database.sealed_marks(experiment / "store", database._FILES)
    assert set(sealed) == {"tables", "vectors"}


@pytest.mark.parametrize("damage", [lambda key: key.chmod(0o644), lambda key: key.write_bytes(b"")])
def test_a_key_that_is_none_is_replaced_and_the_database_is_made_again_once(
    experiment: Path, damage: Callable[[Path], None]
) -> None:
    key = cache_dir() / f"store-{os.geteuid()}.key"
    damage(key)
    seal._key.cache_clear()
    assert database.sealed_marks(experiment / "store", database._FILES) == {}
    assert answer(experiment) == RIGHT
    assert (key.stat().st_mode & 0o777, key.stat().st_size) == (0o600, 32)
    seal._key.cache_clear()
    assert database.sealed_marks(experiment / "store", database._FILES)


def _without_home(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)  # no user has this number


def _in_a_cache_of_others(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    cache.mkdir(exist_ok=True)
    cache.chmod(0o777)
    monkeypatch.setenv("REGATTA_CACHE", str(cache))


def _in_a_loop(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    cache.symlink_to(cache)
    monkeypatch.setenv("REGATTA_CACHE", str(cache))


@pytest.mark.parametrize("spoil", [_without_home, _in_a_cache_of_others, _in_a_loop])
def test_answers_need_no_cache(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[pytest.MonkeyPatch, Path], None],
) -> None:  # fmt: skip
    monkeypatch.delenv("REGATTA_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    spoil(monkeypatch, tmp_path / "spoilt")
    with pytest.raises(HostError):
        cache_dir()
    assert answer(experiment) == RIGHT


def test_a_key_that_cannot_be_kept_lasts_as_long_as_the_process(
    experiment: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "file" / "cache"))
    assert answer(experiment) == RIGHT
    made = (experiment / "store/regatta.duckdb").stat().st_ino
    assert answer(experiment) == RIGHT
    assert (experiment / "store/regatta.duckdb").stat().st_ino == made


@pytest.fixture
def archive(experiment: Path, tmp_path: Path) -> Iterator[Path]:
    """The experiment without its database, where nothing can be written."""
    shutil.rmtree(experiment / "store")
    if os.geteuid() != 0:
        experiment.chmod(0o555)
        yield experiment
        experiment.chmod(0o755)
        return
    where = tmp_path / "archive"
    where.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    bound = (
        mount and umount and subprocess.run([mount, "--bind", str(experiment), str(where)]).returncode == 0
    )
    if not mount or not umount or not bound:
        pytest.skip("NOT TESTED: this machine does not let root mount a folder")
    try:
        subprocess.run([mount, "-o", "remount,ro,bind", str(where)], check=True)
        yield where
    finally:
        subprocess.run([umount, str(where)], check=True)


def test_results_that_cannot_be_written_are_read_from_a_database_elsewhere(archive: Path) -> None:
    assert answer(archive) == answer(archive) == RIGHT
    assert not (archive / "store").exists()
    made = ensure_database(archive)
    assert (made / "regatta.duckdb").stat().st_ino == (
        ensure_database(archive) / "regatta.duckdb"
    ).stat().st_ino


@pytest.fixture
def shared(experiment: Path) -> Iterator[Path]:
    """The experiment where everyone can go; pytest's own folders are for this user alone."""
    folder = Path(tempfile.mkdtemp(prefix="regatta-shared-"))
    folder.chmod(0o755)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o777)
    moved = folder / "made-up"
    shutil.copytree(experiment, moved)
    yield moved
    shutil.rmtree(folder)


def as_colleague(shared: Path, act: Callable[[], object]) -> str:
    """What an act gives that another user does, who has no HOME of their own."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: only root acts as another user")
    source, sink = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, none of which the child needs
        child = os.fork()
    if child == 0:
        try:
            signal.alarm(300)
            tempfile.tempdir = str(shared.parent / "tmp")  # for this child runs nothing at its exit
            os.setgroups([])
            os.setresgid(_COLLEAGUE, _COLLEAGUE, _COLLEAGUE)
            os.setresuid(_COLLEAGUE, _COLLEAGUE, _COLLEAGUE)
            seal._key.cache_clear()
            database._elsewhere.cache_clear()
            try:
                text = repr(act())
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
            os.write(sink, text.encode())
        finally:
            os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as file:
        text = file.read().decode()
    os.waitpid(child, 0)
    return text


_COLLEAGUE = 65_534


def _all_files(directory: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in sorted(directory.iterdir())}


def test_a_colleague_who_can_write_the_folder_reads_it_and_leaves_its_database_alone(shared: Path) -> None:
    assert answer(shared) == RIGHT
    for folder in (shared, shared / "store"):
        folder.chmod(0o777)
    before = _all_files(shared / "store")
    assert as_colleague(shared, lambda: answer(shared)) == repr(RIGHT)
    assert _all_files(shared / "store") == before
    assert answer(shared) == RIGHT
    assert _all_files(shared / "store") == before


def test_a_colleague_leaves_no_database_where_there_is_none(shared: Path) -> None:
    assert answer(shared) == RIGHT
    shutil.rmtree(shared / "store")
    shared.chmod(0o777)
    assert as_colleague(shared, lambda: answer(shared)) == repr(RIGHT)
    assert not (shared / "store").exists()


def test_a_lock_of_somebody_else_prevents_no_answer(shared: Path) -> None:
    assert answer(shared) == RIGHT
    if os.geteuid() == 0:
        for folder in (shared, shared / "store"):
            os.chown(folder, _COLLEAGUE, -1)
    assert as_colleague(shared, lambda: answer(shared)) == repr(RIGHT)


def test_a_cache_that_cannot_be_looked_at_prevents_no_answer(shared: Path) -> None:
    assert answer(shared) == RIGHT
    assert as_colleague(shared, cache_dir).startswith("HostError: ")
    assert as_colleague(shared, lambda: answer(shared)) == repr(RIGHT)


def test_a_link_under_the_name_of_the_lock_is_not_followed(experiment: Path, tmp_path: Path) -> None:
    lock = experiment / "store/.lock"
    lock.unlink()
    lock.symlink_to(tmp_path / "made")
    with pytest.raises(StoreError):
        database.rebuild(experiment)
    assert not (tmp_path / "made").exists()
