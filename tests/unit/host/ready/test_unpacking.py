"""Archives of strangers: what is honest comes out whole, and no member reaches outside, brings privileges or is special."""

from __future__ import annotations

import ast
import gzip
import io
import os
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from regatta.host.errors import HostError
from regatta.host.ready import unpacking
from regatta.host.ready.unpacking import unpack

ROOT = Path(__file__).parents[4]

Member = tuple[str, bytes, str, int]


def file(name: str, text: str = "x", mode: int = 0o644) -> Member:
    return name, tarfile.REGTYPE, text, mode


def link(name: str, target: str) -> Member:
    return name, tarfile.SYMTYPE, target, 0o777


def hard_link(name: str, target: str) -> Member:
    return name, tarfile.LNKTYPE, target, 0o644


def special(name: str, kind: bytes) -> Member:
    return name, kind, "", 0o666


def make_tar(path: Path, members: list[Member], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, kind, text, bits in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.mtime = kind, bits, 1_000_000_000
            if kind == tarfile.REGTYPE:
                info.size = len(text)
            else:
                info.linkname = text
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


def make_zip(path: Path, members: list[Member]) -> Path:
    kinds = {
        tarfile.REGTYPE: stat.S_IFREG, tarfile.SYMTYPE: stat.S_IFLNK, tarfile.DIRTYPE: stat.S_IFDIR,
        tarfile.FIFOTYPE: stat.S_IFIFO, tarfile.CHRTYPE: stat.S_IFCHR, tarfile.BLKTYPE: stat.S_IFBLK,
    }  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        for name, kind, text, bits in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = (kinds[kind] | bits) << 16
            with warnings.catch_warnings(action="ignore"):
                archive.writestr(info, text)
    return path


MAKE: dict[str, Callable[[Path, list[Member]], Path]] = {"tar": make_tar, "zip": make_zip}

ATTACKS: dict[str, list[Member]] = {
    "a path above": [file("../escaped")],
    "a path above in the middle": [file("a/../../escaped")],
    "an absolute path": [file("/tmp/regatta-escaped")],
    "an absolute path with two slashes": [file("//tmp/regatta-escaped")],
    "a folder above": [("../escaped", tarfile.DIRTYPE, "", 0o755)],
    "a link above": [link("l", "../escaped")],
    "an absolute link": [link("l", "/etc/passwd")],
    "an absolute link back inside": [link("l", "{folder}/a"), file("a")],
    "a link to itself inside, then above by it": [link("d", "."), link("l", "d/d/../escaped")],
    "links that only together lead above": [file("deep/x"), link("deep/p", ".."), link("l", "deep/p/../escaped")],
    "a file through a link": [link("l", "inside"), file("inside/x"), file("l/escaped")],
    "a file through a link above": [link("l", ".."), file("l/escaped")],
    "a link in the place of a file": [file("a"), link("a", "b")],
    "a file in the place of a link": [link("a", "b"), file("a"), file("b")],
    "a file twice": [file("a"), file("a")],
    "a FIFO": [special("f", tarfile.FIFOTYPE)],
    "a character device": [special("null", tarfile.CHRTYPE)],
    "a block device": [special("disk", tarfile.BLKTYPE)],
}  # fmt: skip
KINDS = {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}
HARD_LINKS: dict[str, list[Member]] = {
    "a hard link above": [hard_link("h", "../escaped")],
    "an absolute hard link": [hard_link("h", "/etc/passwd")],
    "a hard link to a link": [link("l", "a"), file("a"), hard_link("h", "l")],
    "a hard link to a link above": [link("l", "../victim"), hard_link("h", "l"), file("h", "changed")],
    "a hard link to nothing": [hard_link("h", "a")],
    "a hard link to a later file": [hard_link("h", "a"), file("a")],
}


def outside(place: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and "unpacked" not in path.parts
    }


@pytest.mark.parametrize(
    ("kind", "what"),
    [*((kind, what) for kind in MAKE for what in ATTACKS), *(("tar", h) for h in HARD_LINKS)],
)
def test_an_attack_is_refused_and_changes_nothing_outside(kind: str, what: str, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    (tmp_path / "victim").write_text("whole")
    members = [
        (name, type_, text.format(folder=folder), mode)
        for name, type_, text, mode in (ATTACKS | HARD_LINKS)[what]
    ]
    archive = MAKE[kind](tmp_path / "archive", members)
    before = outside(tmp_path)
    with pytest.raises(HostError):
        unpack(archive, folder)
    assert outside(tmp_path) == before
    assert not Path("/tmp/regatta-escaped").exists()
    assert all(stat.S_IFMT(path.lstat().st_mode) in KINDS for path in folder.rglob("*"))


@pytest.mark.parametrize("kind", MAKE)
def test_an_honest_archive_comes_out_whole(kind: str, tmp_path: Path) -> None:
    members = [
        ("jdk/", tarfile.DIRTYPE, "", 0o755),
        file("jdk/bin/java", "#!", 0o755),
        link("jdk/legal/b/LICENSE", "../a/LICENSE"),
        file("jdk/legal/a/LICENSE", "free"),
        link("jdk/dangling", "nothing"),
        link("current", "./jdk"),
    ]
    folder = tmp_path / "unpacked"
    folder.mkdir()
    unpack(MAKE[kind](tmp_path / "archive", members), folder)
    assert os.access(folder / "current/bin/java", os.X_OK)
    assert (folder / "jdk/legal/b/LICENSE").read_text() == "free"
    assert os.readlink(folder / "jdk/dangling") == "nothing"


@pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
def test_any_compression_of_tar_is_read_with_times_and_hard_links(compression: str, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    unpack(make_tar(tmp_path / "t", [file("a"), hard_link("b", "a")], f"w:{compression}"), folder)
    assert (folder / "a").samefile(folder / "b")
    assert (folder / "a").stat().st_mtime == 1_000_000_000


@pytest.mark.parametrize("kind", MAKE)
def test_setuid_setgid_sticky_and_the_writing_of_others_are_dropped(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    members = [
        ("d/", tarfile.DIRTYPE, "", 0o7777),
        file("d/s", mode=0o7777),
        file("n", mode=0),
        file("e/f/g"),
    ]
    umask = os.umask(0)
    try:
        unpack(MAKE[kind](tmp_path / "archive", members), folder)
    finally:
        os.umask(umask)
    modes = {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    assert (modes["d"], modes["d/s"], modes["n"], modes["e"]) == (0o755, 0o755, 0o600, 0o755)
    assert {path.stat().st_uid for path in folder.rglob("*")} == {os.geteuid()}


def test_an_archive_without_modes_gives_readable_files(tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        info = zipfile.ZipInfo("a")
        archive.writestr(info, "x")
        info.external_attr = 0  # as it stands in the directory, which is written last
    unpack(tmp_path / "z", folder)
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o644


@pytest.mark.parametrize("kind", MAKE)
def test_an_archive_that_becomes_too_large_is_cut_off(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "MOST_BYTES", 3 << 20)
    folder = tmp_path / "unpacked"
    folder.mkdir()
    members = [file("a", "x" * (2 << 20)), file("b", "y" * (9 << 20))]
    with pytest.raises(HostError, match="at most"):
        unpack(MAKE[kind](tmp_path / "archive", members), folder)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6 << 20


def test_an_archive_of_too_many_members_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_MEMBERS", 3)
    folder = tmp_path / "unpacked"
    folder.mkdir()
    with pytest.raises(HostError, match="at most 3 members"):
        unpack(make_tar(tmp_path / "t", [file(str(number)) for number in range(9)]), folder)
    assert len(list(folder.iterdir())) == 3


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda data: data[: len(data) // 2],
    "flipped": lambda data: data[:300] + bytes(byte ^ 0xFF for byte in data[300:420]) + data[420:],
    "empty": lambda data: b"",
    "something else": lambda data: b"#!/bin/sh\necho no\n",
}


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.parametrize("make", ["gz", "bz2", "xz", "zip"])
def test_a_damaged_archive_is_an_error_that_names_it(make: str, what: str, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    members = [file(str(number), os.urandom(400).hex()) for number in range(9)]
    path = tmp_path / "archive"
    if make == "zip":
        make_zip(path, members)
    else:
        make_tar(path, members, f"w:{make}")
    path.write_bytes(DAMAGE[what](path.read_bytes()))
    with pytest.raises(HostError, match=str(path)):
        unpack(path, folder)


def test_what_is_no_regular_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(HostError, match="not a regular file"):
        unpack(tmp_path / "pipe", tmp_path)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_long_header_is_refused_before_it_fills_the_memory(kind: bytes, tmp_path: Path) -> None:
    header = tarfile.TarInfo("a")
    header.type, header.size = kind, 2 << 20
    data = header.tobuf() + bytes(header.size + 10_240)
    (tmp_path / "t.gz").write_bytes(gzip.compress(data))
    with pytest.raises(HostError, match=f"got {header.size} bytes"):
        unpack(tmp_path / "t.gz", tmp_path)


def test_nothing_else_extracts_archives() -> None:
    """Only here members are looked at; `extractall` filters them in some releases of Python and not in others."""
    found = []
    for top in ("src", "tests", "tools", "perf", "playbooks", "benchmarks"):
        for path in (ROOT / top).rglob("*.py"):
            if "resources" in path.parts or path == Path(__file__):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and node.attr in {"extractall", "unpack_archive"}:
                    found.append(f"{path}:{node.lineno}")
    assert found == []
