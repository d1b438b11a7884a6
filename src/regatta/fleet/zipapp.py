"""The zipapp that is copied to hosts: the runner and all host-side commands, with the standard library only."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import regatta
from regatta.host.cache import cache_folder, made_directory

_PACKAGE = Path(regatta.__file__).parent
_MAIN = "import sys\nfrom regatta.host.__main__ import main\nsys.exit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def zipapp_sources() -> list[Path]:
    """Return all source files that hosts run: Python 3.9, standard library only."""
    return [_PACKAGE / "__init__.py", *sorted((_PACKAGE / "host").rglob("*.py"))]


def zipapp_bytes() -> bytes:
    """Return the zipapp; equal sources give equal bytes."""
    buffer = io.BytesIO()
    # Not compressed: every run makes it three times, and another version of zlib would give other bytes.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py", _EPOCH), _MAIN)
        for source in zipapp_sources():
            name = f"regatta/{source.relative_to(_PACKAGE)}"
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), source.read_bytes())
    return buffer.getvalue()


def zipapp_file() -> Path:
    """Return the zipapp in the local cache, `regatta-<16 digits of its SHA-256>.pyz`: its name identifies its contents."""
    data = zipapp_bytes()
    digest = hashlib.sha256(data).hexdigest()
    name = f"regatta-{digest[:16]}.pyz"

    def make(directory: Path) -> None:
        (directory / name).write_bytes(data)

    return made_directory(cache_folder("zipapps") / digest[:24], make, [name]) / name
