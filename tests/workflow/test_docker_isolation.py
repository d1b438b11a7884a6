"""`isolation: docker`: real containers by a real engine, what is seen from inside, and that nothing is left behind."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess

import pytest
from contained import BASE, base_image, contained, containers_of, is_told
from runner_plans import HOST, Runner, cell, end, printed, wait_until, write_plan

SLEEPER = re.compile(r"^ *\d+ +sleep 300$", re.MULTILINE)


@pytest.fixture(scope="session")
def base(docker_engine):
    """Id of the base image."""
    return base_image()


@pytest.fixture
def runner(tmp_path, docker_engine):
    """A runner whose containers are all gone at the end."""
    made = Runner(tmp_path / "contained")
    yield made
    assert containers_of(docker_engine, made.results_file) == []
    made.assert_nothing_left()


def sh_inside(name, script, base, **other):
    return contained(name, ["/bin/sh", "-c", script], base, **other)


def test_a_program_runs_in_a_container_and_its_record_says_in_which_and_at_what_cost(runner, base):
    record = runner.one(contained("true", ["/usr/bin/true"], base))
    assert (record["status"], record["exit_code"], record["signal"]) == ("ok", 0, None)
    assert record["isolation"] | {"kind": "docker", "image": BASE, "image_id": base} == record["isolation"]
    assert is_told(record)
    assert 0 < record["elapsed_ns"] < record["isolation"]["start_ns"], "making it is not in the time"
    assert record["cgroup"]["cpu_ns"] > 0


def test_environment_directory_user_and_limits_inside_are_those_of_a_bare_process(runner, base):
    look = "/usr/bin/env | /usr/bin/sort; pwd; id -u; id -g; ulimit -n; ulimit -v; umask; readlink /proc/self/fd/0; ls -A; cat /proc/self/status"
    planned = [
        contained("in", ["/bin/sh", "-c", look], base, environment={"A": "1 'x\" $y", "HOSTNAME2": ""}),
        cell("out", ["/bin/sh", "-c", look], environment={"A": "1 'x\" $y", "HOSTNAME2": ""}),
    ]
    rlimits = {"address_space_mib": 4096, "open_files": 777, "processes": None, "core_mib": 0}
    inside, outside = (
        printed(r, "stdout").decode().splitlines() for r in runner.measure(*planned, rlimits=rlimits)
    )

    def told(lines):
        plain = [line for line in lines if not line.startswith("REGATTA_INVOCATION") and "\t" not in line]
        # Signals 32 and 33 are the C library's own: a bare process has them as whoever started the runner had.
        masks = [line.split() for line in lines if line.startswith(("SigIgn:", "SigBlk:"))]
        return plain, [(name, int(mask, 16) & 0x7FFFFFFF) for name, mask in masks]

    assert told(inside) == told(outside)
    assert "777" in inside
    assert str(4096 * 1024) in inside
    assert any(line.split() == ["CapEff:", "0" * 16] for line in inside), "no capabilities"
    assert any(line.split() == ["NoNewPrivs:", "1"] for line in inside)


def test_the_container_has_the_chosen_cpus_no_network_and_only_its_own_files(runner, base, tmp_path):
    (tmp_path / "given").write_text("shown")
    (tmp_path / "hidden").write_text("not shown")
    last = max(os.sched_getaffinity(0))
    script = (
        "grep Cpus_allowed_list /proc/self/status; ls /sys/class/net; "
        f"cat {tmp_path}/given; echo; echo x 2>/dev/null >>{tmp_path}/given || echo read-only; ls {tmp_path}; "
        'echo \'{"iteration": 0, "metric": "elapsed", "value": 5, "unit": "ns"}\' >"$REGATTA_RESULTS"; touch here'
    )
    planned = sh_inside(
        "look", script, base,
        files=[{"path": f"{tmp_path}/given", "sha256": hashlib.sha256(b"shown").hexdigest()}],
        adapter={"name": "regatta", "options": {}},
    )  # fmt: skip
    cores = {"use": "cpus", "cpus": [last], "housekeeping": 0, "count": None}
    record = runner.one(planned, cores=cores)
    assert record["status"] == "ok", record["reason"]
    assert record["iterations"][0][:3] == [0, "elapsed", 5]
    allowed, network, shown, kept, *listed = printed(record, "stdout").decode().splitlines()
    assert (allowed.split()[1], network, shown, kept) == (str(last), "lo", "shown", "read-only")
    assert record["cores"] == [last]
    assert "given" in listed
    assert "hidden" not in listed


def test_exit_codes_signals_and_missing_programs_are_told_as_of_a_bare_process(runner, base):
    planned = [
        sh_inside("three", "exit 3", base),
        sh_inside("segv", "kill -SEGV $$", base),
        sh_inside("term", "kill -TERM $$", base),
        contained("gone", ["/no/such/program"], base, isolation={"programs": []}),
    ]
    three, segv, term, gone = runner.measure(*planned)
    assert (three["status"], three["exit_code"]) == ("failed", 3)
    assert (segv["status"], segv["signal"]) == ("crashed", signal.SIGSEGV)
    assert (term["status"], term["signal"]) == ("crashed", signal.SIGTERM)
    assert (gone["status"], gone["exit_code"]) == ("failed", 127)
    assert "/no/such/program" in gone["reason"]


def test_what_needs_more_memory_than_the_container_has_is_oom(runner, base):
    eats = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}"
    little, enough = runner.measure(
        sh_inside("little", eats, base, isolation={"memory_mib": 32}),
        sh_inside("enough", "exit 0", base, isolation={"memory_mib": 32}),
    )
    assert (little["status"], enough["status"]) == ("oom", "ok"), little["reason"]
    assert little["cgroup"]["oom_kills"] > 0
    assert enough["cgroup"]["oom_kills"] == 0
    assert 0 < enough["cgroup"]["memory_peak_bytes"] < 32 << 20


def test_a_timeout_ends_the_program_its_children_and_the_container(runner, base):
    stubborn = "trap '' TERM; sleep 60 & sleep 60 & while :; do wait; done"
    plain, stubborn = runner.measure(
        sh_inside("plain", "exec sleep 60", base, timeout_s=0.3),
        sh_inside("stubborn", stubborn, base, timeout_s=0.3),
    )
    assert (plain["status"], plain["signal"]) == ("timeout", signal.SIGTERM)
    assert (stubborn["status"], stubborn["signal"]) == ("timeout", signal.SIGKILL)
    assert plain["elapsed_ns"] < 5e9


def test_a_daemon_that_outlives_the_program_is_counted_and_ends_with_the_container(runner, base):
    record = runner.one(sh_inside("daemon", "sleep 60 >/dev/null 2>&1 & exit 0", base))
    assert (record["status"], record["left_behind"]) == ("ok", 1)


def test_much_output_is_kept_at_both_ends_and_hashed_as_of_a_bare_process(runner, base):
    much = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo last >&2"
    inside, outside = runner.measure(sh_inside("in", much, base), cell("out", ["/bin/sh", "-c", much]))
    for stream in ("stdout", "stderr"):
        assert inside[stream] == outside[stream]


def test_the_containers_own_cpu_time_perturbs_nobody(runner, base):
    burns = "i=0; while [ $i -lt 700000 ]; do i=$((i+1)); done"
    write_plan(runner.folder, [sh_inside("burns", burns, base)])
    record = runner.one(sh_inside("burns", burns, base))
    busy_s = record["host_after"]["busy_s"] - record["host_before"]["busy_s"]
    own_s = record["cgroup"]["cpu_ns"] / 1e9
    assert own_s == pytest.approx(record["rusage"]["user_s"] + record["rusage"]["system_s"], abs=0.05)
    assert own_s > 0.2
    # What is left over is the rest of the machine's, not the program's: it cannot be more than all CPUs could give.
    assert busy_s - own_s < record["elapsed_ns"] / 1e9 * (os.cpu_count() or 1) - own_s + 0.1


def test_a_killed_runner_leaves_a_container_that_the_next_start_removes(runner, base, docker_engine):
    planned = [sh_inside("long", "echo there; exec sleep 300", base, timeout_s=600.0)]
    write_plan(runner.folder, planned)
    process = runner.start()
    wait_until(lambda: SLEEPER.search(commands(docker_engine, runner.results_file)), "the program", 30)
    end(process)
    assert containers_of(docker_engine, runner.results_file), "nobody else ends it"
    planned[0]["argv"] = ["/bin/sh", "-c", "exit 0"]
    write_plan(runner.folder, planned)
    done = runner.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert runner.receipt()["orphans_ended"] >= 1
    assert [record["status"] for record in runner.records()] == ["ok"]


def commands(engine, results_file):
    """What runs in the containers of a runner, as ps tells it; one may not run yet, or no more."""
    found = []
    for container in containers_of(engine, results_file):
        done = subprocess.run(
            [engine.docker, "top", container, "-o", "pid,args"], capture_output=True, text=True, check=False
        )
        found.append(done.stdout)
    return "\n".join(found)


def test_a_stop_signal_ends_the_container_and_leaves_no_record(runner, base, docker_engine):
    write_plan(runner.folder, [sh_inside("long", "exec sleep 300", base, timeout_s=600.0)])
    process = runner.start()
    wait_until(lambda: SLEEPER.search(commands(docker_engine, runner.results_file)), "the program", 30)
    process.terminate()
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert runner.records() == []


def test_an_image_that_changed_or_lacks_a_program_is_told_before_anything_is_measured(runner, base):
    other = contained("other", ["/usr/bin/true"], "sha256:" + "0" * 64)
    lacking = contained("lacking", ["/usr/bin/gcc"], base)
    missing = contained("missing", ["/usr/bin/true"], base, isolation={"image": "regatta-no-such-image"})
    for planned, words in (
        (other, "as planned"),
        (lacking, "/usr/bin/gcc in it · got none"),
        (missing, "an image on this host"),
    ):
        write_plan(runner.folder, [contained("fine", ["/usr/bin/true"], base), planned])
        done = runner.run()
        assert done.returncode == 3
        assert words in done.stderr
        assert runner.records() == []


def test_without_an_engine_the_error_says_where_and_how_to_mend_it(tmp_path, monkeypatch):
    runner = Runner(tmp_path / "contained")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    write_plan(runner.folder, [contained("true", ["/usr/bin/true"], "sha256:" + "0" * 64)])
    done = runner.run()
    assert done.returncode == 3
    assert (
        f"Docker at {tmp_path}/docker.sock: expected an engine that answers · got No such file" in done.stderr
    )
    assert "isolation: cgroup" in done.stderr
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    assert "on this machine" in runner.run().stderr
    assert not list((runner.folder.journal / HOST).glob("*.jsonl")) or runner.records() == []
