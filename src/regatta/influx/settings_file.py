"""Schema of the settings file for `regatta.influx.settings`.

A separate module: jobs that receive settings from the workflow need neither pydantic nor YAML.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from regatta.host.errors import Problem, SpecError
from regatta.influx.settings import Account, Settings
from regatta.spec.fields import Strict, refusal
from regatta.spec.problems import check, shown_path
from regatta.spec.yaml_lines import Document, read_yaml

_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def _check_url(text: str) -> str:
    example = "`http://localhost:8086`"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise refusal("an InfluxDB address", example) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or re.search(r"[\s\0]", text):
        raise refusal("an address that starts with http:// or https://", example)
    if "@" in parts.netloc:
        raise refusal("an address without user and password", "add them under `write:`")
    if parts.query or parts.fragment:
        raise refusal("an address without `?` and `#`", example)
    return text.rstrip("/")


def _check_text(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise refusal("a name of printable characters")
    return text


def _check_user(text: str) -> str:
    if ":" in text:
        raise refusal("a user name without `:`, which HTTP cannot transmit")
    return _check_text(text)


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

    user: User | None = Field(None, description="User of the password", examples=["regatta"])
    password_file: PathText | None = Field(
        None, description="File that contains only the password, relative to this file"
    )
    password_env: EnvironmentName | None = Field(None, description="Environment variable with the password")
    token_file: PathText | None = Field(
        None, description="File that contains only the token, relative to this file"
    )
    token_env: EnvironmentName | None = Field(None, description="Environment variable with the token")

    @model_validator(mode="after")
    def _one_secret(self) -> AccountKeys:
        given = [key for key in _SECRETS if getattr(self, key) is not None]
        if len(given) != 1:
            raise refusal(f"one of {', '.join(_SECRETS)}", "set the location of the password or token")
        if given[0].startswith("password") != (self.user is not None):
            raise refusal("`user` with a password, or a token without `user`")
        return self


class SettingsFile(Strict):
    """The keys of the file."""

    url: Url = Field(description="Address of InfluxDB", examples=["http://localhost:8086"])
    database: Text = Field(
        "regatta", description="Name of the database; for InfluxDB 2, one that is mapped to a bucket"
    )
    retention_policy: Annotated[
        str, AfterValidator(lambda text: text and _check_text(text)), Field(max_length=200)
    ] = Field("", description="Retention policy; if empty, the default of the database")
    write: AccountKeys | None = Field(
        None, description="Account with write permission; none if InfluxDB requires none"
    )
    read: AccountKeys | None = Field(
        None, description="Account with read permission; by default that of `write`"
    )
    ca_file: PathText | None = Field(
        None, description="Certificates to trust instead of those of the system, relative to this file"
    )
    without_tls: bool = Field(
        False, description="Send the password or token over a network without TLS, in clear text"
    )
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = Field(10.0, description="Time limit of one request")
    batch_points: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        10_000, description="Maximum number of points per request"
    )
    series_limit: Annotated[int, Field(ge=1)] = Field(
        100_000, description="Maximum number of series per experiment: each uses memory of InfluxDB"
    )
    grafana_url: Url | None = Field(None, description="Address of Grafana, to which reports link")


def parse_settings(path: Path) -> Settings:
    """Read and validate a settings file.

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
    settings = Settings(
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
    in_clear = settings.url.startswith("http:") and not settings.is_near
    if in_clear and (settings.write or settings.read) and not keys.without_tls:
        expected = "an address with https://, because Regatta sends a password or token"
        fix = "use https://, or set `without_tls: true` in a trusted network"
        raise SpecError([Problem(settings.where("url"), expected, settings.url, fix)])
    return settings


def _without_secrets(problem: Problem) -> Problem:
    """Redact a problem in a file that holds a secret, in its address or as an account."""
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
