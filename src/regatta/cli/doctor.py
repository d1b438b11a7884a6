"""`regatta doctor`: missing capabilities of this machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from regatta.cli.options import json_option

#: set by the launcher, which detects each need
_LACKS = "REGATTA_LACKS"
_PACKAGES = Path("playbooks/roles/toolchain/files/system-packages.txt")

_INSTALL = "sudo apt-get install --no-install-recommends "

#: capability -> its needs, by name in the list of system packages
CAPABILITIES: dict[str, tuple[str, ...]] = {
    "measure Java programs": ("jdk", "maven"),
    "measure C programs (suite lm)": ("gcc", "headers", "make", "tirpc"),
    "measure SPEC-like programs": ("gcc", "headers", "make", "perl", "bzip2", "xz", "sqlite3"),
    "measure web servers": ("gcc", "headers", "make", "fcgi", "servers", "varnish"),
    "isolate invocations in containers": ("docker",),
    "measure on other hosts over SSH": ("ssh",),
    "count system calls": ("strace",),
    "count system calls in the kernel": ("bpftrace",),
    "record the events of a host": ("trace-cmd",),
    "trace the memory of programs": ("valgrind",),
    "write results to InfluxDB": ("influxdb",),
    "run the tests": ("jdk", "maven", "gcc", "headers", "make", "perl", "tirpc", "shellcheck"),
}
#: needs of tests alone
_OF_TESTS = (
    "clang", "cross", "qemu", "chromium", "mmdebstrap", "arch-test", "guests", "iproute", "slurm", "time", "lua5.4", "node",
    "hyperfine", "compose",
)  # fmt: skip
# All tests need what any other capability needs, besides what the first tests need.
CAPABILITIES["run all tests"] = (
    *_OF_TESTS,
    *dict.fromkeys(
        need for own in CAPABILITIES.values() for need in own if need not in CAPABILITIES["run the tests"]
    ),
)


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Show the capabilities of this machine, the missing packages, and the commands that install them.

    Installs nothing. The launcher ./regatta installs the packages that a command needs when it first runs. For the noise,
    clocks and pinning of this machine, see check-host.
    """
    from regatta.cli.tables import plain_console, show_table
    from regatta.spec.home import find_home

    home = find_home()
    lacks = _lacks(home)
    needs = _read_needs(home / _PACKAGES)
    found = {name: [need for need in own if need in lacks] for name, own in CAPABILITIES.items()}
    packages = _packages_of(needs, lacks)
    missing = {name: _packages_of(needs, lacking) for name, lacking in found.items()}
    commands = {name: _INSTALL + " ".join(own) for name, own in missing.items() if own}
    if as_json:
        click.echo(json.dumps({"lacks": found, "packages": packages, "commands": commands}, indent=1))
        return 0
    rows = [(name, ", ".join(own) or "-", "no" if own else "yes") for name, own in missing.items()]
    header = ("capability", "packages to install", "ready")
    show_table(plain_console(), "", header, rows, left=header)
    if packages:
        commands["all capabilities"] = _INSTALL + " ".join(packages)
        click.echo("\nTo install the packages of:")
        for name, command in commands.items():
            click.echo(f"  {name}:\n    {command}")
    return 0


def _lacks(home: Path) -> list[str]:
    """Return the unmet needs from the launcher; without it, replace this process by the launcher."""
    if _LACKS not in os.environ:
        from regatta.host.errors import HostError

        launcher = home / "regatta"
        if not os.access(launcher, os.X_OK):
            fix = "run `./regatta doctor` in a clone"
            raise HostError(str(launcher), "the launcher of a clone", "none", fix)
        os.execv(launcher, [str(launcher), *sys.argv[1:]])
    return os.environ[_LACKS].split()


def _read_needs(path: Path) -> dict[str, list[str]]:
    """Read the list of system packages: need -> its packages."""
    rows = (
        line.split(None, 3) for line in path.read_text().splitlines() if line and not line.startswith("#")
    )
    return {name: packages.split(",") for name, _, packages, _ in rows}


def _packages_of(needs: dict[str, list[str]], lacking: list[str]) -> list[str]:
    """Return the distinct packages of the needs."""
    return list(dict.fromkeys(package for name in lacking for package in needs[name]))
