"""What the machine that runs the command brings to a host. Frozen values, no I/O; all paths are the host's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.host.values.resolved import File


@dataclass(frozen=True)
class Supplies:
    """What is there before a host finds out what it has."""

    #: folder in which builds find their sources
    home: str
    #: the whole environment of measured processes, but for what is different in every invocation
    environment: Mapping[str, str]
    #: runtime -> the folder or archive that its provider unpacks or takes as it is; providers that need none are not here
    runtimes: Mapping[str, str] = field(default_factory=dict)
    #: runtime -> why it cannot be had for this host's architecture
    missing: Mapping[str, str] = field(default_factory=dict)
    #: build -> output -> file, of builds that are made once for every architecture
    builds: Mapping[str, Mapping[str, File]] = field(default_factory=dict)
    #: benchmark label -> input -> file
    inputs: Mapping[str, Mapping[str, File]] = field(default_factory=dict)
    #: benchmark label -> name of what the user brings -> file or folder
    files: Mapping[str, Mapping[str, File]] = field(default_factory=dict)
    #: whether packages may be installed from here; where Ansible does that, they may not
    may_install: bool = True
