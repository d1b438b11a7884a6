"""Hosts as nodes of a real Slurm: the five verbs, and every way in which an allocation can come to an end."""

import concurrent.futures
import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types

import pytest

from regatta.fleet.remote import slurm, slurm_queue
from regatta.fleet.remote.base import Unreachable
from regatta.fleet.remote.slurm import SlurmRemote, job_name
from regatta.host.errors import HostError
from regatta.host.values.host import Host, SlurmPlace

WAIT_S = 300
#: tells where it is and that it runs, and ends in order when it is told to
TELLS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
print(os.environ["SLURMD_NODENAME"], flush=True)
open(sys.argv[1], "w").close()
time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def cluster(slurm_cluster, monkeypatch):
    """An empty cluster that the commands of this test find."""
    slurm_cluster.cancel_all()
    for name, value in slurm_cluster.environment.items():
        monkeypatch.setenv(name, value)
    yield slurm_cluster
    slurm_cluster.cancel_all()


@pytest.fixture
def remote_of(cluster, tmp_path):
    """Makes the way to a host of the inventory."""

    def make(name="one", **asked):
        place = SlurmPlace(**(asked or {"node": "nodeA"}))
        return SlurmRemote(Host(name, "x86", slurm=place, python=sys.executable, root=str(tmp_path / "root")))

    return make


def waiting(tmp_path, seconds=600):
    """A command that runs long, and the file that it makes when it runs."""
    return [sys.executable, "-c", TELLS, str(tmp_path / "runs"), str(seconds)]


def wait_for(condition):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def finish(process):
    """What a command printed, told, and how it ended."""
    out, told = process.communicate(timeout=WAIT_S)
    return out.decode(), told.decode()


# ---- the verbs -------------------------------------------------------------------------------------------------------


def test_a_command_runs_on_the_named_node_with_its_input_and_its_exit_code(remote_of):
    for name, node in (("one", "nodeA"), ("two", "nodeB")):
        answer = remote_of(name, node=node).run(
            ["sh", "-c", 'cat; echo "$SLURMD_NODENAME"; echo "$0" >&2; exit 3', "a  'word' $(false)"],
            b"input\n",
        )
        assert (answer.returncode, answer.stdout.decode()) == (3, f"input\n{node}\n")
        assert answer.last_line() == "a  'word' $(false)"


def test_bytes_pass_unchanged_both_ways(remote_of, tmp_path):
    data = os.urandom(3 << 20)
    (tmp_path / "data").write_bytes(data)
    remote = remote_of()
    for given in (data, tmp_path / "data"):
        assert hashlib.sha256(remote.run(["cat"], given).stdout).digest() == hashlib.sha256(data).digest()
    assert remote.run(["true"], data).returncode == 0


def test_a_feature_gives_a_node_that_has_it_and_that_node_is_kept(remote_of, cluster):
    remote = remote_of(constraint="x86big", partition="bench")
    assert remote.node() == "nodeB"
    assert remote.run(["printenv", "SLURMD_NODENAME"]).stdout == b"nodeB\n"
    before = cluster.run("squeue", "--states=all", "--noheader", "--format=%i")
    assert remote_of(constraint="x86big", partition="bench").node() == "nodeB"
    assert cluster.run("squeue", "--states=all", "--noheader", "--format=%i") == before


def test_hosts_that_ask_for_any_node_get_different_ones(remote_of):
    found = {remote_of(name, partition="bench").node() for name in ("one", "two")}
    assert found == {"nodeA", "nodeB"}


def test_what_a_node_gets_of_the_controllers_environment_is_chosen(remote_of, monkeypatch):
    monkeypatch.setenv("INFLUX_TOKEN", "secret")
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    told = remote_of().run(["env"]).stdout.decode()
    assert "secret" not in told
    assert "4711" not in told
    names = {line.partition("=")[0] for line in told.splitlines()}
    assert {name for name in names if not name.startswith("SLURM")} <= {
        *slurm_queue.PASSED_ON,
        "TMPDIR",
        "TZ",
    }
    assert os.path.dirname(sys.executable) not in told


def test_files_are_put_whole_and_got_back(remote_of, tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    remote = remote_of()
    target = str(tmp_path / "root" / "new" / "file")
    remote.put(tmp_path / "file", target)
    assert remote.run(["cat", target]).stdout == b"content"
    remote.get(target, tmp_path / "back", 100)
    assert (tmp_path / "back").read_bytes() == b"content"


def test_a_streams_lines_come_while_it_runs_and_its_node_is_its_own(remote_of, cluster, tmp_path):
    remote = remote_of()
    process = remote.open(
        [sys.executable, "-c", "import sys, time; print(1, flush=True); sys.stdin.read(); time.sleep(600)"]
    )
    assert process.stdout.readline() == b"1\n"
    assert cluster.state("nodeA") == "allocated"
    assert cluster.state("nodeB") == "idle"
    remote.stop()
    finish(process)
    cluster.wait_until("nodeA", ["idle"])


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"node": "nodeZ"}, "node nodeZ: .* no such"),
        ({"constraint": "arm"}, "got Invalid feature specification"),
        ({"partition": "night"}, "invalid partition specified: night"),
    ],
)
def test_a_node_that_slurm_does_not_have_is_an_error_that_says_so(remote_of, asked, text):
    with pytest.raises(HostError, match=text) as caught:
        remote_of(**asked).run(["true"])
    assert "regatta_slurm_" in str(caught.value)


def test_a_drained_node_is_named_with_its_reason_and_waited_for_by_a_segment(remote_of, cluster, monkeypatch):
    remote = remote_of()
    remote.node()
    cluster.run("scontrol", "update", "NodeName=nodeA", "State=DRAIN", "Reason=disk is full")
    with pytest.raises(HostError, match=r"one \(node nodeA\): ") as caught:
        remote.run(["true"])
    (problem,) = caught.value.problems
    assert re.match(r"drain(ed|ing) \(disk is full\)", problem.got)
    assert "NodeName=nodeA State=RESUME" in problem.fix
    resume = threading.Timer(1.5, cluster.run, ["scontrol", "update", "NodeName=nodeA", "State=RESUME"])
    resume.start()
    process = remote.open(["printenv", "SLURMD_NODENAME"])
    assert finish(process)[0] == "nodeA\n"
    assert remote.ending(process).end == "done"
    resume.join()


def test_a_command_that_does_not_end_in_time_is_ended_and_its_node_is_free(remote_of, cluster):
    with pytest.raises(Unreachable, match="within 1 s"):
        remote_of().run(["sleep", "600"], timeout_s=1)
    cluster.wait_until("nodeA", ["idle"])


@contextlib.contextmanager
def others_job():
    """Somebody else on nodeA, who is gone at the end."""
    other = subprocess.Popen(["srun", "--nodelist=nodeA", "sleep", "3000"])
    try:
        yield
    finally:
        other.terminate()
        other.wait(WAIT_S)


def test_the_time_that_others_use_the_node_does_not_count(remote_of, cluster, monkeypatch):
    remote = remote_of()
    remote.node()
    waited_s = 0.0
    clock = types.SimpleNamespace(monotonic=lambda: time.monotonic() + waited_s, sleep=time.sleep)
    monkeypatch.setattr(slurm, "time", clock)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        with others_job():
            cluster.wait_until("nodeA", ["allocated"])
            answer = beside.submit(remote.run, ["true"], timeout_s=WAIT_S)
            wait_for(lambda: f"{job_name(remote.host)} PENDING" in cluster.jobs("%j %T"))
            waited_s = 2.0 * WAIT_S
        assert answer.result().returncode == 0


# ---- ends ------------------------------------------------------------------------------------------------------------


def started(remote, tmp_path):
    process = remote.open(waiting(tmp_path))
    wait_for((tmp_path / "runs").exists)
    return process


def test_a_cancelled_job_says_so(remote_of, cluster, tmp_path):
    remote = remote_of()
    process = started(remote, tmp_path)
    cluster.run("scancel", f"--name={job_name(remote.host)}")
    told = finish(process)[1]
    assert remote.ending(process, told).end == "cancelled"


def test_a_time_limit_tells_the_command_to_stop_in_order(remote_of, cluster, tmp_path):
    remote = remote_of(node="nodeA", time_limit_min=1)
    process = started(remote, tmp_path)
    told = finish(process)[1]
    assert process.returncode == 130
    assert remote.ending(process, told).end == "time-limit"


def test_a_command_that_fails_by_itself_was_not_cut_off(remote_of):
    remote = remote_of()
    process = remote.open(["sh", "-c", "exit 3"])
    told = finish(process)[1]
    assert (process.returncode, remote.ending(process, told).end) == (3, "done")


def test_a_node_that_goes_down_is_no_success(remote_of, cluster, tmp_path):
    remote = remote_of()
    process = started(remote, tmp_path)
    cluster.run("scontrol", "update", "NodeName=nodeA", "State=DOWN", "Reason=test")
    told = finish(process)[1]
    assert remote.ending(process, told).end == "node-failed"


# Nodes are "unknown" to a new controller until they register: seconds here, minutes there.
@pytest.mark.long
def test_a_controller_of_slurms_that_is_away_is_waited_for(remote_of, cluster, tmp_path):
    remote = remote_of()
    remote.node()
    cluster.stop("slurmctld", signal.SIGKILL)
    back = threading.Timer(1, cluster.start, ["slurmctld"])
    back.start()
    assert remote.run(["printenv", "SLURMD_NODENAME"]).stdout == b"nodeA\n"
    back.join()


# Nodes are "unknown" to a new controller until they register: seconds here, minutes there.
@pytest.mark.long
def test_a_controller_of_slurms_that_stays_away_is_an_error_in_the_end(remote_of, cluster, monkeypatch):
    remote = remote_of()
    remote.node()
    monkeypatch.setattr(slurm_queue, "CONTROLLER_PATIENCE_S", 0)
    cluster.stop("slurmctld", signal.SIGKILL)
    with pytest.raises(Unreachable, match="from its controller"):
        remote.run(["true"])
    cluster.start("slurmctld")


# ---- orphans ---------------------------------------------------------------------------------------------------------

CONTROLLER = """
import sys
from regatta.fleet.remote.slurm import SlurmRemote
from regatta.host.values.host import Host, SlurmPlace
remote = SlurmRemote(Host("one", "x86", slurm=SlurmPlace(node="nodeA"), python=sys.executable, root=sys.argv[1]))
process = remote.open(sys.argv[2:])
print(process.pid, flush=True)
sys.exit(process.wait())
"""


def other_controller(tmp_path, command):
    """Another process that measures on the same host; returns it and its srun's number."""
    process = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(tmp_path / "root"), *command],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    return process, int(process.stdout.readline())


def test_a_step_whose_starters_were_killed_is_ended_in_order_and_nothing_runs_twice(
    remote_of, cluster, tmp_path
):
    remote = remote_of()
    controller, _ = other_controller(tmp_path, waiting(tmp_path))
    wait_for((tmp_path / "runs").exists)
    os.killpg(controller.pid, signal.SIGKILL)
    controller.wait()
    assert len(cluster.jobs()) == 1
    answer = remote.run(["printenv", "SLURM_JOB_ID"])
    assert answer.returncode == 0
    assert [line for line in cluster.jobs("%T") if line not in ("COMPLETING",)] == []


def test_a_step_of_a_living_controller_is_waited_for(remote_of, cluster, tmp_path):
    remote = remote_of()
    controller, _ = other_controller(
        tmp_path, ["sh", "-c", f"touch {tmp_path}/runs; sleep 2; touch {tmp_path}/whole"]
    )
    wait_for((tmp_path / "runs").exists)
    assert remote.run(["ls", str(tmp_path / "whole")]).returncode == 0
    assert controller.wait(WAIT_S) == 0


def test_a_waiting_job_whose_starters_were_killed_is_taken_out_of_the_queue(remote_of, cluster, tmp_path):
    remote = remote_of()
    remote.node()
    with others_job():
        cluster.wait_until("nodeA", ["allocated"])
        controller, _ = other_controller(tmp_path, ["true"])
        name = job_name(remote.host)
        wait_for(lambda: f"{name} PENDING" in cluster.jobs("%j %T"))
        os.killpg(controller.pid, signal.SIGKILL)
        controller.wait()
        slurm_queue.end_orphans([name])
        wait_for(lambda: cluster.jobs("%j") == ["sleep"])


# Nodes are "unknown" to a new controller until they register: seconds here, minutes there.
@pytest.mark.long
def test_an_allocation_that_a_restarted_controller_of_slurms_has_forgotten_to_end_is_given_back(
    remote_of, cluster, tmp_path
):
    remote = remote_of()
    process = remote.open(["sleep", "1.5"])
    wait_for(lambda: cluster.jobs("%T") == ["RUNNING"])
    cluster.stop("slurmctld", signal.SIGKILL)
    finish(process)
    cluster.start("slurmctld")
    assert remote.run(["true"]).returncode == 0
    wait_for(lambda: cluster.jobs() == [])


def test_all_hosts_orphans_are_found_by_one_question(remote_of, cluster, monkeypatch):
    asked = []
    ask = slurm_queue.ask
    monkeypatch.setattr(slurm_queue, "ask", lambda argv: asked.append(argv[0]) or ask(argv))
    slurm_queue.end_orphans([job_name(remote_of(f"host{number}").host) for number in range(300)])
    assert asked == ["squeue"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:05", 5),
        ("1:02:03", 3723),
        ("2-00:00:01", 172801),
        ("UNLIMITED", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_slurms_times_are_read(text, seconds):
    assert slurm_queue._seconds(text) == seconds


def test_a_job_of_somebody_elses_is_never_an_orphan():
    for comment in ("", "(null)", "my:own:comment", "a:b:c:d"):
        job = slurm_queue.Job("1", "regatta-x", "RUNNING", "nodeA", "None", 10**6, None, comment)
        assert not slurm_queue._is_orphan(job, False, lambda owner: True)
