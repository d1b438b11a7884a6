"""The hash by which values are known. Standard library only, for the zipapp carries it."""

from __future__ import annotations

import hashlib
import json


def digest_of(value: object) -> str:
    """16 hexadecimal digits of the SHA-256 of a value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
