"""The list of machines: a standard Ansible inventory, read by Ansible. Its groups are the platforms."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from regatta.host.cache import remembered
from regatta.host.errors import Problem, SpecError
from regatta.host.files import read_bounded
from regatta.host.values.cpu_list import parse_cpu_list
from regatta.host.values.host import DEFAULT_ROOT, Host, SlurmPlace, SshPlace
from regatta.spec.fields import NAME, NAME_WORDS
from regatta.spec.problems import shown_path, unknown

INVENTORY = "REGATTA_INVENTORY"
_OWN = "regatta_"
#: groups of every inventory
_ALWAYS = frozenset({"all", "ungrouped", "_meta"})
_TIMEOUT_S = 120
#: ten thousand hosts with all variables take some MiB
_MOST_BYTES = 64 << 20
_CPU_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


def inventory_path(home: Path) -> Path:
    """Return the file or folder of the inventory: `$REGATTA_INVENTORY`, or `configs/hosts` of the home."""
    own = os.environ.get(INVENTORY)
    return Path(own).absolute() if own else home / "configs" / "hosts"


def _cpus(value: object) -> object:
    """Parse CPUs, as a list or in the kernel's form, "2-7,9"."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if not isinstance(value, str):
        return value
    if not _CPU_LIST.fullmatch(value.replace(" ", "")):
        raise ValueError("expected CPU numbers such as 2-7,9")
    return parse_cpu_list(value.replace(" ", ""))


Cpus = Annotated[list[Annotated[int, Field(ge=0, le=65535)]], BeforeValidator(_cpus)]
#: a name or an expression of features as in Slurm, or empty
Word = Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9._\[\],&|*:-]*)?$", max_length=200)]


class HostVariables(BaseModel):
    """The variables of a host that Regatta reads. Ansible's own keep their meaning."""

    model_config = ConfigDict(extra="ignore", strict=False)

    ansible_connection: Literal["ssh", "smart", "local"] = "ssh"
    ansible_host_key_checking: Literal[True] = True
    ansible_ssh_host_key_checking: Literal[True] = True
    ansible_host: Annotated[str, Field(pattern=r"^[A-Za-z0-9\[][A-Za-z0-9:%.\[\]_-]*$")] = ""
    ansible_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    ansible_user: Annotated[str, Field(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.@-]*\$?)?$")] = ""
    ansible_ssh_private_key_file: str = ""
    ansible_ssh_common_args: str = ""
    ansible_ssh_extra_args: str = ""
    ansible_python_interpreter: str = ""
    regatta_root: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9_+-][A-Za-z0-9._+-]*)+$")] = DEFAULT_ROOT
    regatta_cpus: Cpus = []
    regatta_housekeeping_cpus: Cpus = []
    regatta_address: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9:%._-]*)?$")] = ""
    regatta_slurm_node: Word = ""
    regatta_slurm_constraint: Word = ""
    regatta_slurm_partition: Word = ""
    regatta_slurm_time_limit_min: Annotated[int, Field(ge=1)] | None = None
    #: prepare Docker on the host
    regatta_docker: bool = False
    #: for `regatta list`; `Host` lacks it, so that an edit does not change a plan
    regatta_description: Annotated[str, Field(pattern=r"^[^\r\n]*$")] = ""

    def host(self, name: str, platform: str) -> Host:
        """Return the frozen value."""
        is_local = self.ansible_connection == "local"
        ssh = None
        if not is_local or self.ansible_host:
            arguments = shlex.split(f"{self.ansible_ssh_common_args} {self.ansible_ssh_extra_args}")
            key = os.path.expanduser(self.ansible_ssh_private_key_file)
            ssh = SshPlace(
                self.ansible_host or name, self.ansible_port, self.ansible_user, key, tuple(arguments)
            )
        slurm = None
        asked = (self.regatta_slurm_node, self.regatta_slurm_constraint, self.regatta_slurm_partition)
        if any(asked) or self.regatta_slurm_time_limit_min:
            slurm = SlurmPlace(*asked, self.regatta_slurm_time_limit_min)
        python = self.ansible_python_interpreter
        return Host(
            name=name,
            platform=platform,
            is_local=is_local,
            ssh=ssh,
            slurm=slurm,
            # Ansible's discovery (`auto`) means the Python on the path.
            python=python if python.startswith("/") else "python3",
            root=self.regatta_root,
            cpus=tuple(self.regatta_cpus),
            housekeeping_cpus=tuple(self.regatta_housekeeping_cpus),
            address=self.regatta_address,
        )


_OWN_NAMES = frozenset(name for name in HostVariables.model_fields if name.startswith(_OWN))


def read_inventory(home: Path, problems: list[Problem]) -> dict[str, tuple[Host, ...]]:
    """Read the inventory of a home.

    Args:
        home: the result of `find_home`.
        problems: every problem found is appended.

    Returns:
        Platform -> its hosts, in the inventory's order; a host in two groups is in both. Empty without an inventory.
    """
    path = inventory_path(home)
    if not path.exists():
        return {}
    try:
        listing = _listing(path)
    except SpecError as error:
        problems.extend(error.problems)
        return {}
    variables: Mapping[str, Any] = listing.get("_meta", {}).get("hostvars", {})
    hosts: dict[str, Host] = {}
    for name in dict.fromkeys(name for group in listing for name in _members(listing, group)):
        host = _host(path, name, variables.get(name, {}), problems)
        if host is not None:
            hosts[name] = host
    found = {}
    for group in sorted(set(listing) - _ALWAYS):
        members = tuple(
            replace(hosts[name], platform=group) for name in _members(listing, group) if name in hosts
        )
        if members:
            found[group] = members
    return found


def read_descriptions(home: Path) -> dict[str, str]:
    """Return host -> its `regatta_description`, for hosts that have one; empty if the inventory is invalid."""
    path = inventory_path(home)
    try:
        listing = _listing(path) if path.exists() else {}
    except SpecError:  # reported by `read_inventory`
        return {}
    hosts: Mapping[str, Any] = listing.get("_meta", {}).get("hostvars", {})
    found = {name: variables.get("regatta_description") for name, variables in hosts.items()}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def _host(path: Path, name: str, variables: Mapping[str, Any], problems: list[Problem]) -> Host | None:
    where = f"{shown_path(path)}: host {name}"
    if not NAME.fullmatch(name) or ".." in name:
        fix = "rename it and put the address into `ansible_host`"
        problems.append(Problem(where, NAME_WORDS, repr(name), fix))
        return None
    if name == "none":
        problems.append(
            Problem(where, "a name other than `none`, which is reserved", repr(name), "rename it")
        )
        return None
    for variable in sorted(key for key in variables if key.startswith(_OWN) and key not in _OWN_NAMES):
        problems.append(unknown(where, "a variable of Regatta", variable, _OWN_NAMES))
    try:
        return HostVariables.model_validate(dict(variables)).host(name, "")
    except ValidationError as error:
        for one in error.errors(include_url=False):
            key = ".".join(map(str, one["loc"][:1]))
            problems.append(
                Problem(f"{where}: {key}", one["msg"], repr(variables.get(key)), "correct the variable")
            )
    except ValueError as error:  # raised by shlex
        problems.append(
            Problem(f"{where}: ansible_ssh_common_args", "arguments for ssh", str(error), "close the quote")
        )
    return None


def _members(listing: Mapping[str, Any], group: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the hosts of a group and of its subgroups, each once."""
    entry = listing.get(group, {})
    if group == "_meta" or group in above or not isinstance(entry, dict):
        return
    seen: set[str] = set()
    for name in entry.get("hosts", ()):
        seen.add(name)
        yield name
    for child in entry.get("children", ()):
        for name in _members(listing, child, (*above, group)):
            if name not in seen:
                seen.add(name)
                yield name


def _listing(path: Path) -> dict[str, Any]:
    """Return the output of `ansible-inventory --list`, cached by the files unless one of them is a program or a plug-in."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    contents = []
    for file in files:
        try:
            is_program = bool(file.stat().st_mode & (stat.S_IXUSR | stat.S_IXGRP))
            data = b"" if is_program else read_bounded(file, _MOST_BYTES)
        except OSError as error:
            expected = f"a readable file of at most {_MOST_BYTES >> 20} MiB"
            raise SpecError([Problem(str(file), expected, str(error), "correct the inventory")]) from error
        if is_program or b"plugin:" in data:
            return _ask(path)
        name = str(file.relative_to(path)) if path.is_dir() else file.name
        contents.append([name, hashlib.sha256(data).hexdigest()])
    return dict(remembered("inventory", contents, lambda: _without_secrets(_ask(path))))


def _without_secrets(listing: dict[str, Any]) -> dict[str, Any]:
    """Return the listing with only the variables that are read here: the cache on disk must not contain passwords."""
    variables = listing.get("_meta", {}).get("hostvars", {})
    wanted = {
        host: {
            key: value
            for key, value in own.items()
            if key in HostVariables.model_fields or key.startswith(_OWN)
        }
        for host, own in variables.items()
    }
    return {**listing, "_meta": {"hostvars": wanted}}


def _ask(path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "ansible", "inventory", "-i", str(path), "--list"]
    environment = {
        **os.environ,
        # An unreadable file is an error; hosts must not disappear silently.
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
    }
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False
        )  # fmt: skip
        listing = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise SpecError(
            [Problem(str(path), "an Ansible inventory", str(error), "correct the file")]
        ) from error
    if not isinstance(listing, dict):
        lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        told = " ".join(lines[-6:])[:1500] or f"exit {done.returncode}"
        raise SpecError(
            [Problem(str(path), "an Ansible inventory", told, f"run `ansible-inventory -i {path} --list`")]
        )
    return listing
