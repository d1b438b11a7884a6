"""Accounts of an InfluxDB with the rights that they need and no more, made and tried out over `/query`.

Passwords go into the body of a request, never into its address, which servers write into their logs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import urllib3

from regatta.host.errors import HostError

ADMIN = "admin"
#: account -> what it may do with the database
RIGHTS = {"writer": "WRITE", "reader": "READ"}
ACCOUNTS = (ADMIN, *RIGHTS)
_TIMEOUT_S = 30.0


class Refused(Exception):
    """InfluxDB answered, and not with what was asked for; says why."""


@dataclass(frozen=True)
class Door:
    """An InfluxDB as its administrator sees it."""

    url: str

    def answers(self, timeout_s: float = 2.0) -> bool:
        """Whether something that is an InfluxDB answers."""
        try:
            answer = _pool().request("GET", f"{self.url}/ping", timeout=timeout_s)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status in (200, 204) and "X-Influxdb-Version" in answer.headers

    def ask(self, query: str, account: tuple[str, str] | None) -> list[list[object]]:
        """Ask one statement.

        Args:
            query: InfluxQL.
            account: user and password; None: as nobody, which a server without any account takes once.

        Returns:
            the rows of the answer.

        Raises:
            Refused: the server does not do it.
            HostError: nobody answers.
        """
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if account is not None:
            headers |= urllib3.util.make_headers(basic_auth=":".join(account))
        try:
            answer = _pool().request(
                "POST", f"{self.url}/query", body=urlencode({"q": query}), headers=headers, timeout=_TIMEOUT_S
            )
        except urllib3.exceptions.HTTPError as error:
            raise HostError(self.url, "an InfluxDB that answers", type(error).__name__) from error
        return _rows(answer.status, answer.data)


def _pool() -> urllib3.PoolManager:
    return urllib3.PoolManager(retries=False)


def _rows(status: int, body: bytes) -> list[list[object]]:
    try:
        told = json.loads(body)
        result = told["results"][0] if status == 200 else {"error": told["error"]}
    except (ValueError, LookupError, TypeError):
        raise Refused(f"HTTP {status}") from None
    if "error" in result:
        raise Refused(str(result["error"]))
    return [row for series in result.get("series", ()) for row in series.get("values", ())]


def make_accounts(door: Door, database: str, passwords: Mapping[str, str]) -> None:
    """Make the database and its accounts, where they are not there yet; each can then log in.

    Args:
        door: the server.
        database: its name.
        passwords: account -> password of letters and digits, for all of ACCOUNTS: no statement needs escapes.

    Raises:
        HostError: there is an administrator already, and it is not ours.
    """
    admin = (ADMIN, passwords[ADMIN])
    _make_admin(door, admin)
    door.ask(f'CREATE DATABASE "{database}"', admin)
    for account, right in RIGHTS.items():
        try:
            door.ask(f"CREATE USER \"{account}\" WITH PASSWORD '{passwords[account]}'", admin)
        except Refused:
            # It is there, with another password: ours is in the file that commands read.
            door.ask(f"SET PASSWORD FOR \"{account}\" = '{passwords[account]}'", admin)
        door.ask(f'GRANT {right} ON "{database}" TO "{account}"', admin)
        door.ask("SHOW DATABASES", (account, passwords[account]))


def _make_admin(door: Door, admin: tuple[str, str]) -> None:
    """The first account of a server is made by whoever asks first: it must be us."""
    try:
        door.ask("SHOW USERS", admin)
        return
    except Refused:
        pass
    name, password = admin
    try:
        door.ask(f"CREATE USER \"{name}\" WITH PASSWORD '{password}' WITH ALL PRIVILEGES", None)
        users = [row[0] for row in door.ask("SHOW USERS", admin)]
    except Refused as refusal:
        raise _not_ours(door, f"{refusal}") from None
    if users != [name]:
        raise _not_ours(door, f"accounts {', '.join(map(str, users))} that somebody else has made")


def _not_ours(door: Door, got: str) -> HostError:
    return HostError(
        door.url, "an InfluxDB whose administrator's password is the one kept here", got,
        "`regatta down --delete`, then `regatta up` (the journals stay; ingest them again)",
    )  # fmt: skip
