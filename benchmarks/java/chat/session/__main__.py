"""One run of the chat benchmark: starts a server, drives it by a client, and reports both in the lines of docs/protocol.md.

    python3 benchmarks/java/chat/session --jar regatta-chat.jar --mode virtual --connections 800 -- java -Xmx512m

What follows `--` is the measured JVM with its flags: the server runs under it. The client is a second JVM of the same program
with flags of its own, always the same. Standard library only, Python 3.9 and later.
"""

from __future__ import annotations

import sys

# The folder may be one that must not be written to.
sys.dont_write_bytecode = True

import argparse  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import tempfile  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402

from counters import Counters  # noqa: E402
from processes import Failed, Family, Placement, probe, start_server  # noqa: E402
from results import parse_lines, write_lines  # noqa: E402

MODES = ("platform", "virtual", "selector")
SERVER = "org.regatta.bench.chat.ChatServer"
CLIENT = "org.regatta.bench.chat.ChatClient"
#: The client needs little and must not pause: no flags of the measured JVM, so that these change the server alone.
CLIENT_FLAGS = ("-XX:+UseSerialGC", "-Xms256m", "-Xmx256m")
#: beyond warm-up and windows: starting, connecting thousands, and hearing the rest
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
    counters = Counters(given.perf, directory, given.iterations)
    server = start_server(family, _server_command(given, counters), directory, placement.server)
    counters.attach(family, server.pid)
    command = _client_command(given, server.port, server.control)
    limit_s = given.warmup_seconds + given.iterations * (given.seconds + 60) + CLIENT_EXTRA_S
    lines = parse_lines(server.drive(family, command, directory, placement.client, limit_s))
    counted = counters.collect()
    server.stop()
    about = {
        "server_release": server.release,
        "client": [Path(given.client_java or given.runtime[0]).name, *CLIENT_FLAGS],
        "placement": placement.words,
        "loop": f"open, {given.rate:g} messages a second of each user" if given.rate else "closed",
        "counters": counters.told(),
    }
    return [*lines, *counted.lines(lines, given.connections), {"info": about}]


def _server_command(given: argparse.Namespace, counters: Counters) -> list[str]:
    fifos = ["--counters", str(counters.fifos)] if counters.fifos else []
    options = ["--mode", given.mode, "--connections", str(given.connections), "--until-input-ends", *fifos]
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
        prog="session", description="Runs the chat server under a JVM and measures it.", usage="session [options] -- JVM [flag ...]"
    )  # fmt: skip
    parser.add_argument("--jar", required=True, help="regatta-chat.jar")
    parser.add_argument("--mode", required=True, choices=MODES)
    parser.add_argument("--connections", type=_whole(1, 1_000_000), default=800, help="users (800)")
    parser.add_argument("--room", type=_whole(1, 1000), default=20, help="users of a room (20)")
    parser.add_argument(
        "--rate",
        type=_number(1e6),
        default=0.0,
        help="messages a second of each user; 0 (default): a closed loop",
    )
    parser.add_argument("--seconds", type=_number(3600.0), default=3.0, help="of a window (3)")
    parser.add_argument("--warmup-seconds", type=_number(3600.0), default=1.0, help="before the first (1)")
    parser.add_argument("--iterations", type=_whole(1, 100), default=1, help="windows (1)")
    parser.add_argument("--seed", type=_whole(-(2**63), 2**63 - 1), default=_seed(), help="of planned times")
    parser.add_argument(
        "--pin", action="store_true", help="server and client on halves of the CPUs of their own"
    )
    parser.add_argument(
        "--perf", default="perf", help="program that counts hardware events; `none`: do not count"
    )
    parser.add_argument("--client-java", help="program of the client's JVM (the server's)")
    parser.add_argument("--probe", action="store_true", help="only say whether this JVM can do the mode")
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
            raise argparse.ArgumentTypeError(f"expected a whole number from {low} to {high}, got {text!r}")
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
    """Ends the run; what was started is ended on the way out."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
