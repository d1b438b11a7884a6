"""Invocations of several programs on several hosts, under the real runner and real agents."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.influx_server import free_port
from helpers.own_network import own_network
from helpers.role_plans import Conductor, client, python_role, server, with_roles
from helpers.runner_plans import Runner, is_gone, printed
from helpers.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.full  # each test starts runners and agents

SLEEP = "import time; time.sleep(600)"


def until_there(file: Path) -> str:
    """What a client does that stays under way until a file is there."""
    return f"while not os.path.exists({str(file)!r}): time.sleep(0.01)"


@pytest.fixture
def conductor(runner: Runner) -> Iterator[Conductor]:
    """A conductor for two hosts. No agent and no program of a role outlives its test."""
    conductor = Conductor(runner)
    yield conductor
    wait_until(lambda: not conductor.agents(), "the end of the agents")
    assert conductor.left() == []


def test_the_last_role_gets_what_the_first_one_printed_and_reports(conductor: Conductor) -> None:
    (record,) = conductor.measure(with_roles("echo", server(), client()))
    assert (record["status"], record["reason"]) == ("ok", None)
    assert printed(record, "stdout").split() == [b"HELLO", b"127.0.0.1", b"127.0.0.1"]
    assert [row[1] for row in record["iterations"]][:3] == ["elapsed", "role_user", "role_system"]
    assert record["iterations"][1][5] == {"role": "server"}
    roles = record["roles"]
    assert {name: role["host"] for name, role in roles.items()} == {"server": "alpha", "client": "beta"}
    assert printed(roles["server"], "stdout").startswith(b"started\nready port=")
    assert (roles["server"]["exit_code"], roles["client"]["exit_code"]) == (0, 0)
    # On one machine both clocks are the same.
    for role in roles.values():
        assert abs(role["clock"]["offset_ns"]) <= role["clock"]["error_ns"]
    assert roles["server"]["started_monotonic_ns"] < record["started_monotonic_ns"]
    ended = roles["server"]["started_monotonic_ns"] + roles["server"]["elapsed_ns"]
    assert ended >= record["started_monotonic_ns"] + record["elapsed_ns"]


def test_a_role_that_dies_ends_the_invocation_with_its_reason(conductor: Conductor) -> None:
    dying = server(before="os.write(2, b'out of luck'); os._exit(3)")
    (record,) = conductor.measure(with_roles("dying", dying, client()))
    assert record["status"] == "failed"
    assert record["reason"].startswith("role server on alpha")
    assert record["reason"].endswith("3: out of luck")
    assert record["roles"]["server"]["exit_code"] == 3


def test_a_role_that_is_killed_is_a_crash(conductor: Conductor) -> None:
    (record,) = conductor.measure(
        with_roles("killed", server(before="os.kill(os.getpid(), 9)"), client(after=SLEEP))
    )
    assert record["status"] == "crashed"
    assert record["reason"].startswith("role server on alpha")
    assert "killed by signal 9" in record["reason"]
    assert record["roles"]["server"]["signal"] == signal.SIGKILL


def test_a_role_that_never_is_ready_is_a_timeout(conductor: Conductor) -> None:
    silent = python_role("server", "alpha", SLEEP, output="never")
    (record,) = conductor.measure(with_roles("silent", silent, client(), timeout_s=0.5))
    assert record["status"] == "timeout"
    assert record["reason"].startswith("role server on alpha")
    assert "elapsed_ns" not in record["roles"]["client"]


def test_a_role_that_cannot_start_is_a_failure(conductor: Conductor) -> None:
    missing = {**server(), "argv": ["/no/such/program"]}
    (record,) = conductor.measure(with_roles("missing", missing, client()))
    assert record["status"] == "failed"
    assert "cannot start /no/such/program" in record["reason"]


def test_a_last_role_that_takes_too_long_is_a_timeout(conductor: Conductor) -> None:
    (record,) = conductor.measure(with_roles("slow", server(), client(after=SLEEP), timeout_s=1.0))
    assert record["status"] == "timeout"


def test_a_last_role_that_fails_is_a_failure(conductor: Conductor) -> None:
    (record,) = conductor.measure(with_roles("failing", server(), client(after="sys.exit('no luck')")))
    assert (record["status"], record["reason"]) == ("failed", "exit code 1: no luck")


def test_expected_exit_codes_are_those_of_the_last_role(conductor: Conductor) -> None:
    codes: dict[str, Any] = {"expect": {"exit_codes": [0, 1]}, "adapter": {"name": "process", "options": {}}}
    good, bad = conductor.measure(
        with_roles("failing", server(), client(after="sys.exit('no luck')"), **codes),
        with_roles("alone", server(before="os._exit(1)"), client(), **codes),
    )
    assert (good["status"], good["exit_code"]) == ("ok", 1)
    assert bad["status"] == "failed"


def test_a_role_that_ignores_the_request_to_end_is_killed(conductor: Conductor) -> None:
    stubborn = server()
    stubborn["argv"][4] = stubborn["argv"][4].replace("lambda *_: os._exit(0)", "signal.SIG_IGN")
    (record,) = conductor.measure(with_roles("stubborn", stubborn, client()))
    assert record["status"] == "ok"
    assert record["roles"]["server"]["signal"] == signal.SIGKILL


@pytest.mark.parametrize("ready", [{"port": "{port}"}, {"file": "there"}])
def test_a_port_or_a_file_shows_readiness(conductor: Conductor, ready: dict[str, str]) -> None:
    port = str(free_port())
    late = SERVER_ON_PORT.replace("PORT", port)
    role = python_role(
        "server", "alpha", late, **{key: value.format(port=port) for key, value in ready.items()}
    )
    asks = client()
    asks["argv"][-2:] = ["127.0.0.1", port]
    (record,) = conductor.measure(with_roles("late", role, asks))
    assert (record["status"], record["reason"]) == ("ok", None)


SERVER_ON_PORT = """
import socket, time
time.sleep(0.2)
with socket.create_server(("127.0.0.1", PORT), reuse_port=True) as listening:
    open("there", "w").write("yes")
    connection, _ = listening.accept()
    with connection, connection.makefile("rw") as lines:
        lines.write(lines.readline().upper())
        lines.flush()
    time.sleep(600)
"""


def test_counters_count_the_first_role_alone(conductor: Conductor) -> None:
    counters = {"names": ["task-clock"], "raw": {}}
    busy = client(after="end = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass")
    (record,) = conductor.measure(with_roles("counted", server(), busy, counters=counters))
    assert record["status"] == "ok"
    (counted,) = [row for row in record["iterations"] if row[1] == "counter_task_clock"]
    assert 0 < counted[2] < 0.4e9


def test_an_agent_that_is_killed_fails_one_invocation_and_is_replaced(
    conductor: Conductor, tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"
    conductor.plan(with_roles("held", server(), client(after=until_there(go_on))), rounds=6)
    process = conductor.runner.start(0, *conductor.options())
    wait_until(lambda: len(conductor.left()) == 2, "both programs")
    victim = conductor.agents()[0]
    os.kill(victim, signal.SIGKILL)
    wait_until(conductor.runner.records, "the record of the failure")
    go_on.touch()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    statuses = [record["status"] for record in conductor.runner.records()]
    assert statuses.count("failed") == 1
    assert statuses.count("ok") >= 4
    (failed,) = [record for record in conductor.runner.records() if record["status"] == "failed"]
    assert "expected an agent" in failed["reason"]


def test_a_killed_conductor_leaves_nothing_and_is_resumed(conductor: Conductor, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    conductor.plan(with_roles("held", server(), client(after=until_there(go_on))), rounds=4)
    process = conductor.runner.start(0, *conductor.options())
    wait_until(lambda: len(conductor.left()) == 2, "both programs")
    process.kill()
    process.communicate()
    wait_until(lambda: not conductor.agents() and not conductor.left(), "the end of agents and programs")
    go_on.touch()
    done = conductor.runner.run(0, *conductor.options())
    assert done.returncode == 0, done.stderr
    records = conductor.runner.records()
    assert sorted(record["round"] for record in records if record["status"] == "ok") == [0, 1, 2, 3]


def test_a_stopped_conductor_stops_all_roles(conductor: Conductor) -> None:
    conductor.plan(with_roles("slow", server(), client(after=SLEEP)))
    process = conductor.runner.start(0, *conductor.options())
    programs = wait_until(lambda: len(found := conductor.left()) == 2 and found, "both programs")
    process.terminate()
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert all(is_gone(pid) for pid in programs)
    assert conductor.runner.records() == []


def test_two_experiments_with_the_same_hosts_in_other_roles_wait_for_each_other(
    conductor: Conductor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Conductor(Runner(tmp_path_factory.mktemp("other") / "hand"))
    # The same locks.
    other.write_ways(**{host: {"argv": conductor.way(host)["argv"]} for host in conductor.hosts})
    conductor.plan(with_roles("one", server("alpha"), client("beta")), rounds=3)
    other.plan(with_roles("two", server("beta"), client("alpha")), rounds=3)
    processes = [each.runner.start(0, *each.options()) for each in (conductor, other)]
    for process in processes:
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
    for each in (conductor, other):
        assert [record["status"] for record in each.runner.records()] == ["ok"] * 3
    wait_until(lambda: not other.agents(), "the end of the agents")


def test_two_names_of_one_machine_are_an_error(conductor: Conductor) -> None:
    conductor.write_ways(beta={"argv": conductor.way("alpha")["argv"]})
    conductor.plan(with_roles("echo", server(), client()))
    done = conductor.runner.run(0, *conductor.options())
    assert done.returncode == 3
    assert "expected different machines" in done.stderr


def test_what_is_no_agent_is_an_error(conductor: Conductor) -> None:
    conductor.write_ways(alpha={"argv": ["/bin/echo", "hello"]})
    conductor.plan(with_roles("echo", server(), client()))
    done = conductor.runner.run(0, *conductor.options())
    assert done.returncode == 3
    assert "server on alpha: expected" in done.stderr


def test_a_changed_file_of_a_role_is_an_error(conductor: Conductor) -> None:
    wrong = {**server(), "files": [{"path": "/bin/sh", "sha256": "0" * 64}]}
    conductor.plan(with_roles("echo", wrong, client()))
    done = conductor.runner.run(0, *conductor.options())
    assert done.returncode == 3
    assert "/bin/sh: expected SHA-256 000000000000" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_roles_on_one_host_have_their_own_networks(runner: Runner) -> None:
    # Not in the network of the machine: there, links come and go with the containers of other tests.
    with own_network():
        before = links()
        conductor = Conductor(runner, hosts=("alpha",))
        third = client("alpha")
        (record,) = conductor.measure(with_roles("echo", server("alpha"), third))
        assert (record["status"], record["reason"]) == ("ok", None)
        assert printed(record, "stdout").split() == [b"HELLO", b"10.213.1.2", b"10.213.1.1"]
        wait_until(lambda: not conductor.agents(), "the end of the agents")
        assert links() == before


def links() -> bytes:
    """The interfaces of this network."""
    return subprocess.run(["ip", "-o", "link"], capture_output=True, check=True).stdout


def test_iterations_of_the_last_role_are_borders_of_the_counters_of_the_first_one(
    conductor: Conductor,
) -> None:
    counters = {"names": ["task-clock"], "raw": {}}
    # The server works for 0.2 s at each line, and the client sends a second and a third one.
    works = "end = time.process_time() + 0.2\n                while time.process_time() < end: pass"
    busy = server(before=works)
    busy["argv"][4] = "import time\n" + busy["argv"][4]
    marks = client()
    marks["argv"][4] = MARKING
    (record,) = conductor.measure(with_roles("counted", busy, marks, counters=counters))
    assert record["status"] == "ok", record["reason"]
    counted = [row for row in record["iterations"] if row[1] == "counter_iteration_task_clock"]
    assert [row[0] for row in counted] == [0, 1]
    # The first line is outside of both iterations; one line is in the first, and two are in the second. A border can come
    # some microseconds after the work of the next line begins.
    assert 0.19e9 <= counted[0][2] < 0.3e9
    assert 0.39e9 <= counted[1][2] < 0.5e9
    (per_operation,) = [row for row in record["iterations"] if row[:2] == [1, "counter_operation_task_clock"]]
    assert per_operation[2] == counted[1][2] / 2


MARKING = """
import json, os, socket, sys
ask, answer = (os.environ["REGATTA_COUNTERS"] + end for end in (".ask", ".answer"))
def border(which):
    with open(ask, "w") as out:
        out.write(which + "\\n")
    with open(answer, "rb", buffering=0) as back:
        back.read(1)
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection, connection.makefile("rw") as lines:
    def say(times):
        for _ in range(times):
            lines.write("hello\\n")
            lines.flush()
            assert lines.readline() == "HELLO\\n"
    say(1)
    with open(os.environ["REGATTA_RESULTS"], "w") as results:
        for iteration in range(2):
            border("begin %d" % iteration)
            say(iteration + 1)
            border("end %d" % iteration)
            line = {"iteration": iteration, "metric": "elapsed", "value": 1, "unit": "ns", "operations": iteration + 1}
            results.write(json.dumps(line) + "\\n")
"""


def test_a_server_that_ends_by_itself_is_a_failure_even_if_its_client_is_content(
    conductor: Conductor,
) -> None:
    # It answers, and dies while the client, which has its answer, still reports.
    dying = server()
    dying["argv"][4] = dying["argv"][4].replace(
        "lines.flush()\n", "lines.flush()\n                os._exit(0)\n"
    )
    (record,) = conductor.measure(with_roles("dying", dying, client(after="time.sleep(0.2)")))
    assert record["status"] == "failed"
    assert record["reason"].startswith("role server on alpha")


def test_a_port_with_another_listener_is_a_failure(conductor: Conductor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        role = python_role("server", "alpha", SLEEP, port=port)
        (record,) = conductor.measure(with_roles("taken", role, client()))
    assert record["status"] == "failed"
    assert f"port {port}" in record["reason"]


def test_an_agent_that_is_killed_between_invocations_is_replaced(conductor: Conductor) -> None:
    conductor.plan(with_roles("slow", server(), client(after="time.sleep(0.3)")), rounds=4)
    process = conductor.runner.start(0, *conductor.options())
    for records in range(1, 3):
        wait_until(lambda least=records: len(conductor.runner.records()) >= least, "a record")
        for victim in conductor.agents()[:1]:
            os.kill(victim, signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert sorted(record["round"] for record in conductor.runner.records()) == [0, 1, 2, 3]


def test_an_agent_that_waits_for_its_host_ends_with_its_conductor(conductor: Conductor) -> None:
    conductor.plan(with_roles("one", server(), client(after=SLEEP)))
    first = conductor.runner.start(0, *conductor.options())
    wait_until(lambda: len(conductor.left()) == 2, "both programs")
    agents = set(conductor.agents())
    other = Conductor(Runner(conductor.runner.folder.path.parent / "other"))
    other.write_ways(**{host: {"argv": conductor.way(host)["argv"]} for host in conductor.hosts})
    other.plan(with_roles("two", server(), client()))
    second = other.runner.start(0, *other.options())
    waiting = wait_until(lambda: set(conductor.agents()) - agents, "an agent that waits")
    second.kill()
    second.communicate()
    wait_until(lambda: all(is_gone(pid) for pid in waiting), "the end of the agent")
    first.kill()
    first.communicate()
