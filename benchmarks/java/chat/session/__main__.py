"""Run the chat benchmark once: start a server, drive it with a client, and report both in the lines of docs/protocol.md.

    python3 benchmarks/java/chat/session --jar regatta-chat.jar --mode virtual --connections 800 -- java -Xmx512m

The command after `--` is the measured JVM with its flags, which runs the server. The client is a second JVM with fixed flags.
Standard library only, Python 3.9 and later.
"""

from __future__ import annotations

import sys

# The folder may be read-only.
sys.dont_write_bytecode = True

import argparse  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import tempfile  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402

from processes import Failed, Family, Placement, probe, start_server  # noqa: E402
from results import parse_lines, write_lines  # noqa: E402

MODES = ("platform", "virtual", "selector")
SERVER = "org.regatta.bench.chat.ChatServer"
CLIENT = "org.regatta.bench.chat.ChatClient"
#: The client needs little memory and must not pause. It does not get the flags of the measured JVM: these affect the server only.
CLIENT_FLAGS = ("-XX:+UseSerialGC", "-Xms256m", "-Xmx256m")
#: besides warm-up and windows: start, thousands of connections, and receipt of the remaining messages
CLIENT_EXTRA_S = 180.0


def main(arguments: Sequence[str]) -> int:
    given = _parse(arguments)
    if given.probe:
        return probe([*given.runtime, "-cp", given.jar, SERVER, "--mode", given.mode, "--probe"])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    with tempfile.TemporaryDirectory(prefix="chat-") as name, Family() as family:
        try:
            lines = _run(given, Path(name), family)
        except Failed as failure:
            print(f"chat: {failure}", file=sys.stderr)
            write_lines(failure.lines)
            return failure.code
        write_lines(lines)
    return 0


def _run(given: argparse.Namespace, directory: Path, family: Family) -> list[dict[str, object]]:
    placement = Placement(given.pin)
    server = start_server(family, _server_command(given), directory, placement.server)
    command = _client_command(given, server.port, server.control)
    limit_s = given.warmup_seconds + given.iterations * (given.seconds + 60) + CLIENT_EXTRA_S
    lines = parse_lines(server.drive(family, command, directory, placement.client, limit_s))
    server.stop()
    about = {
        "server_release": server.release,
        "client": [Path(given.client_java or given.runtime[0]).name, *CLIENT_FLAGS],
        "placement": placement.words,
        "loop": f"open, {given.rate:g} messages per second and user" if given.rate else "closed",
    }
    return [*lines, {"info": about}]


def _server_command(given: argparse.Namespace) -> list[str]:
    options = ["--mode", given.mode, "--connections", str(given.connections), "--until-input-ends"]
    return [*given.runtime, "-cp", given.jar, SERVER, *options]


def _client_command(given: argparse.Namespace, port: int, control: int) -> list[str]:
    java = given.client_java or given.runtime[0]
    options = {
        "--server": f"127.0.0.1:{port}",
        "--control": control,
        "--connections": given.connections,
        "--room": given.room,
        "--rate": given.rate,
        "--warmup-seconds": given.warmup_seconds,
        "--seconds": given.seconds,
        "--iterations": given.iterations,
        "--seed": given.seed,
        "--mode": given.mode,
    }
    told = [str(part) for pair in options.items() for part in pair]
    return [java, *CLIENT_FLAGS, "-cp", given.jar, CLIENT, "--until-input-ends", *told]


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="session", description="Run the chat server on a JVM and measure it.", usage="session [options] -- JVM [flag ...]"
    )  # fmt: skip
    parser.add_argument("--jar", required=True, help="path of regatta-chat.jar")
    parser.add_argument("--mode", required=True, choices=MODES)
    parser.add_argument("--connections", type=_whole(1, 1_000_000), default=800, help="number of users (800)")
    parser.add_argument("--room", type=_whole(1, 1000), default=20, help="users per room (20)")
    parser.add_argument(
        "--rate",
        type=_number(1e6),
        default=0.0,
        help="messages per second and user; 0 (default): closed loop",
    )
    parser.add_argument("--seconds", type=_number(3600.0), default=3.0, help="length of a window (3)")
    parser.add_argument(
        "--warmup-seconds", type=_number(3600.0), default=1.0, help="warm-up before the first window (1)"
    )
    parser.add_argument("--iterations", type=_whole(1, 100), default=1, help="number of windows (1)")
    parser.add_argument(
        "--seed",
        type=_whole(-(2**63), 2**63 - 1),
        default=_seed(),
        help="seed of the send schedule (REGATTA_SEED, or 1)",
    )
    parser.add_argument(
        "--pin", action="store_true", help="pin server and client to separate halves of the CPUs"
    )
    parser.add_argument("--client-java", help="java program of the client (default: that of the server)")
    parser.add_argument("--probe", action="store_true", help="only check whether this JVM supports the mode")
    own, jvm = list(arguments), []
    if "--" in own:
        cut = own.index("--")
        own, jvm = own[:cut], own[cut + 1 :]
    given = parser.parse_args(own)
    if not jvm:
        parser.error("expected `-- JVM [flag ...]` at the end")
    given.runtime = jvm
    return given


def _seed() -> str:
    return os.environ.get("REGATTA_SEED") or "1"


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text[1:] if low < 0 and text.startswith("-") else text
        if not (digits.isascii() and digits.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"expected an integer from {low} to {high}, got {text!r}")
        return int(text)

    return parse


def _number(high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0.0 <= value <= high:
            raise argparse.ArgumentTypeError(f"expected a number from 0 to {high:g}, got {text!r}")
        return value

    return parse


def _stop(number: int, frame: object) -> None:
    """End the run; its child processes are ended on exit."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
