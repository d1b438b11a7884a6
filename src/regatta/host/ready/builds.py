"""Build benchmarks and generate inputs in the cache. The name of a build includes its sources, so old builds stay valid."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from regatta.host.cache import cache_folder, file_sha256, made_directory
from regatta.host.errors import HostError
from regatta.host.processes import own_environment
from regatta.host.ready.commands import run_command
from regatta.host.ready.sources import copy_sources, generator_files, source_files, sources_sha256
from regatta.host.values.experiment import Benchmark, Build, Input
from regatta.host.values.resolved import File
from regatta.host.values.template import fill, placeholders, scalar_text

#: first word of a command of this package
PACKAGE = "regatta"


def build(build: Build, home: Path, whole: bool = False) -> dict[str, File]:
    """Build in a copy of the sources, unless a build of these sources is cached.

    Args:
        build: what to build.
        home: folder that contains its directory.
        whole: as for `source_files`.

    Returns:
        Output name -> file.

    Raises:
        HostError: the directory or a program is missing, or the build fails.
    """
    where = f"build {build.name}"
    folder = home / build.directory
    sources = source_files(home, build.directory, whole)
    if not sources:
        raise HostError(where, f"sources in {folder}", "missing", "correct `directory`")
    missing = [program for program in build.needs if shutil.which(program) is None]
    digest = sources_sha256(folder, [build.command, dict(build.outputs)], whole, sources)

    def make(directory: Path) -> None:
        if missing:
            raise HostError(
                where,
                f"the programs {', '.join(build.needs)}",
                f"missing {', '.join(missing)}",
                f"install {', '.join(missing)}",
            )
        print(f"building {build.name}", file=sys.stderr)
        copy_sources(sources, folder, directory, whole)
        run_command(build.command, where, directory=directory).succeeded()
        for output in build.outputs.values():
            if not (directory / output).is_file():
                raise HostError(where, f"the output {output}", "missing", "correct the path of the output")

    root = made_directory(
        cache_folder("builds") / f"{build.name}-{digest[:24]}", make, build.outputs.values()
    )
    return {
        name: File(str(root / output), file_sha256(root / output)) for name, output in build.outputs.items()
    }


@functools.cache
def own_sha256() -> str:
    """Return the hash of this package, which can make files itself."""
    return sources_sha256(Path(__file__).parents[2], [])


def generate_input(source: Input, benchmark: Benchmark, home: Path, seed: int) -> File:
    """Run the seeded program that generates an input, unless the input is cached. `regatta` is this package.

    Raises:
        HostError: the program fails, writes no file, or writes a file that differs from the one in the suite.
    """
    where = f"input {source.name} of {benchmark.label}"
    made = generate(
        source.name, source.command, benchmark, home, seed, where, f"inputs.{source.name}.command"
    )
    expected = benchmark.expect.inputs.get(source.name, made.sha256)
    if made.sha256 != expected:
        fix = "correct the generator, or change `expect.inputs` of the size"
        raise HostError(where, f"SHA-256 {expected}", f"{made.sha256} ({made.path})", fix)
    return made


def generate(
    name: str, command: Sequence[str], benchmark: Benchmark, home: Path, seed: int, where: str, key: str
) -> File:
    """Run a seeded program that writes one file, unless the file is cached. `regatta` is this package.

    Args:
        name: of the file, without a folder.
        where: what the file is, for messages.
        key: of the suite, where the command is to be corrected.

    Raises:
        HostError: the program fails, or writes no file.
    """
    values = {name: scalar_text(value) for name, value in benchmark.parameters.items()}
    values["seed"] = str(seed)
    used = {name: values[name] for word in command for name in placeholders(word) if name != "output"}
    digests = [file_sha256(path) for path in generator_files(command, home)]
    own = command[0] == PACKAGE
    if own:
        digests.append(own_sha256())
    identity = json.dumps([command, used, digests])

    def make(directory: Path) -> None:
        output = directory / name
        argv = [fill(word, {**used, "output": str(output)}) for word in command]
        if own:
            # A file `regatta.py` in the home must not take the package's place.
            argv[:1] = [sys.executable, "-P", "-m", PACKAGE]
        print(f"generating {where}", file=sys.stderr)
        environment = own_environment() if own else None
        run_command(argv, where, directory=home, environment=environment).succeeded()
        if not output.is_file():
            raise HostError(where, "the file `{output}`", "missing", f"correct `{key}` in the suite")

    folder = f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:24]}"
    path = made_directory(cache_folder("inputs") / folder, make, [name]) / name
    return File(str(path), file_sha256(path))
