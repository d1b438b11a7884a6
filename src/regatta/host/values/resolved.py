"""What was found or made on a host for an experiment: runtimes, builds, inputs, facts. Frozen values, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.host.values.experiment import Cores


@dataclass(frozen=True)
class File:
    """A file or folder that a cell executes or reads; `sha256` as `regatta.host.contents` makes it."""

    path: str
    sha256: str


@dataclass(frozen=True)
class ResolvedRuntime:
    """A runtime that is there."""

    name: str
    #: absolute path of the launcher; "" for native
    program: str
    #: what people read: `openjdk 21.0.8 ...`
    version: str
    #: hash of the build: launcher, libjvm, modules, release file
    identity: str
    files: tuple[File, ...] = ()
    #: collector name -> why the runtime refuses it; "" means that it takes it
    collectors: Mapping[str, str] = field(default_factory=dict)
    #: the same of modifiers; those that change no flag are not asked about
    modifiers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResolvedHost:
    """All that planning needs to know of one host."""

    name: str
    platform: str
    #: facts for people: cpu, cores, memory, kernel, os, architecture
    facts: Mapping[str, str]
    #: hash of what makes two hosts the same class: architecture, processor, number of CPUs
    host_class: str
    #: the whole environment of measured processes, but for what is different in every invocation
    environment: Mapping[str, str]
    #: runtimes that are there, by name
    runtimes: Mapping[str, ResolvedRuntime]
    #: runtimes that are not, with the reason
    missing_runtimes: Mapping[str, str]
    #: build name -> output name -> file
    builds: Mapping[str, Mapping[str, File]]
    #: benchmark label -> input name -> file
    inputs: Mapping[str, Mapping[str, File]]
    #: program named in a command -> the executable
    programs: Mapping[str, File]
    #: benchmark label -> runtime -> why the runtime cannot run it, by the benchmark's own probe
    refused_benchmarks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: benchmark label -> name of what the user brings, or `name/what lies beside it` -> file or folder
    files: Mapping[str, Mapping[str, File]] = field(default_factory=dict)
    #: name of a Docker image that a cell needs -> its id
    images: Mapping[str, str] = field(default_factory=dict)
    #: where measured processes run: what the spec says, or the host's own CPUs where it leaves that open
    cores: Cores = field(default_factory=Cores)
    #: of the whole machine; 0 where it is not known
    memory_mib: int = 0
    #: of the facts, those whose change makes measurements of before and after another thing: kernel, microcode, mitigations ...
    fingerprint: Mapping[str, str] = field(default_factory=dict)
