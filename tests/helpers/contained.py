"""Cells in containers for tests: the base image, made once, and what a container is asked for."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.docker_engine import DockerEngine
from helpers.runner_plans import cell

HOME = Path(__file__).resolve().parents[2]
BASE = "regatta-base:bookworm"


def base_image() -> str:
    """Id of the base image, which is made where it is not there."""
    done = subprocess.run([HOME / "docker/base"], capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def contained(name: str, argv: Sequence[str], image_id: str, **other: Any) -> dict[str, Any]:
    """A cell of `plan.json` in a container of the base image; `isolation` among `other` changes parts of it."""
    isolation: dict[str, Any] = {
        "kind": "docker", "image": BASE, "image_id": image_id, "network": "none", "memory_mib": None,
        "programs": [argv[0]], "folders": [], **other.pop("isolation", {}),
    }  # fmt: skip
    return cell(name, argv, isolation=isolation, **other)


def containers_of(engine: DockerEngine, results_file: Path) -> list[str]:
    """Containers, running or not, of a runner with this results file."""
    listed = engine.run("ps", "--all", "--quiet", "--filter", f"label=regatta.results={results_file}")
    return listed.split()


def is_told(record: Mapping[str, Any]) -> bool:
    """Whether a record tells what its container was and cost, and gives a reason for each null."""
    isolation = record["isolation"]
    usage = {**record["rusage"], **record["cgroup"]}
    untold = {
        key.removeprefix("voluntary_").removeprefix("involuntary_") for key, v in usage.items() if v is None
    }
    costs = [isolation[key] for key in ("create_ns", "start_ns", "remove_ns")]
    return bool(min(costs) > 0) and untold <= isolation["untold"].keys()


class EngineDoor:
    """A socket that leads to the engine's, until it is shut: to whoever uses it the engine is gone then."""

    def __init__(self, path: Path, engine: str = "/var/run/docker.sock") -> None:
        self.path = path
        self._engine = engine
        self._open: list[socket.socket] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                inner, _ = self._listening.accept()
                outer = socket.socket(socket.AF_UNIX)
                outer.connect(self._engine)
                self._open += [inner, outer]
                for pair in ((inner, outer), (outer, inner)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def shut(self) -> None:
        """No way to the engine any more, for those who are talking to it either."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.path.unlink()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
