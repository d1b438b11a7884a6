"""`isolation: docker`: real containers by a real engine, what is seen from inside, and that nothing is left behind."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from helpers.contained import BASE, EngineDoor, base_image, contained, containers_of, is_told
from helpers.counting import skip_without_counters
from helpers.experiments.small_experiments import HOME, SmallExperiment
from helpers.runner_plans import Runner, cell, end, printed, write_plan
from helpers.waiting import PATIENCE_S, wait_until
from regatta.host.values.counters import INFO

CPU = max(os.sched_getaffinity(0))
RLIMITS = {"address_space_mib": 4096, "open_files": 777, "processes": None, "core_mib": 0}
ENVIRONMENT = {"A": "1 'x\" $y", "EMPTY": ""}
LOOK = (
    "/usr/bin/env | /usr/bin/sort; pwd; id -u; id -g; ulimit -n; ulimit -v; umask; readlink /proc/self/fd/0; "
    "ls -A; cat /proc/self/status"
)
MUCH = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo last >&2"
EATS = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}"
BURNS = "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"
STUBBORN = "trap '' TERM; echo deaf; sleep 600 & sleep 600 & while :; do wait; done"
SLEEPER = re.compile(r"^ *\d+ +sleep 300$", re.MULTILINE)


@pytest.fixture(scope="module")
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


def inside(name, script, base, **other):
    """A cell that runs a shell script in a container."""
    return contained(name, ["/bin/sh", "-c", script], base, **other)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the cell `look` is shown a part of."""
    path = tmp_path_factory.mktemp("shown")
    (path / "given").write_text("shown")
    (path / "hidden").write_text("not shown")
    return path


@pytest.fixture(scope="module")
def records(folder, base, docker_engine, tmp_path_factory):
    """Name of a cell -> its record, from one segment that measures them all on one CPU."""
    look = (
        "grep Cpus_allowed_list /proc/self/status; ls /sys/class/net; "
        f"cat {folder}/given; echo; echo x 2>/dev/null >>{folder}/given || echo read-only; ls {folder}; "
        'echo \'{"iteration": 0, "metric": "elapsed", "value": 5, "unit": "ns"}\' >"$REGATTA_RESULTS"; touch here'
    )
    given = {"path": f"{folder}/given", "sha256": hashlib.sha256(b"shown").hexdigest()}
    small = {"memory_mib": 32}
    cells = [
        contained("true", ["/usr/bin/true"], base),
        inside("same inside", LOOK, base, environment=ENVIRONMENT),
        cell("same outside", ["/bin/sh", "-c", LOOK], environment=ENVIRONMENT),
        inside("look", look, base, files=[given], adapter={"name": "regatta", "options": {}}),
        inside("three", "exit 3", base),
        inside("segv", "kill -SEGV $$", base),
        contained("gone", ["/no/such/program"], base, isolation={"programs": []}),
        inside("too much", EATS, base, isolation=small),
        inside("enough", "exit 0", base, isolation=small),
        inside("late", "exec sleep 600", base, timeout_s=2),
        # It must be deaf by then.
        inside("stubborn", STUBBORN, base, timeout_s=10),
        inside("daemon", "sleep 600 >/dev/null 2>&1 & exit 0", base),
        inside("much inside", MUCH, base),
        cell("much outside", ["/bin/sh", "-c", MUCH]),
        inside("burns", BURNS, base),
        inside("wrong", "exit 0", base, check=["/bin/sh", "-c", "test -e /.dockerenv && exit 9"]),
    ]
    runner = Runner(tmp_path_factory.mktemp("contained") / "contained")
    cores = {"use": "cpus", "cpus": [CPU], "housekeeping": 0, "count": None}
    write_plan(runner.folder, cells, cores=cores, rlimits=RLIMITS)
    done = runner.run(patience_s=500)
    assert (done.returncode, done.stderr) == (0, "")
    assert containers_of(docker_engine, runner.results_file) == []
    runner.assert_nothing_left()
    names = {each["cell_id"]: each["label"].split("/")[1].split(":")[0] for each in cells}
    return {names[record["cell_id"]]: record for record in runner.records()}


def test_a_record_says_in_which_image_it_was_made_and_what_that_cost_beside_the_program(records, base):
    record = records["true"]
    assert (record["status"], record["exit_code"], record["signal"]) == ("ok", 0, None)
    assert record["isolation"] | {"kind": "docker", "image": BASE, "image_id": base} == record["isolation"]
    assert is_told(record)
    assert 0 < record["elapsed_ns"] < record["isolation"]["start_ns"]
    assert record["cgroup"]["cpu_ns"] > 0
    assert records["same outside"]["isolation"]["kind"] in ("cgroup", "none")


def test_environment_directory_user_limits_and_signals_inside_are_those_of_a_bare_process(records):
    def told(record):
        lines = printed(record, "stdout").decode().splitlines()
        plain = [line for line in lines if not line.startswith("REGATTA_INVOCATION") and "\t" not in line]
        # Signals 32 and 33 are the C library's own: a bare process has them as whoever started the runner had.
        masks = [line.split() for line in lines if line.startswith(("SigIgn:", "SigBlk:"))]
        return [plain, [(name, int(mask, 16) & 0x7FFFFFFF) for name, mask in masks]], lines

    seen, lines = told(records["same inside"])
    assert seen == told(records["same outside"])[0]
    assert "777" in lines
    assert str(4096 * 1024) in lines
    assert any(line.split() == ["CapEff:", "0" * 16] for line in lines)
    assert any(line.split() == ["NoNewPrivs:", "1"] for line in lines)


def test_a_container_has_the_chosen_cpu_no_network_and_only_its_own_files_read_only(records, folder):
    record = records["look"]
    assert record["status"] == "ok", record["reason"]
    assert record["iterations"][0][:3] == [0, "elapsed", 5]
    allowed, network, shown, kept, *listed = printed(record, "stdout").decode().splitlines()
    assert (allowed.split()[1], network, shown, kept, listed) == (
        str(CPU),
        "lo",
        "shown",
        "read-only",
        ["given"],
    )
    assert record["cores"] == [CPU]
    assert (folder / "given").read_text() == "shown"


def test_exit_codes_signals_and_missing_programs_are_told_as_of_a_bare_process(records):
    three, segv, gone = (records[name] for name in ("three", "segv", "gone"))
    assert (three["status"], three["exit_code"]) == ("failed", 3)
    assert (segv["status"], segv["signal"]) == ("crashed", signal.SIGSEGV)
    assert (gone["status"], gone["exit_code"]) == ("failed", 127)
    assert "/no/such/program" in gone["reason"]
    assert records["wrong"]["reason"].startswith("wrong output: the check ")
    assert records["wrong"]["reason"].endswith(" exit code 9")


def test_what_needs_more_memory_than_the_container_has_is_oom(records):
    much, enough = records["too much"], records["enough"]
    assert (much["status"], enough["status"]) == ("oom", "ok"), much["reason"]
    assert much["cgroup"]["oom_kills"] > 0
    assert enough["cgroup"]["oom_kills"] == 0
    peak = enough["cgroup"]["memory_peak_bytes"]
    assert peak is None or 0 < peak < 32 << 20


def test_a_timeout_ends_the_program_and_its_children(records):
    late, stubborn = records["late"], records["stubborn"]
    assert (late["status"], late["signal"]) == ("timeout", signal.SIGTERM)
    assert printed(stubborn, "stdout") == b"deaf\n"
    assert (stubborn["status"], stubborn["signal"]) == ("timeout", signal.SIGKILL)


def test_a_daemon_that_outlives_the_program_is_counted_and_ends_with_the_container(records):
    assert (records["daemon"]["status"], records["daemon"]["left_behind"]) == ("ok", 1)


def test_much_output_is_kept_at_both_ends_as_of_a_bare_process(records):
    for stream in ("stdout", "stderr"):
        assert records["much inside"][stream] == records["much outside"][stream]


def test_cpu_time_of_a_container_is_its_own_and_not_that_of_others(records):
    record = records["burns"]
    own_s = record["cgroup"]["cpu_ns"] / 1e9
    assert own_s == pytest.approx(record["rusage"]["user_s"] + record["rusage"]["system_s"], rel=1e-6)
    # On one CPU it cannot have used more than the time that passed; the container's own start is in neither.
    assert 0.05 < own_s <= record["elapsed_ns"] / 1e9 + 0.01


def test_what_a_killed_runner_left_is_removed_at_the_next_start(runner, base, docker_engine):
    planned = [inside("long", "exec sleep 300", base, timeout_s=600.0)]
    write_plan(runner.folder, planned)
    process = runner.start()
    wait_until(lambda: SLEEPER.search(commands(docker_engine, runner.results_file)), "the program")
    end(process)
    assert containers_of(docker_engine, runner.results_file), "nobody else ends it"
    planned[0]["argv"] = ["/bin/sh", "-c", "exit 0"]
    write_plan(runner.folder, planned)
    done = runner.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert runner.receipt()["orphans_ended"] >= 1
    assert [record["status"] for record in runner.records()] == ["ok"]


def test_a_program_that_replaces_its_folders_by_links_takes_no_file_of_the_host(runner, base, tmp_path):
    others = tmp_path / "others"
    others.mkdir()
    for name in ("precious", "results.jsonl"):
        (others / name).write_text('{"iteration": 0, "metric": "elapsed", "value": 5, "unit": "ns"}\n')
    replace = f'cd "$HOME/.." && rmdir {{0}} && ln -s {others} {{0}}'
    regatta = {"adapter": {"name": "regatta", "options": {}}}
    planned = [
        inside("work", replace.format("work"), base, keep=["precious"]),
        inside("results", replace.format("results"), base, **regatta),
        inside("link", f'ln -s {others}/results.jsonl "$REGATTA_RESULTS"', base, **regatta),
        inside("pipe", 'mkfifo "$REGATTA_RESULTS"', base, **regatta),
        inside("seen", 'ls -A "$HOME/.."; ls -A "$HOME"', base),
        inside("own", "echo why > precious", base, keep=["precious"]),
    ]
    write_plan(runner.folder, planned)
    done = runner.run()
    assert (done.returncode, done.stderr) == (0, "")
    work, results, link, pipe, seen, own = runner.records()
    assert work["status"] == "failed", "what is mounted cannot be removed"
    assert work["kept"] == []
    for record in (results, link, pipe):
        assert (record["status"], record["iterations"]) == ("failed", [])
    assert printed(seen, "stdout").split() == [b"gate", b"results", b"work"]
    assert [kept["bytes"] for kept in own["kept"]] == [4]
    assert sorted(path.name for path in others.iterdir()) == ["precious", "results.jsonl"]


#: tries to write a file in every folder that is mounted, or that it knows of the host, and tells where it could
MARKS = """
for place in $(cut -d' ' -f5 /proc/self/mountinfo) {places}; do
  mkdir -p $place 2>/dev/null; echo x 2>/dev/null >$place/mark && echo $place
done; echo x >own
"""


def test_what_a_program_writes_outside_its_folder_is_not_on_the_host(runner, base, tmp_path):
    others = tmp_path / "others"
    others.mkdir()
    # Before the runner makes its folders.
    places = [
        others,
        HOME,
        runner.folder.path,
        runner.folder.journal,
        "/etc",
        "/tmp",
        "/root",
        "/var/tmp",
        "/dev/shm",
    ]
    script = MARKS.format(places=" ".join(map(str, places)))
    write_plan(runner.folder, [inside("marks", script, base, keep=["own"])])
    done = runner.run()
    assert (done.returncode, done.stderr) == (0, "")
    (record,) = runner.records()
    assert record["status"] == "ok", (record["reason"], printed(record, "stdout"), printed(record, "stderr"))
    assert "/tmp" in printed(record, "stdout").decode().split()
    assert not [place for place in places if (Path(place) / "mark").exists()]
    assert not list(tmp_path.rglob("mark"))
    assert [kept["bytes"] for kept in record["kept"]] == [2]


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
    write_plan(runner.folder, [inside("long", "exec sleep 300", base, timeout_s=600.0)])
    process = runner.start()
    wait_until(lambda: SLEEPER.search(commands(docker_engine, runner.results_file)), "the program")
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, said
    assert runner.records() == []


def test_an_engine_that_goes_in_the_middle_ends_the_runner_with_its_reason_and_no_record(
    runner, base, docker_engine, monkeypatch, tmp_path
):
    door = EngineDoor(tmp_path / "door")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{door.path}")
    planned = [inside("long", "exec sleep 300", base, timeout_s=600.0)]
    write_plan(runner.folder, planned)
    process = runner.start()
    shown = wait_until(lambda: SLEEPER.search(commands(docker_engine, runner.results_file)), "the program")
    door.shut()
    os.kill(int(shown[0].split()[0]), signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, runner.records()) == (3, [])
    assert f"Docker at {door.path}: expected a running engine" in said
    monkeypatch.delenv("DOCKER_HOST")
    planned[0]["argv"] = ["/bin/sh", "-c", "exit 0"]
    write_plan(runner.folder, planned)
    assert runner.run().returncode == 0
    assert [record["status"] for record in runner.records()] == ["ok"]


def test_an_image_that_changed_or_lacks_a_program_is_told_before_anything_is_measured(runner, base):
    for planned, words in (
        (contained("other", ["/usr/bin/true"], "sha256:" + "0" * 64), "as planned"),
        (contained("lacking", ["/usr/bin/gcc"], base), "image with /usr/bin/gcc · got"),
        (
            contained("missing", ["/usr/bin/true"], base, isolation={"image": "regatta-no-such-image"}),
            "image on this host",
        ),
    ):
        write_plan(runner.folder, [planned])
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
    assert f"Docker at {tmp_path}/docker.sock: " in done.stderr
    assert f"got {os.strerror(errno.ENOENT)}" in done.stderr
    assert "isolation: cgroup" in done.stderr
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    assert "expected a local socket" in runner.run().stderr
    assert runner.records() == []


@pytest.fixture
def experiment(tmp_path):
    """A C program that is built for it, and a Java benchmark in its smallest size, both in containers."""
    made = SmallExperiment(
        tmp_path,
        isolation={"kind": "docker", "memory_mib": 512},
        modifiers={},
        benchmarks=[
            {"suite": "tiny", "benchmark": "empty"},
            {"suite": "vm", "benchmark": "compress", "size": "s1"},
        ],
        runtimes=["temurin-21"],
        collectors=["serial"],
        heap={"sizes_mib": [64]},
        iterations={"method": "fixed", "count": 2, "warmup": 1},
        invocations={"fixed": 2},
        timeout_s=300,
    )
    # The Java benchmark is built once for all tests.
    del made.environment["REGATTA_CACHE"]
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    build = {"directory": ".", "command": ["gcc", "-o", "empty", "empty.c"], "outputs": {"empty": "empty"}}
    made.suite["builds"] = {"empty": {**build, "needs": ["gcc"]}}
    made.suite["benchmarks"] = {"empty": {"command": ["{empty.empty}"]}}
    made.write()
    return made


def test_a_spec_runs_in_containers_from_plan_to_verified_records(experiment, base, docker_engine):
    experiment.plan()
    done = experiment.regatta(*experiment.segment_arguments(0))
    assert done.returncode == 0, done.stderr
    experiment.assert_complete()
    records = experiment.records()
    assert len(records) == 4
    for record in records:
        assert (record["status"], record["isolation"]["image_id"]) == ("ok", base), record["reason"]
        assert is_told(record)
    assert {metric for r in records for _, metric, *_ in r["iterations"]} >= {"elapsed", "gc_count"}
    assert containers_of(docker_engine, experiment.results_file) == []


def test_an_image_that_is_not_there_is_told_when_planning(experiment, docker_engine):
    experiment.spec["isolation"] = {"kind": "docker", "image": "regatta-no-such-image"}
    experiment.write()
    done = experiment.regatta("plan", "spec.yml", "--write")
    assert done.returncode == 3
    assert "Docker image regatta-no-such-image: " in done.stderr
    assert "docker pull regatta-no-such-image" in done.stderr


def test_an_image_that_is_made_anew_makes_new_cells(experiment, base, docker_engine, request):
    name = f"regatta-made-{os.getpid()}:anew"
    request.addfinalizer(lambda: docker_engine.run("image", "rm", "--force", name))
    experiment.spec.update(
        isolation={"kind": "docker", "image": name}, benchmarks=[{"suite": "tiny", "benchmark": "all"}],
        runtimes=[], collectors=[],
    )  # fmt: skip
    del experiment.spec["heap"]
    experiment.write()
    cells = set()
    for _ in range(2):
        # Committing gives another id each time.
        container = docker_engine.run("create", BASE, "/bin/true").strip()
        docker_engine.run("commit", container, name)
        docker_engine.run("rm", container)
        experiment.plan()
        cells |= {cell["cell_id"] for cell in experiment.header()["cells"]}
    assert len(cells) == 2


def test_the_program_in_a_container_is_counted_with_its_iterations_and_the_shell_at_the_gate_is_not(
    runner, base
):
    """The same program has the same counts outside."""
    skip_without_counters()
    script = (
        'exec 3>"$REGATTA_COUNTERS.ask" 4<"$REGATTA_COUNTERS.answer"; echo begin 0 >&3; read -r x <&4; '
        "/usr/bin/true; /usr/bin/true; echo end 0 >&3; read -r x <&4"
    )
    asked = {"counters": {"names": ["page-faults", "task-clock"], "raw": {}}}
    within, without = runner.measure(
        inside("counted", script, base, **asked), cell("outside", ["/bin/sh", "-c", script], **asked)
    )
    counts = []
    for record in (within, without):
        assert record["status"] == "ok", record["reason"]
        assert record["info"][INFO] == {"missing": {}}
        counts.append({row[1]: row[2] for row in record["iterations"]})
    for metric in ("counter_page_faults", "counter_iteration_page_faults"):
        assert counts[0][metric] == pytest.approx(counts[1][metric], rel=0.2)
