"""The installed influxd as a process of the user: loopback only, with accounts, in a private folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from regatta.host.errors import HostError
from regatta.host.files import locked
from regatta.services.accounts import ACCOUNTS, Door, make_accounts
from regatta.services.local_service import LocalService, holder
from regatta.services.ports import ADDRESS, port_for

SERVICE = "influxdb"
DATABASE = "regatta"
USUAL_PORT = 8086
#: A killed influxd can take this long to release its data.
_LETS_GO_S = 10.0
#: Attempts, because a free port can be taken a moment later.
_TRIES = 3

#: TOML. All other listeners of InfluxDB are off. It logs only errors, so that the log stays small.
_CONFIGURATION = """\
# Written by `regatta up`, again at each start.
reporting-disabled = true
# Copies made by `influxd backup`; the kernel chooses the port.
bind-address = "{address}:0"

[meta]
  dir = {meta}
  logging-enabled = false

[data]
  dir = {data}
  wal-dir = {wal}
  index-version = "tsi1"
  query-log-enabled = false
  max-series-per-database = 0
  max-values-per-tag = 0

[coordinator]
  log-queries-after = "0s"

[monitor]
  store-enabled = false

[subscriber]
  enabled = false

[continuous_queries]
  enabled = false

[http]
  enabled = true
  bind-address = "{address}:{port}"
  auth-enabled = true
  log-enabled = false
  pprof-enabled = false

[logging]
  level = "warn"
  format = "logfmt"
  suppress-logo = true
"""


class LocalInflux(LocalService):
    """The influxd of a user's services."""

    name = SERVICE
    usual_port = USUAL_PORT
    #: A large database opens its indexes before it answers.
    start_s = 300.0
    #: Time to write in-memory data to disk.
    end_s = 60.0

    def start(self, wished_port: int | None) -> None:
        """Start it, wait until it answers, and create missing accounts.

        Raises:
            HostError: influxd is not installed, the wished port is in use, another host uses the data, or influxd does not
                start.
        """
        program = influxd()
        with self._data_alone() as lock:
            self._start(program, wished_port, lock)
        try:
            passwords = {name: self.services.secret(name) for name in ACCOUNTS}
            make_accounts(Door(self.url), DATABASE, passwords)
        except BaseException:
            self.end()
            raise

    def refuse_another(self) -> None:
        """Refuse to touch data in use elsewhere. Record the state of an unrecorded influxd of this host.

        Raises:
            HostError: an unknown influxd, for example on another host, uses the data.
        """
        folder = self.folder
        if self.process is not None or not folder.is_dir():
            return
        try:
            with self._data_alone():
                pass
        except HostError:
            lost = holder(folder / "lock")
            if lost is None:
                raise
            self.note(lost, self.port)

    @contextmanager
    def _data_alone(self) -> Iterator[int]:
        """Hold the lock of the data. An influxd started in the block inherits it.

        InfluxDB 1.x does not check for a second instance on its data. Each of two loses the writes that the other acknowledges.
        """
        folder = self.folder
        folder.mkdir(mode=0o700, exist_ok=True)
        with ExitStack() as stack:
            try:
                lock = stack.enter_context(locked(folder / "lock", _LETS_GO_S, mode=0o600))
            except BlockingIOError:
                raise self._used() from None
            yield lock

    def _used(self) -> HostError:
        noted = self.services.read_state(SERVICE)
        host, pid = noted.get("host"), noted.get("pid")
        folder = self.folder
        got = f"an influxd on host {host} (process {pid})" if host and pid else "an unknown influxd"
        return HostError(
            str(folder),
            "data that no other influxd uses",
            got,
            f"run `regatta down` on its host (`fuser {folder / 'lock'}` shows its process there), or set another REGATTA_CACHE",
        )

    def _start(self, program: str, wished_port: int | None, lock: int) -> None:
        folder = self.folder
        # Basic strings of TOML and JSON strings are identical.
        paths = {name: json.dumps(str(folder / name), ensure_ascii=False) for name in ("meta", "data", "wal")}
        configuration = folder / "influxd.conf"
        # Environment variables would override the file.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("INFLUX")}
        for _ in range(_TRIES):
            port = port_for("InfluxDB", wished_port, self.port, "--port")
            self.services.write(configuration, _CONFIGURATION.format(address=ADDRESS, port=port, **paths))
            argv = [program, "-config", str(configuration)]
            got = self.run(argv, environment, port, Door(f"http://{ADDRESS}:{port}").answers, [lock])
            if not got:
                return
        raise self.not_started("influxd", port, "a database that starts", got)


def influxd() -> str:
    """Return the path of influxd.

    Raises:
        HostError: it is not installed, or is not 1.x, the only supported line.
    """
    program = shutil.which("influxd")
    if program is None:
        raise HostError(
            "this machine",
            "influxd, the program of InfluxDB",
            "none",
            "run `apt-get install influxdb influxdb-client`, or `regatta up --docker`",
        )
    told = subprocess.run(
        [program, "version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    ).stdout.strip()
    if not re.match(r"InfluxDB v?1\.", told):
        raise HostError(
            program,
            "InfluxDB 1.x",
            told[:80] or "no version",
            "run `regatta up --docker`, or set the address of a running server in configs/influx.yml",
        )
    return program
