"""Whatever happens to InfluxDB, to the network or to the command: afterwards the database holds the journal, no more and no less."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from helpers.faulty_proxy import FAULTS, LATE_S, faulty_proxy
from helpers.influx_ingests import (
    assert_all_there,
    database_values,
    ingest,
    journal_values,
    some_records,
    write_big_experiment,
)
from helpers.influx_server import InfluxServer, need_influxd, running
from helpers.waiting import PATIENCE_S, wait_until
from regatta.host.journal.record import encode_record
from regatta.influx.client import Client
from regatta.influx.following import follow
from regatta.influx.ingesting import Ingest
from regatta.influx.settings import read_settings
from regatta.store.events import append_event
from regatta.store.folder import Folder

KILLS = 50

#: Starts the command again and again without the second that importing takes, and lets the kernel kill each after processor
#: time of its own, which does not go on while another process has its turn. Where such a moment came before anything was
#: written, the next may come later, and earlier where it did not. Says whether it was still at work.
_KILLER = """
import os, random, signal, sys
from pathlib import Path
from regatta.cli.main import main

generator, latest_s = random.Random(7), 0.05
kills, folder = int(sys.argv.pop(1)), Path(sys.argv[2])
# Of a host that there is not it writes nothing, and everything is imported.
sys.argv += ["--host", "nobody"]
try:
    main()
except SystemExit as ended:
    assert ended.code == 3
del sys.argv[-2:]

def written():
    return [path.stat().st_mtime_ns for path in folder.glob("influx/*/*.json")]

for kill in range(kills):
    before = written()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        # Nobody handles this signal: it ends a process as SIGKILL does.
        signal.setitimer(signal.ITIMER_PROF, generator.uniform(0.001, latest_s))
        main()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    latest_s *= 1.25 if written() == before else 0.8
    print("killed" if os.WIFSIGNALED(status) else "ended", flush=True)
"""


def environment(settings: Path) -> dict[str, str]:
    return {**os.environ, "REGATTA_INFLUX": str(settings)}


def test_killed_fifty_times_it_loses_and_doubles_nothing(influx_server: InfluxServer, tmp_path: Path) -> None:
    database = influx_server.new_database()
    settings = influx_server.write_settings(tmp_path / "settings", database, batch_points=150)
    folder = write_big_experiment(tmp_path / "made-up", segments=4, records=60, iterations=150)
    killer = [sys.executable, "-c", _KILLER, str(KILLS), "ingest", str(folder), "--no-estimates"]
    done = subprocess.run(killer, env=environment(settings), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split().count("killed") >= KILLS - 5
    written = database_values(influx_server, database)
    assert 0 < len(written) < len(journal_values(folder)), "the kills came before or after the work"
    last = ingest(folder, settings)
    assert last.code == 0, last.err
    assert_all_there(influx_server, database, folder, settings)


def test_the_command_itself_goes_on_after_a_kill(influx_server: InfluxServer, tmp_path: Path) -> None:
    database = influx_server.new_database()
    folder = write_big_experiment(tmp_path / "made-up")
    command = [sys.executable, "-m", "regatta", "ingest", str(folder), "--no-estimates"]
    with faulty_proxy(influx_server.port, chain(repeat("pass", 20), repeat("hang"))) as proxy:
        settings = influx_server.write_settings(
            tmp_path / "settings", database, url=proxy.url, batch_points=20, timeout_s=PATIENCE_S
        )
        with subprocess.Popen(command, env=environment(settings), stdout=subprocess.DEVNULL) as process:
            wait_until(lambda: proxy.done["hang"] or process.poll() is not None, "an unanswered request")
            assert process.poll() is None
            process.kill()
        assert list(folder.glob("influx/*/alpha.json"))
        assert 0 < len(database_values(influx_server, database)) < len(journal_values(folder))
        proxy.plan = iter(())
        again = subprocess.run(
            command, env=environment(settings), capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert again.returncode == 0, again.stderr
        assert_all_there(influx_server, database, folder, settings)


def test_every_fault_of_network_and_server_is_outlived(influx_server: InfluxServer, tmp_path: Path) -> None:
    database = influx_server.new_database()
    generator = random.Random(3)
    plan = [fault for fault in FAULTS for _ in range(2)] + ["pass"] * 40
    generator.shuffle(plan)
    folder = write_big_experiment(tmp_path / "made-up")
    with faulty_proxy(influx_server.port, plan) as proxy:
        settings = influx_server.write_settings(
            tmp_path / "settings", database, url=proxy.url, batch_points=50, timeout_s=LATE_S - 1
        )
        done = ingest(folder, settings, "--patience-s", f"{PATIENCE_S:g}")
        assert done.code == 0, done.err
        assert {fault for fault in FAULTS if not proxy.done[fault]} == set()
        assert "trying again for" in done.err
        assert "reachable again" in done.err
    direct = influx_server.write_settings(tmp_path / "direct", database)
    assert_all_there(influx_server, database, folder, direct)


def test_patience_ends_with_exit_code_3_and_the_same_command_goes_on(
    influx_server: InfluxServer, tmp_path: Path
) -> None:
    database = influx_server.new_database()
    folder = write_big_experiment(tmp_path / "made-up")
    with faulty_proxy(influx_server.port, ["pass"] * 10 + ["503"] * 20) as proxy:
        settings = influx_server.write_settings(
            tmp_path / "settings", database, url=proxy.url, batch_points=50
        )
        stopped = ingest(folder, settings, "--patience-s", "0.5")
        assert stopped.code == 3
        assert f"{proxy.url}: expected a reachable InfluxDB" in stopped.err
        assert "got 503 made up 503" in stopped.err
        assert "stay in the journal" in stopped.err
        assert 0 < len(database_values(influx_server, database)) < len(journal_values(folder))
        proxy.plan = iter(())
        assert ingest(folder, settings).code == 0
        assert_all_there(influx_server, database, folder, settings)


def test_a_restart_of_influxd_in_the_middle_is_waited_for(
    own_influx_server: InfluxServer, tmp_path: Path
) -> None:
    server = own_influx_server

    def restart() -> Iterator[str]:
        yield from repeat("pass", 20)
        # As a loss of power would: what was acknowledged must be in its log.
        server.kill()
        yield "pass"
        server.start()

    folder = write_big_experiment(tmp_path / "made-up")
    with faulty_proxy(server.port, restart()) as proxy:
        settings = server.write_settings(
            tmp_path / "settings", "regatta", url=proxy.url, batch_points=20, timeout_s=PATIENCE_S
        )
        done = ingest(folder, settings, "--patience-s", f"{PATIENCE_S:g}")
        assert done.code == 0, done.err
        assert "trying again for" in done.err
        assert_all_there(server, "regatta", folder, settings)


@pytest.fixture
def disk_of_influxd(tmp_path: Path) -> Iterator[Path]:
    """A small file system for influxd."""
    path = tmp_path / "disk"
    path.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "regatta-test", str(path)], capture_output=True, text=True
    )
    if made.returncode != 0:
        pytest.skip(f"NOT TESTED: this machine does not let us mount: {made.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_full_disk_under_influxd_is_told_and_nothing_is_lost(disk_of_influxd: Path, tmp_path: Path) -> None:
    need_influxd()
    folder = write_big_experiment(tmp_path / "made-up")
    with running(InfluxServer(disk_of_influxd / "influxd")) as server:
        settings = server.write_settings(tmp_path / "settings", "regatta", batch_points=100)
        ballast = disk_of_influxd / "ballast"
        with ballast.open("wb") as file:
            while True:
                try:
                    file.write(bytes(1 << 16))
                    file.flush()
                except OSError:
                    break
        full = ingest(folder, settings, "--patience-s", "0.5")
        assert full.code == 3
        assert os.strerror(errno.ENOSPC).lower() in full.err
        ballast.unlink()
        server.restart()
        assert ingest(folder, settings).code == 0
        assert_all_there(server, "regatta", folder, settings)


def test_two_ingests_at_once_write_everything_once(influx_server: InfluxServer, tmp_path: Path) -> None:
    database = influx_server.new_database()
    settings = influx_server.write_settings(tmp_path / "settings", database, batch_points=50)
    folder = write_big_experiment(tmp_path / "made-up", iterations=60)
    command = [sys.executable, "-m", "regatta", "ingest", str(folder), "--no-estimates"]
    both = [
        subprocess.Popen(
            command, env=environment(settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in both:
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
    assert_all_there(influx_server, database, folder, settings)


def test_following_writes_what_is_measured_through_a_restart_until_the_end(
    own_influx_server: InfluxServer, tmp_path: Path
) -> None:
    server = own_influx_server
    settings = server.write_settings(tmp_path / "settings", "regatta")
    folder = write_big_experiment(tmp_path / "made-up", hosts=("alpha",), segments=1, records=5)
    append_event(folder, "experiment_started")
    work = Ingest(Folder(folder), Client(read_settings(settings), patience_s=float("inf")))
    thread = threading.Thread(target=follow, args=(work, threading.Event(), print, None, 0.02))
    thread.start()
    lines = [
        encode_record({**one, "sequence": 5 + number})
        for number, one in enumerate(some_records(random.Random(9), "alpha", 0, 40, 20))
    ]
    with (folder / "journal" / "alpha" / "0.jsonl").open("ab", buffering=0) as journal:
        for number, line in enumerate(lines):
            # In two pieces: a line that is being written is not there yet.
            journal.write(line[:100])
            time.sleep(0.005)
            journal.write(line[100:])
            if number == 15:
                server.kill()
            if number == 25:
                server.start()
    append_event(folder, "experiment_ended", text="complete")
    # A server that opens its shards again beside other work lets requests wait until they time out, 10 s each.
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert_all_there(server, "regatta", folder, settings)
    kinds = server.query("SELECT count(text) FROM event GROUP BY kind", "regatta")
    assert {one["tags"]["kind"] for one in kinds} == {"experiment_started", "experiment_ended"}


def test_ctrl_c_ends_following_when_all_is_written(influx_server: InfluxServer, tmp_path: Path) -> None:
    database = influx_server.new_database()
    settings = influx_server.write_settings(tmp_path / "settings", database)
    folder = write_big_experiment(tmp_path / "made-up")
    append_event(folder, "experiment_started")
    process = subprocess.Popen(
        [sys.executable, "-m", "regatta", "ingest", str(folder), "--follow"],
        env=environment(settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    values = len(journal_values(folder))
    wait_until(
        lambda: len(database_values(influx_server, database)) == values or process.poll() is not None,
        "all values", every_s=0.1,
    )  # fmt: skip
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert "of 120 records and 1 events" in out
    assert "Traceback" not in err
    assert_all_there(influx_server, database, folder, settings)
