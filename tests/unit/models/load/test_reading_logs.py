"""Logs are read as far as they can be: what is no request is counted, and nothing in a line is more than data."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from pathlib import Path

import pytest

from helpers.request_logs import BEGIN_S, as_combined, clf_time, line, read_text, rows
from regatta.host.errors import RegattaError
from regatta.models.load import logs
from regatta.models.load.logs import MOST_LINE_BYTES, Read, read_logs

GOOD = "".join(line(at, f"192.0.2.{at % 5}", f"/page-{at % 7}", size=at) for at in range(50))
_NUMBERS = random.Random(1)
#: does not compress well
TEXT = "".join(line(at, path=f"/{_NUMBERS.randbytes(8).hex()}") for at in range(1000))
HOSTILE = [
    "'; drop table lines; --",
    "${jndi:ldap://example.org/x}",
    "$(touch regatta-was-here)`touch regatta-was-here`; touch regatta-was-here |",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\x1b[2J\x1b]0;title\x07\x1b[31m",
    "\u202etxt.exe\u2066",
    "{{7*7}} %s %n %(x)s {0}",
    "../../../../etc/passwd\0",
    "a" * 20_000,
    "() { :;}; /bin/true",
    "\ud7ff\ufffe\U0010ffff",
]


def _same(read: Read) -> list[tuple[object, ...]]:
    return rows(read, "at_us, client, object, method, status, bytes")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    return _same(read_text(tmp_path_factory.mktemp("plain"), GOOD))


# --- files -----------------------------------------------------------------------------------------------


def test_a_log_without_an_end_of_its_last_line_is_read_in_full(
    tmp_path: Path, plain: list[tuple[object, ...]]
) -> None:
    assert _same(read_text(tmp_path, GOOD.rstrip("\n"))) == plain


def test_ends_of_lines_of_windows_and_empty_lines_change_nothing(
    tmp_path: Path, plain: list[tuple[object, ...]]
) -> None:
    read = read_text(tmp_path, "\r\n \t\r\n" + GOOD.replace("\n", "\r\n\r\n\n"))
    assert _same(read) == plain
    assert (read.lines, read.broken) == (50, [])


@pytest.mark.parametrize("members", [1, 20])
def test_compressed_logs_of_any_number_of_members_are_read(
    members: int, tmp_path: Path, plain: list[tuple[object, ...]]
) -> None:
    raw = GOOD.encode()
    step = -(-len(raw) // members)
    packed = b"".join(gzip.compress(raw[at : at + step]) for at in range(0, len(raw), step))
    read = read_text(tmp_path, packed)
    assert _same(read) == plain
    assert read.broken == []


def test_padding_after_compressed_data_is_ignored(tmp_path: Path, plain: list[tuple[object, ...]]) -> None:
    read = read_text(tmp_path, gzip.compress(GOOD.encode()) + b"\0" * 1000)
    assert (_same(read), read.broken) == (plain, [])


def test_of_a_compressed_log_that_ends_early_the_begin_is_read(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT.encode())
    read = read_text(tmp_path, packed[: len(packed) // 2])
    assert 100 < read.requests < 1000
    assert {(one.count, one.where) for one in read.broken} >= {(1, str(tmp_path / "0.log"))}


@pytest.mark.parametrize("damage", ["bits", "middle", "after"])
def test_damaged_compressed_data_ends_a_log_and_is_counted(damage: str, tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TEXT.encode()))
    half = len(packed) // 2
    if damage == "bits":
        packed[half : half + 1000] = random.Random(5).randbytes(1000)
        with pytest.raises(zlib.error):
            zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(packed)
    elif damage == "middle":
        packed[half:] = b"\xff" * half
    else:
        packed += b"no member"
    read = read_text(tmp_path, bytes(packed))
    assert read.requests > 100
    assert sum(one.where == str(tmp_path / "0.log") for one in read.broken) == 1


def test_each_file_that_ends_early_is_counted(tmp_path: Path) -> None:
    cut = gzip.compress(GOOD.encode())[:-4]
    read = read_text(tmp_path, cut, cut)
    assert read.requests == 100
    assert [(one.count, Path(one.where).name) for one in read.broken] == [(1, "0.log"), (1, "1.log")]


@pytest.mark.parametrize(
    "content", [b"", b"\n\n\n", b" \r\n\t\n", b"\x1f\x8b", gzip.compress(b"", mtime=0), b"\0"]
)
def test_a_log_without_any_request_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(RegattaError) as refused:
        read_text(tmp_path, content)
    assert refused.value.problems[0].where == str(tmp_path / "0.log")
    assert refused.value.exit_code == 3


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \r\n"])
def test_an_empty_file_among_others_changes_nothing(
    content: bytes, tmp_path: Path, plain: list[tuple[object, ...]]
) -> None:
    read = read_text(tmp_path, content, GOOD, content)
    assert (_same(read), read.broken, read.formats) == (plain, [], ["combined"])


def test_a_device_that_never_ends_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegattaError, match="not a regular file"):
        read_logs([Path("/dev/zero")], tmp_path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(RegattaError) as refused:
        read_logs([tmp_path / "folder"], tmp_path)
    assert refused.value.problems[0].where == str(tmp_path / "folder")


def test_files_of_different_formats_are_one_log(tmp_path: Path) -> None:
    common = f'192.0.2.1 - - [{clf_time(BEGIN_S)}] "GET /a HTTP/1.1" 200 5\n'
    keys = {"msec": f"{BEGIN_S}.5", "request": "GET /a HTTP/1.1", "status": 200, "remote_addr": "192.0.2.1"}
    read = read_text(tmp_path, line(path="/a"), common, json.dumps(keys))
    assert read.formats == ["combined", "common", "JSON lines"]
    assert len({number for (number,) in rows(read, "object")}) == 1
    assert read.resolution_us == 1


# --- lines -----------------------------------------------------------------------------------------------


def test_what_a_client_sends_is_only_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = [line(path=f"/{text}", referer=text, agent=text, user=f"x{at}") for at, text in enumerate(HOSTILE)]
    read = read_text(tmp_path, "".join(log), names=True)
    assert (read.lines, read.requests, read.broken) == (len(HOSTILE), len(HOSTILE), [])
    assert rows(read, "path") == [(f"/{text}".split("?")[0],) for text in HOSTILE]
    assert not list(tmp_path.rglob("regatta-was-here"))


def test_what_a_client_sends_is_only_data_in_json(tmp_path: Path) -> None:
    keys = {"msec": BEGIN_S, "method": "GET", "status": 200}
    log = [json.dumps(keys | {"uri": f"/{text}", "user_agent": text}) for text in HOSTILE]
    read = read_text(tmp_path, "\n".join(log), names=True)
    assert (read.lines, read.requests, read.broken) == (len(HOSTILE), len(HOSTILE), [])


def test_what_is_no_request_of_http_is_counted(tmp_path: Path) -> None:
    lines = [
        r"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03",
        r"\x03\x00\x00/*\xE0\x00\x00\x00\x00\x00Cookie: mstshash=Administr",
        "\x16\x03\x01\x02",
        "-",
        "",
        "GET",
        "HTTP/1.1",
        "GET  HTTP/1.1",
        "quit",
        "get / HTTP/1.1",
        "A" * 40 + " / HTTP/1.1",
    ]
    read = read_text(tmp_path, GOOD + "".join(line(60, status=400, request=one) for one in lines))
    assert read.requests == 50
    assert [(one.count, one.where) for one in read.broken] == [(len(lines), f"{tmp_path / '0.log'}:51")]


def test_a_request_line_has_method_path_and_query(tmp_path: Path) -> None:
    expected = [
        ("GET / HTTP/1.1", ("GET", "/", False)),
        ("GET /", ("GET", "/", False)),
        ("HEAD /a b/c HTTP/2.0", ("HEAD", "/a b/c", False)),
        ("GET http://example.org/x?y HTTP/1.1", ("GET", "http://example.org/x", True)),
        ("CONNECT example.org:443 HTTP/1.1", ("CONNECT", "example.org:443", False)),
        ("BREW /pot HTTP/1.1", ("other", "/pot", False)),
        ("OPTIONS * HTTP/1.1", ("OPTIONS", "*", False)),
        ("GET /a?b?c=[d] HTTP/1.1", ("GET", "/a", True)),
        ("GET /%27%3B HTTP/1.1", ("GET", "/%27%3B", False)),
    ]
    read = read_text(tmp_path, "".join(line(request=one) for one, _ in expected), names=True)
    assert rows(read, "method, path, query") == [row for _, row in expected]


def test_bytes_that_are_no_text_do_not_end_a_log(tmp_path: Path) -> None:
    odd = line(60, path="/<>").encode().replace(b"<>", b"\xff\xfe\xc3(\xa0\0")
    read = read_text(tmp_path, GOOD.encode() + odd + line(61).encode())
    assert (read.requests, read.broken) == (52, [])


def test_zeros_before_a_log_cost_one_client(tmp_path: Path) -> None:
    # A log that is cut while its server writes begins with a hole.
    read = read_text(tmp_path, b"\0" * 5000 + GOOD.encode())
    assert read.requests == 50


@pytest.mark.parametrize("kind", ["request", "zeros", "last", "json"])
def test_a_line_of_megabytes_is_counted_and_nothing_else_is_lost(kind: str, tmp_path: Path) -> None:
    many = 3 * MOST_LINE_BYTES
    long = {
        "request": line(60, path="/" + "a" * many),
        "zeros": "\0" * many + "\n",
        "last": "y" * many,
        "json": '{"' + "z" * many + '": 1}\n',
    }[kind]
    read = read_text(tmp_path, GOOD + (long + line(61) if kind != "last" else line(61) + long))
    assert (read.lines, read.requests) == (52, 51)
    assert [(one.count, one.where) for one in read.broken] == [
        (1, f"{tmp_path / '0.log'}:{52 if kind == 'last' else 51}")
    ]
    assert len(read.broken[0].example) <= 200


def test_broken_lines_are_counted_by_reason_with_the_place_of_the_first(tmp_path: Path) -> None:
    noise, time, request = "no line of a log\n", line().replace("Nov", "Foo"), line(request="-")
    first = GOOD + "\n" + GOOD
    second = noise + GOOD + request + noise + time
    read = read_text(tmp_path, first, "", second, GOOD + request)
    assert (read.lines, read.requests) == (205, 200)
    found = {one.where: (one.count, one.example[:5]) for one in read.broken}
    where = str(tmp_path / "2.log")
    assert found == {
        f"{where}:1": (2, "no li"),
        f"{where}:52": (2, "192.0"),
        f"{where}:54": (1, "192.0"),
    }
    assert len({one.reason for one in read.broken}) == 3


def test_numbers_beyond_all_sense_end_nothing(tmp_path: Path) -> None:
    expected: list[tuple[dict[str, object], tuple[object, ...] | None]] = [
        ({}, (BEGIN_S * 1_000_000, 250_000, 12)),
        ({"ts": "1e300"}, None),
        ({"ts": "NaN"}, None),
        ({"ts": "infinity"}, None),
        ({"ts": -1}, None),
        ({"ts": None}, None),
        ({"ts": [1]}, None),
        ({"status": 99}, None),
        ({"status": 1e9}, None),
        ({"status": None}, None),
        ({"duration": 1e300}, (BEGIN_S * 1_000_000, None, 12)),
        ({"duration": "NaN"}, (BEGIN_S * 1_000_000, None, 12)),
        ({"duration": -3}, (BEGIN_S * 1_000_000, None, 12)),
        ({"duration": "fast"}, (BEGIN_S * 1_000_000, None, 12)),
        ({"size": -1}, (BEGIN_S * 1_000_000, 250_000, 0)),
        ({"size": 10**30}, (BEGIN_S * 1_000_000, 250_000, 0)),
        ({"size": 10**18}, (BEGIN_S * 1_000_000, 250_000, 2**50)),
        ({"size": None}, (BEGIN_S * 1_000_000, 250_000, 0)),
    ]
    good = {"ts": BEGIN_S, "method": "GET", "uri": "/", "status": 200, "size": 12, "duration": 0.25}
    read = read_text(tmp_path, "\n".join(json.dumps(good | keys) for keys, _ in expected))
    found = {number: row for number, *row in rows(read, "line, at_us, duration_us, bytes")}
    assert found == {at: list(row) for at, (_, row) in enumerate(expected, 1) if row is not None}
    assert sum(one.count for one in read.broken) == sum(row is None for _, row in expected)


def test_a_status_that_is_no_number_is_counted(tmp_path: Path) -> None:
    read = read_text(tmp_path, line() + line().replace(" 200 ", " abc ") + line().replace(" 200 ", " 99 "))
    assert (read.requests, [one.count for one in read.broken]) == (1, [2])


def test_digits_without_end_are_no_error(tmp_path: Path) -> None:
    many = "9" * 400
    read = read_text(tmp_path, line(more=" 5") + line(1, size=many, more=f" {many}"))
    assert rows(read, "duration_us, bytes") == [(5, 100), (None, 0)]


# --- times -----------------------------------------------------------------------------------------------


def test_time_zones_are_converted_to_utc(tmp_path: Path) -> None:
    read = read_text(tmp_path, "".join(line(7, hours=hours) for hours in (0, -7, 14)))
    assert rows(read, "at_us") == [((BEGIN_S + 7) * 1_000_000,)] * 3
    assert read.zones == 3


def test_times_of_json_are_read_in_any_usual_form(tmp_path: Path) -> None:
    times = ["2026-11-24T10:00:00Z", "2026-11-24T11:30:00+01:30", "2026-11-24T05:00:00.000-05:00", "2026-11-24 10:00:00+00", clf_time(BEGIN_S, 3), BEGIN_S, f"{BEGIN_S}.0"]  # fmt: skip
    keys = {"method": "GET", "uri": "/", "status": 200}
    read = read_text(tmp_path, "\n".join(json.dumps(keys | {"time": time}) for time in times))
    assert rows(read, "at_us") == [(BEGIN_S * 1_000_000,)] * len(times)


def test_lines_in_disorder_are_counted(tmp_path: Path) -> None:
    read = read_text(tmp_path, "".join(line(at) for at in (0, 200, 139, 140, 300, 239, 1)))
    assert read.disordered == 3
    assert read_text(tmp_path, GOOD).disordered == 0


def test_the_order_of_files_does_not_change_the_requests(tmp_path: Path) -> None:
    halves = GOOD.splitlines(keepends=True)
    first, second = "".join(halves[:25]), "".join(halves[25:])
    columns = "at_us, client, object, bytes"
    straight = rows(read_text(tmp_path, first, second), columns, order="at_us")
    assert rows(read_text(tmp_path, second, first), columns, order="at_us") == straight


def test_the_resolution_is_that_of_the_times(tmp_path: Path) -> None:
    assert read_text(tmp_path, GOOD).resolution_us == 1_000_000
    keys = {"ts": BEGIN_S + 0.25, "method": "GET", "uri": "/", "status": 200}
    assert read_text(tmp_path, json.dumps(keys)).resolution_us == 1


# --- chunks and names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 64, 150])
@pytest.mark.parametrize("packed", [False, True])
def test_the_borders_of_chunks_change_nothing(
    size: int, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (line() + "broken\n\n" + line(1, path="/ü☃" + "b" * 300) + line(2) + "cut").encode()
    content = gzip.compress(text[:100]) + gzip.compress(text[100:]) if packed else text
    whole = read_text(tmp_path, content)
    monkeypatch.setattr(logs, "_CHUNK", size)
    monkeypatch.setattr(logs, "_PACKED", size)
    found = read_text(tmp_path, content)
    assert rows(found, "*") == rows(whole, "*")
    assert (found.broken, found.lines) == (whole.broken, whole.lines)
    assert [(one.count, one.where) for one in found.broken] == [(2, f"{tmp_path / '0.log'}:2")]


@pytest.mark.parametrize("size", [700, 5000])
def test_the_borders_of_chunks_do_not_change_which_lines_are_too_long(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MOST_LINE_BYTES", 1000)
    monkeypatch.setattr(logs, "_CHUNK", size)
    base = len(line(path=""))
    fits, longer = "a" * (1001 - base), "a" * (1002 - base)
    text = "".join(line(at, path=path) for at, path in enumerate([fits, longer, "/", "a" * 4000, "/", fits]))
    read = read_text(tmp_path, text)
    assert (read.lines, read.requests) == (6, 4)
    assert [(one.count, one.where) for one in read.broken] == [(2, f"{tmp_path / '0.log'}:2")]


def test_paths_are_kept_only_when_asked_for(tmp_path: Path) -> None:
    assert {path for (path,) in rows(read_text(tmp_path, GOOD), "path")} == {None}
    kept = {path for (path,) in rows(read_text(tmp_path, GOOD, names=True), "path")}
    assert kept == {f"/page-{number}" for number in range(7)}


def test_without_names_no_text_of_a_good_line_is_in_the_database(tmp_path: Path) -> None:
    text = as_combined([{"ts": BEGIN_S + at, "client": "198.51.100.77", "path": "/very-secret", "status": 200, "size": 1} for at in range(200)])  # fmt: skip
    read = read_text(tmp_path, text)
    read.database.execute("checkpoint")
    read.database.close()
    for file in tmp_path.rglob("requests.duckdb*"):
        content = file.read_bytes()
        assert b"very-secret" not in content
        assert b"198.51.100.77" not in content


def test_progress_reaches_the_size_of_all_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(GOOD)
    seen: list[tuple[int, int]] = []
    read_logs(
        [tmp_path / "a", tmp_path / "b"], tmp_path, progress=lambda done, total: seen.append((done, total))
    )
    total = 2 * len(GOOD)
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
