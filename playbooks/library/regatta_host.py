"""Collect the facts of a host that provisioning needs. The facts of Ansible take seconds on a slow machine."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import subprocess
import sys

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: regatta_host
short_description: Collect facts of a host
description:
  - Reads the machine type, its Python, the user, the free space, the Debian packages and the service manager.
  - Changes nothing. The result is C(ansible_facts.regatta_host).
options:
  root:
    description: Folder in the file system whose free space is reported. If it does not exist, its nearest existing parent counts.
    type: path
    required: true
author: [Regatta]
"""

EXAMPLES = r"""
- name: Inspect the host
  regatta_host:
    root: /var/lib/regatta
"""

RETURN = r"""
ansible_facts:
  description: Contains regatta_host.
  returned: always
  type: dict
"""

_MIB = 1 << 20


def room_mib(folder: str) -> int:
    """Return the MiB available to this user in the file system of a folder, or of its nearest existing parent."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    there = os.statvfs(folder)
    return there.f_bavail * there.f_frsize // _MIB


def installed_packages() -> list[str]:
    """Return the names of installed Debian packages; empty without dpkg."""
    if shutil.which("dpkg-query") is None:
        return []
    listed = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package}\n"],
        stdout=subprocess.PIPE, check=True, text=True, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    rows = (line.partition(" ") for line in listed.stdout.splitlines())
    return sorted({name for status, _, name in rows if status == "installed"})


def user_name(uid: int) -> str:
    """Return the name of the user, or the number if the system has no name for it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def clock() -> str:
    """Return the synchronization of the kernel clock: synchronised, free, or unknown if the kernel does not report it.

    Source: adjtimex(2); a call that sets nothing returns TIME_ERROR for an unsynchronized clock.
    """
    time_error, longest_struct = 5, 512
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(longest_struct))
    except (OSError, AttributeError):
        return "unknown"
    return "unknown" if state < 0 else "free" if state == time_error else "synchronised"


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={"root": {"type": "path", "required": True}}, supports_check_mode=True
    )
    root = module.params["root"]
    if not os.path.isabs(root):
        module.fail_json(
            msg=f"regatta_root: expected an absolute path · got {root!r} · fix: correct the inventory"
        )
    system = os.uname()
    fact = {
        "system": system.sysname,
        "machine": system.machine,
        "executable": sys.executable,
        "python": list(sys.version_info[:3]),
        "uid": os.getuid(),
        "user": user_name(os.getuid()),
        "room_mib": room_mib(root),
        "root_exists": os.path.lexists(root),
        "root_is_ours": os.path.isdir(root) and os.stat(root).st_uid == os.getuid(),
        "clock": clock(),
        "packages": installed_packages(),
        "has_apt": shutil.which("apt-get") is not None,
        "has_systemd": os.path.isdir("/run/systemd/system"),
    }
    module.exit_json(changed=False, ansible_facts={"regatta_host": fact})


if __name__ == "__main__":
    main()
