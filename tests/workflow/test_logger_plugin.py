"""Snakemake's logger: what it writes down, what a person sees of it, and that nothing stops for its sake."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from logging import ERROR, INFO, LogRecord
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from helpers.experiments.small_experiments import HOME, HOST, SmallExperiment, read_terminal
from helpers.waiting import PATIENCE_S
from regatta.host.journal.record_shape import STATUSES
from regatta.store.events import Event, append_event, events_path, read_events
from snakemake_logger_plugin_regatta import LogHandler

EXPERIMENT = "ex 1"


def handler(**settings: Any) -> LogHandler:
    """The handler as Snakemake makes it."""
    usual = {"quiet": None, "dryrun": False, "verbose": False, "debug_dag": False, "nocolor": False}
    return LogHandler(SimpleNamespace(**{**usual, **settings}), None)


def said(event: LogEvent | None, text: str = "", level: int = INFO, **fields: Any) -> LogRecord:
    record = LogRecord("snakemake", level, "", 0, text, (), None)
    if event is not None:
        record.event = event
    record.__dict__.update(fields)
    return record


class Workflow:
    """Says to a handler what Snakemake would say of the jobs of one experiment."""

    def __init__(self, results: Path, handler: LogHandler) -> None:
        self.folder = results / EXPERIMENT
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        self.handler = handler
        self.jobs = 0

    def begin(self, rule: str, **wildcards: str) -> int:
        """A job begins; returns its number."""
        self.jobs += 1
        self.handler.handle(
            said(
                LogEvent.JOB_INFO, rule_name=rule, jobid=self.jobs, log=[str(self.log(rule))],
                wildcards={"experiment": EXPERIMENT, **wildcards},
            )
        )  # fmt: skip
        return self.jobs

    def log(self, rule: str) -> Path:
        return self.folder / "logs" / f"{rule}.log"

    def end(self, job: int) -> None:
        self.handler.handle(said(LogEvent.JOB_FINISHED, job_id=job))

    def fail(self, job: int, rule: str, last_words: str) -> None:
        self.log(rule).write_text(f"much\n{last_words}\n")
        self.handler.handle(said(LogEvent.JOB_ERROR, level=ERROR, jobid=job, log=[str(self.log(rule))]))

    def events(self) -> list[Event]:
        return list(read_events(events_path(self.folder)))

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events()]


def test_snakemake_finds_the_logger_where_regatta_is_installed() -> None:
    assert LoggerPluginRegistry().get_plugin("regatta").log_handler is LogHandler


def test_a_segment_s_event_says_what_its_receipt_counts_and_how_long_the_rest_may_take(
    tmp_path: Path,
) -> None:
    flow = Workflow(tmp_path, handler())
    plan = flow.folder / "plan" / "a"
    plan.mkdir(parents=True)
    cells = [{"cell_id": name, "benchmark": "s/b:x"} for name in ("a", "b")]
    header = {"rounds": 10, "discarded_rounds": 0, "segments": [[0, 20]], "cells": cells, "stopping": None}
    (plan / "plan.json").write_text(json.dumps(header))
    job = flow.begin("measure", host="a", segment="00000")
    receipt = flow.folder / "receipts" / "a" / "00000.json"
    receipt.parent.mkdir(parents=True)
    counts = dict.fromkeys(STATUSES, 1)
    receipt.write_text(json.dumps({"planned": 7, "measured_now": 7, "statuses": counts}))
    flow.end(job)
    flow.handler.close()
    started, first, ended, progress, last = flow.events()
    assert [started.kind, last.kind] == ["experiment_started", "experiment_ended"]
    assert (first.kind, first.host, first.fields) == ("segment_started", "a", {"segment": 0})
    # An `oom` is a result, and what was skipped did not run.
    counted = {"recorded": 7, "failed": len(["failed", "timeout", "crashed"]), "perturbed": 1}
    assert (ended.kind, ended.host) == ("segment_ended", "a")
    assert ended.fields == {"segment": 0, "planned": 7, **counted}
    remaining_s = progress.fields.pop("remaining_s")
    assert (progress.kind, progress.fields) == ("progress", {"planned": 20, **counted})
    assert remaining_s > 0


def test_what_failed_is_told_by_its_last_words_and_ends_the_experiment(tmp_path: Path) -> None:
    flow = Workflow(tmp_path, handler())
    job = flow.begin("prepare")
    flow.fail(job, "build", "error: no compiler")
    flow.handler.close()
    assert flow.kinds() == ["experiment_started", "job_failed", "experiment_ended"]
    assert flow.events()[1].fields == {"text": "build: error: no compiler", "log": "build.log"}
    assert flow.events()[2].fields["text"] == f"failed: {flow.events()[1].fields['text']}"


def test_a_workflow_that_ends_amid_a_job_was_stopped_and_one_of_two_experiments_only_where_it_was(
    tmp_path: Path,
) -> None:
    one = handler()
    first, second = Workflow(tmp_path / "1", one), Workflow(tmp_path / "2", one)
    second.jobs = 100
    first.end(first.begin("finish"))
    second.begin("prepare")
    one.close()
    assert first.events()[-1].fields == {"text": "complete"}
    assert second.events()[-1].fields == {"text": "stopped"}


def test_a_job_that_ctrl_c_ends_has_not_failed(tmp_path: Path) -> None:
    flow = Workflow(tmp_path, handler())
    job = flow.begin("prepare")
    flow.handler.handle(
        said(None, "Terminating processes on user request, this might take some time.", ERROR)
    )
    flow.fail(job, "build", "stopped")
    flow.handler.close()
    assert flow.kinds() == ["experiment_started", "experiment_ended"]
    assert flow.events()[-1].fields == {"text": "stopped"}


def test_an_experiment_has_ended_before_its_events_are_sent_and_sending_alone_is_no_beginning(
    tmp_path: Path,
) -> None:
    flow = Workflow(tmp_path, handler())
    flow.end(flow.begin("finish"))
    (flow.folder / "verify.json").write_text(json.dumps({"holds": True}))
    flow.begin("ingest_influx")
    assert flow.kinds() == ["experiment_started", "stage", "experiment_ended"]
    flow.end(flow.jobs)
    flow.begin("verified")
    flow.end(flow.jobs)
    flow.handler.close()
    assert len(flow.kinds()) == 3
    again = Workflow(tmp_path, handler())
    again.end(again.begin("ingest_influx"))
    again.handler.close()
    assert again.kinds()[3:] == ["stage"]


def test_an_experiment_of_which_something_failed_is_never_complete(tmp_path: Path) -> None:
    flow = Workflow(tmp_path, handler())
    flow.end(flow.begin("finish"))
    (flow.folder / "verify.json").write_text(json.dumps({"holds": False}))
    flow.end(flow.begin("ingest_influx"))
    flow.fail(flow.begin("verified"), "verified", "2 failed")
    flow.handler.close()
    assert flow.kinds() == ["experiment_started", "stage", "job_failed", "experiment_ended"]
    assert flow.events()[-1].fields["text"] == "failed: verified: 2 failed"


def test_a_job_of_several_steps_failed_in_the_one_with_the_last_log(tmp_path: Path) -> None:
    flow = Workflow(tmp_path, handler())
    job = flow.begin("finish")
    for step in ("verify", "ingest"):
        flow.log(step).write_text(f"{step}: all is well\n")
    flow.log("analyse").write_text("much\nerror: no plan\n")
    logs = [str(flow.log(step)) for step in ("verify", "ingest", "analyse", "report")]
    flow.handler.handle(said(LogEvent.JOB_ERROR, level=ERROR, jobid=job, log=logs))
    flow.handler.close()
    assert flow.kinds() == ["experiment_started", "job_failed", "experiment_ended"]
    assert flow.events()[1].fields == {"text": "analyse: error: no plan", "log": "analyse.log"}


def test_jobs_of_no_experiment_are_not_written_down(tmp_path: Path) -> None:
    flow = Workflow(tmp_path, handler())
    flow.handler.handle(said(LogEvent.JOB_INFO, rule_name="all", jobid=9, log=[], wildcards={}))
    flow.handler.handle(said(LogEvent.JOB_FINISHED, job_id=9))
    flow.handler.handle(said(LogEvent.JOB_ERROR, level=ERROR, jobid=9, log=[]))
    other = str(tmp_path / "elsewhere" / "logs" / "x.log")
    flow.handler.handle(
        said(LogEvent.JOB_INFO, rule_name="x", jobid=10, log=[other], wildcards={"experiment": EXPERIMENT})
    )
    flow.handler.close()
    assert list(tmp_path.rglob("events.jsonl")) == []


@pytest.mark.parametrize("settings", [{"dryrun": True}, {"dryrun": True, "quiet": {Quietness.ALL}}])
def test_a_dry_run_is_no_event_and_is_shown_as_ever(tmp_path: Path, settings: dict[str, Any]) -> None:
    flow = Workflow(tmp_path, handler(**settings))
    flow.end(flow.begin("prepare"))
    flow.handler.close()
    assert flow.events() == []
    assert not flow.handler.writes_to_stream


def test_events_that_cannot_be_written_are_given_up_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = Workflow(tmp_path, handler())
    events_path(flow.folder).mkdir()
    for rule in ("prepare", "finish", "ingest_influx"):
        flow.end(flow.begin(rule))
    flow.handler.close()
    err = capsys.readouterr().err
    assert err.count("the workflow continues") == 1
    assert "events.jsonl" in err


def test_errors_are_shown_even_with_quiet_all(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = handler(quiet={Quietness.ALL})
    assert quiet.writes_to_stream, "Snakemake's own handler would hide them"
    quiet.handle(said(None, "Building DAG of jobs..."))
    quiet.handle(said(LogEvent.RUN_INFO, "Job stats"))
    quiet.handle(said(LogEvent.ERROR, "no such rule", ERROR))
    quiet.close()
    assert capsys.readouterr().err == "no such rule\n"


def bare_snakemake(small: SmallExperiment) -> list[str]:
    return ["snakemake", "--snakefile", str(HOME / "Snakefile"), "--profile", str(HOME / "local"), "--directory", str(small.root),
            "--config", "spec=spec.yml", "results=results"]  # fmt: skip


def test_who_starts_snakemake_on_a_terminal_sees_the_bar_and_what_failed(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 1}, segment={"rounds": 1})
    bad = f"while [ -e {small.hold} ]; do sleep 0.02; done; exit 3"
    small.suite["benchmarks"] = {"bad": {"command": ["sh", "-c", bad]}}
    small.write()
    small.hold.touch()
    own, theirs = pty.openpty()
    process = subprocess.Popen(
        bare_snakemake(small), cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        env={**small.environment, "TERM": "xterm", "COLUMNS": "200", "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(theirs)
    # The bar counts invocations.
    parts = (b"/4", b"tiny/bad:default")
    seen = read_terminal(own, lambda seen: all(part in seen for part in parts), small.hold.unlink)
    assert process.wait(timeout=PATIENCE_S) == 1
    assert [part for part in parts if part not in seen] == []
    text = seen.decode()
    assert "Error in rule verified" in text
    assert "2 failed (exit code 3)" in text, "the failed job's own words"
    assert "localrule" not in text
    kinds = [event.kind for event in read_events(events_path(small.folder.path))]
    assert kinds[0] == "experiment_started"
    assert kinds[-2:] == ["job_failed", "experiment_ended"]
    assert kinds.count("segment_started") == kinds.count("segment_ended") == len(small.segments())


def test_nothing_of_one_experiment_runs_beside_a_measurement_of_another(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 1}, segment={"rounds": 1})
    small.suite["benchmarks"] = {"nap": {"command": ["sleep", "1"]}}
    small.write()
    (tmp_path / "other.yml").write_text(json.dumps({**small.spec, "name": "other"}))
    command = bare_snakemake(small)
    command[command.index("spec=spec.yml")] = "experiments=[spec.yml,other.yml]"
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=small.environment,
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [
        event
        for name in ("small", "other")
        for event in read_events(events_path(tmp_path / "results" / name))
    ]
    measuring, measured = 0, 0
    for event in sorted(told, key=lambda event: event.utc_ns):
        if event.kind == "segment_ended":
            measuring -= 1
        elif event.kind in ("stage", "segment_started"):
            assert measuring == 0, f"{event.fields} beside a measurement"
            measured += event.kind == "segment_started"
            measuring += event.kind == "segment_started"
    assert measured == 2 * len(small.segments())


def test_events_that_nobody_can_write_stop_no_measurement(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 1}, segment={"rounds": 2})
    events_path(small.folder.path).mkdir(parents=True)
    target = str(small.receipt(0).relative_to(tmp_path))
    done = subprocess.run(
        [*bare_snakemake(small), "--", target], cwd=tmp_path, env=small.environment,
        text=True, capture_output=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the workflow continues" in done.stderr
    assert "Finished jobid" in done.stderr, "Snakemake's own text, where there is no terminal"
    small.assert_complete()


def test_a_host_whose_run_is_stopped_waits_no_longer(tmp_path: Path) -> None:
    from regatta.cli.workflow import WorkflowEvents, _tell_end
    from regatta.store.folder import Folder

    heard = WorkflowEvents(Folder(tmp_path))
    append_event(tmp_path, "experiment_started")
    for host in ("alpha", "beta"):
        append_event(tmp_path, "waiting", host, text="another run")
    append_event(tmp_path, "waiting_ended", "alpha")
    _tell_end(Folder(tmp_path), heard, "stopped")
    _tell_end(Folder(tmp_path), heard, "stopped")
    last = list(read_events(events_path(tmp_path)))[4:]
    assert [(e.kind, e.host) for e in last] == [("waiting_ended", "beta"), ("experiment_ended", "none")]


def test_a_run_that_its_logger_could_not_end_is_ended_by_who_watched_it(tmp_path: Path) -> None:
    from regatta.cli.workflow import WorkflowEvents, _tell_end
    from regatta.store.folder import Folder

    folder = Folder(tmp_path)
    append_event(tmp_path, "experiment_started")
    before = WorkflowEvents(folder)
    _tell_end(folder, before, "stopped")
    assert [e.kind for e in read_events(events_path(tmp_path))] == ["experiment_started"], "not of this run"
    append_event(tmp_path, "experiment_started")
    append_event(tmp_path, "segment_started", HOST, segment=0)
    _tell_end(folder, before, "stopped")
    _tell_end(folder, before, "stopped")
    last = list(read_events(events_path(tmp_path)))[3:]
    assert [(e.kind, e.fields) for e in last] == [("experiment_ended", {"text": "stopped"})]


def test_what_is_shown_of_a_failed_run_is_the_log_of_what_failed(tmp_path: Path) -> None:
    from regatta.cli.workflow import WorkflowEvents, _raise_for
    from regatta.host.errors import HostError
    from regatta.store.folder import Folder

    folder = Folder(tmp_path)
    folder.logs.mkdir()
    (folder.logs / "snakemake.log").write_text("much\n")
    (folder.logs / "report.log").write_text("it broke here\n")
    (folder.logs / "ingest.log").write_text("all is well\n")
    newest = folder.logs / "ingest.log"
    os.utime(newest, (newest.stat().st_mtime + 10,) * 2)
    heard = WorkflowEvents(folder)
    append_event(tmp_path, "job_failed", text="report: it broke here", log="../logs/report.log")
    assert list(heard.stages()) == []
    with pytest.raises(HostError, match="it broke here"):
        _raise_for(folder.logs / "errors.jsonl", folder, heard.failed_log, 0)
    with pytest.raises(HostError, match="all is well"):
        _raise_for(folder.logs / "errors.jsonl", folder, "", 0)
