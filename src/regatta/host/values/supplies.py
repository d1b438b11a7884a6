"""Files that the controller provides to a host. Frozen values, no I/O; all paths are paths of the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.host.values.resolved import File


@dataclass(frozen=True)
class Supplies:
    """The files that are available before a host resolves an experiment."""

    #: folder with the sources of builds
    home: str
    #: whole environment of measured processes, except values that change with every invocation
    environment: Mapping[str, str]
    #: runtime -> the folder or archive for its provider; absent for providers that need none
    runtimes: Mapping[str, str] = field(default_factory=dict)
    #: runtime -> why it does not exist for the architecture of this host
    missing: Mapping[str, str] = field(default_factory=dict)
    #: build -> output -> file, for builds that are the same on every architecture
    builds: Mapping[str, Mapping[str, File]] = field(default_factory=dict)
    #: benchmark label -> input -> file
    inputs: Mapping[str, Mapping[str, File]] = field(default_factory=dict)
    #: benchmark label -> name of a user file -> file or folder
    files: Mapping[str, Mapping[str, File]] = field(default_factory=dict)
    #: whether Regatta can install packages; false if Ansible installs them
    may_install: bool = True
    #: whether nothing more will be provided: a runtime that still lacks a package or a program is not available here
    provisioned: bool = False
    #: folders to look up the programs of commands in, as in PATH; empty: PATH of `environment`
    path: str = ""
