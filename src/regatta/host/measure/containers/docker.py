"""Talk to the Docker engine of this machine through the HTTP API on its socket.

The `docker` command is not used: it takes 30 ms to start, and its attached client would run and wake up during the
measurement. This module uses only the standard library, because the runner carries it to the hosts.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlencode

from regatta.host.errors import HostError

DEFAULT_SOCKET = "/var/run/docker.sock"
#: prefix of the image names that `docker/base` builds
_OWN_IMAGES = "regatta-base:"
#: API version of Docker 20.10. For an engine that no longer supports it, the oldest version that the engine supports is used.
_API = (1, 41)
#: Creating and starting a container takes about 100 ms. A slower engine is unfit for measuring.
PATIENCE_S = 120.0


class Refusal(Exception):
    """The engine answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Waiting:
    """A pending request that the engine answers after a container has ended and is removed."""

    def __init__(self, engine: Engine, connection: _Connection, response: http.client.HTTPResponse) -> None:
        self._engine = engine
        self._connection = connection
        self._response = response

    def finish(self) -> int:
        """Wait for the answer and return the container's exit code.

        Raises:
            HostError: the connection is lost, or there is no answer within `PATIENCE_S`.
        """
        try:
            answer = json.loads(self._response.read())
            return int(answer["StatusCode"])
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
            raise self._engine.gone(error) from error
        finally:
            self._connection.close()


class Engine:
    """An engine, reached through its socket. Each request opens a connection, which costs 50 us."""

    def __init__(self, path: str) -> None:
        """Connect to the engine.

        Args:
            path: of the socket.

        Raises:
            HostError: the engine does not answer.
        """
        self.path = path
        self._prefix = ""
        about = self.ask("GET", "/version")
        try:
            least = _numbers(about["MinAPIVersion"])
            self.version = str(about["Version"])
        except (KeyError, TypeError, ValueError) as error:
            raise self.gone(error) from error
        self._prefix = "/v{}.{}".format(*max(_API, least))

    def gone(self, error: object) -> HostError:
        """Return the error for an engine that does not answer correctly."""
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return HostError(
            f"Docker at {self.path}",
            "a running engine",
            text,
            "start dockerd, give this user access to its socket, or use `isolation: cgroup`",
        )

    def _send(self, method: str, path: str, body: object) -> tuple[_Connection, http.client.HTTPResponse]:
        connection = _Connection(self.path, PATIENCE_S)
        try:
            content = None if body is None else json.dumps(body).encode()
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, self._prefix + path, content, headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self.gone(error) from error

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send a request; return the JSON of the answer, or None if it is empty.

        Raises:
            Refusal: the engine answers with an error.
            HostError: the engine does not answer.
        """
        connection, response = self._send(method, path, body)
        try:
            content = response.read()
            value = json.loads(content) if content.strip() else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self.gone(error) from error
        finally:
            connection.close()
        if response.status >= 400:
            raise Refusal(response.status, _message(value))
        return value

    def image(self, name: str) -> dict[str, Any]:
        """Return the engine's description of a local image.

        Raises:
            HostError: no image has this name.
        """
        try:
            found = self.ask("GET", f"/images/{quote(name, safe='/:@')}/json")
        except Refusal as refusal:
            own = name.startswith(_OWN_IMAGES)
            make = f"run `docker/base --name {name}`" if own else f"run `docker pull {name}`, or build it"
            raise HostError(f"Docker image {name}", "an image on this host", refusal.message, make) from None
        if not isinstance(found, dict) or not isinstance(found.get("Id"), str):
            raise self.gone("an image without Id in the response")
        return found

    def create(self, name: str, body: object) -> str:
        """Create a container; return its ID.

        Raises:
            Refusal: the engine rejects the request.
        """
        answer = self.ask("POST", f"/containers/create?{urlencode({'name': name})}", body)
        return str(answer["Id"])

    def wait_for_removal(self, container: str) -> Waiting:
        """Send the request that is answered after a container has ended and is removed."""
        connection, response = self._send("POST", f"/containers/{container}/wait?condition=removed", None)
        if response.status >= 400:
            message = response.read().decode("utf-8", "replace")
            connection.close()
            raise Refusal(response.status, message)
        return Waiting(self, connection, response)

    def remove(self, container: str) -> None:
        """Kill and remove a container. Ignore a container that is already removed or being removed."""
        try:
            self.ask("DELETE", f"/containers/{container}?force=1&v=1")
        except Refusal as refusal:
            if refusal.status not in (404, 409):
                raise self.gone(refusal.message) from refusal

    def containers(self, label: str) -> list[str]:
        """Return the IDs of all containers, running or not, with a label `key=value`."""
        filters = json.dumps({"label": [label]})
        found = self.ask("GET", f"/containers/json?{urlencode({'all': 1, 'filters': filters})}")
        return [str(each["Id"]) for each in found]


def _numbers(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)


def _message(value: object) -> str:
    message = value.get("message") if isinstance(value, dict) else None
    return str(message or "no reason given").strip()


def open_engine() -> Engine:
    """Return the engine of this machine, from `DOCKER_HOST` or at the default path.

    Raises:
        HostError: the engine does not answer, or is reached through a network.
    """
    given = os.environ.get("DOCKER_HOST", "")
    scheme, _, path = given.partition("://")
    if given and (scheme != "unix" or not path):
        raise HostError(
            "DOCKER_HOST",
            "a local socket such as unix:///var/run/docker.sock",
            given,
            "unset it: measured programs run on the machine of the runner",
        )
    return Engine(path or DEFAULT_SOCKET)


def image_ids(names: Iterable[str]) -> dict[str, str]:
    """Return a map from name to ID of images on this machine.

    Raises:
        HostError: no engine answers, or it lacks an image.
    """
    found: dict[str, str] = {}
    engine: Engine | None = None
    for name in names:
        engine = engine or open_engine()
        found[name] = str(engine.image(name)["Id"])
    return found
