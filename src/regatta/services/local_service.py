"""What the processes of a user's services have in common: a port, an address, and whether they run."""

from __future__ import annotations

from regatta.services.places import Places
from regatta.services.ports import ADDRESS
from regatta.services.processes import Process, running


class LocalService:
    """A service of the user's own on the loopback."""

    name: str
    usual_port: int

    def __init__(self, places: Places) -> None:
        self.places = places

    @property
    def url(self) -> str:
        """Where it answers, or did last."""
        return f"http://{ADDRESS}:{self.port}"

    @property
    def port(self) -> int:
        """The port that it has, or had last."""
        port = self.places.read_state(self.name).get("port")
        return port if isinstance(port, int) and 0 < port < 65536 else self.usual_port

    @property
    def process(self) -> Process | None:
        """It, while it runs."""
        return running(self.places, self.name)
