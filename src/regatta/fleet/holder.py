"""Who measures, for those who wait for a host."""

from __future__ import annotations

import getpass
import os
import platform


def holder() -> str:
    """`user@machine` of this process."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{platform.node()}"
