"""Host side of `regatta_objects`: report missing files and folders, and put received ones in place."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: regatta_objects
short_description: Put files and unpacked archives in place by the hash of their contents
description:
  - A file or folder under its final name is complete. It is received and unpacked under a temporary name, verified,
    written to disk, and only then renamed, so that a crash leaves no incomplete file.
  - The action plugin of the same name asks for missing objects (O(received=[])), copies them, and calls this module to
    put them in place.
options:
  root:
    description: Folder that contains all places.
    type: path
    required: true
  objects:
    description: Objects that must exist.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name in messages; without a place, also the file name in C(objects/SHA256).
        type: str
        required: true
      kind:
        description: A file, or a tar archive that becomes a folder.
        type: str
        choices: [file, folder]
        required: true
      sha256:
        description: Digest of the file, or of the contents of the folder.
        type: str
        required: true
      staged:
        description: Path on the controller.
        type: path
        required: true
      architectures:
        description: Machines that need it, as in C(uname -m); by default all.
        type: list
        elements: str
      place:
        description: Place below the root; by default C(objects/SHA256), and for a file C(objects/SHA256/NAME).
        type: str
  received:
    description: Internal. Objects that the action plugin copied to the host, with place, path and SHA-256.
    type: list
    elements: dict
    default: []
author: [Regatta]
"""

EXAMPLES = r"""
- name: Copy a runtime
  regatta_objects:
    root: /var/lib/regatta
    objects:
      - {name: temurin, kind: folder, sha256: 9f86d0..., staged: /tmp/temurin.tar, architectures: [aarch64]}
"""

RETURN = r"""
missing:
  description: Places with missing or wrong contents.
  returned: always
  type: list
  elements: str
"""


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while True:
            chunk = stream.read(1 << 20)
            if not chunk:
                return digest.hexdigest()
            digest.update(chunk)


def is_there(root: str, entry: dict[str, str]) -> bool:
    """Return whether an object is in place: a folder by its name, which only complete folders have; a file by its digest."""
    path = os.path.join(root, entry["place"])
    if entry["kind"] == "folder":
        return os.path.isdir(path)
    return os.path.isfile(path) and sha256_of(path) == entry["sha256"]


def remove(path: str) -> None:
    """Remove a file or a folder if it exists."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def prepare(root: str, entry: dict[str, str]) -> str:
    """Unpack a received object beside its copy, whose name is that of one host; return its temporary name.

    Raises:
        ValueError: the digest is wrong, or the file is not an archive.
    """
    found = sha256_of(entry["path"])
    if found != entry["sha256"]:
        raise ValueError(
            f"{entry['place']}: expected SHA-256 {entry['sha256']} · got {found} · fix: run it again; the copy was interrupted or made by two processes at once"
        )
    place = os.path.join(root, entry["place"])
    part = f"{entry['path']}.part"
    remove(part)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if entry["kind"] == "file":
        os.rename(entry["path"], part)
        return part
    os.mkdir(part)
    unpacked = subprocess.run(
        ["tar", "--no-same-owner", "-xf", entry["path"], "-C", part],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, text=True,
    )  # fmt: skip
    if unpacked.returncode:
        raise ValueError(f"{entry['place']}: expected a tar archive · got {unpacked.stderr.strip()}")
    return part


def put(part: str, place: str) -> None:
    """Give a part its final name. Another host that shares the root may have done the same."""
    try:
        os.rename(part, place)
    except OSError:
        # Only a complete folder has this name.
        if not os.path.isdir(place):
            raise
        remove(part)


def place_all(root: str, received: list[dict[str, str]]) -> None:
    """Put all objects in place durably: objects under their final name are on disk."""
    parts = [(prepare(root, entry), os.path.join(root, entry["place"])) for entry in received]
    os.sync()
    for part, place in parts:
        put(part, place)
    os.sync()
    for entry in received:
        remove(entry["path"])


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "required": True},
            "objects": {"type": "list", "elements": "dict", "required": True},
            "received": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )
    root, received = module.params["root"], module.params["received"]
    try:
        if received:
            place_all(root, received)
        missing = [entry["place"] for entry in module.params["objects"] if not is_there(root, entry)]
        if missing and not received and not module.check_mode:
            os.makedirs(os.path.join(root, "incoming"), exist_ok=True)
        above = root
        while not os.path.isdir(above):
            above = os.path.dirname(above)
        there = os.statvfs(above)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    room = there.f_bavail * there.f_frsize
    module.exit_json(changed=bool(received), missing=missing, room_bytes=room)


if __name__ == "__main__":
    main()
