"""How an invocation is kept apart from the rest of its host. Frozen values, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: where nobody names an image; `docker/base` makes it
DEFAULT_IMAGE = "regatta-base:bookworm"

IsolationKind = Literal["cgroup", "docker", "none"]
Network = Literal["none", "bridge"]


@dataclass(frozen=True)
class Isolation:
    """`cgroup`: a control group that accounts for the process tree, where one may be made. `none`: no group.

    `docker`: a fresh container for each invocation; memory, network, images and capabilities hold for it alone.
    """

    kind: IsolationKind = "cgroup"
    #: None: no limit
    memory_mib: int | None = None
    network: Network = "none"
    #: runtime name -> image
    images: Mapping[str, str] = field(default_factory=dict)
    #: of the runtimes that `images` does not name; "": the runtime's own, or the one that `docker/base` makes
    image: str = ""
    #: the last so many CPUs of those that the host measures on; None: all of them
    processors: int | None = None
    #: processors' worth of time; None: no limit
    cpu_quota: float | None = None
    #: of the kernel's, with `docker`, which gives none by itself
    capabilities: tuple[str, ...] = ()

    def image_of(self, runtime: str, own: str) -> str:
        """The image for a runtime, whose registry entry has an image of its `own` or none ("")."""
        return self.images.get(runtime) or self.image or own or DEFAULT_IMAGE


@dataclass(frozen=True)
class CellIsolation:
    """The same for one cell, with everything looked up."""

    kind: IsolationKind
    image: str = ""
    #: the image's digest
    image_id: str = ""
    network: Network = "none"
    memory_mib: int | None = None
    #: programs that come from the image, because they were found on PATH and not made or brought
    programs: tuple[str, ...] = ()
    #: what the container sees beside the cell's files: the runtime's own folder
    folders: tuple[str, ...] = ()
    processors: int | None = None
    cpu_quota: float | None = None
    capabilities: tuple[str, ...] = ()

    def limits(self) -> dict[str, Any]:
        """The limits that it has."""
        given = {
            "processors": self.processors,
            "cpu_quota": self.cpu_quota,
            "capabilities": sorted(self.capabilities),
        }
        return {key: value for key, value in given.items() if value}

    def identity(self) -> list[object]:
        """What of it is part of a cell's identity; nothing where it is the usual one."""
        limits = self.limits()
        rest = [limits] if limits else []
        if self.kind == "docker":
            return [self.kind, self.image_id, self.network, self.memory_mib, *rest]
        return [self.kind, *rest] if rest or self.kind != "cgroup" else []

    def to_json(self) -> dict[str, Any]:
        """As the runner's plan holds it (docs/protocol.md section 4)."""
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
