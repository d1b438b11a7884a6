"""Controller side of `regatta_objects`: ask a host for missing objects and copy only those."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import stat
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

MODULE = "ansible.legacy.regatta_objects"
SHA256 = re.compile(r"[0-9a-f]{64}")
#: space to keep free for other data
SPARE_BYTES = 256 << 20


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def placed(given: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its place below the root.

    Raises:
        AnsibleActionFail: keys are missing, or the place is outside of the root.
    """
    where = f"object {given.get('name')!r}"
    if lacking := [key for key in ("name", "kind", "sha256", "staged") if not given.get(key)]:
        raise AnsibleActionFail(f"{where}: expected {', '.join(lacking)} · got none")
    if given["kind"] not in ("file", "folder"):
        raise AnsibleActionFail(f"{where}: expected kind file or folder · got {given['kind']!r}")
    if not SHA256.fullmatch(given["sha256"]):
        raise AnsibleActionFail(f"{where}: expected a SHA-256 · got {given['sha256']!r}")
    place = given.get("place") or f"objects/{given['sha256']}"
    if not given.get("place") and given["kind"] == "file":
        place = f"{place}/{given['name']}"
    if posixpath.isabs(place) or posixpath.normpath(place) != place or place.startswith(".."):
        raise AnsibleActionFail(f"{where}: expected a place below the root · got {place!r}")
    return {**given, "place": place}


class ActionModule(ActionBase):
    """Copy the missing objects for this machine."""

    _supports_check_mode = True
    _VALID_ARGS = frozenset({"root", "objects", "architecture"})

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Find missing objects, copy them, and put them in place."""
        super().run(tmp, task_vars)
        root, machine = self._task.args["root"], self._task.args["architecture"]
        wanted = {}
        for given in self._task.args["objects"]:
            if not given.get("architectures") or machine in given["architectures"]:
                entry = placed(given)
                wanted[entry["place"]] = entry
        if not wanted:
            return {"changed": False, "missing": []}
        answer = self._ask(root, list(wanted.values()), [], task_vars)
        if answer.get("failed") or not answer["missing"]:
            return answer
        missing = [wanted[place] for place in answer["missing"]]
        self._fits(missing, answer["room_bytes"], root)
        if self._task.check_mode:
            return {"changed": True, "missing": [entry["place"] for entry in missing]}
        received = [self._copied(root, entry, str(task_vars["inventory_hostname"])) for entry in missing]
        done = self._ask(root, missing, received, task_vars)
        if not done.get("failed") and done["missing"]:
            raise AnsibleActionFail(f"{root}: expected {', '.join(done['missing'])} after copying · got none")
        return done

    def _ask(
        self, root: str, objects: list[dict[str, Any]], received: list[dict[str, str]], task_vars: Any
    ) -> dict[str, Any]:
        told = [{key: entry[key] for key in ("place", "kind", "sha256")} for entry in objects]
        arguments = {"root": root, "objects": told, "received": received}
        return dict(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))

    def _fits(self, missing: list[dict[str, Any]], room_bytes: int, root: str) -> None:
        """Check the free space for the copies and their unpacked contents.

        Raises:
            AnsibleActionFail: there is not enough space, or a file is missing on the controller.
        """
        needed = SPARE_BYTES
        for entry in missing:
            try:
                status = os.stat(entry["staged"])
            except OSError as error:
                raise AnsibleActionFail(
                    f"object {entry['name']}: expected it at {entry['staged']} · got {error.strerror}"
                ) from error
            if not stat.S_ISREG(status.st_mode):
                raise AnsibleActionFail(
                    f"object {entry['name']}: expected a file at {entry['staged']} · got another kind"
                )
            needed += status.st_size * (1 if entry["kind"] == "file" else 3)
        if needed > room_bytes:
            raise AnsibleActionFail(
                f"{root}: expected {needed >> 20} MiB free · got {room_bytes >> 20} MiB · fix: free disk space, or set regatta_root"
            )

    def _copied(self, root: str, entry: dict[str, Any], host: str) -> dict[str, str]:
        """Copy an object to `incoming`; return its path there and its expected digest.

        Hosts can share a root, and are prepared at the same time: each copy has the name of its host.
        """
        digest = sha256_of(entry["staged"])
        if entry["kind"] == "file" and digest != entry["sha256"]:
            raise AnsibleActionFail(
                f"object {entry['name']}: expected SHA-256 {entry['sha256']} · got {digest} at {entry['staged']}"
            )
        path = posixpath.join(root, "incoming", f"{host}-{digest}")
        self._connection.put_file(entry["staged"], path)
        return {"place": entry["place"], "kind": entry["kind"], "path": path, "sha256": digest}
