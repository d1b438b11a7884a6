"""Client for InfluxDB: `/write` and `/query` of InfluxDB 1, 2 and 3, with retries and a search for refused lines.

Writes are idempotent, so that everything can be sent again: after a broken connection, after a lost answer, and in parts to
identify the lines that the database refuses.
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
from regatta.influx import responses
from regatta.influx.deadline import Deadline
from regatta.influx.lines import split_lines
from regatta.influx.responses import Series
from regatta.influx.settings import Purpose, Settings
from regatta.services.folder import service_folder

Say = Callable[[str], None]
T = TypeVar("T")

#: bytes read of an answer that explains a refusal
_ANSWER_BYTES = 4 * 1024 * 1024
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
#: gzip level: higher levels compress this text little better
_GZIP_LEVEL = 1
_BROKE_OFF = "incomplete answer"
#: A request, and each chunk of a long answer, may take this multiple of the timeout.
_WHOLE = 6
_PIECE_BYTES = 1 << 16
#: bytes; the default of 10,000 rows per chunk with strings of 64 KiB rarely exceeds this
_LONGEST_LINE = 256 << 20


class Unreachable(StoreError):
    """The database does not answer or is temporarily unavailable. Points remain in the journal."""


class NotAllowed(StoreError):
    """The account is refused or lacks permission."""


class _Passing(Exception):
    """A temporary failure: the reason, and the wait that the database requests."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class _Refused(Exception):
    """The database refuses the request (400): its reason."""


class _TooLarge(Exception):
    """The request is larger than the database accepts (413)."""


class Client:
    """One account of one InfluxDB, for one thread at a time."""

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
        """Read the secret; send nothing yet.

        Args:
            settings: settings of the database.
            purpose: account to use.
            patience_s: how long one request is retried while the database cannot be reached.
            answer_s: timeout of an answer, if shorter than that of the settings.
            say: called once per outage and reason.
            stop: when set, waiting ends with `Unreachable`.

        Raises:
            SpecError: the secret is missing.
            StoreError: the certificates cannot be read.
        """
        self.settings = settings
        self.purpose: Purpose = purpose
        self.patience_s = patience_s
        self.answer_s = answer_s
        self.refusals = responses.Refusals()
        self._say = say or (lambda text: None)
        self.stop = stop or threading.Event()
        account = settings.account(purpose)
        self._headers = {"User-Agent": f"regatta/{regatta.__version__}"}
        if account is not None:
            # UTF-8 bytes: a password need not be Latin-1.
            self._headers["Authorization"] = account.authorization()
        # Without patience, do not wait for an address that does not respond.
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
        """Write blocks of whole lines, each ended by its newline. Add refused lines to `refusals`.

        Raises:
            Unreachable: the database could not be reached within the patience.
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
        """Find the refused lines: split by measurement, because types belong to a measurement, then by halves."""
        groups: dict[bytes, list[bytes]] = {}
        for line in lines:
            groups.setdefault(re.split(rb"(?<!\\)[, ]", line, maxsplit=1)[0], []).append(line)
        pieces = list(reversed(groups.values()))
        while pieces:
            piece = pieces.pop()
            try:
                self._post_lines(b"".join(piece))
            except _Refused as error:
                why, dropped = responses.reason(str(error))
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
        """Accept only 204 as acknowledgement: a login page also answers with success."""
        if response.status == 204:
            response.drain_conn()
            return
        with response:
            got = responses.shown(f"{response.status} {response.reason or ''}".rstrip())
        raise self._foreign(self.settings.where("url"), f"status {got} after a write instead of 204")

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
        """Run an InfluxQL query (quote names and strings with `lines.identifier` and `lines.quoted`).

        Args:
            query: one or several statements.
            chunked: read a large answer in chunks. A series may then be split.
            rows: maximum rows per chunk; None: the default of the database.
            epoch: unit of times.
            width: required number of columns; None: any.
            numbers: whether all values must be numbers or null.

        Yields:
            the series of the answer, in its order.

        Raises:
            Unreachable: the database could not be reached within the patience, or closed the connection.
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
                empty = responses.may_be_empty(response.headers)
            else:
                whole, empty = self._again_and_again(lambda: self._whole(data, headers))
                pieces = whole.split(b"\n")
            for one in self._series(query, pieces, empty):
                if not responses.fits(one, width, numbers):
                    raise self._foreign(
                        f"{self.settings.url}/query", responses.shown(repr((one.columns, one.values[:1])))
                    )
                yield one
        except (_Refused, _TooLarge) as error:
            raise self._bad_query(query, responses.shown(str(error))) from error

    def _whole(self, data: bytes, headers: dict[str, str]) -> tuple[bytes, bool]:
        """Return a whole answer, and whether it may be empty."""
        response = self._send("/query", data, headers)
        try:
            return b"\n".join(self._lines(response)), responses.may_be_empty(response.headers)
        except (HTTPError, OSError) as error:
            raise _Passing(self._why(error)) from error

    def _pieces(self, response: BaseHTTPResponse) -> Iterator[bytes]:
        """Yield the chunks of an answer, one per line."""
        try:
            yield from self._lines(response)
        except (HTTPError, OSError) as error:
            raise self._unreachable(self._why(error)) from error

    def _lines(self, response: BaseHTTPResponse) -> Iterator[bytes]:
        """Yield the lines of an answer; limit their length."""
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
        """Return the next chunk of an answer within the deadline; processing it has no deadline."""
        parts: list[bytes] = []
        size = 0
        with self._deadline.running():
            while size < _PIECE_BYTES and (part := next(stream, None)) is not None:
                parts.append(part)
                size += len(part)
        return b"".join(parts)

    def _why(self, error: Exception) -> str:
        return (
            f"no complete answer within {self._deadline.seconds:g} s"
            if self._deadline.passed
            else responses.plain(error)
        )

    def _series(self, query: str, pieces: Iterable[bytes], empty: bool) -> Iterator[Series]:
        """Yield the series of an answer. An answer can be truncated without an error: its last chunk must not announce another.

        `empty`: whether an answer without documents is valid.
        """
        more = not empty
        for piece in pieces:
            if not piece.strip():
                continue
            try:
                answer = json.loads(piece, parse_int=responses.integer)
            except (ValueError, RecursionError) as error:
                if piece.startswith(b"{") and not isinstance(error, RecursionError):
                    raise self._unreachable(_BROKE_OFF) from error
                raise self._foreign(f"{self.settings.url}/query", repr(piece[:200])) from error
            try:
                failure, found, more = responses.parts_of(answer)
            except (KeyError, TypeError, AttributeError) as error:
                raise self._foreign(f"{self.settings.url}/query", repr(piece[:200])) from error
            if failure is not None:
                raise self._bad_query(query, responses.shown(failure))
            yield from found
        if more:
            raise self._unreachable(_BROKE_OFF)

    def _again_and_again(self, attempt: Callable[[], T]) -> T:
        """Retry until success or the end of patience; pauses double unless the database requests a wait."""
        began = time.monotonic()
        pause_s = _FIRST_PAUSE_S
        told: set[str] = set()
        while True:
            try:
                found = attempt()
            except _Passing as error:
                left_s = self.patience_s - (time.monotonic() - began)
                wait_s = pause_s if error.wait_s is None else error.wait_s
                if wait_s > left_s or self.stop.is_set():
                    raise self._unreachable(str(error)) from error
                if str(error) not in told:
                    told.add(str(error))
                    how_long = "" if left_s == float("inf") else f" for {left_s:.0f} s"
                    self._say(f"{self.settings.url}: {error}; trying again{how_long}")
                if self.stop.wait(wait_s):
                    raise self._unreachable(str(error)) from error
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                if told:
                    self._say(f"{self.settings.url}: reachable again")
                return found

    def _send(self, path: str, data: bytes, headers: dict[str, str]) -> BaseHTTPResponse:
        """Send one request; return a successful answer, its body unread."""
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
                    text = responses.message(response.read(_ANSWER_BYTES, decode_content=True))
        except SSLError as error:
            raise StoreError(
                self.settings.where("url"),
                "a trusted certificate",
                responses.plain(error),
                "set `ca_file` to the certificate of its issuer",
            ) from error
        except (LocationParseError, InvalidHeader) as error:
            raise StoreError(
                self.settings.where("url"), "an InfluxDB address", responses.plain(error)
            ) from error
        except (HTTPError, OSError) as error:
            raise _Passing(self._why(error)) from error
        raise self._failure(response, text)

    def _hindrance(self) -> str:
        """Return why the InfluxDB of `regatta up` cannot be used now; empty if it is ready or another database is used."""
        if self.settings.path != service_folder().settings or not self.settings.is_near:
            return ""
        from regatta.services.stack import why_not_ours

        return why_not_ours(service_folder(), urlsplit(self.settings.url).port or 80)

    def _failure(self, response: BaseHTTPResponse, text: str | None) -> Exception:
        """Return the exception for an error answer. `text`: the message of the database; None: the answer has none."""
        status = response.status
        said = responses.shown(f"{status} {text or response.reason or ''}".rstrip())
        if status in (401, 403):
            return self._not_allowed(said)
        if text is not None and responses.NO_POLICY in text:
            # InfluxDB 1 reports this with a 500.
            return self._no_policy(said)
        if status in (400, 422) and text is not None:
            return _Refused(text)
        if status == 413:
            return _TooLarge(said)
        if status == 404 and text is not None:
            return StoreError(
                self.settings.where("database"),
                f"the database {self.settings.database!r}",
                said,
                f'CREATE DATABASE "{self.settings.database}", or correct the settings',
            )
        if status in (400, 408, 425, 429) or status >= 500:
            # A 400 without a database message comes from a proxy.
            return _Passing(said, responses.retry_after(response.headers.get("Retry-After")))
        return self._foreign(self.settings.where("url"), said)

    def _not_allowed(self, said: str) -> NotAllowed:
        account = self.settings.account(self.purpose)
        if account is None:
            return NotAllowed(
                self.settings.where(self.purpose),
                "an account, because InfluxDB requires one",
                said,
                f"add one under `{self.purpose}:`",
            )
        who = "a token" if account.user is None else f"the user {account.user!r} with a password"
        return NotAllowed(
            account.where,
            f"{who} with permission to {self.purpose} the database {self.settings.database!r}",
            said,
            "correct the account, and run the same command again; no data is lost",
        )

    def _unreachable(self, reason: str) -> Unreachable:
        start = "run `regatta up`" if self.settings.path == service_folder().settings else "start it"
        return Unreachable(
            self.settings.url,
            "a reachable InfluxDB",
            reason,
            f"{start}, then `regatta ingest` writes the records, which stay in the journal",
        )

    def _foreign(self, where: str, got: str) -> StoreError:
        return StoreError(where, "an answer from InfluxDB", got, "correct the address")

    def _no_policy(self, said: str) -> StoreError:
        name = self.settings.retention_policy
        return StoreError(
            self.settings.where("retention_policy"),
            f"a retention policy of the database {self.settings.database!r}",
            said,
            f'CREATE RETENTION POLICY "{name}" ON "{self.settings.database}" ..., or correct the settings',
        )

    def _bad_query(self, query: str, said: str) -> StoreError:
        if "authorized" in said:
            return self._not_allowed(said)
        if responses.NO_POLICY in said:
            return self._no_policy(said)
        return StoreError(self.settings.url, f"an answer to {query[:200]}", said)


def _trusted(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS context; None without TLS."""
    if not settings.url.startswith("https:"):
        return None
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        got = str(error.strerror or error)
        raise StoreError(settings.where("ca_file"), "a file with certificates", got) from error
