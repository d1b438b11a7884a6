"""Resolved resources of an experiment on a host: runtimes, builds, inputs, facts. Frozen values, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.host.values.experiment import Cores


@dataclass(frozen=True)
class File:
    """A file or folder that a cell executes or reads, with `sha256` from `regatta.host.contents`."""

    path: str
    sha256: str


@dataclass(frozen=True)
class ResolvedRuntime:
    """A runtime that is available."""

    name: str
    #: absolute path of the launcher; "" for native
    program: str
    #: version to display: `openjdk 21.0.8 ...`
    version: str
    #: hash of the build: launcher, libjvm, modules, release file
    identity: str
    files: tuple[File, ...] = ()
    #: collector name -> why the runtime refuses it; "" if it accepts it
    collectors: Mapping[str, str] = field(default_factory=dict)
    #: modifier name -> why the runtime refuses it; modifiers without flags are not checked
    modifiers: Mapping[str, str] = field(default_factory=dict)
    #: folder with all files of the runtime, for containers; "" if it belongs to the system
    root: str = ""
    #: what its user should know, to display; "": nothing
    remark: str = ""


@dataclass(frozen=True)
class ResolvedHost:
    """All information about one host that planning needs."""

    name: str
    platform: str
    #: facts to display: cpu, cores, memory, kernel, os, architecture
    facts: Mapping[str, str]
    #: hash that is equal for hosts of the same class: architecture, processor, number of CPUs
    host_class: str
    #: whole environment of measured processes, except values that change with every invocation
    environment: Mapping[str, str]
    #: available runtimes by name
    runtimes: Mapping[str, ResolvedRuntime]
    #: runtimes that are not available -> reason
    missing_runtimes: Mapping[str, str]
    #: build name -> output name -> file
    builds: Mapping[str, Mapping[str, File]]
    #: benchmark label -> input name -> file
    inputs: Mapping[str, Mapping[str, File]]
    #: program named in a command -> the executable
    programs: Mapping[str, File]
    #: benchmark label -> runtime -> why the runtime cannot run it, from the probe of the benchmark
    refused_benchmarks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: benchmark label -> name of a user file, or `name/neighbor` -> file or folder
    files: Mapping[str, Mapping[str, File]] = field(default_factory=dict)
    #: name of a Docker image that a cell needs -> its id
    images: Mapping[str, str] = field(default_factory=dict)
    #: where measured processes run: as in the spec, or the CPUs of the host if the spec does not set them
    cores: Cores = field(default_factory=Cores)
    #: memory of the whole machine; 0 if unknown
    memory_mib: int = 0
    #: facts whose change makes earlier and later measurements incomparable: kernel, microcode, mitigations ...
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    #: address under which the other hosts of the same measurement reach it; "": there are none
    address: str = ""
    #: host -> its resources, for hosts that execute the roles of each benchmark together
    members: Mapping[str, ResolvedHost] = field(default_factory=dict)
