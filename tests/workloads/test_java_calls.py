"""Applications that spend much of their time in system classes: their calls are those of their work, on old JVMs and new ones,
and the table of calls covers them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from helpers.workloads.java_runs import QUICK, ROOT, Programs, Run, jvm
from regatta.models.system_calls.counting import count_calls
from regatta.models.system_calls.java import Profile, profiler_jar, read_profile, tally_of, with_profiler
from regatta.models.vectors.calls import Seen, Tally, read_calls

TABLE = read_calls(ROOT / "configs" / "primitives" / "java-calls.yml")
#: of size `tiny`
PAGES = 100
#: the table says why it has no rule for them
WITHOUT_RULE = "java.lang.Object.<init>"
LEAST_COVERED = 0.95
PER_CHARACTER = "java.io.BufferedReader.read()I"


def profiled(
    programs: Programs, name: str, program: str = "java", iterations: int = 3
) -> tuple[Run, Profile]:
    command = programs.command(f"apps/{name}", "command", size=2, data_seed=1, iterations=iterations)
    java = with_profiler([program, *command], profiler_jar(), Path("profile.json"))
    run = programs.java(*java[1:2], QUICK, *java[2:], program=program)
    assert run.code == 0, run.stderr
    return run, read_profile(run.directory / "profile.json")


def calls_of_iterations(profile: Profile) -> dict[str, list[int]]:
    """Each method to its calls in the iterations after the first."""
    at = [i for i, window in enumerate(profile.windows) if window.startswith("iteration ")][1:]
    found = {line["method"]: [line["calls"][i] for i in at] for line in profile.methods}
    return {method: calls for method, calls in found.items() if any(calls)}


@pytest.mark.parametrize("name", ["scanner", "crawler", "h2", "hsqldb"])
def test_the_table_covers_the_calls_of_an_application(programs: Programs, name: str) -> None:
    _, profile = profiled(programs, name)
    tally, _ = tally_of(profile, TABLE, 1)
    total = sum(calls for seen, (calls, _) in tally.seen.items() if seen.call != WITHOUT_RULE)
    unknown = Counter(count_calls(tally, TABLE).unknown)
    del unknown[WITHOUT_RULE]
    assert sum(unknown.values()) <= (1 - LEAST_COVERED) * total, unknown.most_common(10)


@pytest.mark.parametrize("name", ["11", "25"])
def test_a_crawl_has_a_connection_for_each_page_and_link_that_leads_nowhere(
    programs: Programs, name: str
) -> None:
    _, profile = profiled(programs, "crawler", jvm(name))
    calls = calls_of_iterations(profile)
    (connections,) = set(calls["java.net.Socket.<init>(Ljava/net/InetAddress;I)V"])
    missing = connections - PAGES
    assert 0 < missing < PAGES
    # Both sides write once for each.
    (written,) = {
        count
        for method, counts in calls.items()
        for count in counts
        if method.endswith("SocketOutputStream.write([BII)V")
    }
    assert written == 2 * connections
    assert calls["java.security.MessageDigest.digest([B)[B"][0] > connections
    assert calls["java.util.zip.CRC32.update([BII)V"] == [PAGES, PAGES]
    assert calls["java.io.FileOutputStream.write([BII)V"] == [PAGES, PAGES]


def test_scanner_and_crawler_read_the_same_pages_character_by_character(programs: Programs) -> None:
    read = {
        name: calls_of_iterations(profiled(programs, name)[1])[PER_CHARACTER]
        for name in ("scanner", "crawler")
    }
    assert read["scanner"] == read["crawler"]
    assert read["scanner"][0] > 1000 * PAGES


def test_a_connection_counts_once_with_all_that_its_cost_includes() -> None:
    calls = {
        "java.net.Socket.<init>": (10, 0),
        "java.net.ServerSocket.accept": (10, 0),
        "java.net.Socket.getInputStream": (20, 0),
        "java.net.Socket.close": (20, 0),
        "java.net.Socket$SocketInputStream.read([BII)I": (20, 4000),
    }
    counted = count_calls(Tally({Seen(call): amounts for call, amounts in calls.items()}, ()), TABLE)
    assert counted.unknown == {}
    entries = {primitive: entry for (primitive, _), entry in counted.entries.items() if entry.count}
    assert {primitive: entry.count for primitive, entry in entries.items()} == {
        "socket_connect": 10,
        # Each connection waits once for its answer.
        "socket_round_trip": 10,
        "socket_read": 20,
    }
    assert sum(amount for _, amount in entries["socket_read"].sizes.values()) == 4000
