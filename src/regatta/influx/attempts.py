"""Between two segments a database that hangs is not waited for again and again: who has waited in vain leaves a mark.

The mark of a host is there while its points are being sent, so that it stays when whoever sends is killed because it takes too
long; it stays, too, where the database did not answer and that took long. For a while nothing more is tried then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from regatta.influx.client import Unreachable
from regatta.store.folder import Folder
from regatta.store.receipts import sent_receipt

#: how long nothing is tried after it was waited in vain
HELD_S = 600.0
#: What fails sooner (nobody listens) costs less than finding out whether it may be tried.
_SOON_S = 1.0


_MARK = "trying"


def _mark(folder: Folder, host: str, name: str) -> Path:
    return sent_receipt(folder, host).with_name(name)


@contextmanager
def attempt(folder: Folder, host: str, url: str, identity: str, name: str = _MARK) -> Iterator[None]:
    """Send what is in the block, unless that was tried in vain less than `HELD_S` ago.

    Args:
        folder: the experiment's.
        host: whose journal is sent.
        url: where the database is.
        identity: which database it is; a mark of another one does not count.
        name: the mark's own; others do not count.

    Raises:
        Unreachable: it was tried in vain a moment ago; the block is not entered.
    """
    mark = _mark(folder, host, name)
    left_s = _left_s(mark, identity)
    if left_s > 0:
        raise Unreachable(
            url, "an InfluxDB that answers", f"none {(HELD_S - left_s) / 60:.0f} min ago",
            f"it is asked again in {left_s / 60:.0f} min, and in the end; what was recorded waits in the journal",
        )  # fmt: skip
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(identity, encoding="utf-8")
    began = time.monotonic()
    keep = False
    try:
        yield
    except Unreachable:
        keep = time.monotonic() - began >= _SOON_S
        raise
    finally:
        with suppress(OSError):
            if keep:
                os.utime(mark)
            else:
                mark.unlink()


def forget_attempts(folder: Folder, hosts: Sequence[str]) -> None:
    """The database answers again."""
    for host in hosts:
        with suppress(OSError):
            _mark(folder, host, _MARK).unlink()


def _left_s(mark: Path, identity: str) -> float:
    try:
        age_s = time.time() - mark.stat().st_mtime
        same = mark.read_text(encoding="utf-8", errors="replace") == identity
    except OSError:
        return 0.0
    # A mark from the future is one of before the clock was put back.
    return HELD_S - age_s if same and 0 <= age_s < HELD_S else 0.0
