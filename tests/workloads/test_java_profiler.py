"""The profiler of calls into system classes: exact, on every JVM, and the application notices nothing of it."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from helpers.shared_locks import made_once
from helpers.workloads.java_runs import (
    COMPILED,
    JVMS,
    MODES,
    QUICK,
    Programs,
    Run,
    expected_digest,
    jvm,
)
from regatta.models.system_calls.java import profiler_jar

HERE = Path(__file__).parent

#: What the JVM itself calls where a class of the application is linked: no instruction asks for it.
OF_THE_JVM = (
    "java.lang.ClassLoader.loadClass(",
    "java.lang.ClassLoader.loadClassInternal(",
    "java.lang.ClassLoader.checkPackageAccess(",
    "java.lang.invoke.MethodHandleNatives.",
    "java.lang.invoke.DirectMethodHandle.",
)
#: The interpreter-only VM tells of no entry of native methods.
NATIVE = (
    "java.lang.Object.clone()Ljava/lang/Object;",
    "java.lang.System.arraycopy(Ljava/lang/Object;ILjava/lang/Object;II)V",
)
#: How call sites that are linked at run time are entered; the profiler counts them by what links them or is called.
LINKED = ("java.lang.invoke.Invokers$Holder.", "java.lang.invoke.LambdaForm$")
LINKS = (
    "java.lang.invoke.LambdaMetafactory.",
    "java.lang.invoke.StringConcatFactory.",
    "java.lang.invoke.MethodHandle.invokeExact(",
)


@dataclass
class Profiled:
    """The compiled programs, the profiler, and the agent that knows the truth."""

    programs: Programs
    agent: Path
    classes: Path
    truth: Path

    def run(self, *arguments: str, program: str = "java", flags: tuple[str, ...] = ()) -> Run:
        return self.programs.java(*flags, "-cp", str(self.classes), "Profiled", *arguments, program=program)

    def profiled(self, *arguments: str, program: str = "java") -> tuple[Run, dict[str, Any]]:
        """A run with the profiler, and its profile."""
        run = self.run(*arguments, program=program, flags=(f"-javaagent:{self.agent}=profile.json",))
        return run, profile_of(run)


def profile_of(run: Run) -> dict[str, Any]:
    profile: dict[str, Any] = json.loads((run.directory / "profile.json").read_text(encoding="utf-8"))
    assert profile["profile"] == 1
    return profile


def calls_of(profile: dict[str, Any]) -> Counter[str]:
    return Counter({line["method"]: sum(line["calls"]) for line in profile["methods"]})


def amount_of(profile: dict[str, Any], method: str) -> tuple[int, str]:
    (line,) = (line for line in profile["methods"] if line["method"] == method)
    return sum(line["amount"]), line["unit"]


@cache
def headers() -> Path:
    """Where the JDK on PATH has jni.h."""
    javac = Path(
        subprocess.run(["which", "javac"], capture_output=True, text=True, check=True).stdout.strip()
    )
    return javac.resolve().parents[1] / "include"


def compile_programs(folder: Path) -> None:
    folder.mkdir()
    javac = ["javac", "--release", "11", "-Xlint:all", "-Werror", "-d", folder, HERE / "Profiled.java"]
    subprocess.run(javac, check=True)
    includes = [f"-I{headers()}", f"-I{headers()}/linux"]
    flags = ["-shared", "-fPIC", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, *includes, "-o", folder / "entries.so", HERE / "entries.c"], check=True)


@pytest.fixture(scope="session")
def profiled(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Profiled:
    if not (headers() / "jvmti.h").exists():
        pytest.skip("NOT TESTED: the JDK on PATH has no jvmti.h")
    classes = made_once(tmp_path_factory, "profiled", compile_programs)
    return Profiled(programs, profiler_jar(), classes, classes / "entries.so")


# ---- exact ----


def true_calls(run: Run) -> tuple[Counter[str], Counter[str]]:
    """By JVMTI: what the classes of the application call, and what the classes call that the JVM made for its lambdas."""
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for line in (run.directory / "truth.txt").read_text(encoding="utf-8").splitlines():
        caller, type_, method, count = line.split(" ")
        name = f"{type_[1:-1].replace('/', '.')}.{method}"
        if not name.startswith(OF_THE_JVM) and ".<clinit>" not in name:
            counts[caller == "$$Lambda"][name] += int(count)
    return counts


@pytest.mark.parametrize("name", MODES)
def test_every_call_is_counted_as_the_jvm_itself_counts_it(profiled: Profiled, name: str) -> None:
    program = jvm(name)
    run, profile = profiled.profiled("calls", program=program)
    assert run.code == 0, run.stderr
    truth = profiled.run("calls", program=program, flags=(f"-agentpath:{profiled.truth}=truth.txt",))
    assert truth.code == 0, truth.stderr
    assert (run.stdout, run.stderr) == (truth.stdout, truth.stderr)
    true, of_lambdas = true_calls(truth)
    told = calls_of(profile)
    linked = sum(true.pop(method) for method in list(true) if method.startswith(LINKED))
    assert linked == sum(told.pop(method) for method in list(told) if method.startswith(LINKS))
    if name == "zero":
        true.update({method: told[method] for method in NATIVE})
    assert told == true
    # The blind spot: the class that the JVM makes of String::length calls it; nothing can be put in there.
    assert of_lambdas["java.lang.String.length()I"] == 1


@pytest.mark.parametrize("name", JVMS)
def test_calls_and_amounts_are_those_of_the_source(profiled: Profiled, name: str) -> None:
    _, profile = profiled.profiled("calls", program=jvm(name))
    told = calls_of(profile)
    assert told["java.util.ArrayList.add(Ljava/lang/Object;)Z"] == 1000 + 3 + 2
    assert told["java.util.LinkedList.add(Ljava/lang/Object;)Z"] == 1
    assert told["java.lang.Thread.getName()Ljava/lang/String;"] == 1
    assert told["java.lang.StringBuilder.append(C)Ljava/lang/StringBuilder;"] == 7
    assert told["java.util.HashMap.put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"] == 100
    assert amount_of(profile, "java.lang.System.arraycopy(Ljava/lang/Object;ILjava/lang/Object;II)V") == (
        10, "bytes",
    )  # fmt: skip
    assert amount_of(profile, "java.lang.Object.clone()Ljava/lang/Object;") == (2 * 4, "bytes")
    assert amount_of(profile, "java.util.Arrays.copyOf([II)[I") == (5 * 4, "bytes")
    put = "java.util.HashMap.put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"
    assert amount_of(profile, put) == (0, "chars"), "its keys are no texts"
    assert not any("amount" in line for line in profile["methods"] if "ArrayList.add" in line["method"])
    assert amount_of(profile, "java.io.InputStream.read([B)I") == (10, "bytes")
    appended = "java.lang.StringBuilder.append(Ljava/lang/String;)Ljava/lang/StringBuilder;"
    assert amount_of(profile, appended) == (7 * 3, "chars")
    assert profile["threads"]["worker"] == 7 * 3
    assert sum(profile["threads"].values()) == sum(told.values())
    assert profile["not_profiled"] == {}


@pytest.mark.parametrize("name", JVMS)
def test_amounts_of_texts_are_the_characters_that_were_looked_at(profiled: Profiled, name: str) -> None:
    run, profile = profiled.profiled("texts", program=jvm(name))
    assert run.code == 0, run.stderr
    assert run.stdout == "sum 56\n"
    amounts = {
        line["method"].removeprefix("java.lang.String."): (sum(line["calls"]), sum(line["amount"]))
        for line in profile["methods"]
        if line["method"].startswith("java.lang.String.") and "amount" in line
    }
    assert amounts == {
        "concat(Ljava/lang/String;)Ljava/lang/String;": (1, 13),
        "toCharArray()[C": (1, 13),
        "<init>([C)V": (1, 13),
        # one of them by the switch over the arguments of the program
        "equals(Ljava/lang/Object;)Z": (4, 0 + 13 + 13 + 5),
        "equalsIgnoreCase(Ljava/lang/String;)Z": (1, 13),
        # found in the eighth place, and nowhere
        "indexOf(I)I": (2, 8 + 13),
        "indexOf(Ljava/lang/String;)I": (1, 9),
        "substring(I)Ljava/lang/String;": (1, 10),
        "substring(II)Ljava/lang/String;": (1, 2),
        "toUpperCase()Ljava/lang/String;": (1, 13),
        "getBytes(Ljava/nio/charset/Charset;)[B": (1, 13),
    }
    (of_box,) = (line for line in profile["methods"] if line["method"].startswith("java.lang.Integer.equals"))
    assert "amount" not in of_box


@pytest.mark.parametrize("name", JVMS)
def test_amounts_of_arrays_are_bytes_and_those_of_keys_characters(profiled: Profiled, name: str) -> None:
    run, profile = profiled.profiled("arrays", program=jvm(name))
    assert run.code == 0, run.stderr
    amounts = {
        line["method"]: (sum(line["calls"]), sum(line["amount"]), line["unit"])
        for line in profile["methods"]
        if "amount" in line
        and not line["method"].startswith(("java.lang.String.equals", "java.lang.StringBuilder"))
    }
    assert amounts == {
        "java.lang.System.arraycopy(Ljava/lang/Object;ILjava/lang/Object;II)V": (2, 5 * 8 + 5 * 4, "bytes"),
        "java.util.Arrays.copyOf([CI)[C": (1, 7 * 2, "bytes"),
        "java.util.Arrays.copyOf([JI)[J": (1, 7 * 8, "bytes"),
        "java.util.Arrays.copyOfRange([BII)[B": (1, 3, "bytes"),
        "java.util.Arrays.fill([DD)V": (1, 6 * 8, "bytes"),
        "java.lang.String.toLowerCase(Ljava/util/Locale;)Ljava/lang/String;": (1, 5, "chars"),
        "java.util.HashMap.put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;": (2, 8 + 0, "chars"),
        "java.util.HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;": (1, 8, "chars"),
        "java.util.HashSet.add(Ljava/lang/Object;)Z": (1, 4, "chars"),
        "java.util.zip.Deflater.setInput([BII)V": (1, 6, "bytes"),
        "java.util.zip.Deflater.deflate([B)I": (
            1,
            amounts["java.util.zip.Deflater.deflate([B)I"][1],
            "bytes",
        ),
    }


@pytest.mark.parametrize("name", MODES)
def test_threads_lose_no_call(profiled: Profiled, name: str) -> None:
    """Each of two crowds calls at the same time. The profiler gives up the counts of single threads that have ended."""
    run, profile = profiled.profiled("threads", "300", program=jvm(name))
    assert run.code == 0, run.stderr
    assert calls_of(profile)["java.lang.Math.abs(I)I"] == 2 * 300 * 20_000
    # The other two are those of the latch.
    of_crowd = 300 * (20_000 + 2)
    assert (profile["threads"]["(ended threads)"], profile["threads"]["caller"]) == (of_crowd, of_crowd)


@pytest.mark.parametrize("name", ["21", "25"])
def test_virtual_threads_lose_no_call(profiled: Profiled, name: str) -> None:
    run, profile = profiled.profiled("virtual", "20000", program=jvm(name))
    assert run.code == 0, run.stderr
    assert calls_of(profile)["java.lang.Math.abs(I)I"] == 200_000
    assert profile["threads"]["(virtual threads)"] == 20_000 * 12


@pytest.mark.parametrize("name", MODES)
def test_thousands_of_classes_of_one_name(profiled: Profiled, name: str) -> None:
    """Fewer on an interpreter, which takes three times as long for each."""
    classes = 1000 if name in ("zero", "21 -Xint") else 10_000
    run, profile = profiled.profiled("loaders", str(classes), program=jvm(name))
    assert run.code == 0, run.stderr
    assert run.stdout == f"sum {classes}\n"
    assert calls_of(profile)["java.lang.String.length()I"] == 2 * classes
    assert profile["not_profiled"] == {}


@pytest.mark.parametrize("name", MODES)
def test_a_stack_that_overflows_loses_no_call(profiled: Profiled, name: str) -> None:
    run, profile = profiled.profiled("deep", program=jvm(name))
    assert (run.code, run.stdout) == (0, "overflow true\n"), run.stderr
    told = calls_of(profile)
    first, second = told["java.lang.Math.abs(I)I"], told["java.lang.Math.max(II)I"]
    assert first > 500
    assert first - second in (0, 1), "the stack may be full between the two"
    assert told["java.lang.Math.min(II)I"] == 10, "those after it"


# ---- nothing else changes ----


@pytest.mark.parametrize("mode", ["exit", "throw", "deep", "nonsense"])
@pytest.mark.parametrize("name", MODES)
def test_exit_code_and_output_stay(profiled: Profiled, name: str, mode: str) -> None:
    plain = profiled.run(mode, program=jvm(name))
    run, _ = profiled.profiled(mode, program=jvm(name))
    assert (run.code, run.stdout, run.stderr) == (plain.code, plain.stdout, plain.stderr)


@pytest.mark.parametrize("name", JVMS)
def test_a_jvm_that_is_halted_leaves_no_profile(profiled: Profiled, name: str) -> None:
    flags = (f"-javaagent:{profiled.agent}=profile.json",)
    run = profiled.run("halt", flags=flags, program=jvm(name))
    assert (run.code, run.stdout, run.stderr) == (4, "", "")
    assert not list(run.directory.glob("profile*"))


@pytest.mark.parametrize("name", JVMS)
def test_a_profile_that_cannot_be_written_changes_nothing_else(profiled: Profiled, name: str) -> None:
    flags = (f"-javaagent:{profiled.agent}=missing/profile.json",)
    run = profiled.run("exit", flags=flags, program=jvm(name))
    assert (run.code, run.stdout) == (3, "out\n")
    (error,) = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    assert "java.nio.file.NoSuchFileException" in error
    assert f"{run.directory}/missing/profile.json" in error


def test_without_a_file_nothing_runs(profiled: Profiled) -> None:
    run = profiled.run("exit", flags=(f"-javaagent:{profiled.agent}",))
    assert (run.code, run.stdout) == (2, "")
    assert "expected -javaagent:regatta-profiler.jar=FILE" in run.stderr
    assert "got no FILE" in run.stderr


# ---- real programs ----


@pytest.mark.parametrize("label", ["vm/jess", "apps/bloat", "apps/jython"])
def test_iterations_are_windows_and_digests_stay(profiled: Profiled, label: str) -> None:
    """A rule engine; a program with a library of its own for what the profiler does; one that makes classes as it runs."""
    size = "s1" if label.startswith("vm") else "tiny"
    flags = (QUICK, f"-javaagent:{profiled.agent}=profile.json")
    run = profiled.programs.benchmark(label, size=size, flags=flags, iterations=2)
    assert run.code == 0, run.stderr
    assert run.digests() == [expected_digest(label, size)] * 2
    profile = profile_of(run)
    assert profile["windows"] == ["startup", "iteration 0", "before 1", "iteration 1", "rest"]
    assert profile["not_profiled"] == {}
    second = sum(line["calls"][3] for line in profile["methods"])
    assert second > 10_000
    # The harness itself is no part of the application.
    assert not any("CollectorMXBean" in line["method"] for line in profile["methods"])


@pytest.mark.parametrize("name", COMPILED)
def test_the_same_work_has_the_same_calls(profiled: Profiled, name: str) -> None:
    flags = (QUICK, f"-javaagent:{profiled.agent}=profile.json")
    run = profiled.programs.benchmark("vm/jess", size="s1", flags=flags, program=jvm(name), iterations=3)
    assert run.digests() == [expected_digest("vm/jess", "s1")] * 3
    steady = [
        {line["method"]: line["calls"][window] for line in profile_of(run)["methods"]} for window in (3, 5)
    ]
    assert steady[0] == steady[1]
