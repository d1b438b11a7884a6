"""InfluxDB accounts with minimal rights, created and verified over `/query`.

Passwords are in the body of a request, never in its URL, which servers log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import urllib3

from regatta.host.errors import HostError
from regatta.services.folder import START_AFRESH

ADMIN = "admin"
#: Account -> its right on the database.
RIGHTS = {"writer": "WRITE", "reader": "READ"}
ACCOUNTS = (ADMIN, *RIGHTS)
_TIMEOUT_S = 30.0


class Refused(Exception):
    """InfluxDB refused the request; the message has the reason."""


@dataclass(frozen=True)
class Door:
    """The administrator's access to an InfluxDB."""

    url: str

    def answers(self, timeout_s: float = 2.0) -> bool:
        """Return whether an InfluxDB answers."""
        try:
            answer = _pool().request("GET", f"{self.url}/ping", timeout=timeout_s)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status in (200, 204) and "X-Influxdb-Version" in answer.headers

    def ask(self, query: str, account: tuple[str, str] | None) -> list[list[object]]:
        """Execute one statement.

        Args:
            query: InfluxQL.
            account: user and password; None: anonymous, which only a server without accounts accepts.

        Returns:
            The rows of the result.

        Raises:
            Refused: the server refuses.
            HostError: no answer.
        """
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if account is not None:
            headers |= urllib3.util.make_headers(basic_auth=":".join(account))
        try:
            answer = _pool().request(
                "POST", f"{self.url}/query", body=urlencode({"q": query}), headers=headers, timeout=_TIMEOUT_S
            )
        except urllib3.exceptions.HTTPError as error:
            raise HostError(self.url, "a reachable InfluxDB", type(error).__name__) from error
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
    """Create the database and its accounts if missing; each can then log in.

    `passwords`: of all ACCOUNTS, of letters and digits, so that no statement needs escapes.

    Raises:
        HostError: a different administrator exists.
    """
    admin = (ADMIN, passwords[ADMIN])
    _make_admin(door, admin)
    door.ask(f'CREATE DATABASE "{database}"', admin)
    for account, right in RIGHTS.items():
        try:
            door.ask(f"CREATE USER \"{account}\" WITH PASSWORD '{passwords[account]}'", admin)
        except Refused:
            # The account exists with a different password. Commands read ours from its file.
            door.ask(f"SET PASSWORD FOR \"{account}\" = '{passwords[account]}'", admin)
        door.ask(f'GRANT {right} ON "{database}" TO "{account}"', admin)
        door.ask("SHOW DATABASES", (account, passwords[account]))


def _make_admin(door: Door, admin: tuple[str, str]) -> None:
    """Create the administrator. The first request to a server creates its first account, so it must be ours."""
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
        raise _not_ours(door, f"accounts {', '.join(map(str, users))} from another source")


def _not_ours(door: Door, got: str) -> HostError:
    expected = "an InfluxDB whose administrator has the password in this folder"
    return HostError(door.url, expected, got, START_AFRESH)
