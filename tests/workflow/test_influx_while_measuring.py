"""What is in InfluxDB while a segment is measured, and that no trouble with it holds measuring up or stops it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import HOST, SmallExperiment
from helpers.faulty_proxy import faulty_proxy
from helpers.influx_server import InfluxServer
from helpers.waiting import PATIENCE_S, wait_until
from regatta.host.measure.host_lock import HostLock
from regatta.store.receipts import sent_receipt

#: records after which the last round waits; the naps before it take longer than from one pause to the next
HELD_AT = 20


def held(small: SmallExperiment, hold: Path) -> None:
    """One segment that does not end for as long as `hold` is there."""
    small.spec.update(invocations={"fixed": 6}, segment={"rounds": 6})
    late = f'[ "$(cat {small.journal()} 2>/dev/null | wc -l)" -ge {HELD_AT} ]'
    small.suite["benchmarks"]["nap"]["command"] = [
        "sh", "-c", f"sleep 0.7; while [ -e {hold} ] && {late}; do sleep 0.05; done",
    ]  # fmt: skip
    small.write()
    hold.touch()


def wait_for_the_hold(small: SmallExperiment, process: subprocess.Popen[str]) -> None:
    """Wait until the last round waits."""
    small.wait_for_records(HELD_AT, process)
    assert process.poll() is None


def wait_for_what_is_sent(
    small: SmallExperiment, process: subprocess.Popen[str], sent: Callable[[], Any]
) -> Any:
    """Wait for something in the database. A runner that gave a pause up, which is right, sends nothing before its end."""
    wait_until(
        lambda: sent() or process.poll() is not None or small.gave_a_pause_up(), "what is sent", every_s=0.2
    )
    found = sent()
    if not found and small.gave_a_pause_up():
        pytest.skip("machine too busy: the runner gave a pause up")
    assert process.poll() is None
    return found


def test_events_and_records_are_in_influxdb_before_the_segment_ends(
    tmp_path: Path, influx_server: InfluxServer
) -> None:
    small = SmallExperiment(tmp_path)
    database, hold = influx_server.new_database(), small.hold
    settings = influx_server.write_settings(tmp_path / "settings", database, timeout_s=PATIENCE_S)
    small.environment["REGATTA_INFLUX"] = str(settings)
    small.be_patient()

    def kinds() -> set[str]:
        found = influx_server.query("SELECT count(text) FROM event GROUP BY kind", database)
        return {one["tags"]["kind"] for one in found}

    held(small, hold)
    process = small.start_run()
    try:
        wait_for_the_hold(small, process)
        assert wait_for_what_is_sent(small, process, lambda: {"segment_started", "progress"} <= kinds())
        count = "SELECT count(iteration_rows) FROM invocation"
        assert wait_for_what_is_sent(small, process, lambda: influx_server.query(count, database))
        assert not small.receipt(0).exists()
    finally:
        hold.unlink()
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    verified = small.regatta("ingest", "small", "--verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_run_that_waits_for_the_host_is_in_influxdb_while_it_waits(
    tmp_path: Path, influx_server: InfluxServer
) -> None:
    small = SmallExperiment(tmp_path)
    database = influx_server.new_database()
    settings = influx_server.write_settings(tmp_path / "settings", database, timeout_s=PATIENCE_S)
    small.environment["REGATTA_INFLUX"] = str(settings)
    small.be_patient()
    lock = HostLock(Path(small.environment["REGATTA_HOST_LOCK"]), {"experiment": "other"})

    def waiting() -> list[str]:
        found = influx_server.query("SELECT text FROM event WHERE kind = 'waiting'", database)
        return [str(row[one["columns"].index("text")]) for one in found for row in one["values"]]

    try:
        process = small.start_run()
        # The sender goes on even where the runner gives its pause up.
        (text,) = wait_for_what_is_sent(small, process, waiting)
        assert "other" in text
        assert small.lines() == 0
    finally:
        lock.release()
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    ended = influx_server.query("SELECT text FROM event WHERE kind = 'waiting_ended'", database)
    assert ended


def test_a_database_that_hangs_is_waited_for_once_in_a_segment(
    tmp_path: Path, influx_server: InfluxServer
) -> None:
    small = SmallExperiment(tmp_path)
    small.be_patient()
    database, hold = influx_server.new_database(), small.hold
    with faulty_proxy(influx_server.port, repeat("hang")) as proxy:
        settings = influx_server.write_settings(tmp_path / "settings", database, url=proxy.url, timeout_s=3)
        small.environment["REGATTA_INFLUX"] = str(settings)
        held(small, hold)
        process = small.start_run()
        try:
            wait_for_the_hold(small, process)
            wait_until(lambda: proxy.done["hang"] or process.poll() is not None, "a question")
            asked = proxy.done["hang"]
        finally:
            hold.unlink()
            _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        assert asked == 1
        small.assert_complete()
        assert "expected a reachable InfluxDB" in (small.folder.logs / f"live-{HOST}-00000.log").read_text()
        assert sent_receipt(small.folder, HOST).exists()
        # Waiting is no part of any invocation, and is told as the runner's own time.
        before_ns = [record["runner"]["before_ns"] for record in small.records()]
        assert before_ns[0] > 10**9
        proxy.plan = iter(())
        done = small.regatta("ingest", "small")
        assert done.returncode == 0, done.stderr
        verified = small.regatta("ingest", "small", "--verify")
        assert verified.returncode == 0, verified.stdout + verified.stderr
