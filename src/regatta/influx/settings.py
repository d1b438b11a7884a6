"""Settings of InfluxDB: its address and accounts, in a file without secrets. Without the file there is no InfluxDB.

Search order: `$REGATTA_INFLUX` (a path; `none` disables InfluxDB), `configs/influx.yml` in the home, then
the settings of the services that `regatta up` started.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from regatta.host.errors import Problem, SpecError
from regatta.services.folder import service_folder

#: path of the settings file; `none` disables InfluxDB
VARIABLE = "REGATTA_INFLUX"
OFF = "none"
#: passes settings from a workflow to its jobs
HANDED_ON = "REGATTA_INFLUX_READ"

Purpose = Literal["write", "read"]
#: A longer password or token means that a wrong file was named.
_SECRET_AT_MOST = 16 * 1024


@dataclass(frozen=True)
class Account:
    """Location of a secret. It is read when needed and never appears in a message."""

    #: location for messages: `file:line:write.password_file`
    where: str
    user: str | None
    file: Path | None
    variable: str | None

    def authorization(self) -> str:
        """Return the header `Authorization`.

        Raises:
            SpecError: the file or the variable is missing, empty or not text, or others can read the file.
        """
        secret = self._secret()
        if self.user is None:
            return f"Token {secret}"
        return "Basic " + base64.b64encode(f"{self.user}:{secret}".encode()).decode("ascii")

    def _secret(self) -> str:
        if self.variable is not None:
            place, found = f"${self.variable}", os.environ.get(self.variable)
            if not found:
                raise self._wrong(f"a secret in {place}", "nothing", "set the variable")
        else:
            place = str(self.file)
            found = self._from_file()
        secret = found.rstrip("\r\n")
        if not secret:
            raise self._wrong(f"a secret in {place}", "nothing", "write the secret to the file")
        if not secret.isprintable() or (self.user is None and not secret.isascii()):
            raise self._wrong(f"a secret of printable characters on one line in {place}", "other characters")
        return secret

    def _from_file(self) -> str:
        assert self.file is not None
        try:
            with self.file.open("rb") as stream:
                status = os.fstat(stream.fileno())
                data = stream.read(_SECRET_AT_MOST + 1)
        except (OSError, ValueError) as error:
            got = (error.strerror if isinstance(error, OSError) else "") or str(error)
            raise self._wrong(
                f"a secret in {self.file}", got, "set the path of the file with the secret"
            ) from error
        if status.st_uid not in (os.geteuid(), 0):
            got = f"a file of user {status.st_uid}"
            raise self._wrong(
                f"a secret in a file owned by you or root: {self.file}", got, "change its owner with `chown`"
            )
        if status.st_mode & (stat.S_IRGRP | stat.S_IROTH):
            got = f"mode {stat.S_IMODE(status.st_mode):04o}"
            raise self._wrong(
                f"a secret in {self.file} with read permission for its owner only",
                got,
                f"chmod 600 {self.file}",
            )
        if len(data) > _SECRET_AT_MOST:
            raise self._wrong(
                f"a secret in {self.file}", f"more than {_SECRET_AT_MOST} bytes", "use another file"
            )
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise self._wrong(f"a secret of UTF-8 text in {self.file}", "other bytes") from None

    def _wrong(self, expected: str, got: str, fix: str = "") -> SpecError:
        return SpecError([Problem(self.where, expected, got, fix)])


@dataclass(frozen=True)
class Settings:
    """An InfluxDB with its read and write accounts."""

    #: the file, for messages
    path: Path
    url: str
    database: str = "regatta"
    retention_policy: str = ""
    write: Account | None = None
    read: Account | None = None
    ca_file: Path | None = None
    timeout_s: float = 10.0
    batch_points: int = 10_000
    series_limit: int = 100_000
    grafana_url: str | None = None
    #: key -> `file:line:key`
    places: dict[str, str] = field(default_factory=dict, compare=False)

    def where(self, key: str) -> str:
        """Return the location of a key for messages."""
        return self.places.get(key, f"{self.path}:{key}")

    def account(self, purpose: Purpose) -> Account | None:
        """Return the account for a purpose; None: InfluxDB requires no authentication."""
        return self.write if purpose == "write" else self.read

    @property
    def identity(self) -> str:
        """Return the identity of the database, independent of the account: 16 hexadecimal digits."""
        text = "\n".join((self.url, self.database, self.retention_policy))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def is_near(self) -> bool:
        """Return whether the address is a loopback address, where compression gains nothing."""
        name = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost"


def find_settings(home: Path | None) -> Settings | None:
    """Find and read the settings. `home`: the folder with `configs/`; None: not searched.

    Returns:
        the settings, or None if no InfluxDB is configured.

    Raises:
        SpecError: the settings are invalid, or `$REGATTA_INFLUX` names no file. No secret is read yet.
    """
    given = os.environ.get(VARIABLE)
    if given == OFF:
        return None
    if given:
        if not Path(given).is_file():
            raise SpecError(
                [
                    Problem(
                        f"${VARIABLE}", f"a settings file, or `{OFF}`", given, "correct or unset the variable"
                    )
                ]
            )
        return read_settings(Path(given))
    own = [] if home is None else [home / "configs" / "influx.yml"]
    for path in (*own, service_folder().settings):
        if path.is_file():
            return read_settings(path)
    return None


def read_settings(path: Path) -> Settings:
    """Read a settings file.

    Raises:
        SpecError: with every problem, `file:line:key` each.
    """
    handed_on = _handed_on(path)
    if handed_on is not None:
        return handed_on
    from regatta.influx.settings_file import parse_settings

    return parse_settings(path)


def hand_on(settings: Settings) -> None:
    """Pass the settings to child processes: reading the file again takes longer than sending a segment.

    Settings hold no secrets, so that none is passed on.
    """
    told = {**vars(settings), "write": _plain(settings.write), "read": _plain(settings.read)}
    with suppress(OSError):
        os.environ[HANDED_ON] = json.dumps({"stamp": _stamp(settings.path), "settings": told}, default=str)


def _handed_on(path: Path) -> Settings | None:
    """Return the settings of the parent process, if the file is the same and unchanged."""
    text = os.environ.get(HANDED_ON)
    if text is None:
        return None
    try:
        value = json.loads(text)
        if value["stamp"] != _stamp(path):
            return None
        told = value["settings"]
        told["path"], told["ca_file"] = Path(told["path"]), _path(told["ca_file"])
        for purpose in ("write", "read"):
            account = told[purpose]
            told[purpose] = account and Account(**{**account, "file": _path(account["file"])})
        return Settings(**told)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _stamp(path: Path) -> list[str | int]:
    stat = path.stat()
    return [str(path.absolute()), stat.st_ino, stat.st_size, stat.st_mtime_ns]


def _plain(account: Account | None) -> dict[str, object] | None:
    return None if account is None else dict(vars(account))


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
