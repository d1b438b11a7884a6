"""The hash that identifies values. Standard library only, because the zipapp carries it."""

from __future__ import annotations

import hashlib
import json


def digest_of(value: object) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
