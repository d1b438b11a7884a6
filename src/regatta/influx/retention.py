"""How long the database keeps points."""

from __future__ import annotations

import re
import time

from regatta.host.errors import StoreError
from regatta.influx.client import Client, Unreachable
from regatta.influx.lines import identifier

_DURATION = re.compile(r"(\d+)([hms])")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


def retention(client: Client) -> tuple[str, int]:
    """What the retention policy is, in words, and the time before which points may be gone; 0: none are.

    Raises:
        Unreachable: the database does not answer.
    """
    settings = client.settings
    try:
        answers = list(client.query(f"SHOW RETENTION POLICIES ON {identifier(settings.database)}"))
    except Unreachable:
        raise
    except StoreError:
        # Not every account may ask, and not every database knows.
        return "", 0
    for one in answers:
        for values in one.values:
            policy = dict(zip(one.columns, values, strict=False))
            wanted = settings.retention_policy
            if policy.get("name") == wanted or (not wanted and policy.get("default")):
                duration = str(policy.get("duration") or "")
                seconds = sum(int(n) * _SECONDS[unit] for n, unit in _DURATION.findall(duration))
                if seconds:
                    return f"{policy['name']}: {duration}", time.time_ns() - seconds * 10**9
    return "", 0
