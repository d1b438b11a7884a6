"""The Docker engine's API, spoken to a server that answers as a test wants."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from regatta.host.errors import HostError
from regatta.host.measure.containers.docker import Engine, Refusal, image_ids, open_engine

VERSION = (200, json.dumps({"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12"}))


class Fake:
    """A server on a socket; `answers` maps the end of a path to status and body."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.answers: dict[str, tuple[int, str]] = {"/version": VERSION}
        self.asked: list[str] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.asked.append(f"{self.command} {self.path}")
                status, body = fake.answers.get(
                    self.path.partition("?")[0], (404, '{"message": "no such thing"}')
                )
                self.send_response(status)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_POST = do_DELETE = answer

            def address_string(self) -> str:
                return "socket"

            def log_message(self, *words: object) -> None:
                pass

        class Server(socketserver.ThreadingUnixStreamServer):
            def handle_error(self, *words: object) -> None:
                pass  # a client that went is none

        self.server = Server(self.path, Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    fake = Fake(tmp_path / "s")
    yield fake
    fake.stop()


def test_it_is_spoken_to_in_the_oldest_words_that_both_know(fake: Fake) -> None:
    fake.answers["/v1.41/info"] = fake.answers["/v1.44/info"] = (200, "{}")
    assert Engine(fake.path).ask("GET", "/info") == {}
    fake.answers["/version"] = (200, json.dumps({"Version": "29", "MinAPIVersion": "1.44"}))
    engine = Engine(fake.path)
    assert engine.ask("GET", "/info") == {}
    assert engine.version == "29"
    assert fake.asked == ["GET /version", "GET /v1.41/info", "GET /version", "GET /v1.44/info"]


@pytest.mark.parametrize(
    "answer",
    [(200, "not JSON"), (200, "[]"), (200, "{}"), (200, '{"Version": 1, "MinAPIVersion": "x"}'), (200, "")],
)
def test_an_answer_that_makes_no_sense_is_an_error_of_the_host(fake: Fake, answer: tuple[int, str]) -> None:
    fake.answers["/version"] = answer
    with pytest.raises(HostError, match="a running engine"):
        Engine(fake.path)


def test_a_refusal_carries_the_engines_own_words(fake: Fake) -> None:
    fake.answers["/v1.41/containers/create"] = (409, '{"message": "name is taken"}')
    with pytest.raises(Refusal, match="name is taken") as caught:
        Engine(fake.path).create("x", {})
    assert caught.value.status == 409


def test_a_container_that_is_gone_or_going_needs_no_removal(fake: Fake) -> None:
    engine = Engine(fake.path)
    engine.remove("gone")
    fake.answers["/v1.41/containers/going"] = (409, '{"message": "removal is in progress"}')
    engine.remove("going")
    fake.answers["/v1.41/containers/stuck"] = (500, '{"message": "device busy"}')
    with pytest.raises(HostError, match="device busy"):
        engine.remove("stuck")


def test_a_missing_image_says_how_to_come_by_it(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{fake.path}")
    fake.answers["/v1.41/images/my/image:1/json"] = (200, '{"Id": "sha256:12"}')
    assert image_ids(["my/image:1"]) == {"my/image:1": "sha256:12"}
    with pytest.raises(HostError, match="docker/base --name regatta-base:bookworm"):
        image_ids(["regatta-base:bookworm"])
    with pytest.raises(HostError, match="docker pull other"):
        image_ids(["other"])
    fake.answers["/v1.41/images/my/image:1/json"] = (200, "{}")
    with pytest.raises(HostError, match="without Id"):
        image_ids(["my/image:1"])


def test_no_engine_is_asked_where_no_image_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    assert image_ids([]) == {}
    with pytest.raises(HostError, match="No such file"):
        open_engine()
