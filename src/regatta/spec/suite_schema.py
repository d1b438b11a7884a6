"""The suite: benchmarks in YAML, without code."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from regatta.host.values.experiment import RuntimeKind, Summary
from regatta.spec.fields import (
    LEFT_OUT,
    AbsolutePath,
    Command,
    Environment,
    FileName,
    InputFile,
    InsidePath,
    Line,
    Name,
    OutputFile,
    ParameterName,
    ScalarValue,
    Sha256,
    Strict,
    Text,
    refusal,
)
from regatta.spec.process_schema import CounterSpecs

#: the keys of `regatta.host.adapters.ADAPTERS`; a test keeps the two equal, because neither package may import the other
KNOWN_ADAPTERS = (
    "process",
    "regatta",
    "regex",
    "jmh",
    "dacapo",
    "renaissance",
    "specjvm98",
    "specjvm2008",
    "specjbb2015",
)
#: those that do not read the standard output; `regex` has an option
STDOUT_NOT_READ = ("process", "regatta")
#: those that read a file of the working directory
FILE_ADAPTERS = ("jmh", "renaissance")

#: `exit_codes` without a limit; the largest code of a process
ANY = "any"
MAX_EXIT_CODE = 255

_BUILD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _check_build(text: str) -> str:
    if not _BUILD.fullmatch(text) or text in ("input", "program", "file"):
        raise refusal(
            "a name (letters, digits, _ and -) other than `input`, `program` and `file`, for `{build.output}` in commands",
            "rename it",
        )
    return text


def _check_part(text: str) -> str:
    if not _PART.fullmatch(text) or ".." in text:
        raise refusal(
            "a name (letters, digits and . _ -), for `{build.output}` and `{input.name}` in commands",
            "rename it",
        )
    return text


def _check_exit_codes(value: Any) -> Any:
    if value == ANY:
        return value
    codes = value if isinstance(value, list) else []
    plain = [int(code) for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    if not plain or len(plain) < len(codes) or not 0 <= min(plain) <= max(plain) <= MAX_EXIT_CODE:
        raise refusal(f"a list of integers from 0 to {MAX_EXIT_CODE}, or `{ANY}`", "write `[0, 1]`")
    return sorted(set(plain))


BuildName = Annotated[str, AfterValidator(_check_build)]
PartName = Annotated[str, AfterValidator(_check_part)]
ExitCodes = Annotated[
    list[int] | Literal["any"],
    BeforeValidator(_check_exit_codes),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 0, "maximum": MAX_EXIT_CODE},
                    "minItems": 1,
                },
                {"const": ANY},
            ]
        }
    ),
]


class BuildSpec(Strict):
    """A build from sources, in a copy of their directory."""

    directory: InsidePath = Field(
        description="Folder of the sources. It is relative to the root of the project for suites in "
        "`configs/suites/`, and to the folder of the suite for other suite files.",
        examples=["benchmarks/java"],
    )
    command: Command = Field(
        description="Build command, run in the copy.", examples=[["mvn", "-q", "-B", "package"]]
    )
    outputs: dict[PartName, InsidePath] = Field(
        description="Output files in the copy, by name. `{build.output}` in a command is the path.",
        min_length=1,
        examples=[{"jar": "target/regatta-bench.jar"}],
    )
    needs: list[Line] = Field([], description="Programs that must be on PATH.", examples=[["mvn", "javac"]])
    portable: bool = Field(
        False,
        description="Whether the outputs run on every architecture, as jars and scripts do. If true, the machine "
        "that runs Regatta builds them once and copies them to the hosts. Otherwise each host builds "
        "them.",
        examples=[True],
    )


class InputSpec(Strict):
    """A file that a seeded program generates once. It is cached by content."""

    command: Command = Field(
        description="Command that writes the file `{output}`. It can use the parameters of the size and `{seed}`."
        " `regatta` as its first word is the running version of Regatta.",
        examples=[["python3", "generate.py", "--kib", "{kib}", "--seed", "{seed}", "--output", "{output}"]],
    )


class UserFileSpec(Strict):
    """A file or folder that the user supplies. Regatta searches `files/`, the folder of the spec, and the folders of `$REGATTA_FILES`."""

    name: InsidePath = Field(
        description="Path in those folders; the first match is used. Its contents are part of the identity of a "
        "cell. Of a folder, these are the names and sizes of all files, and the bytes of `.jar`, "
        "`.class`, `.so` and of files up to 1 MiB.",
        examples=["dacapo-9.12-MR1-bach.jar"],
    )
    origin: Line = Field(
        alias="from",
        description="Where to get it. The text is for people: Regatta downloads nothing.",
        examples=["https://www.dacapobench.org"],
    )
    sha256: Sha256 | None = Field(
        None,
        description="SHA-256 of the contents. Other contents are an error before measuring.",
        examples=["0" * 64],
    )
    beside: list[InsidePath] = Field(
        [],
        description="Files or folders that must be in the same folder, such as data. They are part of the "
        "identity too.",
        examples=[["dacapo-23.11-chopin"]],
    )
    holds: list[InsidePath] = Field(
        [], description="Files that a folder must contain.", examples=[["specjbb2015.jar", "config"]]
    )
    command: Command | None = Field(
        None,
        description="Command that writes the file `{output}` if none of those folders has it. As for an input. It makes "
        "one file, without `beside` and `holds`.",
        examples=[["regatta", "model", "sessions", "configs/loads/shop.yml", "-o", "{output}"]],
    )

    @model_validator(mode="after")
    def _one_file_is_made(self) -> UserFileSpec:
        if self.command and (self.beside or self.holds):
            expected = "no `beside` or `holds` together with `command`, which makes one file"
            raise refusal(expected, "remove one of them", key="command")
        return self


class CheckSpec(Strict):
    """A command to run after the measurement. It is not timed."""

    command: Command = Field(description="The command. It must exit with 0.", examples=[["./prog"]])


class PrepareSpec(Strict):
    """A command to run before each invocation, in its directory. It is not timed."""

    command: Command = Field(
        description="The command. If it does not exit with 0, the invocation is `failed`.",
        examples=[["sync"]],
    )


class ConcludeSpec(Strict):
    """A command to run after each invocation, in its directory, also after a failed one. It is not timed."""

    command: Command = Field(
        description="The command. If it does not exit with 0, the invocation is `failed`.",
        examples=[["rm", "-f", "/tmp/out"]],
    )


class ProbeSpec(Strict):
    """A command that checks whether a runtime can execute the benchmark. It runs once for each runtime, before measuring."""

    command: Command = Field(
        description="The command, run without heap, collector and modifiers. Exit code 0: the runtime can execute"
        " the benchmark. Exit code 4: its cells on this runtime are *not possible*; the last line of "
        "output is the reason. Any other exit code is an error.",
        examples=[["{runtime}", "-jar", "{build.jar}", "--probe"]],
    )


class ReadySpec(Strict):
    """What shows that a role is ready. Exactly one of the keys."""

    output: Line | None = Field(
        None,
        description="A regular expression that a line of the standard output contains. Its named groups are values for the "
        "commands of later roles: `{server.port}` is the group `port` of the role `server`.",
        examples=["listening on port (?P<port>[0-9]+)"],
    )
    port: Line | None = Field(
        None,
        description="A port, TCP or UDP, that the role listens on. It can be a parameter, such as `{port}`.",
        examples=["5432"],
    )
    file: FileName | None = Field(
        None,
        description="A file in the working directory of the role that exists and is not empty.",
        examples=["ready"],
    )

    @field_validator("output")
    @classmethod
    def _pattern(cls, output: str | None) -> str | None:
        try:
            re.compile(output or "")
        except re.error as error:
            raise refusal(f"a regular expression ({error})", "correct it") from error
        return output

    @model_validator(mode="after")
    def _one_of_them(self) -> ReadySpec:
        if sum(value is not None for value in (self.output, self.port, self.file)) != 1:
            raise refusal("exactly one of `output`, `port` and `file`", "write `port: 5432`")
        return self


class RoleSpec(Strict):
    """One of the programs that execute a benchmark on several hosts."""

    command: Command = Field(
        description="As `command` of the benchmark. `{ROLE.address}` is the address of the host of a role, and `{ROLE.GROUP}` a "
        "value from the output of an earlier one. The configuration and the heap apply to the first role, which is the "
        "measured one: in the others, `{runtime}` is the runtime without flags.",
        examples=[["./client", "--server", "{server.address}:{server.port}"]],
    )
    ready: ReadySpec | None = Field(
        None,
        description="When the next role starts. Required for all roles except the last one.",
        examples=[{"port": "5432"}],
    )


class ExpectSpec(Strict):
    """Expected output of a correct run. An invocation with another output is `failed`."""

    digest: Sha256 | None = Field(
        None, description="SHA-256 that each iteration reports.", examples=["0" * 64]
    )
    stdout_sha256: Sha256 | None = Field(
        None, description="SHA-256 of the complete standard output.", examples=["0" * 64]
    )
    check_sha256: Sha256 | None = Field(
        None, description="SHA-256 of the standard output of `check`.", examples=["0" * 64]
    )
    exit_codes: ExitCodes = Field(
        [0],
        description="Exit codes of a correct run, or `any`. A signal always makes the invocation `crashed`.",
        examples=[[0, 1]],
    )
    inputs: dict[PartName, Sha256] = Field(
        {},
        description="SHA-256 of each input file, by input, for the parameters of this size. A file with another "
        "checksum is an error before measuring.",
        examples=[{"text": "0" * 64}],
    )


class SizeSpec(Strict):
    """A size of a benchmark."""

    parameters: dict[ParameterName, ScalarValue] = Field(
        {},
        description="Values, by parameter. `{name}` in a command is replaced by the value.",
        examples=[{"kib": 256}],
    )
    expect: ExpectSpec = Field(LEFT_OUT, description=str(ExpectSpec.__doc__), examples=[{"digest": "0" * 64}])


class BenchmarkSpec(Strict):
    """A benchmark."""

    description: Text = Field(
        "", description="Description of the benchmark.", examples=["LZW compression of a seeded text"]
    )
    kind: RuntimeKind = Field(
        "native",
        description="The kind of runtime that executes it: `java` (a JVM), `program` (an interpreter or a compiled "
        "program), or `native` (none; the command names its program).",
        examples=["java"],
    )
    command: Command | None = Field(
        None,
        description="Program and arguments, without a shell. Placeholders inside an argument: the parameters of "
        "the size, `{benchmark}` (its name), `{iterations}`, `{seed}`, `{build.output}`, "
        "`{input.name}`, `{file.name}` and `{program.name}` (the path of an installed program, whose "
        "content is part of the identity of the cell). `{runtime}` must be a separate argument; it "
        "becomes the program and the flags of the runtime. It is required once for `kind: java` and `kind: program`. "
        "`{{` and `}}` are literal braces.",
        examples=[["gzip", "-9", "-n", "-c", "{input.text}"]],
    )
    commands: dict[Name, Command] = Field(
        {},
        description="Commands by the `language` of the runtime, in place of `command`, for `kind: program`. Cells of a "
        "runtime with another language are *not possible*.",
        examples=[{"python": ["{runtime}", "{file.sieve_py}"], "lua": ["{runtime}", "{file.sieve_lua}"]}],
    )
    adapter: Name = Field(
        "process",
        description="Adapter that reads the measurements: `process` (wall time and rusage only), `regatta` (lines"
        " in the file that `REGATTA_RESULTS` names), `regex`, or the adapter of a [third-party "
        "suite](adapters.md).",
        examples=["regatta"],
    )
    adapter_options: dict[ParameterName, ScalarValue] = Field(
        {},
        description="Options of the adapter. `file`: a file in the working directory to read instead of the one "
        "that `REGATTA_RESULTS` names.",
        examples=[{"pattern": "time: (?P<value>[0-9.]+) s"}],
    )
    metric: Name = Field("elapsed", description="The metric to compare.", examples=["latency"])
    better: Literal["lower", "higher"] = Field(
        "lower", description="Whether lower or higher values of the metric are better.", examples=["higher"]
    )
    summary: Summary = Field(
        "mean",
        description="Statistic that reduces the iterations of an invocation after warm-up to one value. `median`:"
        " for operations of which a few are disturbed. `minimum`, or `maximum` with `better: higher`:"
        " for values that are only disturbed in one direction, such as the frequency of a clock. Any "
        "other than `mean` requires `method: fixed`, which is then the default. `median` applies to "
        "every metric of the benchmark; with `minimum` or `maximum`, the other metrics keep their "
        "mean.",
        examples=["median"],
    )
    environment: Environment = Field(
        {}, description="Variables set for the benchmark.", examples=[{"LC_ALL": "C"}]
    )
    directory: AbsolutePath | None = Field(
        None,
        description="Existing folder of the host, in which the commands run instead of a new working directory. Not "
        "together with `arrange`, `keep` or the option `file` of an adapter. Cells in a container, or with a "
        "modifier that trains or keeps files, are *not possible*.",
        examples=["/srv/checkout"],
    )
    input: InputFile | None = Field(
        None,
        description="Standard input of the command instead of `/dev/null`: `{input.name}`, `{file.name}`, an absolute path, or "
        "a file name in the working directory. The contents of a path are not part of the identity of the cell. "
        "Cells in a container are *not possible*.",
        examples=["{input.text}"],
    )
    output: OutputFile | None = Field(
        None,
        description="File for the standard output of the command, which is then not kept with the record: an absolute path, "
        "such as `/dev/null`, or a file name in the working directory. Each invocation replaces its contents. Not "
        "together with `kind: java`, `stdout_sha256`, or an adapter that reads the standard output. Cells in a "
        "container are *not possible*.",
        examples=["/dev/null"],
    )
    arrange: dict[FileName, Line] = Field(
        {},
        description="Files and folders to put into the working directory before the start, by their names there. "
        "Files are copied and folders are linked; this is not timed.",
        examples=[{"input.txt": "{input.text}"}],
    )
    prepare: PrepareSpec | None = Field(
        None, description=str(PrepareSpec.__doc__), examples=[{"command": ["sync"]}]
    )
    check: CheckSpec | None = Field(
        None, description=str(CheckSpec.__doc__), examples=[{"command": ["./prog"]}]
    )
    conclude: ConcludeSpec | None = Field(
        None, description=str(ConcludeSpec.__doc__), examples=[{"command": ["rm", "-f", "/tmp/out"]}]
    )
    probe: ProbeSpec | None = Field(
        None,
        description=str(ProbeSpec.__doc__),
        examples=[{"command": ["{runtime}", "-jar", "{build.jar}", "--probe"]}],
    )
    counters: CounterSpecs = Field(
        [],
        description="What to count in every invocation, in addition to the counters of the spec (docs/counters.md).",
        examples=[["context-switches"]],
    )
    roles: dict[ParameterName, RoleSpec] = Field(
        {},
        description="The programs of the benchmark for specs with `roles` (docs/roles.md), by name and in the order of their "
        "start. The last one reports the measurements, and its end ends the invocation. `command` is for specs without "
        "`roles`; a benchmark can have both.",
        max_length=16,
        examples=[
            {
                "server": {"command": ["./server"], "ready": {"port": "5432"}},
                "client": {"command": ["./client", "{server.address}"]},
            }
        ],
    )
    keep: list[FileName] = Field(
        [],
        description="Files in the working directory to store next to the record, in `journal/<host>/kept/`. A "
        "missing file is not an error.",
        examples=[["gc.log"]],
    )
    sizes: dict[Name, SizeSpec] = Field(
        {"default": LEFT_OUT},
        description="The sizes, by name. If omitted: one size, `default`, without parameters.",
        min_length=1,
        examples=[{"small": {"parameters": {"kib": 256}}}],
    )

    @model_validator(mode="after")
    def _one_kind_of_command(self) -> BenchmarkSpec:
        if self.commands and self.kind != "program":
            raise refusal("`kind: program` with `commands`", "add `kind: program`", key="commands")
        if (self.command is None) == (not self.commands) and not (self.roles and not self.commands):
            expected = "either `command`, or `commands` by language"
            raise refusal(
                expected, "remove one of them" if self.commands else "add `command:`", key="command"
            )
        return self

    @model_validator(mode="after")
    def _roles_in_order(self) -> BenchmarkSpec:
        names = list(self.roles)
        if len(names) == 1:
            raise refusal("two or more roles", "write `command` instead", key="roles")
        if self.roles and self.commands:
            raise refusal("no `commands` together with `roles`", "remove one of them", key="commands")
        for name in names[:-1]:
            if self.roles[name].ready is None:
                raise refusal(f"`ready` of role `{name}`", "write what shows that it is ready", key="roles")
        if names and self.roles[names[-1]].ready is not None:
            expected = f"no `ready` of `{names[-1]}`: the last role ends the invocation"
            raise refusal(expected, "remove it", key="roles")
        return self

    @model_validator(mode="after")
    def _one_directory(self) -> BenchmarkSpec:
        files = {
            "arrange": self.arrange,
            "keep": self.keep,
            "adapter_options": self.adapter_options.get("file"),
        }
        for key in [key for key, value in files.items() if self.directory is not None and value]:
            expected = "no `arrange`, `keep` or `file` with `directory`: no new working directory is used"
            raise refusal(expected, "remove it, or `directory`", key=key)
        return self

    @model_validator(mode="after")
    def _unread_output(self) -> BenchmarkSpec:
        if self.output is None:
            return self
        reads = self.adapter not in STDOUT_NOT_READ and not self.adapter_options.get("stderr")
        readers = {
            f"`adapter: {self.adapter}`, which reads": reads,
            "`stdout_sha256`, which is of": any(size.expect.stdout_sha256 for size in self.sizes.values()),
            "`kind: java`: a JVM reports too small heaps on": self.kind == "java",
        }
        for reader in (reader for reader, needs in readers.items() if needs):
            expected = f"no `output` with {reader} the standard output"
            raise refusal(expected, "remove `output`", key="output")
        return self

    @model_validator(mode="after")
    def _undisturbed(self) -> BenchmarkSpec:
        other = {"minimum": "maximum", "maximum": "minimum"}.get(self.summary, "")
        if other and (self.summary == "minimum") == (self.better == "higher"):
            expected = f"no `summary: {self.summary}` with `better: {self.better}`, because it selects the most perturbed repetition"
            raise refusal(expected, f"write `summary: {other}` or `summary: median`", key="summary")
        return self


class SuiteFile(Strict):
    """A collection of benchmarks."""

    suite: Name = Field(
        description="Name of the suite. In `configs/suites/` it is also the name of the file.",
        examples=["vm"],
    )
    description: Text = Field(
        "", description="Contents of the suite.", examples=["Programs that check themselves"]
    )
    builds: dict[BuildName, BuildSpec] = Field(
        {}, description="Programs to build before the benchmarks can run."
    )
    inputs: dict[PartName, InputSpec] = Field({}, description="Files that the benchmarks read.")
    files: dict[PartName, UserFileSpec] = Field(
        {},
        description="Files and folders that the user supplies. `{file.name}` in a command is the path.",
        examples=[{"dacapo": {"name": "dacapo-9.12-MR1-bach.jar", "from": "https://www.dacapobench.org"}}],
    )
    benchmarks: dict[Name, BenchmarkSpec] = Field(
        description="The benchmarks, by name. `all` is reserved.",
        min_length=1,
        examples=[{"sort": {"command": ["sort", "/etc/services"]}}],
    )
