"""Talking to InfluxDB: what is refused is known line by line, what fails for a while is tried again, and no secret is shown."""

from __future__ import annotations

import email.utils
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.faulty_proxy import faulty_proxy
from helpers.influx_server import InfluxServer
from regatta.host.errors import RegattaError, StoreError
from regatta.influx.client import Client, Unreachable
from regatta.influx.lines import encode, split_lines
from regatta.influx.points import EVENT, Point
from regatta.influx.responses import NAMED
from regatta.influx.settings import Settings, read_settings

Make = Callable[..., Settings]
#: as InfluxDB 1.x answers
CONFLICT = (
    'field type conflict: input field "v" on measurement "m" is type string, already exists as type integer'
)


@pytest.fixture
def make(influx_server: InfluxServer, tmp_path: Path) -> Make:
    """Settings of a new database; the same one for all of a test's."""
    database = influx_server.new_database()

    def settings(**more: object) -> Settings:
        return read_settings(influx_server.write_settings(tmp_path / "settings", database, **more))  # type: ignore[arg-type]

    return settings


def points(count: int, value: str = "1i", series: str = "m,x=1", start: int = 0) -> list[bytes]:
    return [f"{series} v={value} {start + number}\n".encode() for number in range(count)]


def failure(settings: Settings, lines: list[bytes], **options: float) -> StoreError:
    with pytest.raises(StoreError) as raised:
        Client(settings, **options).write(lines)
    assert raised.value.exit_code == 3
    return raised.value


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=8))
def test_lines_are_told_apart_whatever_is_in_tags_and_strings(texts: list[tuple[str, str, str]]) -> None:
    lines = [
        encode(Point(EVENT, (experiment, host, "plan"), {"text": text, "segment": number}, number))
        for number, (experiment, host, text) in enumerate(texts)
    ]
    assert split_lines(b"".join(lines)) == lines


def test_what_is_no_line_is_a_line_of_its_own() -> None:
    assert split_lines(b"m v=1i 1\nnonsense\n\nm v=2i 2\nend") == [
        b"m v=1i 1\n", b"nonsense\n", b"\n", b"m v=2i 2\n", b"end",
    ]  # fmt: skip


def test_points_of_another_type_are_named_and_all_others_written(
    influx_server: InfluxServer, make: Make
) -> None:
    settings = make()
    client = Client(settings)
    client.write(points(1, start=10_000))
    mixed = [
        line
        for one, two, three in zip(
            points(300), points(300, '"text"', "m,x=2"), points(300, "true", "n,x=1"), strict=True
        )
        for line in (one, two, three)
    ]
    client.write(mixed)
    assert influx_server.counts(settings.database) == {"m,x=1": 301, "n,x=1": 300}
    assert client.refusals.count == 300
    assert [one.line for one in client.refusals.lines] == points(NAMED, '"text"', "m,x=2")
    assert {one.reason for one in client.refusals.lines} == {CONFLICT}


def test_lines_that_are_none_are_named_and_all_others_written(
    influx_server: InfluxServer, make: Make
) -> None:
    settings = make()
    client = Client(settings)
    client.write(
        [*points(50), b"m,x=1 v=\n", *points(50, start=50), b'm,x=2 v="a\nb",w= 7\n', *points(5, start=100)]
    )
    assert influx_server.counts(settings.database) == {"m,x=1": 105}
    assert client.refusals.count == 2
    assert [one.line for one in client.refusals.lines] == [b"m,x=1 v=\n", b'm,x=2 v="a\nb",w= 7\n']
    assert all("missing field value" in one.reason for one in client.refusals.lines)


def test_points_older_than_the_retention_policy_are_named_with_the_reason(
    influx_server: InfluxServer, make: Make
) -> None:
    settings = make(retention_policy="short")
    influx_server.query(f'CREATE RETENTION POLICY short ON "{settings.database}" DURATION 1h REPLICATION 1')
    client = Client(settings)
    client.write(points(30) + points(40, start=time.time_ns()))
    assert (client.refusals.count, client.refusals.reason) == (30, "points beyond retention policy")
    (one,) = influx_server.query('SELECT count(v) FROM short."m"', settings.database)
    assert one["values"][0][1] == 40


def test_a_request_that_is_too_large_is_sent_in_pieces(influx_server: InfluxServer, make: Make) -> None:
    with faulty_proxy(influx_server.port, ["413", "413"]) as proxy:
        settings = make(url=proxy.url)
        client = Client(settings)
        client.write(points(100))
        assert client.refusals.count == 0
        assert proxy.done == {"413": 2, "pass": 2}
    assert influx_server.counts(settings.database) == {"m,x=1": 100}


def test_a_line_that_is_too_large_by_itself_is_refused(influx_server: InfluxServer, make: Make) -> None:
    with faulty_proxy(influx_server.port, ["413"] * 3) as proxy:
        client = Client(make(url=proxy.url))
        client.write(points(2))
    assert [one.line for one in client.refusals.lines] == points(1)


@pytest.mark.parametrize("kind", ["password", "token", "user", "none"])
def test_an_account_that_is_refused_is_told_by_its_key_and_without_its_secret(
    influx_server: InfluxServer, make: Make, tmp_path: Path, kind: str
) -> None:
    settings = make(writer="reader") if kind == "user" else make()
    folder = tmp_path / "settings"
    if kind == "password":
        (folder / "writer.password").write_text("wr0ng-s3cret")
    elif kind == "token":
        (folder / "token").write_text("wr0ng-s3cret")
        (folder / "token").chmod(0o600)
        settings = make(write={"token_file": "token"})
    elif kind == "none":
        settings = replace(settings, write=None)
    # It is not tried again: that would take longer than a test may.
    error = failure(settings, points(1), patience_s=3600.0)
    key = {"none": "write", "token": "write.token_file"}.get(kind, "write.password_file")
    assert "/influx.yml:" in str(error)
    assert f":{key}: expected " in str(error)
    status = {"user": "403", "none": "401"}.get(kind, "401")
    assert f"got {status} " in str(error)
    assert "wr0ng-s3cret" not in str(error)
    assert influx_server.passwords["reader"] not in str(error)
    assert influx_server.counts(settings.database) == {}


def test_who_may_only_write_is_told_that_another_has_to_read(make: Make) -> None:
    client = Client(make(reader="writer"), "read")
    with pytest.raises(StoreError, match=r"read\.password_file: .*'writer' .* permission"):
        list(client.query("SELECT * FROM m"))


def test_a_database_that_is_not_there_is_told(make: Make) -> None:
    error = failure(replace(make(), database="absent"), points(1))
    assert '404 database not found: "absent"' in str(error)
    assert 'CREATE DATABASE "absent"' in str(error)


def test_a_retention_policy_that_is_not_there_is_told_by_its_key(
    influx_server: InfluxServer, make: Make
) -> None:
    with faulty_proxy(influx_server.port) as proxy:
        error = failure(make(url=proxy.url, retention_policy="absent"), points(1), patience_s=60.0)
        assert proxy.done == {"pass": 1}, "it is not tried again"
    assert not isinstance(error, Unreachable)
    assert "/influx.yml:" in str(error)
    assert ":retention_policy: expected a retention" in str(error)
    assert "500 retention policy not found" in str(error)
    Client(make()).write(points(1))
    with pytest.raises(StoreError, match=r"influx.yml:.*:retention_policy: expected"):
        list(Client(make(retention_policy="absent"), "read").query("SELECT v FROM m"))


def test_a_server_that_is_something_else_is_told(make: Make) -> None:
    with faulty_proxy(1) as proxy:
        error = failure(make(url=proxy.url + "/elsewhere"), points(1), patience_s=0.3)
    assert "got 502 Bad Gateway" in str(error)


def test_a_success_that_is_not_the_databases_is_no_acknowledgement(
    influx_server: InfluxServer, make: Make
) -> None:
    with faulty_proxy(influx_server.port, ["sign in"]) as proxy:
        proxy.bodies["sign in"] = b"<html>sign in</html>"
        settings = make(url=proxy.url)
        error = failure(settings, points(1), patience_s=30)
        assert "influx.yml:" in str(error)
        assert "an answer from InfluxDB" in str(error)
        assert "got status 200 OK" in str(error)
        Client(settings).write(points(1))
    assert influx_server.counts(settings.database) == {"m,x=1": 1}


def test_the_database_says_how_long_to_wait(influx_server: InfluxServer, make: Make) -> None:
    with faulty_proxy(influx_server.port, ["429"]) as proxy:
        proxy.retry_after = "0.4"
        began = time.monotonic()
        Client(make(url=proxy.url)).write(points(1))
        assert time.monotonic() - began >= 0.4
    with faulty_proxy(influx_server.port, ["429"] * 2) as proxy:
        proxy.retry_after = email.utils.formatdate(time.time() + 3000, usegmt=True)
        error = failure(make(url=proxy.url), points(1), patience_s=30)
        assert isinstance(error, Unreachable)
        assert proxy.done["429"] == 1, "longer than our patience: there is nothing to wait for"


def test_what_goes_over_a_network_is_compressed(influx_server: InfluxServer, make: Make) -> None:
    with faulty_proxy(influx_server.port) as proxy:
        settings = make(url=proxy.url)
        Client(settings).write(points(100))
        with mock.patch.object(Settings, "is_near", False):
            Client(settings).write(points(100, start=100))
    assert [headers.get("Content-Encoding") for headers in proxy.headers] == [None, "gzip"]
    assert int(proxy.headers[1]["Content-Length"]) < int(proxy.headers[0]["Content-Length"]) / 3
    assert influx_server.counts(settings.database) == {"m,x=1": 200}


def test_tls_is_checked_against_the_certificates_that_are_named(
    influx_server: InfluxServer, make: Make, tmp_path: Path
) -> None:
    certificate, key = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with faulty_proxy(influx_server.port, tls=context) as proxy:
        url = proxy.url.replace("http:", "https:")
        error = failure(make(url=url), points(1), patience_s=60.0)
        assert "expected a trusted certificate" in str(error)
        assert "ca_file" in str(error)
        settings = make(url=url, ca_file=str(certificate))
        Client(settings).write(points(3))
        with pytest.raises(StoreError, match="a file with certificates"):
            Client(make(url=url, ca_file=str(tmp_path / "absent.pem")))
        with pytest.raises(StoreError, match="a file with certificates"):
            Client(make(url=url, ca_file=str(key)))
    assert influx_server.counts(settings.database) == {"m,x=1": 3}


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that vouches for itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("NOT TESTED: there is no `openssl` command")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", "2",
         "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


def test_a_long_answer_is_read_piece_by_piece(influx_server: InfluxServer, make: Make) -> None:
    settings = make()
    Client(settings).write(points(25_000) + points(3, '1i,t="a\nb"', "m,x=2"))
    pieces = list(Client(settings, "read").query("SELECT v, t FROM m GROUP BY x", chunked=True))
    assert len(pieces) > 3
    assert sum(len(piece.values) for piece in pieces if piece.tags == {"x": "1"}) == 25_000
    assert [piece.values for piece in pieces if piece.tags == {"x": "2"}] == [
        [[number, 1, "a\nb"] for number in range(3)]
    ]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n",
        b'{"results":[{"statement_id":0,"series":[{"name":"m","columns":["v"],"values":[[1]],"partial":true}],"partial":true}]}\n',
        b'{"results":[{"statement_id":0,"partial":true}]}\n{"results":[{"statement_id":0,"ser',
        b'{"results":[{"series":[{"name":"m","col',
    ],
    ids=["nothing", "no document", "more was to come", "cut in the second line", "cut in the first line"],
)
def test_an_answer_that_breaks_off_is_not_taken_for_the_whole(make: Make, body: bytes, chunked: bool) -> None:
    with faulty_proxy(1, ["made up"]) as proxy:
        proxy.bodies["made up"] = body
        client = Client(make(url=proxy.url), "read", patience_s=0.3)
        with pytest.raises(Unreachable, match="incomplete answer"):
            list(client.query("SELECT v FROM m", chunked=chunked))


@pytest.mark.parametrize("chunked", [False, True])
def test_an_answer_of_no_rows_is_whole(make: Make, chunked: bool) -> None:
    assert list(Client(make(), "read").query("SELECT v FROM m", chunked=chunked)) == []
    with faulty_proxy(1, ["made up"]) as proxy:
        proxy.bodies["made up"] = b'{"results":[]}'
        client = Client(make(url=proxy.url), "read", patience_s=0.3)
        assert list(client.query("SELECT v FROM m", chunked=chunked)) == []


def test_a_query_that_is_wrong_is_told_with_the_reason(make: Make) -> None:
    for chunked in (False, True):
        with pytest.raises(StoreError, match="parsing query: found SELCT"):
            list(Client(make(), "read").query("SELCT v FROM m", chunked=chunked))


@pytest.mark.parametrize("fault", ["503", "cut", "lost answer", "429"])
def test_queries_are_tried_again_too(influx_server: InfluxServer, make: Make, fault: str) -> None:
    settings = make()
    Client(settings).write(points(7))
    with faulty_proxy(influx_server.port, [fault]) as proxy:
        (one,) = Client(make(url=proxy.url), "read").query("SELECT v FROM m")
        assert proxy.done[fault] == 1
    assert len(one.values) == 7


def test_each_reason_of_an_outage_is_told_once(influx_server: InfluxServer, make: Make) -> None:
    said: list[str] = []
    with faulty_proxy(influx_server.port, ["503", "503", "429", "503"]) as proxy:
        Client(make(url=proxy.url), say=said.append).write(points(1))
    assert len(said) == 3
    assert ": 503 " in said[0]
    assert ": 429 " in said[1]
    assert said[2].endswith("reachable again")


def test_nobody_is_told_of_a_secret_when_the_connection_fails(make: Make) -> None:
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        client.stop.set()

    settings = make(url="http://127.0.0.1:9")
    client = Client(settings, patience_s=3600.0, say=say)
    with pytest.raises(RegattaError) as raised:
        client.write(points(1))
    assert "Connection refused" in str(raised.value)
    assert len(said) == 1
    assert settings.write is not None
    secret = settings.write.authorization().split()[1]
    assert secret not in str(raised.value) + said[0]
    assert "object at 0x" not in str(raised.value) + said[0]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("drip", ["drip headers", "drip", "drip chunks"])
def test_an_answer_that_drips_meets_a_deadline(
    make: Make, monkeypatch: pytest.MonkeyPatch, drip: str, chunked: bool
) -> None:
    # Every byte is in time, however late the machine lets it come.
    monkeypatch.setattr("regatta.influx.client._WHOLE", 0.002)
    with faulty_proxy(1, [drip] * 9) as proxy:
        client = Client(make(url=proxy.url, timeout_s=300), "read", patience_s=0.1)
        with pytest.raises(Unreachable, match=r"complete answer within 0\.6 s"):
            list(client.query("SELECT v FROM m", chunked=chunked))


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        "[]",
        '{"results":7}',
        '{"results":[7]}',
        '{"results":{}}',
        '{"results":[{"series":[{"columns":[],"values":[[]]}]}]}',
        '{"results":[{"series":[{"columns":"ab","values":[["a","b"]]}]}]}',
        '{"results":[{"series":[{"columns":["time"],"values":[7]}]}]}',
        '{"results":[{"series":[{"columns":["time"],"values":["a"]}]}]}',
        '{"results":[{"series":[{"columns":["time"],"values":[["now"]]}]}]}',
        '{"results":[{"series":[{"columns":["time","v"],"values":[[1]]}]}]}',
        '{"results":[{"series":[{"columns":["time","v"],"values":[[1,{}]]}]}]}',
        '{"results":[{"series":[{"columns":["time","v"],"values":[[1,"no number"]]}]}]}',
        '{"results":[{"series":[{"columns":["time"],"values":[[1]]}]}]}',
        '{"results":[{"series":[{"columns":["time","v"],"tags":7,"values":[]}]}]}',
        '{"results":[{"series":[{"columns":["time","v"],"tags":{"a":[]},"values":[]}]}]}',
        '{"results":[{"series":[{"columns":["time","v"],"name":[],"values":[]}]}]}',
        '{"results":[{"series":[{"columns":["time","v"],"values":null}]}]}',
        '{"results":[{"series":null}]}',
        "[" * 100_000,
    ],
)
def test_an_answer_of_another_shape_is_told(make: Make, answer: str, chunked: bool) -> None:
    with faulty_proxy(1, ["made up"]) as proxy:
        proxy.bodies["made up"] = answer.encode()
        client = Client(make(url=proxy.url), "read", patience_s=0.3)
        with pytest.raises(StoreError, match="an answer from InfluxDB"):
            list(client.query("SELECT count(v) FROM m", chunked=chunked, width=2, numbers=True))


@pytest.mark.parametrize("chunked", [False, True])
def test_an_answer_that_is_one_line_without_end_is_refused(
    make: Make, monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    monkeypatch.setattr("regatta.influx.client._LONGEST_LINE", 1 << 20)
    with faulty_proxy(1, ["made up"]) as proxy:
        proxy.bodies["made up"] = b'{"results":["' + b"x" * (2 << 20)
        with pytest.raises(StoreError, match="more than 1 MiB"):
            list(
                Client(make(url=proxy.url), "read", patience_s=0.3).query("SELECT v FROM m", chunked=chunked)
            )
