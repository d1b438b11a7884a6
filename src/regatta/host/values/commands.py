"""Commands of a benchmark on a host: the names in their templates, and their expansion. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regatta.host.values.experiment import PROGRAM, USER_FILE, Benchmark, Experiment
from regatta.host.values.resolved import File, ResolvedHost, ResolvedRuntime
from regatta.host.values.template import fill, placeholders, scalar_text


def named_files(benchmark: Benchmark, host: ResolvedHost) -> dict[str, File]:
    """Return the files of `{build.output}`, `{input.name}`, `{file.name}` and `{program.name}` in a benchmark's templates."""
    named = {f"{b}.{o}": host.builds[b][o] for b, build in benchmark.builds.items() for o in build.outputs}
    named.update({f"input.{i}": host.inputs[benchmark.label][i] for i in benchmark.inputs})
    named.update({USER_FILE + f: file for f, file in host.files.get(benchmark.label, {}).items()})
    named.update({PROGRAM + p: host.programs[p] for p in benchmark.programs if p in host.programs})
    return named


def template_values(
    experiment: Experiment, benchmark: Benchmark, named: Mapping[str, File]
) -> dict[str, str]:
    """Return the text of each name that a benchmark's templates can contain."""
    values = {name: scalar_text(value) for name, value in benchmark.parameters.items()}
    values.update(
        benchmark=benchmark.name, iterations=str(experiment.steady.iterations), seed=str(experiment.seed)
    )
    return values | {name: file.path for name, file in named.items()}


def expand_command(
    command: Sequence[str],
    runtime: ResolvedRuntime,
    flags: Sequence[str],
    values: Mapping[str, str],
    host: ResolvedHost,
) -> list[str]:
    """Expand a command template to the command that is executed."""
    argv: list[str] = []
    for argument in command:
        if argument == "{runtime}":
            argv += [runtime.program, *flags] if runtime.program else []
        else:
            argv.append(fill(argument, values))
    if argv and argv[0] in host.programs:
        argv[0] = host.programs[argv[0]].path
    return argv


def values_of_roles(benchmark: Benchmark) -> dict[str, str]:
    """Return `{role.value}` for each name of a role in a benchmark's commands: it stays, because only the runner knows the value."""
    roles = {role.name for role in benchmark.roles}
    names = {name for role in benchmark.roles for argument in role.command for name in placeholders(argument)}
    return {name: f"{{{name}}}" for name in names if name.partition(".")[0] in roles}
