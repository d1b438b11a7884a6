"""`regatta predict --on PLACE... -- COMMAND` on programs that nobody prepared: one of the system, and one in Java."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.experiment_parts import HOME, NEVER_PERTURBED_LINE
from helpers.experiments.small_experiments import SmallExperiment
from regatta.host.errors import HostError
from regatta.host.measure.cgroup import open_accounting
from regatta.models.cli.predict_command import APPLICATIONS, SPEC
from regatta.models.cli.trace import this_machine
from regatta.models.system_calls.tools import choose_tool
from regatta.models.vectors.files import read_vector
from regatta.models.vectors.values import ApplicationVector, SystemVector

#: what the experiments on primitives measure, cut down: change in the text of a spec
SHORTER = {
    "hbench-os.yml": {"interval_us: 200000": "interval_us: 20000", "user_share_us: 300000": "user_share_us: 20000"},
    "hbench-java.yml": {"benchmark: all}": "benchmark: all, size: quick}", "count: 20, warmup: 12": "count: 1, warmup: 0"},
}  # fmt: skip


UNSTABLE = "the load is too unstable"


class _Home:
    """A home whose experiments on primitives are short, and the commands in it."""

    def __init__(self, root: Path) -> None:
        self.small = SmallExperiment(root)
        self.root = root
        self.home = root / "home"
        shutil.copytree(HOME / "configs", self.home / "configs")
        for name in ("Snakefile", "workflows", "benchmarks"):
            (self.home / name).symlink_to(HOME / name)
        for name, changes in SHORTER.items():
            path = self.home / "configs" / "experiments" / name
            text = path.read_text()
            for old, new in changes.items():
                assert old in text
                text = text.replace(old, new)
            path.write_text(text + NEVER_PERTURBED_LINE)
        # This machine, as if nobody had measured it.
        (self.home / "configs" / "systems" / "xeon-vm.yml").unlink()
        self.small.environment["REGATTA_HOME"] = str(self.home)
        # Runtimes and programs are those of all tests.
        del self.small.environment["REGATTA_CACHE"]

    def predict(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = self.small.regatta("predict", *arguments)
        for _ in range(2):
            # The program refuses to measure on a machine that is too busy, and the same command goes on.
            if done.returncode == 1 and UNSTABLE in done.stderr:
                done = self.small.regatta("predict", *arguments)
        assert done.returncode == code, done.stderr
        return done

    def vectors(self) -> list[ApplicationVector]:
        found = [read_vector(path) for path in sorted((self.root / "results" / APPLICATIONS).glob("*.yml"))]
        return [one for one in found if isinstance(one, ApplicationVector)]

    def specs(self) -> dict[str, dict[str, Any]]:
        paths = sorted((self.root / "results").glob(f"primitives-*/{SPEC}"))
        return {path.parent.name: json.loads(path.read_text()) for path in paths}

    def invocations(self) -> set[str]:
        """Ids of those that were measured, in all experiments."""
        paths = (self.root / "results").glob("primitives-*/journal/*/0*.jsonl")
        lines = [line for path in paths for line in path.read_bytes().splitlines()]
        return {f"{one['host']} {one['invocation_id']}" for one in map(json.loads, lines)}


def why_no_processor() -> str:
    """Why a group of processes cannot have one processor here."""
    accounting, reason = open_accounting({"cpu"})
    if accounting is not None:
        accounting.close()
    return reason


def why_no_tracer() -> str:
    """Why system calls cannot be traced here."""
    try:
        choose_tool("auto")
    except HostError as error:
        return str(error)
    return ""


@pytest.fixture
def home(tmp_path: Path) -> _Home:
    return _Home(tmp_path)


def test_a_program_is_predicted_by_its_system_calls_and_nothing_is_done_twice(home: _Home) -> None:
    if (reason := why_no_processor()) or (reason := why_no_tracer()):
        pytest.skip(f"NOT TESTED: {reason}")
    (home.root / "words").write_text("".join(f"{n % 97}\n" for n in range(20000)))
    command = (
        "--on",
        "emulated-aarch64",
        "local one-processor",
        "--rounds",
        "3",
        "--json",
        "--",
        "sort",
        "words",
    )
    # A place comes before a folder of the same name.
    (home.root / "local").mkdir()
    (home.root / "local" / "suite.yml").write_text("suite: own\n")
    done = home.predict(*command)
    (found,) = json.loads(done.stdout)["applications"]
    # Its own code is scaled from this machine, which was measured with the place that was named.
    names = {one["system"] for one in found["systems"]}
    assert names == {"emulated-aarch64", "local", "local-one-processor"}
    assert found["traced_on"] == "local"
    assert found["application"]["per"] == "run"
    times = {one["system"]: one["elapsed"]["value"] for one in found["systems"]}
    assert all(time > 0 for time in times.values())
    (vector,) = home.vectors()
    assert vector.name == "sort words"
    assert vector.user_time is not None
    ((name, spec),) = home.specs().items()
    measured = {entry["benchmark"] for entry in spec["benchmarks"]}
    assert {"lat_rand", "lat_simple"} <= measured
    # It has no network.
    assert "lat_serve" not in measured
    measured_once = home.invocations()
    assert len(measured_once) == len(spec["benchmarks"]) * 2 * 3
    again = home.predict(*command)
    assert json.loads(again.stdout) == json.loads(done.stdout)
    assert home.invocations() == measured_once
    (line,) = [line for line in again.stderr.splitlines() if "predict from these vectors" in line]
    words = line.partition(": ")[2].split()
    assert words[:2] == ["regatta", "predict"]
    by_vector = home.predict(*words[2:], "--json")
    assert json.loads(by_vector.stdout) == json.loads(done.stdout)
    # Another program needs another primitive, which alone is measured.
    script = (
        "import socket; a, b = socket.socketpair(); a.send(b'x')\nwith open('words', 'a') as f: f.write('x')"
    )
    home.predict("--on", "local one-processor", "local", "--rounds", "3", "--", "python3", "-c", script)
    ((same, wider),) = home.specs().items()
    assert same == name
    added = [entry for entry in wider["benchmarks"] if entry not in spec["benchmarks"]]
    assert added
    assert [entry for entry in wider["benchmarks"] if entry not in added] == spec["benchmarks"]
    assert len(home.invocations() - measured_once) == len(added) * 2 * 3


@pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None,
    reason="NO JDK OR MAVEN: NO JAVA PROGRAM IS PREDICTED",
)
def test_a_java_program_is_predicted_on_another_jvm(home: _Home) -> None:
    (home.root / "Main.java").write_text(
        "public class Main { public static void main(String[] a) { StringBuilder b = new StringBuilder();"
        " for (int i = 0; i < 2000000; i++) b.append((char) ('a' + i % 26)); System.out.println(b.length()); } }"
    )
    subprocess.run(["javac", "-d", "classes", "Main.java"], cwd=home.root, check=True)
    command = ("java", "-XX:+UseSerialGC", "-cp", "classes", "Main")
    done = home.predict("--on", "temurin-21 serial interpreter", "--rounds", "3", "--json", "--", *command)
    (found,) = json.loads(done.stdout)["applications"]
    traced, other = "local-host-java-serial-1024MiB", "local-temurin-21-serial-interpreter-1024MiB"
    assert {one["system"] for one in found["systems"]} == {traced, other}
    assert found["traced_on"] == traced
    (vector,) = home.vectors()
    assert (vector.name, vector.per) == ("Main", "run")
    assert vector.provenance["configuration"] == "host-java serial"
    assert vector.provenance["fingerprint"] == this_machine()
    times = {one["system"]: one["elapsed"]["value"] for one in found["systems"]}
    assert all(time > 0.0 for time in times.values())
    (path,) = (home.root / "results").glob("primitives-java-*")
    shown = home.small.regatta("vector", "system", str(path), "--primitives", "java", "--out", "vectors")
    assert shown.returncode == 0, shown.stderr
    systems = [read_vector(file) for file in sorted((home.root / "vectors").glob("*.yml"))]
    assert all(isinstance(one, SystemVector) and "builder_append_char" in one.primitives for one in systems)


def test_a_wrong_command_is_refused_before_anything_runs(home: _Home) -> None:
    for arguments, message in (
        (("--on", "local"), "expected either APP"),
        (("apache-cgi", "--on", "local", "--", "true"), "expected either APP"),
        (("--on", "local", "--primitives", "java", "--", "true"), "--primitives"),
        (("--on", "local", "--", "no-such-program"), "-- no-such-program"),
        (("--on", "lokal", "--", "true"), "did you mean local?"),
        (("--on", "local", "--"), "expected either APP"),
        (("--on", "", "--", "true"), "platform in a place"),
        (("--on", "local interpreter", "--", "true"), "only with a command that is `java`"),
        (("--on", "local", "--what-if", "stat=0.5y", "--", "true"), "expected a change"),
        (("--on", "local", "--measured", "nothing", "--", "true"), "--measured"),
    ):
        done = home.predict(*arguments, code=2)
        assert message in done.stderr
    assert not list((home.root / "results").glob("*"))
