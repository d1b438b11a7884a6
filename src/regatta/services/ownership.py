"""Whether who listens where `regatta up` started an InfluxDB is still that one, before it is told a password.

After influxd has died, or the machine was started anew, any user of it may listen on that port.
"""

from __future__ import annotations

from regatta.services.compose import STATE as COMPOSE
from regatta.services.local_influx import SERVICE
from regatta.services.places import Places
from regatta.services.processes import listeners, running, strangers


def why_not_ours(places: Places, port: int) -> str:
    """Why nothing may be said to who listens on `port` of the loopback; empty: it is what `regatta up` started."""
    if places.read_state(COMPOSE).get("up") is True:
        others = strangers(port)
        return f"port {port} is a program's of user {min(others)}, not Docker's" if others else ""
    process = running(places, SERVICE)
    if process is not None and process.listens_on(port):
        return ""
    return "it is not running" + (f", and another program has port {port}" if listeners(port) else "")
