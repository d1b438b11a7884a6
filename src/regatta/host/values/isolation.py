"""Isolation of an invocation from the rest of its host. Frozen values, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: default image; `docker/base` builds it
DEFAULT_IMAGE = "regatta-base:bookworm"

IsolationKind = Literal["cgroup", "docker", "none"]
Network = Literal["none", "bridge"]


@dataclass(frozen=True)
class Isolation:
    """How to isolate an invocation.

    `cgroup`: a control group that accounts for the process tree, if the host permits one. `none`: no group.
    `docker`: a fresh container per invocation. Network, images and capabilities apply only to `docker`.
    """

    kind: IsolationKind = "cgroup"
    #: with `docker` of the container, with `cgroup` of the processes and their files in the page cache; None: no limit
    memory_mib: int | None = None
    network: Network = "none"
    #: runtime name -> image
    images: Mapping[str, str] = field(default_factory=dict)
    #: for runtimes not in `images`; "": the image of the runtime, or the one that `docker/base` builds
    image: str = ""
    #: number of CPUs, taken from the end of the host's measurement CPUs; None: all
    processors: int | None = None
    #: CPU time limit in processors; None: no limit
    cpu_quota: float | None = None
    #: kernel capabilities for `docker`, which grants none by default
    capabilities: tuple[str, ...] = ()

    def image_of(self, runtime: str, own: str) -> str:
        """Return the image for a runtime. `own` is the image in its registry entry, or ""."""
        return self.images.get(runtime) or self.image or own or DEFAULT_IMAGE


@dataclass(frozen=True)
class CellIsolation:
    """The isolation of one cell, with all values resolved."""

    kind: IsolationKind
    image: str = ""
    #: digest of the image
    image_id: str = ""
    network: Network = "none"
    memory_mib: int | None = None
    #: programs that come from the image, because the host found them on PATH; built or copied programs do not
    programs: tuple[str, ...] = ()
    #: folders that the container sees in addition to the cell's files: the folder of the runtime
    folders: tuple[str, ...] = ()
    processors: int | None = None
    cpu_quota: float | None = None
    capabilities: tuple[str, ...] = ()

    def limits(self) -> dict[str, Any]:
        """Return the limits that are set; the memory of a container is not one of them, because it always has a value."""
        given = {
            "processors": self.processors,
            "cpu_quota": self.cpu_quota,
            "memory_mib": None if self.kind == "docker" else self.memory_mib,
            "capabilities": sorted(self.capabilities),
        }
        return {key: value for key, value in given.items() if value}

    def identity(self) -> list[object]:
        """Return the part that belongs to the cell's identity; empty for the default isolation."""
        limits = self.limits()
        rest = [limits] if limits else []
        if self.kind == "docker":
            return [self.kind, self.image_id, self.network, self.memory_mib, *rest]
        return [self.kind, *rest] if rest or self.kind != "cgroup" else []

    def to_json(self) -> dict[str, Any]:
        """Return the isolation as in the runner's plan (docs/protocol.md section 4)."""
        if self.kind != "docker":
            return {"kind": self.kind, **self.limits()}
        return {
            "kind": self.kind,
            "image": self.image,
            "image_id": self.image_id,
            "network": self.network,
            "memory_mib": self.memory_mib,
            "programs": list(self.programs),
            "folders": list(self.folders),
            **self.limits(),
        }
