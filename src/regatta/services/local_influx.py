"""The influxd of this machine, as a process of the user's own: loopback only, with accounts, in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from regatta.host.errors import HostError
from regatta.host.files import take_lock
from regatta.services.accounts import ACCOUNTS, Door, make_accounts
from regatta.services.local_service import LocalService, holder
from regatta.services.ports import ADDRESS, port_for

SERVICE = "influxdb"
DATABASE = "regatta"
USUAL_PORT = 8086
#: one that was killed may still be letting go of its data
_LETS_GO_S = 2.0
#: a port that was free may be taken a moment later
_TRIES = 3

#: TOML. What else InfluxDB could listen on is off; it writes a line for what goes wrong only, so that the log stays small.
_CONFIGURATION = """\
# Written by `regatta up`, anew at each start.
reporting-disabled = true
# Copies made by `influxd backup`; the kernel chooses the port. `regatta backup` does without.
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
    #: a large database opens its indexes before it answers
    start_s = 300.0
    #: until it has written what it holds in memory
    end_s = 60.0

    def start(self, wished_port: int | None) -> None:
        """Start it, wait until it answers, and make its accounts where they are not there yet.

        Raises:
            HostError: there is no influxd, the wished port is taken, its data are another's, or it does not start.
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
        """Leave alone what is not this host's to change. One of this host that nobody has noted is noted.

        Raises:
            HostError: an influxd that is not known here has the data: another host's, for instance.
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
        """Hold the lock of the data, which the influxd that is started meanwhile goes on holding.

        InfluxDB 1.x looks for no other one on its data, and of two each loses what the other one acknowledges.
        """
        folder = self.folder
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                take_lock(lock, _LETS_GO_S)
            except BlockingIOError:
                raise self._used() from None
            yield lock
        finally:
            os.close(lock)

    def _used(self) -> HostError:
        noted = self.services.read_state(SERVICE)
        host, pid = noted.get("host"), noted.get("pid")
        folder = self.folder
        got = f"that of host {host} (process {pid})" if host and pid else "one that nobody has noted"
        return HostError(
            str(folder), "data that no other influxd has open", got,
            f"`regatta down` on its host (`fuser {folder / 'lock'}` names it there), or another REGATTA_CACHE for this one",
        )  # fmt: skip

    def _start(self, program: str, wished_port: int | None, lock: int) -> None:
        folder = self.folder
        # TOML's basic strings and JSON's are the same.
        paths = {name: json.dumps(str(folder / name), ensure_ascii=False) for name in ("meta", "data", "wal")}
        configuration = folder / "influxd.conf"
        # Its variables would win over the file.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("INFLUX")}
        for _ in range(_TRIES):
            port = port_for("InfluxDB", wished_port, self.port, "--port")
            self.services.write(configuration, _CONFIGURATION.format(address=ADDRESS, port=port, **paths))
            argv = [program, "-config", str(configuration)]
            got = self.run(argv, environment, port, Door(f"http://{ADDRESS}:{port}").answers, [lock])
            if not got:
                return
        raise HostError(
            f"influxd on {ADDRESS}:{port}", "a database that starts", got, f"see {self.services.log(SERVICE)}"
        )


def influxd() -> str:
    """The program.

    Raises:
        HostError: it is not installed, or is of another line than 1.x, which is set up in another way.
    """
    program = shutil.which("influxd")
    if program is None:
        raise HostError(
            "this machine", "InfluxDB's program influxd", "none",
            "`apt-get install influxdb influxdb-client`, or `regatta up --docker`",
        )  # fmt: skip
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
            program, "InfluxDB 1.x", told[:80] or "no version",
            "`regatta up --docker`, or name a server that runs in configs/influx.yml",
        )  # fmt: skip
    return program
