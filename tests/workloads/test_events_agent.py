"""The agent that counts events of a JVM: exact on every JVM, as the JVM's own logs have them; the program notices nothing."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_trace_commands import trace

from helpers.shared_locks import made_once
from helpers.workloads.java_runs import COMPILED, JVMS, MODES, Programs, Run, expected_digest, jvm
from helpers.workloads.sanitized_agent import check_sanitized, sanitized_agent
from regatta.models.system_calls.java import profiler_jar
from regatta.models.system_calls.java_events import Events, events_agent, read_events
from regatta.models.vectors.files import read_vector
from regatta.models.vectors.values import ApplicationVector

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: a debugger, which alone may set breakpoints; it waits for nobody
DEBUGGER = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,quiet=y,address=127.0.0.1:0"


#: times that another program may have had the processor between two readings of the clock
TRIES = 5


@dataclass
class Counted:
    """The compiled programs and the agent."""

    programs: Programs
    agent: Path
    classes: Path

    def run(
        self, *arguments: str, program: str = "java", flags: tuple[str, ...] = (), **environment: str
    ) -> Run:
        """Run `Events MODE COUNT`, or another program."""
        return self.programs.java(
            *flags, "-cp", str(self.classes), *arguments, program=program, **environment
        )

    def counted(
        self, *arguments: str, program: str = "java", flags: tuple[str, ...] = ()
    ) -> tuple[Run, Events]:
        """A run with the agent, and its events."""
        run = self.run(*arguments, program=program, flags=(f"-agentpath:{self.agent}=events.json", *flags))
        return run, events_of(run)


def events_of(run: Run) -> Events:
    assert list(run.directory.glob("*.unfinished")) == []
    return read_events(run.directory / "events.json")


def total(events: Events, kind: str) -> int:
    return sum(events.counts[kind])


def compile_programs(folder: Path) -> None:
    folder.mkdir()
    sources = [HERE / "Events.java", HERE / "Profiled.java"]
    subprocess.run(["javac", "--release", "11", "-Xlint:all", "-Werror", "-d", folder, *sources], check=True)


@pytest.fixture(scope="session")
def counted(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Counted:
    if missing := [program for program in ("make", "cc") if shutil.which(program) is None]:
        pytest.skip(f"THE AGENT FOR EVENTS IS NOT TESTED: {', '.join(missing)} not on PATH")
    return Counted(programs, events_agent(), made_once(tmp_path_factory, "events", compile_programs))


# ---- exact, on every JVM ----


@pytest.mark.parametrize("name", MODES)
def test_classes_are_those_of_the_log(counted: Counted, name: str) -> None:
    """Each of the ten thousand has a loader of its own, which also asks for a class of another loader."""
    log = ("-Xlog:class+load:file=classes.log:tags",)
    run, events = counted.counted("Events", "classes", "10000", program=jvm(name), flags=log)
    assert run.code == 0, run.stderr
    lines = (run.directory / "classes.log").read_text(encoding="utf-8").splitlines()
    loaded = [line for line in lines if " source: " in line]
    assert sum("Events$Defined" in line for line in loaded) == 10_000
    assert total(events, "classes_loaded") == len(loaded)
    own = [line for line in loaded if re.search(r" Events(\$\w+)? source: ", line)]
    assert total(events, "application_classes") == len(own) > 10_000
    assert events.missing == []


@pytest.mark.parametrize("name", JVMS)
def test_exceptions_are_those_of_the_log(counted: Counted, name: str) -> None:
    log = ("-Xlog:exceptions:file=exceptions.log:tags",)
    run, events = counted.counted("Events", "exceptions", "1000", program=jvm(name), flags=log)
    assert run.stdout == "caught 1000\n"
    text = (run.directory / "exceptions.log").read_text(encoding="utf-8")
    # The log names an exception once for each frame that it passes.
    assert len(set(re.findall(r"<a 'Events\$Mine'[^>]*: (number \d+)>", text))) == 1000
    assert (total(events, "exceptions"), total(events, "exceptions_uncaught")) == (1000, 0)
    assert events.threads["main"]["exceptions"] == 1000


@pytest.mark.parametrize("name", MODES)
def test_a_stack_that_overflows_first_of_all_is_one_exception(counted: Counted, name: str) -> None:
    run, events = counted.counted("Events", "deep", "5", program=jvm(name))
    assert run.code == 0, run.stderr
    assert events.threads["one of many"]["exceptions"] == total(events, "exceptions") == 5


@pytest.mark.parametrize("name", JVMS)
def test_uncaught_exceptions_are_told_apart(counted: Counted, name: str) -> None:
    _, events = counted.counted("Events", "uncaught", "20", program=jvm(name))
    assert (total(events, "exceptions"), total(events, "exceptions_uncaught")) == (20, 20)


@pytest.mark.parametrize("name", JVMS)
def test_each_wait_for_a_monitor_counts_once_with_its_time(counted: Counted, name: str) -> None:
    run, events = counted.counted("Events", "monitors", "50", program=jvm(name))
    assert run.code == 0, run.stderr
    assert total(events, "contended_monitors") == 50
    assert events.threads["blocked"]["contended_monitors"] == 50
    assert total(events, "contended_ns") == events.threads["blocked"]["contended_ns"] > 0


@pytest.mark.parametrize("name", MODES)
def test_a_hundred_threads_lose_no_event(counted: Counted, name: str) -> None:
    """Threads of the JVM itself do not count: some begin late, or only while the program runs."""
    run, events = counted.counted("Events", "together", "100", program=jvm(name))
    assert run.code == 0, run.stderr
    assert total(events, "threads_started") == 101, "the main thread and a hundred"
    assert total(events, "exceptions") == 100_000
    throwers = {name: of["exceptions"] for name, of in events.threads.items() if name.startswith("thrower")}
    assert throwers == {f"thrower {i}": 1000 for i in range(100)}


@pytest.mark.parametrize("name", ["21", "25"])
def test_virtual_threads_lose_no_event(counted: Counted, name: str) -> None:
    run, events = counted.counted("Events", "virtual", "5000", program=jvm(name))
    assert run.code == 0, run.stderr
    assert total(events, "virtual_threads_started") == 5000
    assert events.threads["(virtual threads)"]["exceptions"] == total(events, "exceptions") == 5000


@pytest.mark.parametrize("name", COMPILED)
def test_compilations_are_those_of_the_log(counted: Counted, name: str) -> None:
    """In the foreground, so that none is left over when the JVM ends."""
    flags = ("-Xbatch", "-Xlog:jit+compilation=debug:file=jit.log:tags")
    run, events = counted.counted("Events", "work", "200000", program=jvm(name), flags=flags)
    assert run.code == 0, run.stderr
    lines = (run.directory / "jit.log").read_text(encoding="utf-8").splitlines()
    logged = [line for line in lines if "made not entrant" not in line and "made zombie" not in line]
    # A line is of the begin of a compilation. One that a thread of the JVM itself needs may not end before the JVM does.
    unfinished = len(logged) - total(events, "methods_compiled") - total(events, "methods_recompiled")
    assert len(logged) > 100
    assert unfinished in (0, 1)
    sizes = [int(size) for line in logged for size in re.findall(r"\((\d+) bytes\)", line)]
    lacking = sum(sizes) - total(events, "bytes_compiled") - total(events, "bytes_recompiled")
    assert lacking in (sizes[-5:] if unfinished else [0])
    assert total(events, "bytes_compiled") > total(events, "methods_compiled")
    assert total(events, "bytes_recompiled") > total(events, "methods_recompiled") > 0
    assert total(events, "code_bytes") > sum(sizes)


@pytest.mark.parametrize("name", ["zero", "21 -Xint"])
def test_a_jvm_that_interprets_compiles_nothing(counted: Counted, name: str) -> None:
    _, events = counted.counted("Events", "work", "1000", program=jvm(name))
    assert total(events, "methods_compiled") == total(events, "code_bytes") == 0


@pytest.mark.parametrize("name", JVMS)
def test_the_time_of_threads_is_counted_whether_they_run_or_have_ended(counted: Counted, name: str) -> None:
    """Most of the work is that of a hundred threads that have ended; none is that of the compilers."""
    run, events = counted.counted("Events", "together", "100", program=jvm(name))
    assert run.code == 0, run.stderr
    _, nothing = counted.counted("Events", "exceptions", "1", program=jvm(name))
    assert total(events, "thread_cpu_ns") > total(nothing, "thread_cpu_ns") > 0


# ---- windows ----


@pytest.mark.parametrize("name", JVMS)
def test_iterations_are_windows_and_digests_stay(counted: Counted, name: str) -> None:
    flags = (f"-agentpath:{counted.agent}=events.json",)
    run = counted.programs.benchmark("vm/jess", size="s1", flags=flags, program=jvm(name), iterations=3)
    assert run.digests() == [expected_digest("vm/jess", "s1")] * 3
    events = events_of(run)
    assert events.windows == [
        "startup", "iteration 0", "before 1", "iteration 1", "before 2", "iteration 2", "rest",
    ]  # fmt: skip
    assert events.ended_ns == sorted(events.ended_ns)
    classes = dict(zip(events.windows, events.counts["classes_loaded"], strict=True))
    # The rules are read at the startup; what an iteration needs is loaded in the first.
    assert classes["startup"] > classes["iteration 0"] > 0 == classes["iteration 2"]


def test_windows_alone_have_no_counts(counted: Counted) -> None:
    flags = (f"-agentpath:{counted.agent}=windows,events.json",)
    for _ in range(TRIES):
        run = counted.programs.benchmark("vm/jess", size="s1", flags=flags, iterations=1)
        events = events_of(run)
        assert (events.windows, events.counts, events.missing) == (["startup", "iteration 0", "rest"], {}, [])
        window, elapsed = events.ended_ns[1] - events.ended_ns[0], run.values("elapsed")[0]
        # Reading the clocks of the harness lies between the two, and on a busy machine any other program.
        if window == pytest.approx(elapsed, rel=0.5):
            return
    pytest.fail(f"expected a window of about {elapsed} ns, got {window}")


# ---- nothing else changes ----


@pytest.mark.parametrize(
    "arguments",
    [("Profiled", "exit"), ("Profiled", "throw"), ("Profiled", "deep"), ("Profiled", "halt"), ("Nowhere",)],
    ids=lambda arguments: arguments[-1],
)
@pytest.mark.parametrize("name", MODES)
def test_exit_code_and_output_stay(counted: Counted, name: str, arguments: tuple[str, ...]) -> None:
    """Also of a JVM that is halted or finds no class: the agent writes its file all the same."""
    plain = counted.run(*arguments, program=jvm(name))
    run, events = counted.counted(*arguments, program=jvm(name))
    assert (run.code, run.stdout, run.stderr) == (plain.code, plain.stdout, plain.stderr)
    assert events.windows == ["rest"]


@pytest.mark.parametrize("name", JVMS)
def test_threads_that_still_run_do_not_disturb_the_end(counted: Counted, name: str) -> None:
    run, events = counted.counted("Events", "exit", "20", program=jvm(name))
    assert (run.code, run.stdout, run.stderr) == (3, "", "")
    assert total(events, "exceptions") >= 40, "the program waits for these"


@pytest.mark.parametrize("name", JVMS)
def test_with_a_debugger_the_missing_capability_is_named_and_the_rest_is_counted(
    counted: Counted, name: str
) -> None:
    program = jvm(name)
    run, events = counted.counted("Events", "exceptions", "1000", program=program)
    flags = (DEBUGGER, f"-agentpath:{counted.agent}=events.json")
    debugged = counted.run("Events", "exceptions", "1000", program=program, flags=flags)
    if debugged.code != 0 and "jdwp" in debugged.stdout + debugged.stderr:
        pytest.skip("NOT TESTED: this JVM has no debugger, or may not listen")
    assert (debugged.code, debugged.stdout) == (0, run.stdout)
    found = events_of(debugged)
    assert found.missing == ["can_generate_breakpoint_events"]
    assert total(found, "exceptions") == total(events, "exceptions") == 1000


def test_with_a_debugger_a_program_with_iterations_has_no_events_and_says_why(
    counted: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = counted.programs.command("vm/jess", "command", size=1, iterations=2, data_seed=1)
    java = jvm("25")
    profiler_jar()
    # The debugger comes before the agents of the command line.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", DEBUGGER)
    done = trace(tmp_path, "java", "--overhead", "0", "-o", "jess.yml", "--", java, *command)
    if done.returncode != 0 and "jdwp" in done.stderr:
        pytest.skip("NOT TESTED: this JVM has no debugger, or may not listen")
    assert done.returncode == 0, done.stderr
    provenance = read_vector(tmp_path / "jess.yml").provenance
    assert "can_generate_breakpoint_events" in provenance["notes"]
    assert "events" not in provenance
    assert "system_share" not in provenance


@pytest.mark.parametrize("option", ["", "=", "=windows,"])
def test_without_a_file_nothing_runs(counted: Counted, option: str) -> None:
    run = counted.run("Events", "exit", "0", flags=(f"-agentpath:{counted.agent}{option}",))
    assert run.code == 1
    assert "-agentpath:libregatta_events.so=FILE or =windows,FILE: " in run.stderr
    assert "got no FILE" in run.stderr


def test_a_path_that_is_too_long_is_refused(counted: Counted) -> None:
    run = counted.run("Events", "exit", "0", flags=(f"-agentpath:{counted.agent}={'x' * 5000}",))
    assert run.code == 1
    assert "path too long" in run.stderr


@pytest.mark.parametrize(
    ("file", "reason"), [("missing/events.json", errno.ENOENT), ("/dev/full/events.json", errno.ENOTDIR)]
)
@pytest.mark.parametrize("name", JVMS)
def test_a_file_that_cannot_be_written_changes_nothing_else(
    counted: Counted, name: str, file: str, reason: int
) -> None:
    flags = (f"-agentpath:{counted.agent}={file}",)
    run = counted.run("Profiled", "exit", flags=flags, program=jvm(name))
    assert (run.code, run.stdout) == (3, "out\n")
    assert f"error: regatta events: {file}: {os.strerror(reason)}" in run.stderr


def test_a_second_agent_is_named_and_the_first_counts(counted: Counted) -> None:
    again = (f"-agentpath:{counted.agent}=again.json",)
    run, events = counted.counted("Events", "exceptions", "7", flags=again)
    assert "again.json: not written: " in run.stderr
    assert "loaded twice" in run.stderr
    assert total(events, "exceptions") == 7
    assert not (run.directory / "again.json").exists()


@pytest.mark.parametrize(
    "name",
    [COMPILED[0], *(pytest.param(name, marks=pytest.mark.long) for name in COMPILED[1:-1]), COMPILED[-1]],
)
def test_the_address_sanitizer_finds_nothing(
    counted: Counted, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """On the oldest JVM and on the newest, which has every event: the agent's own code is the same on all. The others are `long`."""
    agent, checked = sanitized_agent(tmp_path_factory)
    for mode, count, code, kind, least in (
        ("together", "100", 0, "exceptions", 100_000),
        ("classes", "10000", 0, "classes_loaded", 10_000),
        ("deep", "5", 0, "exceptions", 5),
        ("monitors", "50", 0, "contended_monitors", 50),
        ("exit", "20", 3, "exceptions", 40),
    ):
        flags = (f"-agentpath:{agent}=events.json",)
        run = counted.run("Events", mode, count, program=jvm(name), flags=flags, **checked)
        assert run.code == code, run.stderr
        check_sanitized(run)
        events = events_of(run)
        assert (events.missing, total(events, kind) >= least) == ([], True)


# ---- vectors ----


def test_a_vector_has_events_and_the_share_of_system_classes(counted: Counted, tmp_path: Path) -> None:
    command = counted.programs.command("vm/jess", "command", size=3, iterations=6, data_seed=1)
    done = trace(
        tmp_path, "java", "--overhead", "0", "--warmup", "1", "-o", "jess.yml", "--", jvm("25"), *command
    )
    assert done.returncode == 0, done.stderr
    steady = read_vector(tmp_path / "jess.yml")
    assert isinstance(steady, ApplicationVector)
    # Those are counted for a startup only.
    assert not {"class_load_fresh", "jit_first", "jit_again"} & {one.primitive for one in steady.counts}
    provenance = steady.provenance
    assert provenance["events"].startswith("classes_loaded ")
    assert int(re.findall(r"classes_loaded (\d+)", provenance["events_startup"])[0]) > 500
    # A thread of the JVM that waits can be in a sample, on a slow machine.
    share = re.fullmatch(
        r"(\d+\.\d) % \[(\d+\.\d), (\d+\.\d)\] \(95 % CI, (\d+) samples of main(, without \d+ waiting threads?)?\)",
        provenance["system_share"],
    )
    assert share, provenance["system_share"]
    # A rule engine on hash maps: neither all nor nothing of it is in system classes. All of a few samples can be.
    assert float(share[2]) < 95
    assert float(share[3]) > 10
    assert "notes" not in provenance


def test_the_vector_of_a_startup_has_the_classes_and_the_bytecode(counted: Counted, tmp_path: Path) -> None:
    command = counted.programs.command("vm/jess", "command", size=3, iterations=3, data_seed=1)
    options = ("--startup", "--overhead", "1", "--warmup", "1")
    done = trace(tmp_path, "java", *options, "-o", "start.yml", "--", jvm("21"), *command)
    assert done.returncode == 0, done.stderr
    start = read_vector(tmp_path / "start.yml")
    assert isinstance(start, ApplicationVector)
    assert (start.per, start.user_time, start.pause_time, start.parallelism) == ("start", None, None, 1.0)
    counts = {(one.primitive, one.rule): one.count.value for one in start.counts}
    # The harness alone has more.
    assert counts["class_load_fresh", "class-loaded"] > 20
    assert counts["jit_first", "code-first"] > 1000
    assert counts["jit_again", "code-again"] > 1000
    assert "compiled" in start.provenance["code"]


def test_a_jvm_without_the_flight_recorder_has_events_and_no_share(counted: Counted, tmp_path: Path) -> None:
    java = jvm("zero").split()
    command = ("-cp", str(counted.classes), "Events", "exceptions", "30")
    done = trace(tmp_path, "java", "--overhead", "0", "--per", "run", "-o", "v.yml", "--", *java, *command)
    assert done.returncode == 0, done.stderr
    provenance = read_vector(tmp_path / "v.yml").provenance
    assert "exceptions 30, " in provenance["events"]
    assert "system_share" not in provenance
    assert "the flight recorder (JFR)" in provenance["notes"]


# ---- the JVM's own timing of methods, on release 25 ----

EQUAL = {
    "java.lang.String.split(Ljava/lang/String;)[Ljava/lang/String;",
    "java.lang.Character.isDigit(C)Z",
    "java.util.TreeMap.put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
    "java.util.BitSet.set(I)V",
    # Intrinsics of the compilers: the recorder's counting is compiled, too.
    "java.util.zip.CRC32.update(I)V",
    "java.lang.Math.abs(I)I",
    "java.lang.Math.addExact(II)I",
    "java.lang.Math.floor(D)D",
    "java.lang.Integer.bitCount(I)I",
}
#: listed by the recorder with no calls, also where the JVM only interprets: it is not the compiler that hides them
NEVER_COUNTED = {
    "java.lang.String.length()I",
    "java.lang.String.charAt(I)C",
    "java.lang.String.hashCode()I",
    "java.lang.Math.sqrt(D)D",
}
#: native: not listed
NOT_LISTED = {
    "java.lang.System.arraycopy(Ljava/lang/Object;ILjava/lang/Object;II)V",
    "java.lang.Object.clone()Ljava/lang/Object;",
}


def timed_calls(run: Run, java: str) -> Counter[str]:
    """Calls by the JVM's own count, over all callers."""
    wanted = [
        Path(java).with_name("jfr"), "print", "--json", "--events", "jdk.MethodTiming", run.directory / "r.jfr",
    ]  # fmt: skip
    told = subprocess.run(wanted, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for event in json.loads(told)["recording"]["events"]:
        method: dict[str, Any] = event["values"]["method"]
        type_ = method["type"]["name"].replace("/", ".")
        found[f"{type_}.{method['name']}{method['descriptor']}"] += event["values"]["invocations"]
    return found


def test_the_profiler_counts_as_the_flight_recorder_and_where_that_is_blind(counted: Counted) -> None:
    java = jvm("25")
    if not Path(java).with_name("jfr").is_file():
        pytest.skip("NOT TESTED: this JVM has no tool jfr")
    asked = sorted({method.partition("(")[0] for method in EQUAL | NEVER_COUNTED | NOT_LISTED})
    names = ";".join("::".join(name.rsplit(".", 1)) for name in asked)
    flags = (f"-XX:StartFlightRecording:method-timing={names},filename=r.jfr",)
    timed, base = (
        timed_calls(counted.run("Events", "calls", count, program=java, flags=flags), java)
        for count in ("20000", "0")
    )
    flags = (f"-javaagent:{profiler_jar()}=profile.json",)
    run = counted.run("Events", "calls", "20000", program=java, flags=flags)
    profile = json.loads((run.directory / "profile.json").read_text(encoding="utf-8"))
    told = {line["method"]: sum(line["calls"]) for line in profile["methods"]}
    once = EQUAL | {"java.lang.Math.sqrt(D)D", "java.lang.String.charAt(I)C", "java.lang.String.length()I"}
    assert {method: told[method] for method in once | NOT_LISTED} == dict.fromkeys(once | NOT_LISTED, 20_000)
    # The recorder also counts the calls of system classes among each other, and its own.
    assert {method: timed[method] - base[method] for method in EQUAL} == dict.fromkeys(EQUAL, 20_000)
    assert {method: timed[method] for method in NEVER_COUNTED if method in timed} == dict.fromkeys(
        NEVER_COUNTED, 0
    )
    assert not NOT_LISTED & timed.keys()
