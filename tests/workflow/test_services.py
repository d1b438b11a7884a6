"""`regatta up` and `regatta down` with a real influxd: accounts, what survives, what is left behind, who may look."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from helpers.experiments.user_services import END_S, HOME, REGATTA, Services
from helpers.influx_server import free_port, influxd_program, need_influxd
from regatta.host.errors import VerificationError
from regatta.services.folder import ServiceFolder
from regatta.services.local_influx import LocalInflux
from regatta.services.stack import why_not_ours

_PR_SET_DUMPABLE = 4  # linux/prctl.h
PERTURBATION = (
    *("steal_percent", "other_cpu_percent", "memory_pressure_percent", "io_pressure_percent"),
    *("frequency_drop_percent", "swapped_pages", "throttle_events"),
)

#: stands for a program that does not start to serve
SILENT = """#!/bin/sh
[ "$1" != version ] || { echo 'InfluxDB v1.8.10 (git: 1.8 abc)'; exit; }
exec sleep 300
"""


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """Nobody's services yet; nothing of them is left at the end."""
    need_influxd()
    made = Services(tmp_path / "my \"cäche\" 'x'")
    try:
        yield made
    finally:
        made.run("down", "--delete")
        left = made.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert left == []


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Services, str]]:
    """Services that are up, and what was said; tests leave them as they are."""
    need_influxd()
    made = Services(tmp_path_factory.mktemp("running") / "it's here")
    try:
        yield made, made.up("--port", str(free_port()))
    finally:
        made.run("down", "--delete")


def test_what_is_said_is_enough_to_look_and_to_end(running: tuple[Services, str]) -> None:
    services, said = running
    assert f"InfluxDB: http://127.0.0.1:{services.state['port']}\n" in said
    assert str(services.root / "passwords") in said
    assert str(services.root / "influx.yml") in said
    assert "regatta down" in said
    (warning,) = re.findall(r"^warning: every .*backup port.*$", said, re.MULTILINE)
    assert " can read " in re.sub(r"\s+", " ", warning), warning
    look = next(line for line in said.splitlines() if line.startswith("client: "))[len("client: ") :]
    if shutil.which("influx"):
        done = subprocess.run(
            ["sh", "-c", f"{look} -execute 'SHOW DATABASES'"], capture_output=True, text=True, timeout=END_S
        )
        assert (done.returncode, "regatta" in done.stdout) == (0, True), done.stderr


def test_each_account_may_do_what_it_is_for_and_nothing_else(running: tuple[Services, str]) -> None:
    services, _ = running
    assert [services.write(account) for account in ("writer", "reader", None)] == [204, 403, 401]
    assert services.query("SELECT * FROM event", "reader")[0] == 200
    _, told = services.query("SELECT * FROM event", "writer")
    assert "not authorized" in told
    for account in ("writer", "reader"):
        status, told = services.query("CREATE USER other WITH PASSWORD 'x'", account)
        assert "requires admin privilege" in told, (account, status, told)
    status, told = services.query("SHOW USERS", "admin")
    assert status == 200
    assert json.loads(told)["results"][0]["series"][0]["values"] == [
        ["admin", True], ["writer", False], ["reader", False],
    ]  # fmt: skip


def test_a_wrong_password_and_none_are_refused(running: tuple[Services, str]) -> None:
    services, _ = running
    for account, password in (("admin", "x" * 32), ("reader", "x" * 32), (None, None), ("nobody", "x" * 32)):
        assert services.query("SHOW DATABASES", account, password)[0] == 401, account


def test_it_is_reached_over_the_loopback_only(running: tuple[Services, str]) -> None:
    services, _ = running
    sockets = set()
    for entry in Path(f"/proc/{services.pid}/fd").iterdir():
        # The server opens and closes files meanwhile.
        with contextlib.suppress(FileNotFoundError):
            sockets.add(os.readlink(entry))
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                listening.append(fields[1].partition(":")[0])
    assert listening
    assert set(listening) == {"0100007F"}


def test_passwords_are_their_owners_alone(running: tuple[Services, str]) -> None:
    services, said = running
    folder = services.root / "passwords"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (services.root, folder)} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    secrets = {services.password(account) for account in ("admin", "writer", "reader")}
    assert len(secrets) == 3
    assert all(len(secret) == 32 and secret.isalnum() for secret in secrets)
    texts = {"what was said": said, "environment": Path(f"/proc/{services.pid}/environ").read_text()}
    for path in services.root.rglob("*"):
        if path.is_file() and folder not in path.parents:
            texts[str(path)] = path.read_bytes().decode("latin-1")
    assert str(services.root / "logs" / "influxdb.log") in texts
    for name, text in texts.items():
        assert not [secret for secret in secrets if secret in text], name


def test_no_password_is_on_a_command_line_while_it_starts(services: Services) -> None:
    process = services.start("up", "--no-grafana", "--port", str(free_port()))
    lines: set[bytes] = set()
    ended = False
    while not ended:
        # Once more when it has ended: influxd still runs.
        ended = process.poll() is not None
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.add(entry.read_bytes())
            except OSError:
                continue
        time.sleep(0.01)
    process.communicate()
    assert process.returncode == 0
    assert any(str(services.root).encode() in line for line in lines)
    for account in ("admin", "writer", "reader"):
        assert not [line for line in lines if services.password(account).encode() in line]


def test_a_second_up_leaves_it_as_it_is(running: tuple[Services, str]) -> None:
    services, said = running
    pid = services.pid
    assert "already running" not in said
    assert "already running" in services.up()
    assert services.pid == pid


def test_of_two_at_once_one_starts_it(services: Services) -> None:
    both = [services.start("up", "--no-grafana", "--port", str(free_port())) for _ in range(2)]
    said = ["".join(process.communicate(timeout=END_S)) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sum("already running" in text for text in said) == 1
    assert services.processes() == [services.pid]


def test_down_ends_it_and_the_next_up_has_the_same_data_accounts_and_address(services: Services) -> None:
    services.up("--port", str(free_port()))
    assert services.write("writer") == 204
    pid, port, passwords = services.pid, services.state["port"], services.password("reader")
    assert "stopped: InfluxDB" in services.run("down")
    assert services.processes() == []
    assert not (services.root / "influx.yml").exists()
    assert "no service was running" in services.run("down")
    services.up()
    assert services.pid != pid
    assert (services.state["port"], services.password("reader")) == (port, passwords)
    assert services.points() == 1


def test_it_is_started_again_after_kill_9_and_has_lost_nothing(services: Services) -> None:
    services.up("--port", str(free_port()))
    assert services.write("writer") == 204
    pid = services.pid
    services.kill()
    assert "already running" not in services.up()
    assert services.pid != pid
    assert services.points() == 1


def test_who_misses_it_is_told_how_to_start_it(services: Services, tmp_path: Path) -> None:
    services.up("--port", str(free_port()))
    services.kill()
    (tmp_path / "results" / "e" / "plan").mkdir(parents=True)
    words = ["ingest", "e", "--results", str(tmp_path / "results"), "--patience-s", "0", "--verify"]
    told = services.run(*words, code=3)
    assert "it is not running" in told
    assert "run `regatta up`, " in told


def test_who_listens_on_its_port_after_it_has_died_is_told_no_password(
    services: Services, tmp_path: Path
) -> None:
    services.up("--port", str(free_port()))
    port = services.state["port"]
    services.kill()
    (tmp_path / "results" / "e" / "plan").mkdir(parents=True)
    words = ["ingest", "e", "--results", str(tmp_path / "results"), "--patience-s", "0.5"]
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind(("127.0.0.1", port))
        thief.listen()
        told = services.run(*words, "--verify", code=3)
        assert f"another program uses port {port}" in told
        thief.setblocking(False)
        with pytest.raises(BlockingIOError):
            thief.accept()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_on_the_port_of_a_container_is_told_no_password(tmp_path: Path) -> None:
    places = ServiceFolder(tmp_path)
    places.write_state("compose", {"up": True})
    os.seteuid(65534)
    try:
        other = socket.create_server(("127.0.0.1", 0))
    finally:
        os.seteuid(0)
        # The change of user left this process without the right to be traced, which its children would inherit.
        assert ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1) == 0
    with other:
        port = other.getsockname()[1]
        assert re.findall(r"\d+", why_not_ours(places, port)) == ["65534", str(port)]
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        assert why_not_ours(places, proxy.getsockname()[1]) == ""


def test_a_pid_that_is_somebody_elses_by_now_is_left_alone(services: Services) -> None:
    services.up("--port", str(free_port()))
    noted = services.state
    services.kill()
    stranger = subprocess.Popen(["sleep", "300"])
    (services.root / "influxdb.json").write_text(json.dumps({**noted, "pid": stranger.pid}))
    assert "no service was running" in services.run("down")
    (services.root / "influxdb.json").write_text(json.dumps({**noted, "pid": stranger.pid}))
    assert "already running" not in services.up()
    assert services.pid != stranger.pid
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_the_influxd_of_another_host_on_the_same_data_is_left_alone_with_its_settings(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regatta.services.local_influx._LETS_GO_S", 0.1)
    (services.root / "influxdb").mkdir(parents=True)
    (services.root / "influx.yml").touch()
    noted = json.dumps({"pid": 4, "start_ticks": 5, "boot_id": "another", "port": 8086, "host": "far-away"})
    (services.root / "influxdb.json").write_text(noted)
    # To this process the lock of this process looks like another host's: neither sees who holds it.
    with (services.root / "influxdb" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words in (["up", "--no-grafana"], ["down"], ["down", "--delete"]):
            told = services.run(*words, code=3)
            assert "host far-away (process 4)" in told
            assert re.search(r"`regatta down` .*host", told)
    assert services.processes() == []
    assert (services.root / "influxdb.json").read_text() == noted
    assert (services.root / "influx.yml").exists()


def test_one_that_nobody_has_noted_is_found_and_ended(services: Services) -> None:
    services.up("--port", str(free_port()))
    (services.root / "influxdb.json").unlink()
    assert "stopped: InfluxDB" in services.run("down")
    assert services.processes() == []


def test_one_that_could_not_be_noted_is_ended(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LocalInflux, "note", full)
    places = ServiceFolder(services.root)
    places.prepare()
    with pytest.raises(OSError, match="No space left"):
        LocalInflux(places).start(free_port())
    assert services.processes() == []


@pytest.mark.parametrize(
    "noted", ["", "[1]", '{"pid": -1, "start_ticks": 1, "boot_id": "x", "port": 99999999}']
)
def test_a_damaged_note_counts_as_none(services: Services, noted: str) -> None:
    services.root.mkdir(parents=True)
    (services.root / "influxdb.json").write_text(noted)
    assert "no service was running" in services.run("down")


def test_a_port_that_is_taken_is_told_and_without_a_wish_another_is_chosen(services: Services) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = services.run("up", "--no-grafana", "--port", str(port), code=3)
        assert f"127.0.0.1:{port}: expected a free port" in told
        assert services.processes() == []
        assert not (services.root / "influx.yml").exists()
        (services.root / "influxdb.json").write_text(json.dumps({"port": port}))
        services.up()
        assert services.state["port"] != port


def test_delete_leaves_nothing_of_it(services: Services) -> None:
    services.up("--port", str(free_port()))
    services.run("down", "--delete")
    assert {path.name for path in services.root.rglob("*")} <= {"lock"}


def test_a_lost_password_is_told_and_nothing_is_left_running(services: Services) -> None:
    services.up("--port", str(free_port()))
    services.run("down")
    (services.root / "passwords" / "admin").unlink()
    told = services.run("up", "--no-grafana", code=3)
    assert "password in this folder" in told
    assert "regatta down --delete" in told
    assert services.processes() == []
    (services.root / "passwords" / "admin").write_text("it's\n")
    told = services.run("up", code=3)
    assert str(services.root / "passwords" / "admin") in told
    assert "16 to 256 letters" in told


def test_a_lost_password_of_the_writer_is_made_anew(services: Services) -> None:
    services.up("--port", str(free_port()))
    services.run("down")
    before = services.password("writer")
    (services.root / "passwords" / "writer").unlink()
    services.up()
    assert services.password("writer") != before
    assert services.write("writer") == 204


def test_who_reads_other_settings_is_told(services: Services, tmp_path: Path) -> None:
    said = services.up("--port", str(free_port()), REGATTA_INFLUX="none")
    assert "not used: $REGATTA_INFLUX disables" in said
    other = tmp_path / "other.yml"
    other.write_text("url: http://db:8086\n")
    assert f"not used: commands use {other}" in services.up(REGATTA_INFLUX=str(other))


def home_with_a_short_demonstration(folder: Path) -> Path:
    """A home whose demonstration takes seconds: everything else in it is this one's."""
    configs = folder / "configs"
    (configs / "experiments").mkdir(parents=True)
    for path in [*HOME.iterdir(), *(HOME / "configs").iterdir()]:
        place = folder / path.relative_to(HOME)
        if path.name not in ("configs", "experiments", ".git", ".venv", "results"):
            place.symlink_to(path)
    suite = {"suite": "tiny", "description": "ends at once", "benchmarks": {"quick": {"command": ["true"]}}}
    quiet = dict.fromkeys(PERTURBATION)
    spec = {
        "name": "demo", "question": "Does it land?", "suites": ["suite.yml"], "invocations": {"fixed": 3},
        "benchmarks": [{"suite": "tiny", "benchmark": "quick"}], "seed": 7, "perturbation": quiet,
    }  # fmt: skip
    (configs / "experiments" / "suite.yml").write_text(json.dumps(suite))
    (configs / "experiments" / "demo.yml").write_text(json.dumps(spec))
    return folder


def test_the_demonstration_lands_in_influxdb_is_counted_and_says_where_to_look(
    running: tuple[Services, str], tmp_path: Path
) -> None:
    services, _ = running
    home = home_with_a_short_demonstration(tmp_path / "home")
    own = {"REGATTA_HOME": str(home), "REGATTA_HOST_LOCK": str(tmp_path / "lock")}
    words = ["demo", "--influx", "--results", str(tmp_path / "results")]
    process = services.start(*words, **own, PATH=f"{REGATTA.parent}:{os.environ['PATH']}")
    out, err = process.communicate(timeout=END_S)
    assert process.returncode == 0, out + err
    assert "(already running)" in out
    assert re.search(r"demo: .* agree .* [0-9]+ series", out)
    counts = dict(re.findall(r"^(\w+) +(\d+) in the journal +\2 in the database$", out, re.MULTILINE))
    # One more than is measured: the first of a series is discarded.
    assert int(counts["invocation"]) == 4
    assert int(counts["estimate"]) > 0
    assert out.rstrip().endswith("stop it: regatta down")
    assert f"$(cat {shlex.quote(str(services.root / 'passwords' / 'reader'))})" in out
    status, told = services.query("SELECT count(sequence) FROM iteration WHERE experiment = 'demo'", "reader")
    assert (status, "series" in told) == (200, True)
    refused = services.run("demo", "--influx", code=2, REGATTA_INFLUX="none")
    assert "$REGATTA_INFLUX: " in refused
    assert "remove --influx" in refused


def test_a_demonstration_with_failures_is_counted_all_the_same_and_then_they_are_told(
    running: tuple[Services, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    services, _ = running

    @click.command()
    def run(**_: object) -> None:
        raise VerificationError("demo", "whole records", "others")

    monkeypatch.setattr("regatta.cli.run.run", run)
    monkeypatch.setattr("regatta.cli.demo._count_and_show", lambda *_: click.echo("counted"))
    said = services.run("demo", "--influx", code=1)
    assert said.index("counted") < said.index("error: demo: ")
    assert "counted" not in services.run("demo", code=1)


def programs(folder: Path, influxd: str) -> str:
    """A PATH with another influxd first."""
    folder.mkdir()
    (folder / "influxd").write_text(influxd)
    (folder / "influxd").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_one_that_does_not_answer_is_ended_with_the_command(services: Services, tmp_path: Path) -> None:
    process = services.start("up", "--no-grafana", PATH=programs(tmp_path / "bin", SILENT))
    deadline = time.monotonic() + END_S
    while not services.processes() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(services.processes()) == 1
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=END_S)
    assert process.returncode == 130
    assert services.processes() == []


def test_one_that_ends_at_once_is_told_with_its_last_words(services: Services, tmp_path: Path) -> None:
    ends = '#!/bin/sh\n[ "$1" != version ] || { echo "InfluxDB v1.8.10"; exit; }\necho "run: no space left"; exit 1\n'
    told = services.run("up", "--no-grafana", code=3, PATH=programs(tmp_path / "bin", ends))
    assert "run: no space left" in told
    assert str(services.root / "logs" / "influxdb.log") in told


def test_an_influxdb_of_another_line_and_none_are_told(services: Services, tmp_path: Path) -> None:
    second = "#!/bin/sh\necho 'InfluxDB v2.7.1 (git: 407fa622e9)'\n"
    told = services.run("up", "--no-grafana", code=3, PATH=programs(tmp_path / "bin", second))
    assert "expected InfluxDB 1.x" in told
    assert "got InfluxDB v2.7.1" in told
    (tmp_path / "empty").mkdir()
    told = services.run("up", "--no-grafana", code=3, PATH=str(tmp_path / "empty"))
    assert "apt-get install influxdb" in told
    assert influxd_program() is not None


def test_a_folder_of_somebody_elses_choice_is_refused(services: Services, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    services.root.parent.mkdir(parents=True)
    services.root.symlink_to(tmp_path / "elsewhere")
    assert "folder that you own" in services.run("up", code=3)
    services.root.unlink()
