"""Extract tar and zip archives safely: no member can reach outside the folder or gain privileges.

Does not rely on the filters of `tarfile`, which exist only since Python 3.12 and in some older patch releases.
"""

from __future__ import annotations

import os
import posixpath
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from regatta.host.cache import regular_status
from regatta.host.errors import HostError

#: limits of an extracted archive: ten times the largest JDK
MOST_BYTES = 8 << 30
MOST_MEMBERS = 1_000_000
_Mode = Literal["r:", "r:gz", "r:bz2", "r:xz"]
#: first bytes of a compressed file -> mode of `tarfile`
_MAGICS: dict[bytes, _Mode] = {b"\x1f\x8b": "r:gz", b"BZh": "r:bz2", b"\xfd7zXZ\0": "r:xz"}
_LONGEST_MAGIC = 6
_CHUNK_BYTES = 1 << 20
_LONGEST_TARGET_BYTES = 4096
_EXTENDED = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip
_LONGEST_HEADER_BYTES = 1 << 20
#: other users cannot write extracted files; setuid, setgid and sticky bits are dropped
_KEPT_MODE = 0o755
#: errors of a damaged archive, a compression that this Python lacks, or a full disk
_FAILURES: tuple[type[Exception], ...] = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, OverflowError, RuntimeError, ValueError,
)  # fmt: skip
try:
    from lzma import LZMAError
except ImportError:  # this Python cannot read .xz, and reports it
    pass
else:
    _FAILURES += (LZMAError,)


@dataclass(frozen=True)
class _Member:
    name: str
    #: `file`, `folder`, `link` or `hard link`; other kinds are refused
    kind: str
    mode: int
    modified_s: float | None = None
    #: target of a link or hard link
    target: str = ""
    content: IO[bytes] | None = None


def unpack(archive: Path, folder: Path) -> None:
    """Extract a tar archive (plain, or with gzip, bzip2 or xz) or a zip archive into an empty folder.

    Create symbolic links last, so that no member is written through one.

    Raises:
        HostError: the archive is damaged or too large, or a member is absolute, outside the folder, duplicate, or
            neither file, folder nor link.
    """
    try:
        regular_status(archive)
        members = _zip_members(archive) if zipfile.is_zipfile(archive) else _tar_members(archive)
        _extract(members, archive, folder)
    except tarfile.ReadError as error:
        expected = "a zip archive, or a tar archive with gzip, bzip2 or xz"
        raise HostError(
            str(archive),
            expected,
            "another format, or a damaged archive",
            "download it again, or pack it as .tar.gz",
        ) from error
    except _FAILURES as error:
        expected = "a valid tar or zip archive"
        raise HostError(
            str(archive),
            expected,
            str(error) or type(error).__name__,
            "free disk space, or download it again",
        ) from error


def _extract(members: Iterator[_Member], archive: Path, folder: Path) -> None:
    left = MOST_BYTES
    links: list[_Member] = []
    for number, member in enumerate(members):
        where = f"{archive}: {member.name[:200]!r}"
        if number >= MOST_MEMBERS:
            raise _refused(str(archive), f"at most {MOST_MEMBERS} members", "more")
        path = _inside(folder, member.name, where)
        if member.kind == "folder":
            _make_folder(path)
            continue
        _make_folder(path.parent)
        if os.path.lexists(path):
            raise _refused(where, "unique files", "a duplicate")
        if member.kind == "link":
            if posixpath.isabs(member.target):
                raise _leads_out(where, member)
            links.append(member)
        elif member.kind == "hard link":
            source = _inside(folder, member.target, where)
            if not source.is_file():
                raise _refused(
                    where, "a hard link to a previous file", f"a hard link to {member.target[:200]!r}"
                )
            os.link(source, path)
        elif member.kind == "file" and member.content is not None:
            left -= _write(path, member, left)
            if left < 0:
                raise _refused(str(archive), f"at most {MOST_BYTES >> 30} GiB", "more")
        else:
            raise _refused(where, "a file, a folder or a link", member.kind)
    _link(links, archive, folder)


def _link(links: list[_Member], archive: Path, folder: Path) -> None:
    """Create all symbolic links, then resolve each. Their targets depend on each other."""
    for member in links:
        (folder / member.name).symlink_to(member.target)
    root = os.path.realpath(folder)
    for member in links:
        end = os.path.realpath(folder / member.name)
        if os.path.commonpath([root, end]) != root:
            raise _leads_out(f"{archive}: {member.name[:200]!r}", member)


def _inside(folder: Path, name: str, where: str) -> Path:
    parts = name.split("/")
    if posixpath.isabs(name) or ".." in parts or "\0" in name:
        raise _refused(where, "a relative path without `..`", repr(name[:200]))
    return folder.joinpath(*parts)


def _make_folder(path: Path) -> None:
    if not path.is_dir():
        _make_folder(path.parent)
        path.mkdir(_KEPT_MODE)


def _write(path: Path, member: _Member, most: int) -> int:
    """Return the number of written bytes; above `most` if the member is larger."""
    assert member.content is not None
    written = 0
    mode = (member.mode & _KEPT_MODE) | stat.S_IRUSR | stat.S_IWUSR
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as sink:
        while written <= most and (chunk := member.content.read(_CHUNK_BYTES)):
            written += len(chunk)
            sink.write(chunk)
        sink.flush()
        os.fchmod(fd, mode)
        if member.modified_s is not None:
            os.utime(fd, (member.modified_s, member.modified_s))
    return written


class _Header(tarfile.TarInfo):
    """A header of a tar archive. Long names and other extended headers have a limit, because `tarfile` reads them into memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        # The method that `tarfile` names for subclasses; newer releases no longer call `frombuf`.
        if self.type in _EXTENDED and self.size > _LONGEST_HEADER_BYTES:
            expected = f"extended headers of at most {_LONGEST_HEADER_BYTES >> 20} MiB"
            raise _refused("a tar archive", expected, f"{self.size} bytes")
        return super()._proc_member(archive)  # type: ignore[misc]


def _tar_mode(path: Path) -> _Mode:
    """Return the mode for `tarfile`, which otherwise lets every decompressor try: that of xz reads all of a file of zeros."""
    with path.open("rb") as file:
        start = file.read(_LONGEST_MAGIC)
    return next((mode for magic, mode in _MAGICS.items() if start.startswith(magic)), "r:")


def _tar_members(path: Path) -> Iterator[_Member]:
    with tarfile.open(path, _tar_mode(path), tarinfo=_Header) as archive:
        for info in archive:
            if info.isreg():
                yield _Member(info.name, "file", info.mode, info.mtime, content=archive.extractfile(info))
            else:
                yield _Member(info.name, _tar_kind(info), info.mode, target=info.linkname)


def _tar_kind(info: tarfile.TarInfo) -> str:
    if info.isdir():
        return "folder"
    if info.issym():
        return "link"
    return "hard link" if info.islnk() else "FIFO" if info.isfifo() else "device or unknown member"


def _zip_members(path: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            kind = stat.S_IFMT(mode)
            if info.is_dir():
                yield _Member(info.filename, "folder", mode)
            elif kind not in (0, stat.S_IFREG, stat.S_IFLNK):
                yield _Member(info.filename, "device or unknown member", mode)
            else:
                with archive.open(info) as content:
                    if kind == stat.S_IFLNK:
                        target = os.fsdecode(content.read(_LONGEST_TARGET_BYTES))
                        yield _Member(info.filename, "link", mode, target=target)
                    else:
                        yield _Member(info.filename, "file", mode or 0o644, content=content)


def _leads_out(where: str, member: _Member) -> HostError:
    return _refused(where, "a link inside the archive", f"a link to {member.target[:200]!r}")


def _refused(where: str, expected: str, got: str) -> HostError:
    return HostError(where, expected, got, "use another archive; do not trust this one")
