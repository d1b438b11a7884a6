"""Guests: whole machines of Debian with their own kernel and systemd, run by QEMU and reached by SSH.

A guest's image is made once and kept in the user's cache folder under a digest of its recipe, until another recipe of the
same release is made. A guest writes its changes to a temporary file, so that each starts from the same disk. It reaches
nothing: its only network is the forwarded port. It ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers.hosts.host_containers import SshHost
from helpers.hosts.host_images import LEAN, SUDOERS, CannotMakeError, apt_settings, run
from helpers.influx_server import free_port
from helpers.shared_locks import alone, shared_with_others
from regatta.host.processes import die_with_parent

#: Linux 6.1 and 6.12
SUITES = ("bookworm", "trixie")
#: seconds; a busy machine needs a quarter of an hour
IMAGE_S = 1800
ANSWER_S = 900.0
#: An emulated machine on a busy one starts its services slowly. All starts of a disk are equal: the first one without the
#: units that systemd adds to it, such as `ldconfig.service`, and none with a login on the serial console: systemd 252 waits
#: 90 s for its device, whatever the options say.
KERNEL_OPTIONS = (
    *("root=/dev/vda", "rw", "console=ttyS0", "quiet", "systemd.condition_needs_update=no"),
    "systemd.mask=serial-getty@ttyS0.service",
    *(f"systemd.default_{limit}_sec={ANSWER_S:.0f}" for limit in ("timeout_start", "device_timeout")),
)
PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs"}
PACKAGES = (
    *("systemd-sysv", "linux-image-amd64", "initramfs-tools", "udev", "dbus", "kmod", "iproute2"),
    *("libpam-systemd", "openssh-server", "python3", "sudo", "procps"),
)
#: The initial RAM disk holds these modules only: packing all of them takes most of the time.
MODULES = "virtio_pci\nvirtio_blk\nvirtio_net\next4\n"
NETWORK = "[Match]\nName=e*\n[Network]\nDHCP=yes\n"
HOSTS = "127.0.0.1 localhost guest\n"
FILES = {
    "etc/fstab": "/dev/vda / ext4 rw,noatime 0 1\n",
    "etc/hostname": "guest\n",
    "etc/hosts": HOSTS,
    "etc/systemd/network/e.network": NETWORK,
    "etc/sudoers.d/bench": SUDOERS,
}
EARLY_FILES = {
    "etc/initramfs-tools/conf.d/modules": "MODULES=list\n",
    "usr/share/initramfs-tools/modules.d/guest": MODULES,
}
COMMANDS = (
    "systemctl enable systemd-networkd",
    "useradd --create-home --shell /bin/bash bench",
    # An account without any password counts as locked. "*" matches none.
    "usermod --password '*' bench",
)
DISK = "3G"
#: Prints what is set in a guest: settings by their place, and the CPUs of each process by its boot, ID, start and name.
#: CPU sets that exclude no CPU are equal.
PROBE = r"""
import json, subprocess
from pathlib import Path

#: of <linux/sched.h>
NO_SETAFFINITY = 0x04000000
PATTERNS = (
    "proc/sys/**/*", "proc/irq/**/*smp_affinity*", "sys/devices/virtual/workqueue/**/cpumask",
    "sys/kernel/mm/transparent_hugepage/*", "sys/devices/system/cpu/cpu*/online",
    "sys/fs/cgroup/**/cpuset.cpus*", "sys/fs/cgroup/**/cgroup.subtree_control",
)

def places():
    for pattern in PATTERNS:
        for path in Path("/").glob(pattern):
            # Groups in user.slice are those of logins. The group of swap exists where systemd has turned it on.
            left = "user.slice" in path.parts or path.parent.suffix == ".swap"
            if path.is_file() and path.stat().st_mode & 0o200 and not left:
                yield path

def read(path):
    try:
        text = path.read_text().strip()
    except OSError:
        return "unreadable"
    return text.replace("0-1", "") if path.name == "cpuset.cpus" else text

def processes():
    for path in Path("/proc").glob("[0-9]*"):
        try:
            status = (path / "status").read_text().splitlines()
            stat = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # Only the kernel sets the CPUs of such a thread: the rescuer of a work queue keeps those of the last pool it helped.
        if int(stat[6]) & NO_SETAFFINITY:
            continue
        fields = dict(line.partition(":	")[::2] for line in status)
        yield f"{boot} {path.name} {stat[19]} {fields['Name']}", fields["Cpus_allowed_list"]

boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
listed = ["systemctl", "list-units", "--type=timer,service", "--state=active", "--plain", "--no-legend"]
units = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
settings = {str(path): read(path) for path in places()}
settings |= {f"unit {name}": "active" for name in (line.split()[0] for line in units) if not name.startswith("user")}
settings |= {
    f"swap {path}": f"{size} {priority}"
    for path, _, size, _, priority in map(str.split, Path("/proc/swaps").read_text().splitlines()[1:])
}
print(json.dumps({"settings": settings, "processes": dict(processes())}))
"""


@contextlib.contextmanager
def image(suite: str) -> Iterator[Path]:
    """Yield the folder of a suite's image: disk, kernel, initrd, key and host.pub. Raises CannotMakeError."""
    missing = sorted(package for program, package in PROGRAMS.items() if shutil.which(program) is None)
    if missing or os.geteuid() != 0 or platform.machine() != "x86_64":
        wanted = f"root, x86-64 and the packages {', '.join(sorted(PROGRAMS.values()))}"
        raise CannotMakeError(f"needs {wanted}" + (f", lacks {', '.join(missing)}" if missing else ""))
    parts = (suite, DISK, *PACKAGES, *LEAN, *COMMANDS, *apt_settings())
    digest = hashlib.sha256(repr((parts, FILES, EARLY_FILES)).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regatta-tests" / "guests"
    folder = cache / f"{suite}-{digest}"
    with contextlib.ExitStack() as use:
        with alone(f"guest-{suite}"):
            use.enter_context(used(folder))
            if not folder.exists():
                print(f"\nmakes {folder}: minutes, once", file=sys.__stderr__, flush=True)
                cache.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(dir=cache) as temporary:
                    _make(suite, Path(temporary))
                    (Path(temporary) / "image").rename(folder)
                remove_unused(cache.glob(f"{suite}-*"))
        yield folder


def used(folder: Path) -> contextlib.AbstractContextManager[Callable[[], bool]]:
    """Keep an image while the context lasts; its value says whether no other process or context uses the image."""
    return shared_with_others(f"guest-{folder.name}")


def remove_unused(folders: Iterable[Path]) -> None:
    """Remove the images that nothing uses."""
    for folder in folders:
        with used(folder) as alone_with_it:
            if alone_with_it():
                shutil.rmtree(folder)


def _make(suite: str, folder: Path) -> None:
    made, root = folder / "image", folder / "root"
    made.mkdir()
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "regatta-tests", "-f", f"{made}/key"], 60)
    early = ["--essential-hook=" + _copy(folder / "early", EARLY_FILES)]
    late = ["--customize-hook=" + _copy(folder / "late", FILES)]
    late += [f'--customize-hook=chroot "$1" {command}' for command in COMMANDS]
    late += [
        f'--customize-hook=install -D -m 600 {made}/key.pub "$1"/{home}/.ssh/authorized_keys; '
        f'chroot "$1" chown -R {user}: /{home}/.ssh'
        for user, home in (("root", "root"), ("bench", "home/bench"))
    ]
    options = [f"--aptopt={setting}" for setting in apt_settings()]
    options += [f"--dpkgopt={option}" for option in LEAN]
    what = ["--variant=minbase", "--mode=root", f"--include={','.join(PACKAGES)}", *options, *early, *late]
    run(["mmdebstrap", "--quiet", *what, suite, str(root)], IMAGE_S)
    for name in ("vmlinuz", "initrd.img"):
        shutil.copy(next((root / "boot").glob(f"{name}-*")), made / name)
    shutil.copy(root / "etc/ssh/ssh_host_ed25519_key.pub", made / "host.pub")
    run(["mke2fs", "-q", "-t", "ext4", "-d", str(root), str(made / "disk"), DISK], 600)


def _copy(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return f'cp -r {folder}/. "$1"'


@dataclass
class Guest(SshHost):
    """A machine that is emulated. It lasts as long as the context manager `guest`."""

    #: log of the serial console
    console: Path

    def root(self, *words: str, program: str = "") -> str:
        """Run `words` as root, which the shell there parses, with `program` as input; return the output."""
        done = subprocess.run(
            self.ssh(*words, user="root"),
            input=program,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
        )
        assert done.returncode == 0, f"{self.name}: {' '.join(words)}: {done.stderr.strip()}"
        return done.stdout

    def wait_for_start(self) -> None:
        """Wait until systemd has started all units."""
        self.wait_for_answer(ANSWER_S)
        self.root("systemctl is-system-running --wait")

    def reboot(self) -> None:
        """Restart the machine, as its own systemd does, and wait until all units are started."""
        last = self._restarts()
        self.root("systemctl reboot")
        deadline = time.monotonic() + ANSWER_S
        # Nothing connects to the system that ends: such a connection would wait for ever.
        while self._restarts() == last:
            assert time.monotonic() < deadline, f"{self.name} was not restarted"
            time.sleep(1)
        self.wait_for_start()

    def _restarts(self) -> int:
        return self.console.read_text(errors="replace").count("reboot: Restarting system")

    def look(self) -> dict[str, dict[str, str]]:
        """Return the current `settings`, place -> value, and the CPUs of the `processes`."""
        found: dict[str, dict[str, str]] = json.loads(self.root("python3 -I -", program=PROBE))
        return found


@contextlib.contextmanager
def guest(suite: str, folder: Path) -> Iterator[Guest]:
    """Boot a guest with two CPUs, which `folder` keeps the log of; yield it when it answers. Raises CannotMakeError."""
    with image(suite) as made:
        port = free_port()
        kind, key = (made / "host.pub").read_text().split()[:2]
        known_hosts = folder / "known_hosts"
        known_hosts.write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
        host = Guest(suite, "127.0.0.1", port, "bench", made / "key", known_hosts, folder / "serial.log")
        disk = f"file={made}/disk,if=virtio,format=raw,snapshot=on"
        network = f"user,model=virtio-net-pci,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"
        kernel = ("-kernel", f"{made}/vmlinuz", "-initrd", f"{made}/initrd.img")
        options = ("-append", " ".join(KERNEL_OPTIONS), "-drive", disk, "-nic", network)
        machine = start((*kernel, *options), folder)
        try:
            host.wait_for_start()
            yield host
        finally:
            machine.terminate()
            try:
                machine.wait(60)
            except subprocess.TimeoutExpired:
                machine.kill()
                machine.wait()


def start(options: Iterable[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start QEMU, which ends with this process, however this process ends. `folder`: for its log and its changes."""
    return subprocess.Popen(
        [
            *("qemu-system-x86_64", "-accel", accelerator(), "-cpu", "max", "-smp", "2", "-m", "1024"),
            *("-display", "none", "-serial", f"file:{folder}/serial.log", "-monitor", "none", *options),
        ],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder)},
        preexec_fn=die_with_parent,
    )


def accelerator() -> str:
    """Return hardware virtualization where the processor has it; else emulation on one core.

    /dev/kvm alone is no proof: paravirtual machines have it too, and cannot run a distribution's kernel.
    """
    flags = Path("/proc/cpuinfo").read_text().split()
    has = {"vmx", "svm"} & set(flags) and os.access("/dev/kvm", os.R_OK | os.W_OK)
    return "kvm" if has else "tcg,thread=single"
