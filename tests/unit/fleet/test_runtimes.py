"""Runtimes by every provider that works without a network, asked what they are and what they take."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shutil
import subprocess
import tarfile
import threading
import zipfile
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from regatta.fleet import fetching
from regatta.fleet.fetching import fetch
from regatta.host.errors import HostError
from regatta.host.ready.runtimes import provision
from regatta.host.values.experiment import Archive, Collector, Runtime

SERIAL = Collector("serial", ("-XX:+UseSerialGC",))
NONSENSE = Collector("nonsense", ("-XX:+UseNonsenseGC",))

needs_java = pytest.mark.skipif(
    shutil.which("java") is None, reason="NO JAVA ON PATH: providers are not tried"
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))


def java_script() -> bytes:
    """A launcher that is another JVM's: as good as an archive of 200 MB, for what is tested here."""
    return f'#!/bin/sh\nexec {shutil.which("java")} "$@"\n'.encode()


def tar_with(members: dict[str, bytes], path: Path) -> str:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mode = 0o755
            tar.addfile(info, io.BytesIO(data))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def archive_runtime(path: Path, sha256: str) -> Runtime:
    return Runtime("packed", "java", "archive", archives={platform.machine(): Archive(path.as_uri(), sha256)})


def test_a_program_of_an_archive_is_known_by_the_whole_archive(tmp_path: Path) -> None:
    def packed(library: bytes) -> tuple[str, str]:
        members = {"tool-1/bin/tool": b"#!/bin/sh\necho 1\n", "tool-1/lib/part": library}
        path = tmp_path / f"{library.decode()}.tar.gz"
        sha256 = tar_with(members, path)
        archives = {platform.machine(): Archive(path.as_uri(), sha256)}
        runtime = Runtime("tool", "program", "archive", archives=archives, program="bin/tool")
        resolved = provision(runtime, (), (), fetch(runtime, platform.machine()))
        assert subprocess.check_output([resolved.program], text=True) == "1\n"
        assert resolved.program.startswith(f"{resolved.root}/")
        return resolved.identity, resolved.files[0].sha256

    (one, program), (other, same) = packed(b"a"), packed(b"b")
    assert program == same
    assert one != other


@pytest.mark.full
def test_a_program_of_a_package_is_fetched_and_known_by_its_version() -> None:
    runtime = Runtime("ninja", "program", "pypi", package="ninja", version="1.13.0", program="bin/ninja")
    resolved = provision(runtime, (), (), fetch(runtime, platform.machine()))
    assert resolved.version == "ninja 1.13.0"
    assert subprocess.check_output([resolved.program, "--version"], text=True).startswith("1.13.0")
    given = fetch(runtime, platform.machine())
    with pytest.raises(HostError, match="correct `program`"):
        provision(replace(runtime, program="bin/no"), (), (), given)


@needs_java
def test_a_jvm_on_the_path_is_asked_which_collectors_it_takes() -> None:
    runtime = provision(Runtime("host", "java", "path", path="java"), (SERIAL, NONSENSE))
    assert runtime.collectors["serial"] == ""
    assert "nonsense" in runtime.collectors["nonsense"].lower()
    assert "penjdk" in runtime.version.lower() or "java" in runtime.version.lower()
    assert any(file.path.endswith("libjvm.so") for file in runtime.files)


@needs_java
def test_asking_twice_gives_the_same_identity() -> None:
    runtime = Runtime("host", "java", "path", path="java")
    assert provision(runtime, ()).identity == provision(runtime, ()).identity


def test_a_program_that_is_not_there_is_an_error_that_names_it() -> None:
    with pytest.raises(HostError, match="/no/such/java"):
        provision(Runtime("gone", "java", "path", path="/no/such/java"), ())


def test_a_program_that_is_no_jvm_is_refused() -> None:
    with pytest.raises(HostError, match=r"java\.home"):
        provision(Runtime("odd", "java", "path", path="echo"), ())


def test_another_architecture_is_refused_with_both_names() -> None:
    with pytest.raises(HostError, match=platform.machine()):
        provision(Runtime("s390", "java", "path", path="java", architectures=("s390x",)), ())


@needs_java
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_an_archive_is_fetched_checked_and_unpacked(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "jdk"
    if kind == "tar":
        sha256 = tar_with({"jdk-1/bin/java": java_script()}, path)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("jdk-1/bin/java", java_script())
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    packed = archive_runtime(path, sha256)
    runtime = provision(packed, (SERIAL,), given=fetch(packed, platform.machine()))
    assert runtime.program.endswith("jdk-1/bin/java")
    assert runtime.collectors == {"serial": ""}


def test_an_archive_that_hashes_to_something_else_is_not_unpacked(tmp_path: Path) -> None:
    tar_with({"bin/java": java_script()}, tmp_path / "jdk")
    with pytest.raises(HostError, match="SHA-256"):
        fetch(archive_runtime(tmp_path / "jdk", "0" * 64), platform.machine())
    assert not (tmp_path / "cache" / "archives" / ("0" * 24)).exists()


@pytest.mark.parametrize("name", ["../escaped", "/tmp/regatta-escaped"])
def test_an_archive_cannot_write_outside_its_folder(name: str, tmp_path: Path) -> None:
    sha256 = tar_with({name: b"x", "bin/java": java_script()}, tmp_path / "jdk")
    packed = archive_runtime(tmp_path / "jdk", sha256)
    with suppress(HostError):
        provision(packed, (), given=fetch(packed, platform.machine()))
    assert not Path("/tmp/regatta-escaped").exists()
    assert not list((tmp_path / "cache").rglob("escaped"))


def test_an_archive_for_another_architecture_only_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="s390x"):
        fetch(
            Runtime("packed", "java", "archive", archives={"s390x": Archive("file:///x", "0" * 64)}), "x86_64"
        )


@pytest.mark.parametrize("source", ["/dev/zero", "pipe"])
def test_an_archive_that_is_no_regular_file_is_refused_and_leaves_nothing(
    source: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(HostError, match="not a regular file"):
        fetch(archive_runtime(tmp_path / source, "0" * 64), platform.machine())
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_an_archive_without_an_end_is_cut_off_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while True:
                    self.wfile.write(bytes(1 << 20))

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    monkeypatch.setattr(fetching, "MOST_ARCHIVE_BYTES", 4 << 20)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/jdk.tar.gz"
            endless = Runtime(
                "packed", "java", "archive", archives={platform.machine(): Archive(url, "0" * 64)}
            )
            with pytest.raises(HostError, match="at most"):
                fetch(endless, platform.machine())
        finally:
            server.shutdown()
    assert [path.suffix for path in (tmp_path / "cache/archives").iterdir()] == [".lock"]


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can mount a small disk")
def test_a_full_disk_is_not_blamed_on_the_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=False).returncode != 0:
        pytest.skip("NOT TESTED: nothing can be mounted here")
    try:
        monkeypatch.setenv("REGATTA_CACHE", str(small / "cache"))
        (tmp_path / "jdk").write_bytes(bytes(4 << 20))
        with pytest.raises(HostError) as caught:
            fetch(archive_runtime(tmp_path / "jdk", "0" * 64), platform.machine())
        assert "free disk space" in caught.value.problems[0].fix
        assert not list(small.rglob("*.tmp"))
    finally:
        subprocess.run(["umount", small], check=True)


def test_an_unreachable_archive_names_its_url(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no-such-archive"):
        fetch(archive_runtime(tmp_path / "no-such-archive", "0" * 64), platform.machine())
