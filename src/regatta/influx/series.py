"""How many series there are: counted while points are made, and estimated from a plan before anything is measured."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


class SeriesCount:
    """Distinct series, some 100 bytes each."""

    def __init__(self, known: Iterable[int] = ()) -> None:
        """Count further from the digests of those that are known."""
        #: a digest of each
        self.seen: set[int] = set(known)

    def __len__(self) -> int:
        return len(self.seen)

    def add(self, key: str) -> None:
        """Count a series by what its lines begin with (`regatta.influx.lines.series_key`)."""
        digest = hashlib.blake2b(key.encode("utf-8", "backslashreplace"), digest_size=8).digest()
        self.seen.add(int.from_bytes(digest, "little"))
