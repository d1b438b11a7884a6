"""Runs with a real InfluxDB that is there, refuses, dies and comes back: measured all the same, and in the end all counts agree."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import HOME, HOST, SmallExperiment
from helpers.influx_server import WRITER, InfluxServer
from helpers.waiting import PATIENCE_S, wait_until
from regatta.store.events import append_event, events_path, read_events
from regatta.store.folder import Folder, write_json
from regatta.store.receipts import sending_hindrance, sent_receipt, unsent, withdraw_unsent

LOUD = "InfluxDB is incomplete"


def agree(small: SmallExperiment) -> None:
    """Both sides have the same counts, series by series."""
    verified = small.regatta("ingest", "small", "--verify", "--json")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    counts = json.loads(verified.stdout)["verified"]
    assert counts["database"]["invocation"] == len(small.records())


def test_segments_are_sent_between_measurements_and_the_rest_in_the_end(
    tmp_path: Path, influx_server: InfluxServer
) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 3}, segment={"rounds": 2})
    settings = influx_server.write_settings(tmp_path, influx_server.new_database(), timeout_s=PATIENCE_S)
    small.environment["REGATTA_INFLUX"] = str(settings)
    small.be_patient()
    done = small.run()
    assert f"InfluxDB: {influx_server.url}" in done.stdout
    assert LOUD not in done.stderr
    assert len(small.segments()) > 1
    for number in small.segments():
        receipt = sent_receipt(small.folder, HOST, number)
        sent = json.loads(receipt.read_bytes())
        first = [r["started_utc_ns"] for r in small.records() if r["segment"] == number]
        assert (sent["records"], sent["waiting"], sent["reason"]) == (len(first), 0, None)
        later = [r["started_utc_ns"] for r in small.records() if r["segment"] > number]
        assert max(first) < receipt.stat().st_mtime_ns < min([*later, time.time_ns()])
    agree(small)
    kinds = [event.kind for event in read_events(events_path(small.folder.path))]
    assert kinds[-1] == "experiment_ended"

    before = events_path(small.folder.path).read_bytes(), sent_receipt(small.folder).stat().st_mtime_ns
    small.run()
    after = events_path(small.folder.path).read_bytes(), sent_receipt(small.folder).stat().st_mtime_ns
    assert after == before, "all is measured and sent: nothing is done"


def test_no_trouble_with_influxdb_stops_measuring_and_all_arrives_later(
    tmp_path: Path, own_influx_server: InfluxServer
) -> None:
    server = own_influx_server
    small = SmallExperiment(tmp_path, invocations={"fixed": 1}, segment={"rounds": 2})
    settings = server.write_settings(tmp_path / "settings", "regatta", timeout_s=PATIENCE_S)
    small.be_patient()
    small.environment["REGATTA_INFLUX"] = str(settings)

    server.kill()
    down = small.run()
    assert LOUD in down.stderr
    assert f"regatta ingest {small.folder.path.relative_to(tmp_path)}" in down.stderr
    small.assert_complete()

    server.start()
    password = settings.with_name(f"{WRITER}.password")
    right, wrong = password.read_text(), "no such secret"
    password.write_text(wrong)
    refused = small.run()
    assert LOUD in refused.stderr
    assert "write.password_file" in refused.stderr
    written = [path.read_text(errors="replace") for path in small.folder.path.rglob("*") if path.is_file()]
    for secret in (wrong, right.strip()):
        assert not any(secret in text for text in [refused.stderr, refused.stdout, *written])
    assert server.counts("regatta") == {}
    password.write_text(right)

    measured = len(small.records())
    hold, journal = tmp_path / "hold", small.folder.journal / HOST
    hold.touch()
    small.spec["invocations"] = {"fixed": 4}
    small.suite["benchmarks"]["nap"]["command"] = [
        "sh", "-c",
        f'while [ -e {hold} ] && [ "$(cat {journal}/[0-9]*.jsonl | wc -l)" -ge {measured + 3} ]; do sleep 0.02; done',
    ]  # fmt: skip
    small.write()
    process = small.start_run()
    wait_until(lambda: small.lines() >= measured + 3 or process.poll() is not None, "records")
    assert process.poll() is None
    server.kill()
    hold.unlink()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert LOUD in err
    verified = small.verify()
    assert (verified.returncode, verified.stderr) == (0, "")

    server.start()
    last = small.run()
    assert LOUD not in last.stderr
    assert "measuring" not in last.stderr
    agree(small)


def test_a_bare_snakemake_that_fails_tells_influxdb_so(tmp_path: Path, influx_server: InfluxServer) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 1}, segment={"rounds": 1})
    database = influx_server.new_database()
    settings = influx_server.write_settings(tmp_path / "settings", database, timeout_s=PATIENCE_S)
    small.environment["REGATTA_INFLUX"] = str(settings)
    small.be_patient()

    def snakemake(program: str) -> list[tuple[str, str]]:
        """What the database has of failures and ends then."""
        small.suite["benchmarks"] = {"bad": {"command": [program]}}
        small.write()
        done = subprocess.run(
            ["snakemake", "--snakefile", str(HOME / "Snakefile"), "--profile", str(HOME / "local"),
             "--config", "spec=spec.yml", "results=results"],
            cwd=tmp_path, env=small.environment, text=True, capture_output=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        asked = 'SELECT "kind", "text" FROM "event" WHERE "kind" =~ /failed|ended$/ AND "kind" != \'segment_ended\''
        found = influx_server.query(asked, database)
        return [(kind, text) for one in found for _, kind, text in one["values"]]

    not_built = snakemake("no such program")
    assert not_built[-1][0] == "experiment_ended"
    assert not_built[0][0] == "job_failed"
    assert not_built[-1][1] == f"failed: {not_built[0][1]}"
    assert "no such program" in not_built[0][1]
    assert not small.folder.journal.exists(), "it has come to no plan"

    failed = snakemake("false")[len(not_built) :]
    assert [kind for kind, _ in failed] == ["job_failed", "experiment_ended"]
    assert failed[-1][1].startswith("failed: verified: ")


def test_settings_that_are_wrong_are_told_before_anything_is_measured(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path)
    (tmp_path / "influx.yml").write_text("url: localhost:8086\n")
    small.environment["REGATTA_INFLUX"] = str(tmp_path / "influx.yml")
    done = small.regatta("run", "spec.yml")
    assert done.returncode == 2
    assert "influx.yml:1:url" in done.stderr
    assert not small.folder.path.exists()


def receipt(**changes: Any) -> dict[str, Any]:
    return {"identity": "here", "waiting": 0, "reason": None, "refused": 0, "refused_before": 0, **changes}


@pytest.mark.parametrize(
    ("changes", "told", "again"),
    [
        ({}, "", False),
        ({"waiting": 12, "reason": "no route"}, "no route", True),
        ({"waiting": 0, "reason": "no route"}, "no route", True),
        ({"waiting": 12}, "not sent yet", True),
        ({"waiting": None, "reason": "it broke off"}, "it broke off", True),
        ({"identity": "elsewhere"}, "", True),
        # Sending again would bring none of them.
        ({"refused": 2, "refused_before": 1, "refusal": "too long"}, "points rejected: 3 (too long)", False),
    ],
)
def test_what_waits_is_told_and_sent_again(
    tmp_path: Path, changes: dict[str, Any], told: str, again: bool
) -> None:
    folder = Folder(tmp_path)
    append_event(tmp_path, "experiment_started")
    assert unsent(folder) == "", "nothing was to be sent"
    write_json(sent_receipt(folder), receipt(**changes))
    reason = unsent(folder)
    assert bool(reason) == bool(told)
    # Some reasons are those of the receipt, unchanged.
    assert told in reason if told == "not sent yet" else reason == told
    withdraw_unsent(folder, "here")
    assert sent_receipt(folder).exists() != again


def test_what_happened_since_is_sent_and_a_receipt_that_is_none_is_taken_away(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    write_json(sent_receipt(folder), receipt())
    withdraw_unsent(folder, "here")
    assert sent_receipt(folder).exists(), "no events are no news"
    append_event(tmp_path, "experiment_ended")
    withdraw_unsent(folder, "here")
    assert not sent_receipt(folder).exists()
    sent_receipt(folder).write_text("{")
    assert "not readable" in unsent(folder)
    withdraw_unsent(folder, "here")
    assert not sent_receipt(folder).exists()


def test_where_what_was_sent_cannot_be_written_down_nothing_is_sent_and_all_is_measured(
    tmp_path: Path,
) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 1}, segment={"rounds": 1})
    (tmp_path / "influx.yml").write_text("url: http://127.0.0.1:1\n")
    small.environment["REGATTA_INFLUX"] = str(tmp_path / "influx.yml")
    small.folder.path.mkdir(parents=True)
    (small.folder.path / "influx").write_text("somebody put a file here")
    done = small.run()
    assert LOUD in done.stderr
    assert re.search(r"/influx .*not a folder", done.stderr)
    small.assert_complete()
    withdraw_unsent(small.folder, "here")
    assert "InfluxDB is disabled" in (small.folder.logs / "snakemake.log").read_text()


def test_receipts_that_cannot_be_written_stop_no_measurement(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 2}, segment={"rounds": 1})
    (tmp_path / "influx.yml").write_text("url: http://127.0.0.1:1\n")
    small.environment["REGATTA_INFLUX"] = str(tmp_path / "influx.yml")
    receipts = sent_receipt(small.folder, HOST).parent
    receipts.parent.mkdir(parents=True)
    # A folder that root may write and that still takes no file.
    receipts.symlink_to("/proc/self")
    done = small.regatta("run", "spec.yml")
    assert LOUD in done.stderr
    small.assert_complete()
    assert len(small.segments()) > 1


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_sent(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert sending_hindrance(folder) == ""
    (tmp_path / "influx").touch()
    assert sending_hindrance(folder) == f"{tmp_path / 'influx'} is not a folder"
    withdraw_unsent(folder, "here")
    (tmp_path / "influx").unlink()
    sent_receipt(folder).parent.mkdir(parents=True)
    assert sending_hindrance(folder) == ""
