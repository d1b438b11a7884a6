"""The suite: benchmarks as YAML alone."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from regatta.host.values.experiment import Summary
from regatta.spec.fields import (
    LEFT_OUT,
    Command,
    Environment,
    FileName,
    InsidePath,
    Line,
    Name,
    ParameterName,
    ScalarValue,
    Sha256,
    Strict,
    Text,
    refusal,
)

#: what `regatta.host.adapters.ADAPTERS` holds; a test keeps the two alike, because neither package may import the other
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
#: those that read a file of the working directory
FILE_ADAPTERS = ("jmh", "renaissance")

_BUILD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _check_build(text: str) -> str:
    if not _BUILD.fullmatch(text) or text in ("input", "program", "file"):
        raise refusal(
            "a name of letters, digits, _ and - that is none of `input`, `program`, `file` (commands say `{build.output}`)"
        )
    return text


def _check_part(text: str) -> str:
    if not _PART.fullmatch(text) or ".." in text:
        raise refusal(
            "a name of letters, digits and . _ - (commands say `{build.output}` and `{input.name}`)"
        )
    return text


BuildName = Annotated[str, AfterValidator(_check_build)]
PartName = Annotated[str, AfterValidator(_check_part)]


class BuildSpec(Strict):
    """Something built from sources, in a copy of their directory."""

    directory: InsidePath = Field(
        description="The sources: from the project's root for suites in `configs/suites/`, from the suite's own folder for "
        "suite files that a spec brings.",
        examples=["benchmarks/java"],
    )
    command: Command = Field(description="Run in the copy.", examples=[["mvn", "-q", "-B", "package"]])
    outputs: dict[PartName, InsidePath] = Field(
        description="Name to file in the copy; `{build.output}` in a command is its path.",
        min_length=1,
        examples=[{"jar": "target/regatta-bench.jar"}],
    )
    needs: list[Line] = Field([], description="Programs that must be on PATH.", examples=[["mvn", "javac"]])
    portable: bool = Field(
        False,
        description="Its outputs run on every architecture (jars, scripts): built once, by the machine that runs the command, and "
        "copied to the hosts. Without it each host builds its own.",
        examples=[True],
    )


class InputSpec(Strict):
    """A file made once by a seeded program, and kept by content."""

    command: Command = Field(
        description="Writes the file `{output}`; knows the parameters of the size, `{seed}` and `{build.output}`.",
        examples=[["python3", "generate.py", "--kib", "{kib}", "--seed", "{seed}", "--output", "{output}"]],
    )


class UserFileSpec(Strict):
    """A file or folder that whoever runs the suite brings: looked for in `files/` and in the folders of `$REGATTA_FILES`."""

    name: InsidePath = Field(
        description="Its path in those folders. The first that is found is taken; its contents belong to what is measured: of a "
        "folder, names and sizes of all files, and the bytes of `.jar`, `.class`, `.so` and of files up to 1 MiB.",
        examples=["dacapo-9.12-MR1-bach.jar"],
    )
    origin: Line = Field(
        alias="from",
        description="Where it can be had, for people; nothing is fetched.",
        examples=["https://www.dacapobench.org"],
    )
    sha256: Sha256 | None = Field(
        None, description="Of its contents. Another one is an error before anything is measured.", examples=["0" * 64]
    )  # fmt: skip
    beside: list[InsidePath] = Field(
        [],
        description="What must lie beside it, such as a folder of data; it belongs to what is measured too.",
        examples=[["dacapo-23.11-chopin"]],
    )
    holds: list[InsidePath] = Field(
        [], description="What must be in it, where it is a folder.", examples=[["specjbb2015.jar", "config"]]
    )


class CheckSpec(Strict):
    """A command run after the measurement, not timed."""

    command: Command = Field(description="Must exit with 0.", examples=[["./prog"]])


class ProbeSpec(Strict):
    """Whether a runtime can run it at all: a command run once for each runtime, before anything is measured."""

    command: Command = Field(
        description="Without heap, collector and modifiers. Exit code 0: it can. 4: the benchmark's cells on this runtime are "
        "not possible, and the last line that it prints is the reason. Anything else is an error.",
        examples=[["{runtime}", "-jar", "{build.jar}", "--probe"]],
    )


class ExpectSpec(Strict):
    """What a correct run gives. A difference makes the invocation failed."""

    digest: Sha256 | None = Field(
        None, description="SHA-256 that each iteration reports.", examples=["0" * 64]
    )
    stdout_sha256: Sha256 | None = Field(
        None, description="SHA-256 of all of standard output.", examples=["0" * 64]
    )
    check_sha256: Sha256 | None = Field(
        None, description="SHA-256 of the standard output of `check`.", examples=["0" * 64]
    )
    inputs: dict[PartName, Sha256] = Field(
        {},
        description="Input to the SHA-256 of its file, for the parameters of this size. Another file is an error before "
        "anything is measured.",
        examples=[{"text": "0" * 64}],
    )


class SizeSpec(Strict):
    """One size of a benchmark."""

    parameters: dict[ParameterName, ScalarValue] = Field(
        {}, description="Name to value; `{name}` in a command.", examples=[{"kib": 256}]
    )
    expect: ExpectSpec = Field(LEFT_OUT, description=str(ExpectSpec.__doc__), examples=[{"digest": "0" * 64}])


class BenchmarkSpec(Strict):
    """One program."""

    description: Text = Field("", description="What it does.", examples=["LZW compression of a seeded text"])
    kind: Literal["java", "native"] = Field(
        "native", description="Which kind of runtime executes it.", examples=["java"]
    )
    command: Command = Field(
        description="Program and arguments; no shell reads them. `{name}` is replaced inside an argument: a parameter of the "
        "size, `{benchmark}` (its name), `{iterations}`, `{seed}`, `{build.output}`, `{input.name}`, `{file.name}`, `{program.name}` (the path of an installed program, "
        "which belongs to what is measured). `{runtime}` stands alone and becomes the "
        "runtime's program and flags; a java benchmark has it once. `{{` and `}}` are braces.",
        examples=[["gzip", "-9", "-n", "-c", "{input.text}"]],
    )
    adapter: Name = Field(
        "process",
        description="What reads its measurements: `process` (wall time and rusage alone), `regatta` (its lines in "
        "`REGATTA_RESULTS`), `regex`, and those of suites that people own ([adapters](adapters.md)).",
        examples=["regatta"],
    )
    adapter_options: dict[ParameterName, ScalarValue] = Field(
        {},
        description="Options of the adapter. `file`: a file of the working directory that it reads instead of the one that "
        "`REGATTA_RESULTS` names.",
        examples=[{"pattern": "time: (?P<value>[0-9.]+) s"}],
    )
    metric: Name = Field(
        "elapsed", description="The metric that comparisons are about.", examples=["latency"]
    )
    better: Literal["lower", "higher"] = Field(
        "lower", description="Which values of the metric are better.", examples=["higher"]
    )
    summary: Summary = Field(
        "mean",
        description="What the repetitions of one invocation after warm-up become. `mean`. `median`: for operations of which a few "
        "are disturbed. `minimum`, or `maximum` where `better: higher`: for what can only be disturbed one way, such as a clock's "
        "frequency. All but `mean` go with `method: fixed` alone, which a spec then takes where it names none. `median` holds for every metric of the benchmark; "
        "beside a `minimum` or `maximum` the other metrics keep their mean.",
        examples=["median"],
    )
    environment: Environment = Field({}, description="Variables set for it.", examples=[{"LC_ALL": "C"}])
    arrange: dict[FileName, Line] = Field(
        {},
        description="File name in the working directory to the file that is copied, or the folder that is linked, there before the start, not timed.",
        examples=[{"input.txt": "{input.text}"}],
    )
    check: CheckSpec | None = Field(
        None, description=str(CheckSpec.__doc__), examples=[{"command": ["./prog"]}]
    )
    probe: ProbeSpec | None = Field(
        None,
        description=str(ProbeSpec.__doc__),
        examples=[{"command": ["{runtime}", "-jar", "{build.jar}", "--probe"]}],
    )
    keep: list[FileName] = Field(
        [],
        description="Files of the working directory that are kept beside the record, under "
        "`journal/<host>/kept/`; one that is not there is no error.",
        examples=[["gc.log"]],
    )
    sizes: dict[Name, SizeSpec] = Field(
        {"default": LEFT_OUT},
        description="Name to size. Left out: one size, `default`, without parameters.",
        min_length=1,
        examples=[{"small": {"parameters": {"kib": 256}}}],
    )

    @model_validator(mode="after")
    def _undisturbed(self) -> BenchmarkSpec:
        other = {"minimum": "maximum", "maximum": "minimum"}.get(self.summary, "")
        if other and (self.summary == "minimum") == (self.better == "higher"):
            expected = f"no `summary: {self.summary}` with `better: {self.better}`: that is the repetition that was disturbed most"
            raise refusal(expected, f"`summary: {other}` or `summary: median`", key="summary")
        return self


class SuiteFile(Strict):
    """`configs/suites/<suite>.yml`: a collection of benchmarks."""

    suite: Name = Field(description="Its name; in `configs/suites/` the file's too.", examples=["vm"])
    description: Text = Field("", description="What it holds.", examples=["Programs that check themselves"])
    builds: dict[BuildName, BuildSpec] = Field({}, description="What must be built first.")
    inputs: dict[PartName, InputSpec] = Field({}, description="Files that its benchmarks read.")
    files: dict[PartName, UserFileSpec] = Field(
        {},
        description="Files and folders that the user brings; `{file.name}` in a command is the path.",
        examples=[{"dacapo": {"name": "dacapo-9.12-MR1-bach.jar", "from": "https://www.dacapobench.org"}}],
    )
    benchmarks: dict[Name, BenchmarkSpec] = Field(
        description="Name to benchmark. None is called `all`.",
        min_length=1,
        examples=[{"sort": {"command": ["sort", "/etc/services"]}}],
    )
