"""Where the settings of InfluxDB are found, what is wrong with them, and that no secret is ever shown."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.golden import Golden
from regatta.host.errors import SpecError
from regatta.influx.settings import (
    HANDED_ON,
    Settings,
    find_settings,
    hand_on,
    read_settings,
)
from regatta.services.folder import service_folder

ROOT = Path(__file__).parents[3]
URL = "url: http://localhost:8086\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without settings, and a cache in which no services are up."""
    monkeypatch.delenv("REGATTA_INFLUX")
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "home" / "configs").mkdir(parents=True)
    return tmp_path / "home"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def problems(path: Path, text: str) -> str:
    with pytest.raises(SpecError) as raised:
        read_settings(write(path, text))
    assert raised.value.exit_code == 2
    return str(raised.value)


def test_without_any_file_there_is_no_influxdb(home: Path) -> None:
    assert find_settings(home) is None
    assert find_settings(None) is None


def test_the_variable_comes_before_the_home_and_the_home_before_services(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(service_folder().settings, "url: http://services:1\n")
    assert (found := find_settings(home))
    assert found.url == "http://services:1"
    write(home / "configs" / "influx.yml", "url: http://home:1\n")
    assert (found := find_settings(home))
    assert found.url == "http://home:1"
    own = write(tmp_path / "own.yml", "url: http://own:1\n")
    monkeypatch.setenv("REGATTA_INFLUX", str(own))
    assert (found := find_settings(home))
    assert found.url == "http://own:1"
    monkeypatch.setenv("REGATTA_INFLUX", "none")
    assert find_settings(home) is None


def test_a_variable_that_names_no_file_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_INFLUX", str(home / "absent.yml"))
    with pytest.raises(SpecError, match=r"\$REGATTA_INFLUX: .* file, or `none`"):
        find_settings(home)


def test_the_example_is_settings() -> None:
    found = read_settings(ROOT / "configs" / "influx.example.yml.txt")
    plain = Settings(found.path, "http://localhost:8086")
    assert (found.database, found.timeout_s, found.batch_points, found.series_limit) == (
        plain.database, plain.timeout_s, plain.batch_points, plain.series_limit,
    )  # fmt: skip
    assert found.write
    assert found.write.file == ROOT / "configs" / "influx-writer.password"
    assert found.read
    assert found.read.user == "regatta-reader"


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("no address", ""),
        ("address without a scheme", "url: localhost:8086\n"),
        ("port out of range", "url: http://h:99999\n"),
        ("address with a query", "url: http://h/?db=x\n"),
        ("unknown key", URL + "passwort: x\n"),
        ("number below its limit", URL + "batch_points: 0\n"),
        ("user without a secret", URL + "write: {user: a}\n"),
        ("password without a user", URL + "write: {password_env: A}\n"),
        ("token with a user", URL + "write: {user: a, token_env: A}\n"),
        ("colon in a user name", URL + "read: {user: 'a:b', password_env: A}\n"),
        ("line break in a name", URL + 'database: "a\\nb"\n'),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, case: str, text: str, golden: Golden) -> None:
    golden(case, problems(tmp_path / "influx.yml", text).replace(str(tmp_path), "TMP"))


@pytest.mark.parametrize(
    "text",
    [
        "url: http://me:s3cret@localhost:8086\n",
        URL + "write: s3cret\n",
        URL + "write: {user: a, password: s3cret}\n",
        URL + "token: s3cret\n",
    ],
)
def test_a_secret_that_was_written_into_the_file_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    assert "s3cret" not in problems(tmp_path / "influx.yml", text)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, os.strerror(errno.ENOENT)),
        (b"", "expected a secret in"),
        (b"\n", "got nothing"),
        (b"two\nlines\n", "on one line"),
        (b"\xff\xfe", "UTF-8"),
        (b"x" * 20_000, "more than 16384 bytes"),
    ],
)
def test_a_file_that_holds_no_secret_is_told_with_the_key_that_names_it(
    tmp_path: Path, data: bytes | None, expected: str
) -> None:
    settings = read_settings(
        write(tmp_path / "influx.yml", URL + "write: {user: a, password_file: secret}\n")
    )
    if data is not None:
        (tmp_path / "secret").write_bytes(data)
        (tmp_path / "secret").chmod(0o600)
    assert settings.write is not None
    with pytest.raises(SpecError) as raised:
        settings.write.authorization()
    assert str(raised.value).startswith(f"{tmp_path}/influx.yml:2:write.password_file: ")
    assert expected in str(raised.value)
    assert "two" not in str(raised.value)


def test_passwords_and_tokens_come_from_files_and_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("tökén: 1\r\n")
    (tmp_path / "secret").chmod(0o600)
    text = URL + "write: {user: a, password_file: secret}\nread: {token_env: READ_TOKEN}\n"
    settings = read_settings(write(tmp_path / "influx.yml", text))
    assert settings.write is not None
    assert settings.read is not None
    assert settings.write.authorization() == "Basic YTp0w7Zrw6luOiAx"
    monkeypatch.delenv("READ_TOKEN", raising=False)
    with pytest.raises(SpecError, match=r"read\.token_env: .*\$READ_TOKEN · got nothing"):
        settings.read.authorization()
    monkeypatch.setenv("READ_TOKEN", "abc==")
    assert settings.read.authorization() == "Token abc=="


def test_who_may_write_reads_where_nobody_else_is_named(tmp_path: Path) -> None:
    settings = read_settings(write(tmp_path / "influx.yml", URL + "write: {token_env: TOKEN}\n"))
    assert settings.read == settings.write
    assert read_settings(write(tmp_path / "influx.yml", URL)).read is None


def test_another_database_is_another_identity_and_another_account_is_not() -> None:
    one = Settings(Path("x"), "http://h:1")
    assert one.identity == Settings(Path("y"), "http://h:1", timeout_s=3).identity
    assert len({one.identity, Settings(Path("x"), "http://h:1", "b").identity,
                Settings(Path("x"), "http://h:1", retention_policy="b").identity}) == 3  # fmt: skip


@pytest.mark.parametrize(
    ("url", "near"),
    [("http://localhost:1", True), ("http://127.3.2.1:1", True), ("https://[::1]:1", True),
     ("http://10.0.0.1:1", False), ("https://influx.example.org", False)],
)  # fmt: skip
def test_what_is_on_the_loopback_is_near(url: str, near: bool) -> None:
    assert Settings(Path("x"), url).is_near is near


def test_what_a_workflow_has_read_is_taken_over_while_the_file_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        URL + 'write: {user: "ü", password_file: a b}\nread: {token_env: TOKEN}\nca_file: ca\ntimeout_s: 3\n'
    )
    path = write(tmp_path / "influx.yml", text)
    (tmp_path / "a b").write_text("secret")
    (tmp_path / "a b").chmod(0o600)
    monkeypatch.setenv(HANDED_ON, "")  # so that it is put back
    settings = read_settings(path)
    hand_on(settings)
    assert "secret" not in os.environ[HANDED_ON]
    with monkeypatch.context() as patch:
        patch.setattr("regatta.influx.settings_file.parse_settings", None)
        taken = read_settings(path)
    assert taken == settings
    assert taken.places == settings.places
    assert taken.account("write").authorization() == settings.account("write").authorization()  # type: ignore[union-attr]
    write(path, text.replace("timeout_s: 3", "timeout_s: 44"))
    assert read_settings(path).timeout_s == 44
    for nonsense in ("", "{", "[]", '{"stamp": []}'):
        monkeypatch.setenv(HANDED_ON, nonsense)
        assert read_settings(path).timeout_s == 44


def test_sending_a_segment_loads_nothing_that_takes_long(tmp_path: Path) -> None:
    path = write(tmp_path / "influx.yml", "url: http://127.0.0.1:1\n")
    (tmp_path / "small" / "journal" / "a").mkdir(parents=True)
    code = (
        "import os, pathlib, sys; from regatta.influx.settings import hand_on, read_settings;"
        "hand_on(read_settings(pathlib.Path(os.environ['REGATTA_INFLUX'])));"
        "os.execv(sys.executable, [sys.executable, '-X', 'importtime', '-m', 'regatta', 'ingest', sys.argv[1],"
        " '--host', 'a', '--no-estimates', '--receipt', sys.argv[2]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "small"), str(tmp_path / "receipt.json")],
        env={**os.environ, "REGATTA_INFLUX": str(path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"urllib3", "click", "regatta.influx.ingesting"} <= imported
    assert not imported & {"numpy", "pyarrow", "duckdb", "pydantic", "ruamel.yaml", "rich", "jinja2"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o440])
def test_a_secret_that_others_can_read_is_refused_with_the_fix(tmp_path: Path, mode: int) -> None:
    settings = read_settings(
        write(tmp_path / "influx.yml", URL + "write: {user: a, password_file: secret}\n")
    )
    (tmp_path / "secret").write_text("word")
    (tmp_path / "secret").chmod(mode)
    assert settings.write is not None
    with pytest.raises(SpecError) as raised:
        settings.write.authorization()
    (problem,) = raised.value.problems
    assert problem.where.endswith("write.password_file")
    assert (problem.got, problem.fix) == (f"mode {mode:04o}", f"chmod 600 {tmp_path}/secret")
    (tmp_path / "secret").chmod(0o600)
    assert settings.write.authorization() == "Basic YTp3b3Jk"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_secret_of_another_user_is_refused(tmp_path: Path) -> None:
    settings = read_settings(write(tmp_path / "influx.yml", URL + "write: {token_file: secret}\n"))
    (tmp_path / "secret").write_text("word")
    (tmp_path / "secret").chmod(0o600)
    os.chown(tmp_path / "secret", 1234, -1)
    assert settings.write is not None
    with pytest.raises(SpecError, match="user 1234"):
        settings.write.authorization()


@pytest.mark.parametrize("account", ["write: {user: a, password_env: A}", "read: {token_env: A}"])
def test_no_account_goes_over_a_network_without_tls_unless_the_settings_say_so(
    tmp_path: Path, account: str
) -> None:
    file = tmp_path / "influx.yml"
    for url in ("http://db.example.org:8086", "http://192.0.2.1", "http://[2001:db8::1]:8086"):
        with pytest.raises(SpecError) as raised:
            read_settings(write(file, f"url: {url}\n{account}\n"))
        (problem,) = raised.value.problems
        assert (problem.where, problem.got) == (f"{file}:1:url", url)
        assert "without_tls: true" in problem.fix
        assert read_settings(write(file, f"url: {url}\n{account}\nwithout_tls: true\n")).url == url
        assert read_settings(write(file, f"url: {url}\n")).url == url
    for url in (
        "https://db.example.org",
        "http://localhost:8086",
        "http://127.0.0.1:8086",
        "http://[::1]:8086",
    ):
        assert read_settings(write(file, f"url: {url}\n{account}\n")).url == url
