#!/usr/bin/env python3
"""Stands for perf where a machine has no counters: obeys `perf stat --control` and writes what perf's manual says, made up.

Asked of a program that ends at once, it lacks the events that FAKE_PERF_LACKS names. Attached, it counts 1 for each turn it was
switched on and off, times a number for each event; where an event is of several groups, in the second twice as much as in the
first and so on, as if there had been more to count in its slices of time. FAKE_PERF_LOG gets every command.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time

NUMBERS = {
    "cycles:u": 3000,
    "instructions:u": 1000,
    "cycles:k": 8000,
    "instructions:k": 2000,
    "branches:u": 200,
}
#: as perf has it where counters are shared: 25 % of the time, and less
PERCENT = {"branches:u": "25.00", "dTLB-load-misses:u": "12.00"}


def lines(events: list[str], lacking: list[str], times: int) -> str:
    text = ""
    for place, event in enumerate(events):
        turn = 1 + events[:place].count(event)
        if event in lacking:
            text += f"<not supported>,,{event},0,100.00,,\n"
        else:
            text += (
                f"{NUMBERS.get(event, 10) * times * turn},,{event},1000000,{PERCENT.get(event, '100.00')},,\n"
            )
    return text


def attached(options: dict[str, str], events: list[str]) -> None:
    control, ack = options["--control"].removeprefix("fifo:").split(",")
    commands, answers = os.open(control, os.O_RDWR | os.O_NONBLOCK), os.open(ack, os.O_RDWR | os.O_NONBLOCK)
    times, on, ended = 0, False, []
    signal.signal(signal.SIGINT, lambda *_: ended.append(True))
    while not ended:
        try:
            said = os.read(commands, 64).decode().strip()
        except BlockingIOError:
            time.sleep(0.001)
            continue
        with open(os.environ["FAKE_PERF_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{os.path.basename(control)} {said} {options['-p']}\n")
        times += on and said == "disable"
        on = said == "enable"
        os.write(answers, b"ack\n\0")
    with open(options["-o"], "w", encoding="utf-8") as output:
        output.write("# started on Sat Nov 21 12:00:00 2026\n\n" + lines(events, [], times))


def main() -> int:
    arguments = sys.argv[2:]
    options = {name: value for name, value in itertools.pairwise(arguments) if name.startswith("-")}
    events = options["-e"].replace("{", "").replace("}", "").split(",")
    if "-p" in options:
        attached(options, events)
        return 0
    refused = os.environ.get("FAKE_PERF_REFUSES")
    if refused and events[0].endswith(refused):
        print(
            "Error:\nAccess to performance monitoring and observability operations is limited.",
            file=sys.stderr,
        )
        return 255
    if os.environ.get("FAKE_PERF_HAS_NO_ROOM_FOR", "none") in events and "{" in options["-e"]:
        print(f"Error:\nThe {events[0]} event is not supported.", file=sys.stderr)
        return 255
    sys.stderr.write(lines(events, os.environ.get("FAKE_PERF_LACKS", "").split(), 1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
