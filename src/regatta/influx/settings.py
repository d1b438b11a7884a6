"""Where the InfluxDB is and who may write into it: a file of settings without secrets; none found means there is no InfluxDB.

Looked for in `$REGATTA_INFLUX` (a path; `none` switches InfluxDB off), then as `configs/influx.yml` of the home, then
where `regatta up` leaves those of the services that it started.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from regatta.cache import cache_dir
from regatta.errors import Problem, SpecError
from regatta.spec.fields import Strict, refusal
from regatta.spec.problems import check, shown_path
from regatta.spec.yaml_lines import Document, read_yaml

#: names the file of settings; `none` says that there is no InfluxDB
VARIABLE = "REGATTA_INFLUX"
OFF = "none"

Purpose = Literal["write", "read"]
#: A password or token longer than this is a file that was named by mistake.
_SECRET_AT_MOST = 16 * 1024
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def _check_url(text: str) -> str:
    example = "`http://localhost:8086`"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise refusal("an address of InfluxDB", example) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or re.search(r"[\s\0]", text):
        raise refusal("an address that starts with http:// or https://", example)
    if "@" in parts.netloc:
        raise refusal("an address without user and password", "name them below `write:`")
    if parts.query or parts.fragment:
        raise refusal("an address without `?` and `#`", example)
    return text.rstrip("/")


def _check_text(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise refusal("a name of printable characters")
    return text


def _check_user(text: str) -> str:
    if ":" in text:
        raise refusal("a user's name without `:`, which HTTP cannot send")
    return _check_text(text)


def _check_retention(text: str) -> str:
    return text and _check_text(text)


def _check_variable(text: str) -> str:
    if not _ENVIRONMENT_NAME.fullmatch(text):
        raise refusal("the name of an environment variable: letters, digits and _")
    return text


def _check_path(text: str) -> str:
    if not text or "\0" in text:
        raise refusal("a path")
    return text


Url = Annotated[str, AfterValidator(_check_url)]
Text = Annotated[str, AfterValidator(_check_text), Field(max_length=200)]
PathText = Annotated[str, AfterValidator(_check_path), Field(max_length=4096)]
EnvironmentName = Annotated[str, AfterValidator(_check_variable)]
User = Annotated[str, AfterValidator(_check_user), Field(max_length=200)]
_SECRETS = ("password_file", "password_env", "token_file", "token_env")


class AccountKeys(Strict):
    """An account: a user with a password, or a token. The secret itself is in a file or an environment variable."""

    user: User | None = Field(None, description="The user, where there is a password", examples=["regatta"])
    password_file: PathText | None = Field(
        None, description="The file that holds the password and nothing else, relative to this file"
    )
    password_env: EnvironmentName | None = Field(None, description="The variable that holds the password")
    token_file: PathText | None = Field(
        None, description="The file that holds the token and nothing else, relative to this file"
    )
    token_env: EnvironmentName | None = Field(None, description="The variable that holds the token")

    @model_validator(mode="after")
    def _one_secret(self) -> AccountKeys:
        given = [key for key in _SECRETS if getattr(self, key) is not None]
        if len(given) != 1:
            raise refusal(f"one of {', '.join(_SECRETS)}", "name where the password or the token is")
        if given[0].startswith("password") != (self.user is not None):
            raise refusal("`user` with a password, and no `user` with a token")
        return self


class SettingsFile(Strict):
    """The keys of the file."""

    url: Url = Field(description="Address of InfluxDB", examples=["http://localhost:8086"])
    database: Text = Field("regatta", description="The database; a bucket of InfluxDB 2 is mapped to one")
    retention_policy: Annotated[str, AfterValidator(_check_retention), Field(max_length=200)] = Field(
        "", description="The retention policy; the database's default one when empty"
    )
    write: AccountKeys | None = Field(
        None, description="The account that may write; none where InfluxDB asks for none"
    )
    read: AccountKeys | None = Field(
        None, description="The account that may read; that of `write` when left out"
    )
    ca_file: PathText | None = Field(
        None, description="Certificates to trust instead of the system's, relative to this file"
    )
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = Field(
        10.0, description="How long one request may take"
    )
    batch_points: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        10_000, description="How many points are sent at once, at most"
    )
    series_limit: Annotated[int, Field(ge=1)] = Field(
        100_000, description="Past so many series an experiment is refused: they cost InfluxDB memory"
    )
    grafana_url: Url | None = Field(None, description="Address of Grafana, to which reports link")


@dataclass(frozen=True)
class Account:
    """Where a secret is. It is read when it is needed, and is in no message."""

    #: what messages name: `file:line:write.password_file`
    where: str
    user: str | None
    file: Path | None
    variable: str | None

    def authorization(self) -> str:
        """The header `Authorization`.

        Raises:
            SpecError: the file or the variable is missing, empty or not text.
        """
        secret = self._secret()
        if self.user is None:
            return f"Token {secret}"
        return "Basic " + base64.b64encode(f"{self.user}:{secret}".encode()).decode("ascii")

    def _secret(self) -> str:
        if self.variable is not None:
            place, found = f"${self.variable}", os.environ.get(self.variable)
            if not found:
                raise self._wrong(f"a secret in {place}", "nothing", "set the variable")
        else:
            place = str(self.file)
            found = self._from_file()
        secret = found.rstrip("\r\n")
        if not secret:
            raise self._wrong(f"a secret in {place}", "nothing", "write it into the file")
        if not secret.isprintable() or (self.user is None and not secret.isascii()):
            raise self._wrong(f"a secret of printable characters on one line in {place}", "others")
        return secret

    def _from_file(self) -> str:
        assert self.file is not None
        try:
            with self.file.open("rb") as stream:
                data = stream.read(_SECRET_AT_MOST + 1)
        except (OSError, ValueError) as error:
            got = (error.strerror if isinstance(error, OSError) else "") or str(error)
            raise self._wrong(f"a secret in {self.file}", got, "name the file that holds it") from error
        if len(data) > _SECRET_AT_MOST:
            raise self._wrong(
                f"a secret in {self.file}", f"more than {_SECRET_AT_MOST} bytes", "name another file"
            )
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise self._wrong(f"a secret of UTF-8 text in {self.file}", "other bytes") from None

    def _wrong(self, expected: str, got: str, fix: str = "") -> SpecError:
        return SpecError([Problem(self.where, expected, got, fix)])


@dataclass(frozen=True)
class Settings:
    """An InfluxDB, and how it is written and read."""

    #: the file, for messages
    path: Path
    url: str
    database: str = "regatta"
    retention_policy: str = ""
    write: Account | None = None
    read: Account | None = None
    ca_file: Path | None = None
    timeout_s: float = 10.0
    batch_points: int = 10_000
    series_limit: int = 100_000
    grafana_url: str | None = None
    #: key -> `file:line:key`
    places: dict[str, str] = field(default_factory=dict, compare=False)

    def where(self, key: str) -> str:
        """What messages call a key of the file."""
        return self.places.get(key, f"{shown_path(self.path)}:{key}")

    def account(self, purpose: Purpose) -> Account | None:
        """The account for a purpose; None: InfluxDB asks for none."""
        return self.write if purpose == "write" else self.read

    @property
    def identity(self) -> str:
        """Which database this is, whoever writes: 16 hexadecimal digits."""
        text = "\n".join((self.url, self.database, self.retention_policy))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def is_near(self) -> bool:
        """Whether it is reached over the loopback, where nothing is gained by compressing."""
        name = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost"


def services_settings() -> Path:
    """The settings that `regatta up` writes and `regatta down` removes."""
    return cache_dir() / "services" / "influx.yml"


def find_settings(home: Path | None) -> Settings | None:
    """Find and read the settings.

    Args:
        home: the folder with `configs/`; None: it is not looked into.

    Returns:
        them, or None: no InfluxDB is configured.

    Raises:
        SpecError: what they say is wrong, or `$REGATTA_INFLUX` names no file. No secret is read yet.
    """
    given = os.environ.get(VARIABLE)
    if given == OFF:
        return None
    if given:
        if not Path(given).is_file():
            raise SpecError(
                [Problem(f"${VARIABLE}", f"a file of settings, or `{OFF}`", given, "correct or unset it")]
            )
        return read_settings(Path(given))
    places = [services_settings()] if home is None else [home / "configs" / "influx.yml", services_settings()]
    for path in places:
        if path.is_file():
            return read_settings(path)
    return None


def read_settings(path: Path) -> Settings:
    """Read a file of settings.

    Raises:
        SpecError: with every problem, `file:line:key` each.
    """
    document = read_yaml(path, shown_path(path))
    if document.value is None:
        document.value = {}
    problems: list[Problem] = []
    keys = check(SettingsFile, document, problems)
    if keys is None:
        raise SpecError([_without_secrets(problem) for problem in problems])
    folder = path.absolute().parent
    write = _account(keys.write, "write", document, folder)
    return Settings(
        path=path.absolute(),
        url=keys.url,
        database=keys.database,
        retention_policy=keys.retention_policy,
        write=write,
        read=_account(keys.read, "read", document, folder) or write,
        ca_file=None if keys.ca_file is None else folder / keys.ca_file,
        timeout_s=float(keys.timeout_s),
        batch_points=keys.batch_points,
        series_limit=keys.series_limit,
        grafana_url=keys.grafana_url,
        places={name: document.where((name,)) for name in SettingsFile.model_fields},
    )


def _without_secrets(problem: Problem) -> Problem:
    """A problem of a file into which somebody wrote a secret after all, as a part of the address or as an account."""
    got = re.sub(r"//.*@", "//...@", problem.got)
    if problem.where.endswith((":write", ":read")) and not got.startswith(("a ", "an ")):
        got = "another value"
    return replace(problem, got=got)


def _account(keys: AccountKeys | None, name: str, document: Document, folder: Path) -> Account | None:
    if keys is None:
        return None
    (key,) = (key for key in _SECRETS if getattr(keys, key) is not None)
    value = str(getattr(keys, key))
    is_file = key.endswith("_file")
    return Account(
        where=document.where((name, key)),
        user=keys.user,
        file=folder / Path(value).expanduser() if is_file else None,
        variable=None if is_file else value,
    )
