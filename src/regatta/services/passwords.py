"""Passwords that nobody has to think of: made here, kept in files that only their owner reads."""

from __future__ import annotations

import re
import secrets
import string
from pathlib import Path

from regatta.host.errors import StoreError
from regatta.host.files import write_whole

#: nothing that a quoted string, a URL, a shell or a variable of Grafana's files would take for something else
ALPHABET = string.ascii_letters + string.digits
LENGTH = 32
_OURS = re.compile(r"[A-Za-z0-9]{16,256}")


def password_in(file: Path) -> str:
    """The password in a file; one is made where there is no file yet (190 bits).

    Raises:
        StoreError: something else is in the file.
    """
    try:
        text = file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return _made(file)
    except UnicodeDecodeError:
        text = ""
    if not _OURS.fullmatch(text):
        raise StoreError(
            str(file), "a password of 16 to 256 letters and digits", "something else",
            "`regatta down --delete`, then `regatta up` (the journals stay; ingest them again)",
        )  # fmt: skip
    file.chmod(0o600)
    return text


def _made(file: Path) -> str:
    text = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    write_whole(file, text + "\n", 0o600, durable=True)
    return text
