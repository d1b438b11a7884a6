"""Images of the test hosts: a bare Debian of either architecture, made by mmdebstrap and kept in Docker under a tag.

No image registry is asked. The tag holds a digest of everything that goes into the image, so that a second run finds
it in a tenth of a second, and a changed recipe is a new image. What was made here before under another digest is left
to `docker image prune`.
"""

import contextlib
import hashlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from helpers.shared_locks import alone, shared_file, shared_with_others

SUITE = "bookworm"
REPOSITORY = "regatta-test-host"
BINFMT = Path("/proc/sys/fs/binfmt_misc")
#: Which processors a Debian architecture is for, as `uname -m` calls them.
MACHINE_OF = {"amd64": "x86_64", "arm64": "aarch64"}
#: What each container starts: makes it keys of its own, then serves.
START = r"""#!/bin/sh
set -eu
mkdir -p /run/sshd
[ -e /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
exec /usr/sbin/sshd -D -e
"""
SSHD = r"""HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/test_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM yes
UseDNS no
PrintMotd no
MaxSessions 100
MaxStartups 100
AcceptEnv LANG LC_*
Subsystem sftp /usr/lib/openssh/sftp-server
"""
PIP = "[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n"
SUDOERS = "bench ALL=(ALL) NOPASSWD: ALL\n"
#: Inside: no documentation (the image is smaller and made faster).
LEAN = (
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    # An image that is half made is thrown away, so nothing is gained by waiting for the disk after every file.
    "force-unsafe-io",
)
#: Does nothing while packages are installed (`_hooks` says why).
NOT_YET = "/usr/sbin/update-ca-certificates"
#: Lets this machine's own update-ca-certificates see the certificates of the root $1 as its own.
COLLECT_CERTIFICATES = r"""unshare --mount sh -e -c '
for place in /usr/share/ca-certificates /usr/local/share/ca-certificates /etc/ssl/certs /etc/ca-certificates.conf; do
  mount --bind "$1$place" "$place"
done
update-ca-certificates --hooksdir ""' sh "$1"
"""
#: apt's settings of this machine that an apt inside needs too to reach the same archive.
APT_SETTINGS = re.compile(
    r'^Acquire::(?:https?::Proxy|Check-Valid-Until|Check-Date) "[^"@]*";$', re.MULTILINE
)


@dataclass(frozen=True)
class Recipe:
    """What an image is made of."""

    architecture: str
    packages: tuple[str, ...]
    certificates: tuple[str, ...] = field(default_factory=lambda: extra_certificates())
    apt_settings: tuple[str, ...] = field(default_factory=lambda: apt_settings())

    @property
    def tag(self) -> str:
        """The image's name, with a digest of the recipe."""
        own = (SUITE, START, SSHD, PIP, SUDOERS, *_early_hooks(), *_hooks(Path("/parts")), *LEAN)
        parts = (*own, *self.packages, *self.certificates, *self.apt_settings)
        digest = hashlib.sha256("\0".join(parts).encode())
        return f"{REPOSITORY}:{self.architecture}-{digest.hexdigest()[:16]}"


def x86() -> Recipe:
    """A host without a compiler, so that provisioning really installs one."""
    packages = ("python3", "openssh-server", "iproute2", "sudo", "ca-certificates", "procps")
    return Recipe("amd64", packages)


def arm() -> Recipe:
    """A host that is emulated here: what is slow to install comes with the image."""
    return Recipe("arm64", (*x86().packages, "gcc", "libc6-dev", "make"))


# ---- this machine ----------------------------------------------------------------------------------------------------


def extra_certificates() -> tuple[str, ...]:
    """The certificates that this machine trusts beyond Debian's own, as PEM."""
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    if not bundle.exists():
        return ()
    debians = Path("/usr/share/ca-certificates/mozilla").glob("*.crt")
    known = {ssl.PEM_cert_to_DER_cert(file.read_text()) for file in debians}
    blocks = re.findall(
        r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", bundle.read_text(), re.DOTALL
    )
    return tuple(block for block in blocks if ssl.PEM_cert_to_DER_cert(block) not in known)


def apt_settings() -> tuple[str, ...]:
    """Proxies and the like, without any that carries a password."""
    dumped = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False)
    return tuple(sorted(set(APT_SETTINGS.findall(dumped.stdout))))


class CannotMakeError(Exception):
    """This machine cannot make or run such an image; says why."""


@contextlib.contextmanager
def emulation(architecture: str) -> Iterator[None]:
    """Let this machine run programs of `architecture` until the last session that needs it has ended.

    Raises CannotMakeError where it cannot. What was switched on already is left as it is.
    """
    machine = MACHINE_OF[architecture]
    if subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip() == machine:
        yield
        return
    with shared_with_others(f"binfmt-{machine}") as last:
        made = shared_file(f"binfmt-{machine}.made")
        with alone("binfmt"):
            _switch_on(machine, made)
        try:
            yield
        finally:
            if last() and made.exists():
                _switch_off(machine, made.read_text().split())
                made.unlink()


def _switch_on(machine: str, made: Path) -> None:
    mounted = _mount_binfmt()
    try:
        registered = _register(machine)
    except CannotMakeError:
        _switch_off(machine, ["mounted"] if mounted else [])
        raise
    marks = [mark for mark, ours in (("mounted", mounted), ("registered", registered)) if ours]
    if marks:
        made.write_text(" ".join(marks))


def _switch_off(machine: str, made: list[str]) -> None:
    if "registered" in made:
        (BINFMT / f"qemu-{machine}").write_text("-1")
    if "mounted" in made:
        subprocess.run(["umount", BINFMT], check=False)


def _mount_binfmt() -> bool:
    if (BINFMT / "register").exists():
        return False
    if not BINFMT.is_dir():
        raise CannotMakeError("the kernel has no binfmt_misc")
    done = subprocess.run(
        ["mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CannotMakeError(f"binfmt_misc cannot be mounted: {done.stderr.strip()}")
    return True


def _register(machine: str) -> bool:
    name = f"qemu-{machine}"
    if (BINFMT / name).exists():
        return False
    line = Path(f"/usr/lib/binfmt.d/{name}.conf")
    if not line.exists():
        raise CannotMakeError(f"there is no {line} (package qemu-user-static)")
    # The flag F in it opens the interpreter now, so that it need not be inside a container.
    try:
        (BINFMT / "register").write_text(line.read_text().strip())
    except OSError as error:
        raise CannotMakeError(
            f"programs for {machine} cannot be registered with binfmt_misc: {error}"
        ) from error
    return True


# ---- making ----------------------------------------------------------------------------------------------------------


def image(recipe: Recipe, docker: str) -> str:
    """The tag of the recipe's image, which is made if it is not there yet. Raises CannotMakeError."""
    with alone(f"image-{recipe.architecture}"):
        have = subprocess.run([docker, "image", "inspect", recipe.tag], capture_output=True, check=False)
        if have.returncode != 0:
            if shutil.which("mmdebstrap") is None:
                raise CannotMakeError("there is no mmdebstrap")
            print(f"\nmakes the image {recipe.tag}: minutes, once", file=sys.__stderr__, flush=True)
            _make(recipe, docker)
    return recipe.tag


def _make(recipe: Recipe, docker: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_parts(recipe, folder)
        tar = folder / "image.tar"
        apt = [f"--aptopt={setting}" for setting in recipe.apt_settings]
        lean = [f"--dpkgopt={option}" for option in LEAN]
        hooks = [f"--essential-hook={hook}" for hook in _early_hooks()]
        hooks += [f"--customize-hook={hook}" for hook in _hooks(folder)]
        what = ["--variant=minbase", f"--architectures={recipe.architecture}"]
        what += [f"--include={','.join(recipe.packages)}", *apt, *lean, *hooks]
        run(["mmdebstrap", "--quiet", *what, SUITE, str(tar)], 1200)
        run([docker, "import", "--change", 'CMD ["/usr/local/sbin/test-host"]', str(tar), recipe.tag], 300)


def _write_parts(recipe: Recipe, folder: Path) -> None:
    (folder / "certificates").mkdir()
    for number, certificate in enumerate(recipe.certificates):
        (folder / "certificates" / f"extra-{number}.crt").write_text(certificate)
    for name, text in (("start", START), ("sshd", SSHD), ("pip", PIP), ("sudoers", SUDOERS)):
        (folder / name).write_text(text)


def _early_hooks() -> list[str]:
    """What is done in the new system before the packages beyond the essential ones are installed."""
    return [f'{_divert("--add")}; ln -s /bin/true "$1{NOT_YET}"']


def _divert(action: str) -> str:
    return f'chroot "$1" dpkg-divert --quiet --local --rename {action} {NOT_YET}'


def _hooks(folder: Path) -> list[str]:
    """What is done in the new system before it is packed; mmdebstrap's own words, or a command with the root as $1.

    update-ca-certificates starts some processes for each of 150 certificates, which takes a minute where each is emulated.
    So the package does not run it, and this machine's own runs once, at the end.
    """
    return [
        f"upload {folder}/start /usr/local/sbin/test-host",
        f"upload {folder}/sshd /etc/ssh/sshd_config",
        f"upload {folder}/pip /etc/pip.conf",
        f"upload {folder}/sudoers /etc/sudoers.d/bench",
        f"sync-in {folder}/certificates /usr/local/share/ca-certificates",
        'chmod 755 "$1/usr/local/sbin/test-host"; chmod 440 "$1/etc/sudoers.d/bench"',
        f'rm "$1{NOT_YET}"; {_divert("--remove")}',
        COLLECT_CERTIFICATES,
        'chroot "$1" useradd --create-home --shell /bin/bash bench',
        # An account with no password at all counts as locked, for sshd too; "*" is none that could be typed.
        """chroot "$1" usermod --password '*' bench""",
        'rm -f "$1"/etc/ssh/ssh_host_*',
    ]


def run(command: list[str], timeout_s: float) -> None:
    """Run a command that makes a part of an image. Raises CannotMakeError."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise CannotMakeError(f"{command[0]} has not ended within {timeout_s:.0f} s") from error
    if done.returncode != 0:
        last = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise CannotMakeError(f"{command[0]} failed: {last}")
