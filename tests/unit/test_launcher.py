"""The launcher in a copied tree, with a PATH of fakes: no test here installs or downloads anything."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from helpers.golden import Golden

ROOT = Path(__file__).parents[2]
PACKAGES = "playbooks/roles/toolchain/files/system-packages.txt"

# What every machine has; all else on the PATH of these tests is a fake.
BASE = (
    *("cat", "cmp", "dirname", "env", "find", "flock", "grep", "ln", "mkdir", "mktemp", "mv"),
    *("readlink", "rm", "sed", "sh", "sleep", "tail", "touch", "uname"),
)

# The fakes write down how they were called. A fake Python makes an environment whose uv is a fake too.
FAKES = {
    "id": 'case "$*" in -u) echo "${FAKE_UID:-0}" ;; *) echo somebody ;; esac',
    "python3": """
        case "$*" in
          -c*) exit 0 ;;
          "-m venv "*)
            mkdir -p "$3/bin"
            ln -s "$(readlink -f "$0")" "$3/bin/python"
            sleep "${FAKE_SLOW_S:-0}" ;;
          "-m pip "*) ln -sf "$FAKES/uv" "${0%/*}/uv" ;;
          *) echo "python $*" ;;
        esac
        echo "python $*" >>"$LOG"
    """,
    "uv": """
        echo "uv $*" >>"$LOG"
        case "${FAKE_UV:-}" in
          fails) echo 'no route to host' >&2; exit 1 ;;
          dies) kill -9 "$PPID"; sleep 1 ;;
        esac
        case "$*" in
          *--editable*) ln -sf "$FAKES/cli" "${0%/*}/regatta" ;;
        esac
    """,
    "cli": """
        echo "cli in $PWD: $*"
        [ -z "${SHOWN:-}" ] || echo "$PATH ${VIRTUAL_ENV:-}"
    """,
    "sudo": """
        echo "sudo $*" >>"$LOG"
        [ "$1" = -n ] && shift
        FAKE_UID=0 exec "$@"
    """,
    "true": "",
    "apt-get": """
        echo "apt-get $*" >>"$LOG"
        [ "$(id -u)" = 0 ] || exit 100
        case "${FAKE_APT:-} $*" in [A-Z]*" install "*) kill "-$FAKE_APT" "$PPID"; exit 1 ;; esac
        for word; do
          case $word in
            default-jdk-headless) ln -sf "$FAKES/true" "$BIN/javac" ;;
            maven) ln -sf "$FAKES/true" "$BIN/mvn" ;;
            make | gcc | perl | bzip2 | sqlite3 | trace-cmd) ln -sf "$FAKES/true" "$BIN/$word" ;;
            xz-utils) ln -sf "$FAKES/true" "$BIN/xz" ;;
            pkg-config) ln -sf "$FAKES/true" "$BIN/pkg-config" ;;
            influxdb) ln -sf "$FAKES/true" "$BIN/influxd" ;;
            influxdb-client) ln -sf "$FAKES/true" "$BIN/influx" ;;
          esac
        done
    """,
    "apt-cache": "echo '  Candidate: (none)'",
    "systemctl": 'echo "systemctl $*" >>"$LOG"',
}


class Machine:
    """A clone and a PATH that a test puts together."""

    def __init__(self, directory: Path) -> None:
        self.clone = directory / "clone"
        self.bin = directory / "bin"
        self.fakes = directory / "fakes"
        self.log = directory / "log"
        for made in (self.bin, self.fakes, self.clone / "tools", self.clone / "configs"):
            made.mkdir(parents=True)
        for name in ("regatta", "pyproject.toml", "tools/check", PACKAGES):
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.clone / name)
        shutil.copytree(ROOT / "requirements", self.clone / "requirements")
        for name in BASE:
            found = shutil.which(name)
            assert found, name
            (self.bin / name).symlink_to(found)
        for name, body in FAKES.items():
            _script(self.fakes / name, body)
        self.log.touch()
        self.has("id", "python3", "true")

    def has(self, *programs: str) -> None:
        for name in programs:
            (self.bin / name).symlink_to(self.fakes / (name if name in FAKES else "true"))

    def environment(self, **more: str) -> dict[str, str]:
        own = {"PATH": str(self.bin), "LOG": str(self.log), "FAKES": str(self.fakes), "BIN": str(self.bin)}
        return {**own, "REGATTA_PYTHON": "python3", "JAVA_HOME": "", **more}

    def run(
        self, *words: str, by: Sequence[str | Path] = (), cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*(by or [self.clone / "regatta"]), *words],
            cwd=cwd or self.clone,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def calls(self, start: str = "") -> list[str]:
        """Calls of the fakes so far that begin with `start`."""
        return [line for line in self.log.read_text().splitlines() if line.startswith(start)]


def _script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_command_gets_the_path_of_the_user(machine: Machine) -> None:
    machine.run("status")
    mine = f"{machine.clone.parent / 'mine'}:{machine.bin}"
    shown = machine.run("time", "python3 x.py", PATH=mine, SHOWN="yes").stdout
    assert shown.splitlines()[1] == f"{mine} "


SPECLIKE = ("perl", "bzip2", "xz", "sqlite3")
WORKLOADS = (*SPECLIKE, "pkg-config", "apache2", "nginx", "varnishd", "trace-cmd")
BUILD_TOOLS = ("javac", "mvn", "gcc", "make", *WORKLOADS)
FLEET_TOOLS = (
    *(
        "docker",
        "dockerd",
        "iptables",
        "mmdebstrap",
        "arch-test",
        "qemu-system-x86_64",
        "ssh",
        "ssh-keygen",
        "ip",
        "strace",
        "valgrind",
        "bpftrace",
    ),
    *("slurmctld", "slurmd", "srun", "munged", "influxd", "influx", "docker-compose"),
)
TEST_TOOLS = (
    *(*BUILD_TOOLS, "clang", "aarch64-linux-gnu-gcc", "qemu-aarch64-static", "shellcheck"),
    *FLEET_TOOLS,
)


@pytest.mark.parametrize("script", ["regatta", "tools/lock", "tools/check", ".ci/run"])
def test_shellcheck_passes(script: str) -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    shellcheck = str(beside) if beside.exists() else shutil.which("shellcheck")
    assert shellcheck, "expected shellcheck in .venv or on the PATH; start the tests with ./regatta test"
    done = subprocess.run([shellcheck, ROOT / script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_first_start_makes_the_environment_and_the_second_makes_nothing(machine: Machine) -> None:
    first = machine.run("status")
    assert first.returncode == 0, first.stderr
    assert first.stdout == f"cli in {machine.clone}: status\n"
    made = machine.calls()
    assert len(machine.calls("python -m venv")) == 1
    assert any("--require-hashes requirements/lock.txt" in call for call in made)
    second = machine.run("status")
    assert (second.returncode, second.stdout, second.stderr) == (0, first.stdout, "")
    assert machine.calls() == made


def test_what_is_started_may_keep_its_compiled_modules(machine: Machine) -> None:
    machine.run("status")
    _script(machine.fakes / "cli", 'echo "${PYTHONDONTWRITEBYTECODE-kept}"')
    assert machine.run("status", PYTHONDONTWRITEBYTECODE="1").stdout == "kept\n"


@pytest.mark.parametrize("changed", ["lock.txt", "uv.txt", "build.txt", "../pyproject.toml"])
def test_a_changed_lock_brings_the_environment_up_to_date_in_place(machine: Machine, changed: str) -> None:
    machine.run("status")
    with (machine.clone / "requirements" / changed).open("a") as file:
        file.write("# changed\n")
    assert machine.run("status").returncode == 0
    assert len(machine.calls("python -m venv")) == 1
    assert len(machine.calls("uv pip sync")) == 2


def test_a_users_verb_takes_nothing_from_a_development_environment(machine: Machine) -> None:
    machine.has(*TEST_TOOLS, "chromium")
    assert "-m pytest -n 2 -x" in machine.run("test", "-x").stdout
    made = machine.calls("uv")
    assert "requirements/lock-dev.txt" in made[0]
    machine.run("status")
    assert machine.calls("uv") == made
    with (machine.clone / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    machine.run("status")
    assert "requirements/lock-dev.txt" in machine.calls("uv pip sync")[1]


def test_an_environment_whose_making_was_killed_is_made_from_nothing(machine: Machine) -> None:
    assert machine.run("status", FAKE_UV="dies").returncode != 0
    leftover = machine.clone / ".venv" / "leftover"
    leftover.touch()
    assert machine.run("status").returncode == 0
    assert not leftover.exists()
    assert len(machine.calls("python -m venv")) == 2


def test_a_failed_update_is_told_and_is_tried_again_in_place(machine: Machine, golden: Golden) -> None:
    machine.run("status")
    with (machine.clone / "requirements" / "lock.txt").open("a") as file:
        file.write("# changed\n")
    failed = machine.run("status", FAKE_UV="fails")
    assert failed.returncode == 3
    why, what_to_do = failed.stderr.splitlines()[-2:]
    assert why == "no route to host"
    golden("failed_update", what_to_do)
    assert machine.run("status").returncode == 0
    assert len(machine.calls("python -m venv")) == 1


def test_a_clone_that_was_moved_gets_a_new_environment(machine: Machine, tmp_path: Path) -> None:
    machine.run("status")
    machine.clone = machine.clone.rename(tmp_path / "moved to a name with spaces")
    done = machine.run("status")
    assert done.stdout == f"cli in {machine.clone}: status\n"
    assert len(machine.calls("python -m venv")) == 2


def test_an_environment_whose_python_was_replaced_is_made_again(machine: Machine) -> None:
    machine.run("status")
    newer = machine.bin / "python3.99"
    shutil.copy(machine.fakes / "python3", newer)
    python = machine.clone / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(newer)
    machine.run("status")
    assert len(machine.calls("python -m venv")) == 2


def test_of_launchers_started_at_once_one_makes_the_environment(machine: Machine) -> None:
    started = [
        subprocess.Popen(
            [machine.clone / "regatta", "status"],
            env=machine.environment(FAKE_SLOW_S="0.3"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    assert [(process.communicate(timeout=300)[1], process.returncode)[1] for process in started] == [0] * 4
    assert len(machine.calls("python -m venv")) == 1
    assert len(machine.calls("uv pip sync")) == 1


def test_the_launcher_works_from_another_folder_and_through_links(machine: Machine, tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    (elsewhere / "one").symlink_to(machine.clone / "regatta")
    (elsewhere / "two").symlink_to("one")
    for by in ([machine.clone / "regatta"], [elsewhere / "two"], ["./two"], ["sh", "two"]):
        done = machine.run("plan", "a b", by=by, cwd=elsewhere)
        assert done.stdout == f"cli in {elsewhere}: plan a b\n", done.stderr
    assert len(machine.calls("python -m venv")) == 1


@pytest.mark.parametrize("apt", [True, False])
def test_without_root_or_sudo_it_says_what_to_install_by_hand(machine: Machine, apt: bool) -> None:
    machine.has("make", "gcc", *WORKLOADS, *(["apt-get"] if apt else []))
    done = machine.run("run", "spec.yml", FAKE_UID="1000")
    assert done.returncode == 3
    assert done.stdout == ""
    assert "default-jdk-headless   JDK 17 or newer" in done.stderr
    by_hand = done.stderr.splitlines()[-1].strip()
    assert by_hand.startswith("sudo apt-get install --no-install-recommends ")
    assert by_hand.split()[4:] == ["default-jdk-headless", "maven"]
    assert machine.calls() == []


def test_every_need_of_a_verb_is_in_the_list_of_packages() -> None:
    rows = [line.split(maxsplit=3) for line in (ROOT / PACKAGES).read_text().splitlines()]
    rows = [row for row in rows if row[0] != "#"]
    assert {row[1] for row in rows} == {"here", "hosts"}
    assert all(len(row) == 4 for row in rows)
    asked = re.findall(r"(?:needs|more)=['\"]([^'\"]*)['\"]", (ROOT / "regatta").read_text())
    words = {word.removesuffix("$workloads") for text in asked for word in text.split()} - {
        "",
        "$needs",
        "$need",
    }
    assert {"jdk", "influxdb"} <= words <= {row[0] for row in rows}


def test_the_demo_asks_for_no_program_that_it_does_not_run(machine: Machine) -> None:
    machine.has("javac", "mvn", "gcc", "make", "perl")
    assert machine.run("demo", FAKE_UID="1000").returncode == 0


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["demo", "--influx"], True),
        (["demo"], False),
        (["up"], True),
        (["up", "--port", "8087"], True),
        (["up", "--docker"], False),
        (["up", "--help"], False),
        (["down", "--delete"], False),
        (["ingest", "demo"], False),
    ],
)
def test_influxdb_is_asked_for_by_who_starts_one_only(
    machine: Machine, words: list[str], asked: bool
) -> None:
    machine.has("apt-get", "apt-cache", *BUILD_TOOLS)
    done = machine.run(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"cli in {machine.clone}: {' '.join(words)}\n"
    installed = [call for call in machine.calls("apt-get") if " install " in call]
    assert [call.split("recommends ")[1] for call in installed] == ["influxdb influxdb-client"] * asked
    assert ("./regatta up --docker" in done.stderr) is asked


@pytest.mark.parametrize("way", ["variable", "file", "services"])
def test_a_demonstration_with_a_configured_influxdb_asks_for_none(machine: Machine, way: str) -> None:
    machine.has("apt-get", *BUILD_TOOLS)
    cache = machine.clone.parent / "cache"
    settings = machine.clone / "configs" if way == "file" else cache / "services"
    settings.mkdir(parents=True, exist_ok=True)
    if way != "variable":
        (settings / "influx.yml").touch()
    variable = {"REGATTA_INFLUX": "db.yml"} if way == "variable" else {}
    done = machine.run("demo", "--influx", REGATTA_CACHE=str(cache), **variable)
    assert done.returncode == 0, done.stderr
    assert machine.calls("apt-get") == []


def test_the_service_of_a_new_influxdb_is_kept_off(machine: Machine) -> None:
    machine.has("apt-get", "systemctl")
    assert machine.run("up").returncode == 0
    calls = [call for call in machine.calls() if call.startswith("systemctl") or " install " in call]
    assert [call.split()[2] for call in calls if call.startswith("systemctl")] == [
        "mask",
        "unmask",
        "disable",
    ]
    assert " install " in calls[1]
    assert all(call.endswith(" influxdb.service") for call in calls if call.startswith("systemctl"))


@pytest.mark.parametrize("signal", ["INT", "TERM"])
def test_the_service_is_not_left_masked_by_who_interrupts_the_installing(
    machine: Machine, signal: str
) -> None:
    machine.has("apt-get", "systemctl")
    assert machine.run("up", FAKE_APT=signal).returncode in (-2, -15)
    assert [call.split()[2] for call in machine.calls("systemctl")] == ["mask", "unmask", "disable"]


def test_an_influxdb_that_was_here_before_keeps_its_service(machine: Machine) -> None:
    machine.has("apt-get", "systemctl", "influxd")
    assert machine.run("up").returncode == 0
    assert machine.calls("systemctl") == []


def test_where_no_influxdb_can_be_had_the_tests_go_on_and_starting_one_fails(machine: Machine) -> None:
    machine.has(*BUILD_TOOLS, "shellcheck", "apt-get", "apt-cache")
    done = machine.run("test", "--only", "influx")
    assert done.returncode == 0, done.stderr
    assert " influxdb (no such package)" in done.stderr
    assert machine.run("test", "--only", "influx").stderr == ""
    (machine.bin / "apt-get").unlink()
    failed = machine.run("up")
    assert failed.returncode == 3
    assert "influxdb influxdb-client" in failed.stderr


def test_without_python_it_says_so_by_hand(machine: Machine) -> None:
    done = machine.run("status", FAKE_UID="1000", REGATTA_PYTHON="python9")
    assert done.returncode == 3
    assert "expected Python 3.11 or newer" in done.stderr
    assert "python9" in done.stderr


@pytest.mark.parametrize("uid", ["0", "1000"])
def test_only_what_is_missing_is_installed_and_is_named_first(machine: Machine, uid: str) -> None:
    machine.has(
        "apt-get",
        "apt-cache",
        "sudo",
        "gcc",
        "javac",
        "perl",
        "bzip2",
        "apache2",
        "nginx",
        "varnishd",
        "trace-cmd",
    )
    done = machine.run("run", "spec.yml", FAKE_UID=uid)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"cli in {machine.clone}: run spec.yml\n"
    named = done.stderr.splitlines()[:6]
    assert named[0].startswith("regatta: installing ")
    assert "apt-get" in named[0]
    assert [line.split()[0] for line in named[1:]] == ["maven", "make", "xz-utils", "sqlite3", "libtirpc-dev"]
    update, install = machine.calls("apt-get")
    assert update.endswith(" update")
    options, packages = ["-y", "--no-install-recommends"], ["maven", "make", "xz-utils", "sqlite3"]
    assert install.partition(" install ")[2].split() == [*options, *packages, "libtirpc-dev", "pkg-config"]
    assert bool(machine.calls("sudo")) == (uid != "0")


@pytest.mark.parametrize(
    "words", [["--version"], ["status"], ["schema"], ["run", "--help"], ["analyze", "run"]]
)
def test_verbs_that_build_nothing_ask_for_no_system_package(machine: Machine, words: list[str]) -> None:
    done = machine.run(*words, FAKE_UID="1000")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("version", "fits"), [("1.8.0_402", False), ("11.0.22", False), ("17.0.13", True), ("26-ea", True)]
)
def test_a_jdk_that_is_too_old_counts_as_missing(machine: Machine, version: str, fits: bool) -> None:
    machine.has("mvn", "gcc", "make", *WORKLOADS)
    home = machine.clone.parent / "jdk"
    (home / "bin").mkdir(parents=True)
    _script(home / "bin" / "javac", "")
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\nOS_NAME="Linux"\n')
    done = machine.run("build", FAKE_UID="1000", JAVA_HOME=str(home))
    assert (done.returncode == 0) is fits, done.stderr


def test_the_tests_go_on_without_chromium_where_it_cannot_be_installed(machine: Machine) -> None:
    machine.has(*TEST_TOOLS)
    done = machine.run("test", "--only", "browser", FAKE_UID="1000")
    assert done.returncode == 0, done.stderr
    assert "continuing without chromium" in done.stderr
    assert machine.run("test", "--only=browser", FAKE_UID="1000").stderr == ""


def test_the_first_tier_of_the_tests_needs_build_tools_alone(machine: Machine) -> None:
    machine.has("javac", "mvn", "gcc", "make", "perl", "pkg-config", "shellcheck")
    done = machine.run("test", "-k", "anything", FAKE_UID="1000")
    assert (done.returncode, done.stderr.count("apt-get")) == (0, 0), done.stderr


@pytest.mark.parametrize(
    ("words", "package", "other"),
    [
        (["--only", "fleet"], "slurmctld", "chromium"),
        (["--only=c"], "clang", "docker.io"),
        (["tests/fleet/test_beds.py"], "mmdebstrap", "bpftrace"),
        (["-x", "tests/workloads/test_lm.py::test_it"], "qemu-user-static", "slurmctld"),
        (["--only", "influx"], "influxdb", "docker.io"),
        (["--long"], "docker.io", "chromium"),
        (["--long"], "qemu-system-x86", "chromium"),
    ],
)
def test_a_part_of_the_tests_asks_for_what_it_needs(
    machine: Machine, words: list[str], package: str, other: str
) -> None:
    machine.has("javac", "mvn", "gcc", "make", "perl", "pkg-config", "shellcheck")
    done = machine.run("test", *words, FAKE_UID="1000")
    assert done.returncode == 3
    by_hand = done.stderr.splitlines()[-1].split()
    assert package in by_hand
    assert other not in by_hand
    assert len(by_hand) == len(set(by_hand))


@pytest.mark.parametrize(
    ("words", "processes"),
    [(["-n", "4"], "-n 2 "), (["-p", "no:xdist"], ""), (["-pno:xdist"], "")],
)
def test_the_tests_run_in_two_processes_unless_the_user_wants_otherwise(
    machine: Machine, words: list[str], processes: str
) -> None:
    machine.has("javac", "mvn", "gcc", "make", "perl", "pkg-config", "shellcheck")
    assert f"python -m pytest {processes}{' '.join(words)}" in machine.run("test", *words).stdout


@pytest.mark.parametrize("failing", ["", "mypy", "shellcheck"])
def test_check_runs_every_tool_and_fails_when_one_does(machine: Machine, failing: str) -> None:
    git = shutil.which("git")
    assert git
    (machine.bin / "git").symlink_to(git)
    tools = machine.clone / ".venv" / "bin"
    tools.mkdir(parents=True)
    named = (
        "ruff",
        "mypy",
        "lint-imports",
        "vermin",
        "snakefmt",
        "shellcheck",
        "clang-format",
        "vale",
        "ansible-lint",
        # prints the help of the commands, the descriptions and what hosts run
        "python",
    )
    for name in named:
        _script(tools / name, "echo complaint; exit 1" if name == failing else "")
    # It builds the site from documents that this clone does not have.
    _script(machine.clone / "tools" / "docs", "")
    subprocess.run([git, "init", "-q", machine.clone], check=True)
    done = machine.run(by=[machine.clone / "tools" / "check"])
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    expected = [
        "ruff check",
        "ruff format",
        "mypy",
        "import-linter",
        "vermin, controller",
        "vermin, hosts",
        "snakefmt",
        "shellcheck",
        "clang-format",
        "help of commands",
        "descriptions",
        "vale",
        "form of documents",
        "commands of documents",
        "names of tests",
        "documentation site",
        "ansible-lint",
    ]
    assert [line[8:].removesuffix(" (no files)") for line in lines] == expected
    assert [line[8:] for line in lines if line.startswith("FAILED")] == ([failing] if failing else [])
    assert ("        complaint" in done.stdout.splitlines()) is bool(failing)
    assert done.returncode == (1 if failing else 0)


@pytest.mark.parametrize("failing", ["check", "test", "none"])
def test_continuous_integration_fails_with_either_and_ends_with_pytests_line(
    tmp_path: Path, failing: str
) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy2(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    _script(tmp_path / "regatta", f'echo "== $1 $CI =="; read -r _ && exit 9; [ "$1" != {failing} ]')
    done = subprocess.run(
        [tmp_path / ".ci" / "run"], input="typed", capture_output=True, text=True, env={**os.environ}
    )
    assert done.stdout.splitlines() == ["== check true ==", "== test true =="]
    assert done.returncode == (0 if failing == "none" else 1)
