"""Skip an unresponsive database between segments: a marker file records a failed wait.

The marker of a host exists while its points are sent, so that it remains if the sender is killed after a timeout. It also
remains after a slow failure of the database. For `HELD_S` nothing is sent then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from regatta.host.files import write_whole
from regatta.influx.client import Unreachable
from regatta.store.folder import Folder
from regatta.store.receipts import sent_receipt

#: seconds without an attempt after a failed wait
HELD_S = 600.0
#: A faster failure (connection refused) costs less than checking the marker.
_SOON_S = 1.0


_MARK = "trying"


def _mark(folder: Folder, host: str, name: str) -> Path:
    return sent_receipt(folder, host).with_name(name)


@contextmanager
def attempt(folder: Folder, host: str, url: str, identity: str, name: str = _MARK) -> Iterator[None]:
    """Send the content of the block, unless an attempt failed less than `HELD_S` ago.

    Args:
        folder: folder of the experiment.
        host: host whose journal is sent.
        url: address of the database.
        identity: identity of the database; markers of other databases do not count.
        name: name of the marker; other markers do not count.

    Raises:
        Unreachable: an attempt failed less than `HELD_S` ago; the block is not entered.
    """
    mark = _mark(folder, host, name)
    left_s = _left_s(mark, identity)
    if left_s > 0:
        raise Unreachable(
            url, "a reachable InfluxDB", f"no answer {(HELD_S - left_s) / 60:.0f} min ago",
            f"wait: Regatta tries again in {left_s / 60:.0f} min and at the end; records stay in the journal",
        )  # fmt: skip
    with suppress(OSError):
        write_whole(mark, identity)
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
    """Remove the markers after the database answered again."""
    for host in hosts:
        with suppress(OSError):
            _mark(folder, host, _MARK).unlink()


def _left_s(mark: Path, identity: str) -> float:
    try:
        age_s = time.time() - mark.stat().st_mtime
        same = mark.read_text(encoding="utf-8", errors="replace") == identity
    except OSError:
        return 0.0
    # A marker in the future is from before the clock was set back.
    return HELD_S - age_s if same and 0 <= age_s < HELD_S else 0.0
