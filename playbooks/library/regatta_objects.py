"""The host's side of `regatta_objects`: tells which files and folders it lacks, and puts in place what was received."""

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
  - A file or folder is there when it is whole. It is received and unpacked under another name, checked, written to the disk,
    and only then renamed, so that no crash leaves half of it under its own name.
  - The action plugin of the same name asks what is missing (O(received=[])), copies that, and lets this module place it.
options:
  root:
    description: Folder that every place is below.
    type: path
    required: true
  objects:
    description: What is to be there.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: What messages call it; the name of the file below C(objects/SHA256) where no place is given.
        type: str
        required: true
      kind:
        description: A file as it is, or an archive of tar that becomes a folder.
        type: str
        choices: [file, folder]
        required: true
      sha256:
        description: Of the file's bytes, or of the folder's contents.
        type: str
        required: true
      staged:
        description: Where the controller has it.
        type: path
        required: true
      architectures:
        description: Machines that it is for, as C(uname -m) says; all where it is left out.
        type: list
        elements: str
      place:
        description: Where below the root it belongs; C(objects/SHA256), for a file C(objects/SHA256/NAME).
        type: str
  received:
    description: Internal. What the action plugin copied here, by place, path and SHA-256.
    type: list
    elements: dict
    default: []
author: [Regatta]
"""

EXAMPLES = r"""
- name: Bring a runtime
  regatta_objects:
    root: /var/lib/regatta
    objects:
      - {name: temurin, kind: folder, sha256: 9f86d0..., staged: /tmp/temurin.tar, architectures: [aarch64]}
"""

RETURN = r"""
missing:
  description: Places that are not there, or not as they should be.
  returned: always
  type: list
  elements: str
"""


def sha256_of(path: str) -> str:
    """SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while True:
            chunk = stream.read(1 << 20)
            if not chunk:
                return digest.hexdigest()
            digest.update(chunk)


def is_there(root: str, entry: dict[str, str]) -> bool:
    """Whether an object is in its place: a folder by its name, since it got that when it was whole; a file by its bytes."""
    path = os.path.join(root, entry["place"])
    if entry["kind"] == "folder":
        return os.path.isdir(path)
    return os.path.isfile(path) and sha256_of(path) == entry["sha256"]


def remove(path: str) -> None:
    """Remove a file or a folder, if there is one."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def prepare(root: str, entry: dict[str, str]) -> str:
    """Unpack what was received beside its place; returns the name that it has until it is whole.

    Raises:
        ValueError: it is not what was sent, or no archive.
    """
    found = sha256_of(entry["path"])
    if found != entry["sha256"]:
        raise ValueError(
            f"{entry['place']}: expected SHA-256 {entry['sha256']} · got {found} · fix: try again, it was copied by two at once or cut off"
        )
    place = os.path.join(root, entry["place"])
    part = f"{place}.part"
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
        raise ValueError(
            f"{entry['place']}: expected an archive that tar unpacks · got {unpacked.stderr.strip()}"
        )
    return part


def place_all(root: str, received: list[dict[str, str]]) -> None:
    """Put everything in place, durably: what has its own name is on the disk."""
    parts = [(prepare(root, entry), os.path.join(root, entry["place"])) for entry in received]
    os.sync()
    for part, place in parts:
        os.rename(part, place)
    os.sync()
    for entry in received:
        remove(entry["path"])


def main() -> None:
    """Answer Ansible."""
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
