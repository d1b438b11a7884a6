"""What tells two experiments of one name apart on a host: results that were thrown away do not come back."""

from __future__ import annotations

import re
import secrets

from regatta.host.errors import StoreError
from regatta.host.files import write_first
from regatta.store.folder import Folder, no_room

_IDENTITY = re.compile(r"[0-9a-f]{12}")


def identity_of(folder: Folder) -> str:
    """The identity of an experiment's folder, made at first use: 12 hexadecimal digits, in `.identity`.

    Raises:
        StoreError: it cannot be written, or holds something else.
    """
    path = folder.path / ".identity"
    if not path.exists():
        try:
            write_first(path, f"{secrets.token_hex(6)}\n".encode())
        except OSError as error:
            raise no_room(path, error) from error
    text = path.read_text(encoding="utf-8").strip()
    if not _IDENTITY.fullmatch(text):
        raise StoreError(str(path), "12 hexadecimal digits", repr(text[:40]), "remove the file")
    return text
