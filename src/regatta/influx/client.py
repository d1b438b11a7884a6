"""Talking to InfluxDB: `/write` and `/query` as InfluxDB 1, 2 and 3 have them. Waits and tries again; finds refused lines.

Writing a point twice is writing it once, so that everything may be sent again: after a cut connection, when an answer
was lost, and in pieces until the lines that the database refuses are known by name.
"""

from __future__ import annotations

import gzip
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, InvalidHeader, LocationParseError, SSLError
from urllib3.response import BaseHTTPResponse

import regatta
from regatta.host.errors import StoreError
from regatta.influx.deadline import Deadline
from regatta.influx.lines import split_lines
from regatta.influx.responses import (
    NO_POLICY,
    Refusals,
    Series,
    fits,
    integer,
    may_be_empty,
    message,
    parts_of,
    plain,
    reason,
    retry_after,
    shown,
)
from regatta.influx.settings import Purpose, Settings
from regatta.services.folder import service_folder

Say = Callable[[str], None]
T = TypeVar("T")

#: of an answer that says why something was refused
_ANSWER_BYTES = 4 * 1024 * 1024
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
#: how fast the compression is, against how much it saves: text of this kind gains little past 1
_GZIP_LEVEL = 1
_BROKE_OFF = "the answer broke off"
#: A request, and each piece of a long answer, may take so many times as long as the database may say nothing.
_WHOLE = 6
_PIECE_BYTES = 1 << 16
#: rows of a piece, 10,000 by default, and their strings, of 64 KiB at most, are seldom more
_LONGEST_LINE = 256 << 20


class Unreachable(StoreError):
    """The database does not answer, or answers that it cannot now. What was to be written waits in the journal."""


class NotAllowed(StoreError):
    """The account is refused, or may not do this."""


class _Passing(Exception):
    """A failure that may pass: why, and how long the database asks us to wait."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class _Refused(Exception):
    """The database refuses (400): its reason."""


class _TooLarge(Exception):
    """The request is larger than the database takes (413)."""


class Client:
    """One account of one InfluxDB, used by one thread at a time."""

    def __init__(
        self,
        settings: Settings,
        purpose: Purpose = "write",
        *,
        patience_s: float = 60.0,
        answer_s: float = float("inf"),
        say: Say | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Read the secret; nothing is sent yet.

        Args:
            settings: where the database is.
            purpose: which account is used.
            patience_s: how long one request is tried again while the database cannot be reached.
            answer_s: how long it may say nothing, if that is less than the settings allow.
            say: told once of each stretch of time in which it cannot be reached.
            stop: when set, waiting ends with `Unreachable`.

        Raises:
            SpecError: there is no secret where the settings say.
            StoreError: the certificates cannot be read.
        """
        self.settings = settings
        self.purpose: Purpose = purpose
        self.patience_s = patience_s
        self.answer_s = answer_s
        self.refusals = Refusals()
        self._say = say or (lambda text: None)
        self.stop = stop or threading.Event()
        account = settings.account(purpose)
        self._headers = {"User-Agent": f"regatta/{regatta.__version__}"}
        if account is not None:
            # As bytes of UTF-8: a password need not be Latin-1.
            self._headers["Authorization"] = account.authorization()
        # Who has no patience is not made to wait for an address where nobody answers.
        connect_s = min(settings.timeout_s, max(patience_s, 1.0))
        self._pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=connect_s, read=min(settings.timeout_s, answer_s)),
            retries=False,
            maxsize=1,
            ssl_context=_trusted(settings),
        )
        self._deadline = Deadline(_WHOLE * min(settings.timeout_s, answer_s))
        self._deadline.watch(self._pool)

    def close(self) -> None:
        """Close the connection."""
        self._pool.clear()

    def write(self, blocks: Sequence[bytes]) -> None:
        """Write lines, whole blocks of them each ended by its newline. Those that are refused are added to `refusals`.

        Raises:
            Unreachable: the database could not be reached for as long as there is patience.
            StoreError: the account or the database is refused.
        """
        data = b"".join(blocks)
        if not data:
            return
        try:
            self._post_lines(data)
        except (_Refused, _TooLarge):
            self._write_pieces(split_lines(data))

    def _write_pieces(self, lines: list[bytes]) -> None:
        """Find what is refused: each measurement for itself, because types are a measurement's, then by halves."""
        groups: dict[bytes, list[bytes]] = {}
        for line in lines:
            groups.setdefault(re.split(rb"(?<!\\)[, ]", line, maxsplit=1)[0], []).append(line)
        pieces = list(reversed(groups.values()))
        while pieces:
            piece = pieces.pop()
            try:
                self._post_lines(b"".join(piece))
            except _Refused as error:
                why, dropped = reason(str(error))
                if len(piece) == 1 or dropped == len(piece):
                    self.refusals.add(piece, why)
                    continue
            except _TooLarge as error:
                if len(piece) == 1:
                    self.refusals.add(piece, str(error))
                    continue
            else:
                continue
            middle = len(piece) // 2
            pieces += [piece[middle:], piece[:middle]]

    def _post_lines(self, data: bytes) -> None:
        parameters = {"db": self.settings.database, "precision": "ns"}
        if self.settings.retention_policy:
            parameters["rp"] = self.settings.retention_policy
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        if not self.settings.is_near:
            data = gzip.compress(data, _GZIP_LEVEL, mtime=0)
            headers["Content-Encoding"] = "gzip"
        path = f"/write?{urlencode(parameters)}"
        self._again_and_again(lambda: self._written(self._send(path, data, headers)))

    def _written(self, response: BaseHTTPResponse) -> None:
        """Take nothing for an acknowledgement but 204: a page to sign in is a success, too."""
        if response.status == 204:
            response.drain_conn()
            return
        with response:
            got = shown(f"{response.status} {response.reason or ''}".rstrip())
        raise self._foreign(self.settings.where("url"), f"{got} to what was written, and not 204")

    def query(
        self,
        query: str,
        *,
        chunked: bool = False,
        rows: int | None = None,
        epoch: str = "ns",
        width: int | None = None,
        numbers: bool = False,
    ) -> Iterator[Series]:
        """Ask in InfluxQL (names and strings in it quoted by `lines.identifier` and `lines.quoted`).

        Args:
            query: one statement or several.
            chunked: read the answer piece by piece, for what is large. A series may then come in several pieces.
            rows: of a piece, at most; None: as the database has it.
            epoch: unit of times.
            width: how many columns the answer has to have; None: any number.
            numbers: whether all its values have to be numbers, or null.

        Yields:
            the series in the answer, in its order.

        Raises:
            Unreachable: the database could not be reached for as long as there is patience, or broke off.
            StoreError: the account, the database or the query is refused.
        """
        form = {"q": query, "db": self.settings.database, "epoch": epoch}
        if self.settings.retention_policy:
            form["rp"] = self.settings.retention_policy
        if chunked:
            form["chunked"] = "true"
            if rows is not None:
                form["chunk_size"] = str(rows)
        data = urlencode(form).encode("ascii")
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        try:
            if chunked:
                response = self._again_and_again(lambda: self._send("/query", data, headers))
                pieces: Iterable[bytes] = self._pieces(response)
                empty = may_be_empty(response.headers)
            else:
                whole, empty = self._again_and_again(lambda: self._whole(data, headers))
                pieces = whole.split(b"\n")
            for one in self._series(query, pieces, empty):
                if not fits(one, width, numbers):
                    raise self._foreign(
                        f"{self.settings.url}/query", shown(repr((one.columns, one.values[:1])))
                    )
                yield one
        except (_Refused, _TooLarge) as error:
            raise self._bad_query(query, shown(str(error))) from error

    def _whole(self, data: bytes, headers: dict[str, str]) -> tuple[bytes, bool]:
        """A whole answer, and whether it may be an empty one."""
        response = self._send("/query", data, headers)
        try:
            return b"\n".join(self._lines(response)), may_be_empty(response.headers)
        except (HTTPError, OSError) as error:
            raise _Passing(self._why(error)) from error

    def _pieces(self, response: BaseHTTPResponse) -> Iterator[bytes]:
        """An answer piece by piece, each a line of it."""
        try:
            yield from self._lines(response)
        except (HTTPError, OSError) as error:
            raise self._unreachable(self._why(error)) from error

    def _lines(self, response: BaseHTTPResponse) -> Iterator[bytes]:
        """The lines of an answer, none longer than a database makes them."""
        begun: list[bytes] = []
        size = 0
        stream = response.stream(_PIECE_BYTES)
        try:
            while part := self._part(stream):
                first, *lines = part.split(b"\n")
                begun.append(first)
                size += len(first)
                if size > _LONGEST_LINE:
                    got = f"a line of more than {_LONGEST_LINE >> 20} MiB"
                    raise self._foreign(f"{self.settings.url}/query", got)
                if lines:
                    yield b"".join(begun)
                    yield from lines[:-1]
                    begun, size = lines[-1:], len(lines[-1])
        finally:
            response.release_conn()
        yield b"".join(begun)

    def _part(self, stream: Iterator[bytes]) -> bytes:
        """The next piece of an answer, all of it in time; what is done with it takes as long as it takes."""
        parts: list[bytes] = []
        size = 0
        with self._deadline.running():
            while size < _PIECE_BYTES and (part := next(stream, None)) is not None:
                parts.append(part)
                size += len(part)
        return b"".join(parts)

    def _why(self, error: Exception) -> str:
        return f"no whole answer in {self._deadline.seconds:g} s" if self._deadline.passed else plain(error)

    def _series(self, query: str, pieces: Iterable[bytes], empty: bool) -> Iterator[Series]:
        """The series of an answer, which may break off without a sign: of its pieces, the last does not say that more comes.

        Args:
            query: which is answered.
            pieces: each a JSON document.
            empty: whether there may be none.
        """
        more = not empty
        for piece in pieces:
            if not piece.strip():
                continue
            try:
                answer = json.loads(piece, parse_int=integer)
            except (ValueError, RecursionError) as error:
                if piece.startswith(b"{") and not isinstance(error, RecursionError):
                    raise self._unreachable(_BROKE_OFF) from error
                raise self._foreign(f"{self.settings.url}/query", repr(piece[:200])) from error
            try:
                failure, found, more = parts_of(answer)
            except (KeyError, TypeError, AttributeError) as error:
                raise self._foreign(f"{self.settings.url}/query", repr(piece[:200])) from error
            if failure is not None:
                raise self._bad_query(query, shown(failure))
            yield from found
        if more:
            raise self._unreachable(_BROKE_OFF)

    def _again_and_again(self, attempt: Callable[[], T]) -> T:
        """Try until it succeeds or patience ends; pauses double, unless the database says how long to wait."""
        began = time.monotonic()
        pause_s = _FIRST_PAUSE_S
        told = False
        while True:
            try:
                found = attempt()
            except _Passing as error:
                left_s = self.patience_s - (time.monotonic() - began)
                wait_s = pause_s if error.wait_s is None else error.wait_s
                if wait_s > left_s or self.stop.is_set():
                    raise self._unreachable(str(error)) from error
                if not told:
                    told = True
                    how_long = "" if left_s == float("inf") else f" for {left_s:.0f} s"
                    self._say(f"{self.settings.url}: {error}; trying again{how_long}")
                if self.stop.wait(wait_s):
                    raise self._unreachable(str(error)) from error
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                if told:
                    self._say(f"{self.settings.url}: answers again")
                return found

    def _send(self, path: str, data: bytes, headers: dict[str, str]) -> BaseHTTPResponse:
        """Send one request; returns an answer that is a success, its body unread."""
        if hindrance := self._hindrance():
            raise _Passing(hindrance)
        try:
            with self._deadline.running():
                response = self._pool.request(
                    "POST", self.settings.url + path, body=data, headers={**self._headers, **headers},
                    preload_content=False, redirect=False,
                )  # fmt: skip
                if response.status < 300:
                    return response
                with response:
                    text = message(response.read(_ANSWER_BYTES, decode_content=True))
        except SSLError as error:
            raise StoreError(
                self.settings.where("url"), "a certificate that is trusted", plain(error),
                "name who signed it by `ca_file`",
            ) from error  # fmt: skip
        except (LocationParseError, InvalidHeader) as error:
            raise StoreError(self.settings.where("url"), "an address of InfluxDB", plain(error)) from error
        except (HTTPError, OSError) as error:
            raise _Passing(self._why(error)) from error
        raise self._failure(response, text)

    def _hindrance(self) -> str:
        """Why the InfluxDB that `regatta up` started is told nothing now; empty where it is there, or where it is another."""
        if self.settings.path != service_folder().settings or not self.settings.is_near:
            return ""
        from regatta.services.stack import why_not_ours

        return why_not_ours(service_folder(), urlsplit(self.settings.url).port or 80)

    def _failure(self, response: BaseHTTPResponse, text: str | None) -> Exception:
        """What an answer that is no success means. `text`: the database's own words; None: it did not speak."""
        status = response.status
        said = shown(f"{status} {text or response.reason or ''}".rstrip())
        if status in (401, 403):
            return self._not_allowed(said)
        if text is not None and NO_POLICY in text:
            # InfluxDB 1 says so with a 500.
            return self._no_policy(said)
        if status in (400, 422) and text is not None:
            return _Refused(text)
        if status == 413:
            return _TooLarge(said)
        if status == 404 and text is not None:
            return StoreError(
                self.settings.where("database"), f"the database {self.settings.database!r}", said,
                f"CREATE DATABASE \"{self.settings.database}\", or correct the settings",
            )  # fmt: skip
        if status in (400, 408, 425, 429) or status >= 500:
            # A 400 in nobody's words is not the database's: something between it and us failed.
            return _Passing(said, retry_after(response.headers.get("Retry-After")))
        return self._foreign(self.settings.where("url"), said)

    def _not_allowed(self, said: str) -> NotAllowed:
        account = self.settings.account(self.purpose)
        if account is None:
            return NotAllowed(
                self.settings.where(self.purpose), "an account, because InfluxDB asks for one", said,
                f"name one below `{self.purpose}:`",
            )  # fmt: skip
        who = "a token" if account.user is None else f"the user {account.user!r} with a password"
        return NotAllowed(
            account.where, f"{who} that may {self.purpose} the database {self.settings.database!r}", said,
            "correct the account; nothing is lost, and the same command goes on",
        )  # fmt: skip

    def _unreachable(self, reason: str) -> Unreachable:
        start = "`regatta up` starts it" if self.settings.path == service_folder().settings else "start it"
        return Unreachable(
            self.settings.url, "an InfluxDB that answers", reason,
            f"{start}; what was recorded waits in the journal, and `regatta ingest` writes it",
        )  # fmt: skip

    def _foreign(self, where: str, got: str) -> StoreError:
        return StoreError(where, "an answer of InfluxDB", got, "correct the address")

    def _no_policy(self, said: str) -> StoreError:
        name = self.settings.retention_policy
        return StoreError(
            self.settings.where("retention_policy"), f"a retention policy of the database {self.settings.database!r}",
            said, f"CREATE RETENTION POLICY \"{name}\" ON \"{self.settings.database}\" ..., or correct the settings",
        )  # fmt: skip

    def _bad_query(self, query: str, said: str) -> StoreError:
        if "authorized" in said:
            return self._not_allowed(said)
        if NO_POLICY in said:
            return self._no_policy(said)
        return StoreError(self.settings.url, f"an answer to {query[:200]}", said)


def _trusted(settings: Settings) -> ssl.SSLContext | None:
    """What TLS trusts; None where there is none."""
    if not settings.url.startswith("https:"):
        return None
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        got = str(error.strerror or error)
        raise StoreError(settings.where("ca_file"), "a file with certificates", got) from error
