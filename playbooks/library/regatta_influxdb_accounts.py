"""Manage the database, retention and accounts of an InfluxDB 1.x: read the state and change only differences."""

from __future__ import annotations

import json
import time
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

DOCUMENTATION = r"""
module: regatta_influxdb_accounts
short_description: Manage the database, its retention and its accounts
description:
  - Waits until InfluxDB answers and creates the administrator if none exists. Then it creates the database, sets the
    duration of its default retention policy, and creates accounts with exactly one privilege on this database.
  - Passwords are in the body of a request and in the authentication header, never in a command line. An account with a
    different password gets the specified one. The password of the administrator is never changed.
options:
  url:
    description: URL of InfluxDB.
    type: str
    required: true
  ca_file:
    description: CA certificates that verify its certificate, on the host; by default those that the system trusts.
    type: path
  database:
    description: Name of the database.
    type: str
    required: true
  retention_days:
    description: Days to keep points; 0 keeps them forever.
    type: int
    default: 0
  admin:
    description: Administrator, with C(name) and C(password).
    type: dict
    required: true
    suboptions:
      name: {description: Name of the account., type: str, required: true}
      password: {description: Password of the account., type: str, required: true}
  accounts:
    description: Further accounts.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {description: Name of the account., type: str, required: true}
      password: {description: Password of the account., type: str, required: true}
      privilege: {description: Privilege on the database., type: str, required: true, choices: [READ, WRITE]}
  wait_s:
    description: Seconds to wait for InfluxDB.
    type: int
    default: 60
author: [Regatta]
"""

EXAMPLES = r"""
- name: Create the accounts
  regatta_influxdb_accounts:
    url: http://127.0.0.1:8086
    database: regatta
    admin: {name: admin, password: "{{ lookup('file', '/home/me/admin.password') }}"}
    accounts:
      - {name: writer, password: "{{ lookup('file', '/home/me/writer.password') }}", privilege: WRITE}
"""

RETURN = r"""
changes:
  description: Changes, or changes that check mode would make.
  returned: always
  type: list
  elements: str
version:
  description: The version of InfluxDB.
  returned: always
  type: str
"""

TIMEOUT_S = 30
LOOK_EVERY_S = 0.2


class Refused(Exception):
    """A failed request, with a message without passwords; `status` is the HTTP status, or 0."""

    def __init__(self, status: int, words: str) -> None:
        self.status = status
        super().__init__(words)


def name_of(name: str) -> str:
    """Return a name quoted for InfluxQL."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def string_of(text: str) -> str:
    """Return a string quoted for InfluxQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def hours(number: int) -> str:
    """Return a duration in the form that InfluxDB prints."""
    return f"{number}h0m0s" if number else "0s"


def shard_hours(days: int) -> int:
    """Return the shard duration in hours that InfluxDB chooses for a retention in days.

    Source: InfluxDB 1.x, `SHARD DURATION` of CREATE RETENTION POLICY: up to 2 days, up to 6 months, longer.
    """
    return 168 if days == 0 or days > 180 else 24 if days >= 2 else 1


class Server:
    """A client of an InfluxDB."""

    def __init__(self, url: str, ca_file: str | None) -> None:
        self._url = url
        self._ca_file = ca_file

    def wait(self, wait_s: float) -> str:
        """Wait until InfluxDB answers; return its version. Raises Refused."""
        deadline = time.monotonic() + wait_s
        while True:
            try:
                answer = open_url(f"{self._url}/ping", timeout=TIMEOUT_S, ca_path=self._ca_file)
                return str(answer.headers.get("X-Influxdb-Version", "unknown"))
            except (URLError, OSError) as error:
                # Waiting does not fix a certificate error.
                if "CERTIFICATE" in str(error).upper() or time.monotonic() > deadline:
                    raise Refused(0, str(error)) from None
                time.sleep(LOOK_EVERY_S)

    def ask(self, statement: str, name: str, password: str, database: str = "") -> list[list[object]]:
        """Return the rows of a statement. Raises Refused, without the message of InfluxDB if the statement has a password."""
        try:
            answer = open_url(
                f"{self._url}/query",
                data=urlencode({"q": statement, "db": database}).encode(),
                method="POST",
                timeout=TIMEOUT_S,
                ca_path=self._ca_file,
                url_username=name,
                url_password=password,
                force_basic_auth=True,
            )
            result = json.loads(answer.read())["results"][0]
        except HTTPError as error:
            raise Refused(error.code, told(error.read(), statement)) from None
        except (URLError, OSError) as error:
            raise Refused(0, str(error)) from None
        if "error" in result:
            raise Refused(200, told(json.dumps(result).encode(), statement))
        return [row for series in result.get("series", []) for row in series.get("values", [])]

    def knows(self, name: str, password: str) -> bool:
        """Return whether an account has this password."""
        try:
            self.ask("SHOW DATABASES", name, password)
        except Refused as refused:
            if refused.status == 401:
                return False
            raise
        return True


def told(body: bytes, statement: str) -> str:
    """Return the reason of InfluxDB, unless it could contain a password."""
    if "PASSWORD" in statement:
        return "InfluxDB rejects the account"
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]


class Wanted:
    """The desired state. Each method records differences in `changes` and applies them, except in check mode."""

    def __init__(self, server: Server, parameters: dict, only_ask: bool) -> None:
        self._server = server
        self._admin = parameters["admin"]
        self._database = parameters["database"]
        self._only_ask = only_ask
        self.changes: list[str] = []

    def _ask(self, statement: str) -> list[list[object]]:
        return self._server.ask(statement, self._admin["name"], self._admin["password"])

    def _change(self, what: str, *statements: str) -> None:
        self.changes.append(what)
        if not self._only_ask:
            for statement in statements:
                self._ask(statement)

    def administrator(self) -> bool:
        """Create the administrator if no account exists; return whether an administrator exists for further requests."""
        name, password = self._admin["name"], self._admin["password"]
        try:
            self._ask("SHOW USERS")
        except Refused as refused:
            if refused.status == 401:
                raise Refused(
                    401,
                    f"account {name}: expected the password of its file · got another password on the host · "
                    "fix: write the current password to the file, or change it in InfluxDB with SET PASSWORD",
                ) from None
            if refused.status != 403 or "create admin user first" not in str(refused):
                raise
            create = f"CREATE USER {name_of(name)} WITH PASSWORD {string_of(password)} WITH ALL PRIVILEGES"
            self._change(f"create the administrator {name}", create)
        return not (self.changes and self._only_ask)

    def database(self, retention_days: int) -> None:
        """Create the database and set its retention."""
        database = name_of(self._database)
        if [self._database] not in self._ask("SHOW DATABASES"):
            self._change(f"create the database {self._database}", f"CREATE DATABASE {database}")
            if self._only_ask:
                return
        policies = self._ask(f"SHOW RETENTION POLICIES ON {database}")
        policy, kept, shard = next((row[0], row[1], row[2]) for row in policies if row[4])
        wanted = hours(retention_days * 24), hours(shard_hours(retention_days))
        if (kept, shard) != wanted:
            duration = f"{retention_days * 24}h" if retention_days else "INF"
            self._change(
                f"set retention to {retention_days or 'unlimited'} days instead of {kept}",
                f"ALTER RETENTION POLICY {name_of(str(policy))} ON {database} DURATION {duration}"
                f" SHARD DURATION {shard_hours(retention_days)}h",
            )

    def account(self, name: str, password: str, privilege: str) -> None:
        """Create an account with exactly one privilege."""
        user = name_of(name)
        there = {row[0]: row[1] for row in self._ask("SHOW USERS")}
        if name not in there:
            self._change(
                f"create the account {name}", f"CREATE USER {user} WITH PASSWORD {string_of(password)}"
            )
        elif not self._server.knows(name, password):
            self._change(f"change the password of {name}", f"SET PASSWORD FOR {user} = {string_of(password)}")
        if there.get(name):
            self._change(f"revoke all privileges of {name}", f"REVOKE ALL PRIVILEGES FROM {user}")
        grants = []
        if name in there:
            grants = [(str(row[0]), str(row[1])) for row in self._ask(f"SHOW GRANTS FOR {user}")]
        # InfluxDB reports a revoked privilege as NO PRIVILEGES.
        for database, right in grants:
            if database != self._database and right != "NO PRIVILEGES":
                self._change(
                    f"revoke {right} on {database} from {name}",
                    f"REVOKE ALL PRIVILEGES ON {name_of(database)} FROM {user}",
                )
        if (self._database, privilege) not in grants:
            self._change(
                f"grant {privilege} on {self._database} to {name}",
                f"GRANT {privilege} ON {name_of(self._database)} TO {user}",
            )


def main() -> None:
    """Run the module."""
    account = {
        "name": {"type": "str", "required": True},
        "password": {"type": "str", "required": True, "no_log": True},
    }
    privilege = {"type": "str", "required": True, "choices": ["READ", "WRITE"]}
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "ca_file": {"type": "path"},
            "database": {"type": "str", "required": True},
            "retention_days": {"type": "int", "default": 0},
            "admin": {"type": "dict", "required": True, "options": account},
            "accounts": {
                "type": "list", "elements": "dict", "default": [],
                "options": {**account, "privilege": privilege},
            },
            "wait_s": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )  # fmt: skip
    given = module.params
    server = Server(given["url"], given["ca_file"])
    wanted = Wanted(server, given, module.check_mode)
    version = "unknown"
    try:
        version = server.wait(given["wait_s"])
        if wanted.administrator():
            wanted.database(given["retention_days"])
            for one in given["accounts"]:
                wanted.account(one["name"], one["password"], one["privilege"])
    except Refused as refused:
        module.fail_json(msg=f"{given['url']}: {refused}", changes=wanted.changes, version=version)
    module.exit_json(changed=bool(wanted.changes), changes=wanted.changes, version=version)


if __name__ == "__main__":
    main()
