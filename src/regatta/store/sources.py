"""The sources of the embedded database, and their hash. Imports no library, so that it is fast."""

from __future__ import annotations

import hashlib
from pathlib import Path

from regatta.host.errors import StoreError
from regatta.host.files import LARGEST_OBJECT_BYTES, read_bounded
from regatta.host.journal.decisions import DECISIONS
from regatta.host.journal.journal import cell_files, journal_files
from regatta.store.derived import EVENT_MEASURES

#: Part of the fingerprint of the database. Increase it when a column changes, to rebuild old databases.
TABLES_VERSION = 6


def fingerprint(experiment_dir: Path) -> str:
    """Hash the journal (names, sizes, times), the plans and decisions (contents), and the version of the tables."""
    digest = hashlib.sha256(f"tables {TABLES_VERSION}\n{EVENT_MEASURES.fingerprint(experiment_dir)}".encode())
    for path in [*journal_files(experiment_dir), *cell_files(experiment_dir)]:
        stat = path.stat()
        digest.update(f"{path.relative_to(experiment_dir)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    decisions = sorted((experiment_dir / "journal").glob(f"*/{DECISIONS}"))
    for path in [*plan_files(experiment_dir), *decisions]:
        # By content, because every `regatta run` rewrites its plan, mostly unchanged.
        try:
            content = hashlib.sha256(read_bounded(path, LARGEST_OBJECT_BYTES)).hexdigest()
        except OSError as error:
            raise StoreError(
                str(path), "a readable file", str(error), "run `regatta run` with its spec"
            ) from error
        digest.update(f"{path.relative_to(experiment_dir)} {content}\n".encode())
    return digest.hexdigest()[:16]


def plan_files(experiment_dir: Path) -> list[Path]:
    """Return the plans of all hosts."""
    return sorted((experiment_dir / "plan").glob("*/plan.json"))
