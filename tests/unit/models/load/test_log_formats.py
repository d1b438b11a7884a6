"""Formats of access logs: the same request in any of them gives the same row, by the fast path and by the pattern."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.request_logs import BEGIN_S, clf_time, read_text, rows
from regatta.host.errors import RegattaError
from regatta.models.load.formats import KNOWN, LogFormat, find_format, parse_format
from regatta.models.load.logs import read_logs
from regatta.models.load.visits import Pauses, divide

NGINX = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
TIME = clf_time(BEGIN_S)
COMBINED = f'192.0.2.7 - - [{TIME}] "GET /a?b=1 HTTP/1.1" 200 12 "-" "agent"'
COLUMNS = "at_us, duration_us, method, path, query, status, bytes"
ROW = (BEGIN_S * 1_000_000, None, "GET", "/a", True, 200, 12)
TIMED = (ROW[0], 250_000, *ROW[2:])
SIZELESS = (*ROW[:6], 0)
CADDY = {
    "level": "info",
    "ts": float(BEGIN_S),
    "logger": "http.log.access",
    "msg": "handled request",
    "request": {
        "remote_ip": "192.0.2.7",
        "proto": "HTTP/2.0",
        "method": "GET",
        "host": "example.org",
        "uri": "/a?b=1",
        "headers": {"User-Agent": ["agent"]},
    },
    "duration": 0.25,
    "size": 12,
    "status": 200,
    "resp_headers": {"Server": ["Caddy"]},
}
OF_NGINX = {
    "time_iso8601": "2026-11-24T10:00:00+00:00",
    "remote_addr": "192.0.2.7",
    "request": "GET /a?b=1 HTTP/1.1",
    "status": "200",
    "body_bytes_sent": "12",
    "request_time": "0.250",
    "http_user_agent": "agent",
}


@pytest.mark.parametrize(
    ("line", "row", "at_end"),
    [
        (COMBINED, ROW, False),
        (f'192.0.2.7 - - [{TIME}] "GET /a?b=1 HTTP/1.1" 200 12', ROW, False),
        (f'example.org:443 192.0.2.7 - - [{TIME}] "GET /a?b=1 HTTP/1.1" 200 12 "-" "agent"', ROW, False),
        (COMBINED + " 250000", TIMED, False),
        (COMBINED + " 0.250", TIMED, True),
        (json.dumps(CADDY), TIMED, True),
        (json.dumps(OF_NGINX), TIMED, True),
        (
            json.dumps(
                {
                    "time": TIME,
                    "method": "GET",
                    "url": "/a?b=1",
                    "status": 200,
                    "bytes": 12,
                    "duration_ms": 250,
                }
            ),
            TIMED,
            True,
        ),
    ],
    ids=["combined", "common", "vhost", "apache-us", "nginx-s", "caddy", "nginx-json", "other-json"],
)
def test_the_format_of_a_log_is_found(
    line: str, row: tuple[object, ...], at_end: bool, tmp_path: Path
) -> None:
    read = read_text(tmp_path, f"{line}\n" * 2, names=True)
    assert rows(read, COLUMNS) == [row, row]
    assert (read.at_end, read.broken, len(read.formats)) == (at_end, [], 1)


@pytest.mark.parametrize(
    ("text", "line", "row"),
    [
        ("combined", COMBINED, ROW),
        (NGINX, COMBINED, ROW),
        (NGINX.replace("$status", "${status}"), COMBINED, ROW),
        (NGINX + " $request_time", COMBINED + " 0.250", TIMED),
        (NGINX + " rt=$request_time", COMBINED + " rt=0.250", TIMED),
        (KNOWN["combined"] + " %D", COMBINED + " 250000", TIMED),
        (KNOWN["combined"] + " %{us}T", COMBINED + " 250000", TIMED),
        (KNOWN["combined"] + " %{ms}T", COMBINED + " 250", TIMED),
        (KNOWN["common"] + " %T", COMBINED[: -len(' "-" "agent"')] + " 0", (ROW[0], 0, *ROW[2:])),
        (
            '%{X-Forwarded-For}i %h %t "%r" %!200,304>s %O %%',
            f'9.9.9.9, 8.8.8.8 192.0.2.7 [{TIME}] "GET /a?b=1 HTTP/1.1" 200 12 %',
            ROW,
        ),
        ("%h %t %m %U%q %>s %B", f"192.0.2.7 [{TIME}] GET /a?b=1 200 12", ROW),
        ("%t %h %m %U %>s", f"[{TIME}] 192.0.2.7 GET /a 200", (*SIZELESS[:4], False, *SIZELESS[5:])),
        ("%h\t%t\t%m\t%U%q\t%s\t%b", f"192.0.2.7\t[{TIME}]\tGET\t/a?b=1\t200\t12", ROW),
        ("%{sec}t %h \"%r\" %s %b", f'{BEGIN_S} 192.0.2.7 "GET /a?b=1 HTTP/1.1" 200 12', ROW),
        ("$time_local $remote_addr $request_method $request_uri $status", f"{TIME} 192.0.2.7 GET /a?b=1 200", SIZELESS),
        ("$msec|$remote_addr|$request|$status|$bytes_sent".replace("$request|", '"$request"|'), f'{BEGIN_S}.000|192.0.2.7|"GET /a?b=1 HTTP/1.1"|200|12', ROW),
        ("[$time_iso8601] $remote_addr \"$request\" $status $bytes_sent", '[2026-11-24T12:00:00+02:00] 192.0.2.7 "GET /a?b=1 HTTP/1.1" 200 12', ROW),
    ],
)  # fmt: skip
def test_a_given_format_is_used(text: str, line: str, row: tuple[object, ...], tmp_path: Path) -> None:
    read = read_text(tmp_path, f"{line}\n", given=text, names=True)
    assert rows(read, COLUMNS) == [row]
    assert read.broken == []
    if parse_format(text).pieces:
        # With a backslash in a line, its parts are those of the pattern.
        by_pattern = read_text(tmp_path, f"{line}\n", given=_by_pattern(parse_format(text)), names=True)
        assert rows(by_pattern, COLUMNS) == [row]


@pytest.mark.parametrize(
    "text",
    ["", "combine", "%h %u", "%h %t %>s", '%h %t "%r"', '%h "%r" %>s', "$status $request", "%{%Y}t %r %s", '"' * 7],
)  # fmt: skip
def test_a_format_without_time_status_and_request_is_refused(text: str) -> None:
    with pytest.raises(RegattaError) as refused:
        parse_format(text)
    assert refused.value.exit_code == 3
    assert refused.value.problems[0].where == "--format"


@pytest.mark.parametrize(
    "lines", [["Dear reader,", "this is no log."], ["x"], ['"""""'], ["\0"], ["[] {}"], [COMBINED[:-1]] * 20]
)
def test_an_unknown_log_is_refused_with_its_name(lines: list[str]) -> None:
    with pytest.raises(RegattaError) as refused:
        find_format(lines, "some.log")
    assert refused.value.exit_code == 3
    assert refused.value.problems[0].where == "some.log"


@pytest.mark.parametrize(
    "lines",
    [
        ['{"a": 1}'],
        ["{", "{}", '{"status": 200'],
        ['{"status": 200, "ts": 1}'],
        ['{"request": {}, "ts": 1, "status": 1}'],
    ],
)
def test_json_lines_without_what_a_model_needs_are_refused(lines: list[str]) -> None:
    with pytest.raises(RegattaError) as refused:
        find_format(lines, "some.log")
    assert refused.value.problems[0].where == "some.log"


def test_a_tenth_of_the_lines_is_enough_to_find_a_format() -> None:
    assert find_format([COMBINED, *["broken"] * 9], "some.log").name == "combined"
    with pytest.raises(RegattaError):
        find_format([COMBINED, *["broken"] * 10], "some.log")


def test_json_of_any_depth_is_no_error() -> None:
    deep = '{"a":' + "[" * 200_000
    assert find_format([deep, json.dumps(OF_NGINX), json.dumps(OF_NGINX)], "some.log").name == "JSON lines"


def test_many_spaces_in_the_name_of_a_user_do_not_keep_the_search_for_a_format_from_ending() -> None:
    # A backtracking pattern takes hours for these lines.
    lines = [f'::1 - {"a " * 4000} [{TIME}] "GET / HTTP/1.1" 200 12 "-" "agent" more', f"::1 - {'a ' * 4000}"]
    assert find_format([*lines, COMBINED], "some.log").name == "combined"


def test_the_names_of_json_keys_are_only_data(tmp_path: Path) -> None:
    hostile = {"a'); drop table lines; --": 1, 'b"]': {"c'": 2}, "$given": 3, "status'": 4, "\\": 5}
    read = read_text(tmp_path, json.dumps(hostile | OF_NGINX) + "\n", names=True)
    assert rows(read, COLUMNS) == [TIMED]


# --- random fields ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fields:
    """Of one line."""

    client: str
    user: str
    seconds: int
    hours: int
    method: str
    path: str
    query: str
    status: int
    size: int | None
    referer: str
    agent: str
    duration_us: int


def _escaped(text: str) -> str:
    """As Apache writes it."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12)
_HOSTILE = st.sampled_from(
    ['"', "\\", '\\"', "[", "]", "] [", "'; drop table lines; --", "<b>", "%h", "$status", "a b"]
)
_FREE = st.lists(_TEXT | _HOSTILE, max_size=3).map("".join)
_PATH = _FREE.map(lambda text: "/" + text.replace("?", "").strip()).map(str.strip)
FIELDS = st.builds(
    Fields,
    client=st.one_of(
        st.ip_addresses().map(str), st.sampled_from(["localhost", "host-1.example.org", "fe80::1%eth0"])
    ),
    user=st.one_of(
        st.just("-"),
        _TEXT.map(lambda text: "".join(text.replace("[", "").replace("]", "").split(" ")) or "-"),
        st.sampled_from(["bob", "bob smith", 'a "b" c', "back\\slash", "Zoë ☃", "a'b"]),
    ),
    seconds=st.integers(0, 10**8),
    hours=st.integers(-12, 14),
    method=st.sampled_from(["GET", "HEAD", "POST", "OPTIONS"]),
    path=_PATH,
    query=st.sampled_from(["", "?", "?a=1&b=[2]"]) | _FREE.map(lambda text: "?" + text.strip()),
    status=st.integers(100, 599),
    size=st.none() | st.integers(0, 2**40),
    referer=_FREE,
    agent=_FREE,
    duration_us=st.integers(0, 10**9),
)  # fmt: skip


def _by_pattern(found: LogFormat) -> LogFormat:
    return dataclasses.replace(found, places=(), pieces=0)


FORMATS = {
    "common": ('{client} - {user} [{time}] "{request}" {status} {size}', KNOWN["common"]),
    "combined": ('{client} - {user} [{time}] "{request}" {status} {size} "{referer}" "{agent}"', KNOWN["combined"]),
    "us": ('{client} - {user} [{time}] "{request}" {status} {size} "{referer}" "{agent}" {us}', KNOWN["combined"] + " %D"),
    "vhost": ('[::1]:80 {client} - {user} [{time}] "{request}" {status} {size} "{referer}" "{agent}"', KNOWN["vhost_combined"]),
    "nginx": ('{client} - {user} [{time}] "{request}" {status} {size} "{referer}" "{agent}" {s}', NGINX + " $request_time"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=4)
@given(several=st.lists(FIELDS, min_size=1, max_size=60))
def test_places_and_pattern_give_the_same_parts(name: str, several: list[Fields]) -> None:
    template, text = FORMATS[name]
    written = "".join(
        template.format(
            client=one.client,
            user=_escaped(one.user),
            time=clf_time(BEGIN_S + one.seconds, one.hours),
            request=_escaped(f"{one.method} {one.path}{one.query} HTTP/1.1"),
            status=one.status,
            size="-" if one.size is None else one.size,
            referer=_escaped(one.referer),
            agent=_escaped(one.agent),
            us=one.duration_us,
            s=f"{one.duration_us / 1e6:.3f}",
        )
        + "\n"
        for one in several
    )
    expected = [
        (
            (BEGIN_S + one.seconds) * 1_000_000,
            {"us": one.duration_us, "nginx": round(float(f"{one.duration_us / 1e6:.3f}") * 1e6)}.get(name),
            one.method,
            _escaped(one.path),
            one.query != "",
            one.status,
            one.size or 0,
        )
        for one in several
    ]
    fast = parse_format(text)
    assert fast.pieces
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for used in (fast, _by_pattern(fast)):
            read = read_text(Path(folder), written, given=used, names=True)
            assert read.broken == []
            assert rows(read, COLUMNS) == expected
            found.append(rows(read, "line, client, object"))
            read.database.close()
    assert found[0] == found[1]
    # A client is an address with its program.
    known = {(one.client, _escaped(one.agent) if name != "common" else "") for one in several}
    assert len({client for _, client, _ in found[0]}) == len(known)


@pytest.mark.parametrize(
    ("tail", "begin_us"),
    [
        (" 2500 1767225600123456", 1767225600123456),
        (" 0.002 1767225600.123", 1767225600121000),
    ],
)
def test_an_exact_time_after_the_combined_format_is_used(tmp_path: Path, tail: str, begin_us: int) -> None:
    log = tmp_path / "exact.log"
    log.write_text(
        f'127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET /f/0/8 HTTP/1.1" 200 39408 "-" "s334"{tail}\n'
    )
    read = read_logs([log], tmp_path)
    divide(read, Pauses())
    assert read.database.execute("select at_us from visits").fetchall() == [(begin_us,)]
    assert read.resolution_us == 1
