"""Store previous values on the host's disk: written and synced before the first change, replaced by renaming."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from re import Pattern
from typing import Any

from regatta.host.errors import HostError, StoreError
from regatta.host.files import locked, parse_object, sync, write_whole

_VERSION = 1
_NAME = "before.json"
_FIX = "reboot the host, which resets its settings, and delete the file"


@dataclass
class Before:
    """The previous values, and the request that changed them.

    Attributes:
        boot_id: the boot of the kernel during which they were read.
        cpus, housekeeping, isolate: of the request.
        values: knob -> key -> value before the first change.
        refused: knob -> keys of the places that did not take their value last time, and need not.
        dropped: the page cache has been dropped.
    """

    boot_id: str
    cpus: list[int] = field(default_factory=list)
    housekeeping: list[int] = field(default_factory=list)
    isolate: bool = False
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    refused: dict[str, list[str]] = field(default_factory=dict)
    dropped: bool = False

    def of(self, knob: str) -> Mapping[str, str]:
        """Return key -> previous value of one knob."""
        return self.values.get(knob, {})


class StateFolder:
    """The folder on the host's disk."""

    def __init__(self, folder: Path, keys: Mapping[str, Pattern[str]]) -> None:
        """Use a folder.

        Args:
            folder: created when values are stored.
            keys: knob -> pattern of its keys; a file with any other key is refused.
        """
        self.folder = folder
        self.path = folder / _NAME
        self._keys = keys

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Prevent concurrent changes to this host.

        Raises:
            HostError: another process holds the lock, or another user owns the folder.
            OSError: the folder cannot be made.
        """
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        self._check_owner()
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(self.folder / "lock", patience_s=0, mode=0o644))
            except BlockingIOError:
                raise HostError(
                    str(self.folder), "one command at a time", "another running command", "wait until it ends"
                ) from None
            yield

    def _check_owner(self) -> None:
        """Check that only this user can write the folder: its content is written as root."""
        status = os.lstat(self.folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022 or not os.path.isdir(self.folder):
            raise HostError(
                str(self.folder),
                "a folder writable only by the current user",
                f"owner {status.st_uid}, mode {status.st_mode & 0o7777:o}",
                "remove it, or choose another folder with --state",
            )

    def load(self) -> Before | None:
        """Return the stored values; None: nothing is stored.

        Raises:
            StoreError: they cannot be read, or were not written by this class.
        """
        try:
            value = parse_object(self.path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StoreError(str(self.path), "stored settings", str(error), _FIX) from None
        problem = self._problem(value)
        if problem:
            raise StoreError(str(self.path), "stored settings", problem, _FIX)
        return Before(**{name: value[name] for name in Before.__dataclass_fields__})

    def _problem(self, value: dict[str, Any]) -> str:
        if value.get("version") != _VERSION:
            return f"not version {_VERSION}"
        kinds = {
            "boot_id": str, "cpus": list, "housekeeping": list, "isolate": bool, "values": dict, "refused": dict,
            "dropped": bool,
        }  # fmt: skip
        for name, kind in kinds.items():
            if not isinstance(value.get(name), kind):
                return f"{name} is {value.get(name)!r:.50}"
        if not all(isinstance(keys, list) for keys in value["refused"].values()):
            return "refused must contain lists"
        for knob, places in value["values"].items():
            if knob not in self._keys or not isinstance(places, dict):
                return f"unknown setting {knob!r:.50}"
            for key, before in places.items():
                if not self._keys[knob].fullmatch(key) or not isinstance(before, str):
                    return f"{knob}: unknown place {key!r:.100}"
        return ""

    def save(self, before: Before) -> None:
        """Store the values durably. Raises OSError."""
        data = json.dumps({"version": _VERSION, **asdict(before)}, indent=1).encode() + b"\n"
        write_whole(self.path, data, 0o644, durable=True)

    def forget(self) -> None:
        """Remove the stored values after a complete restore. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
            sync(self.folder)
