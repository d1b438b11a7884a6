"""Formats of access logs: from a format string of Apache or nginx, or the keys of JSON lines, to a pattern with named parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from regatta.host.errors import RegattaError
from regatta.host.files import parse_json

#: what a part of a line means; `msec`: seconds since 1970 with a fraction; `usec`: microseconds since 1970; `cache`: what the cache
#: of a proxy did; `origin`: seconds that the server behind it took
Part = Literal[
    "client", "time", "iso", "msec", "usec", "request", "method", "target", "path", "query", "status", "bytes", "agent", "us", "ms", "s",
    "cache", "origin",
]  # fmt: skip

#: parts that are times, the most exact ones first
TIMES: tuple[Part, ...] = ("usec", "msec", "iso", "time")
#: directive of Apache's LogFormat -> its meaning
_APACHE: dict[str, Part] = {
    "h": "client", "a": "client", "t": "time", "r": "request", "m": "method", "U": "path", "q": "query", "s": "status",
    "b": "bytes", "B": "bytes", "O": "bytes", "D": "us", "T": "s", "{us}T": "us", "{ms}T": "ms", "{s}T": "s",
    "{user-agent}i": "agent", "{sec}t": "msec", "{usec}t": "usec", "{varnish:handling}x": "cache",
    "{varnish:hitmiss}x": "cache", "{varnish:time_firstbyte}x": "origin",
}  # fmt: skip
#: variable of nginx's log_format -> its meaning
_NGINX: dict[str, Part] = {
    "remote_addr": "client", "time_local": "time", "time_iso8601": "iso", "msec": "msec", "request": "request",
    "request_method": "method", "request_uri": "target", "uri": "path", "status": "status", "body_bytes_sent": "bytes",
    "bytes_sent": "bytes", "http_user_agent": "agent", "request_time": "s",
    "upstream_cache_status": "cache", "upstream_header_time": "origin", "upstream_response_time": "origin",
}  # fmt: skip
_TOKEN = re.compile(
    r"%[<>!\d,]*(?P<apache>(?:\{[^}]*\}\^?\w|\w|%))|\$(?:\{(?P<braced>\w+)\}|(?P<nginx>\w+))|(?P<space>[ \t]+)|(?P<literal>[^%$ \t]+)"
)
#: formats that are tried on a log without `--format`, each also followed by a time in an unknown unit
KNOWN = {
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "common": '%h %l %u %t "%r" %>s %b',
    "vhost_combined": '%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"',
}
#: Apache's `%D` is whole microseconds, nginx's `$request_time` has a point.
_TIMINGS = {
    " and microseconds": " %D",
    " and nginx's $request_time": " $request_time",
    ", microseconds and exact times": " %D %{usec}t",
    ", microseconds and those of a cache": " %D %{Varnish:handling}x %{Varnish:time_firstbyte}x",
    ", nginx's $request_time and $msec": " $request_time $msec",
    ", nginx's $request_time, $msec and those of a cache": " $request_time $msec $upstream_cache_status $upstream_header_time",
}

#: key of JSON lines, in lower case -> its meaning; the first one that a log has is used
_JSON: dict[str, Part] = {
    "remote_addr": "client", "remote_ip": "client", "client_ip": "client", "clientip": "client", "remote_host": "client",
    "request.remote_ip": "client", "time_local": "time", "time_iso8601": "iso", "@timestamp": "iso", "timestamp": "iso",
    "time": "iso", "ts": "msec", "msec": "msec", "request": "request", "request_method": "method", "method": "method",
    "request.method": "method", "request_uri": "target", "uri": "target", "url": "target", "path": "target",
    "request.uri": "target", "status": "status", "body_bytes_sent": "bytes", "bytes_sent": "bytes", "bytes": "bytes",
    "size": "bytes", "http_user_agent": "agent", "user_agent": "agent", "agent": "agent", "request_time": "s",
    "duration_us": "us", "duration_ms": "ms", "duration": "s", "upstream_cache_status": "cache",
    "upstream_header_time": "origin", "upstream_response_time": "origin",
}  # fmt: skip
#: of the first lines; the others may be broken
_LEAST_SHARE = 0.1
#: of nginx, which writes a line at the end of a request
_AT_END = ("$time_", "$msec", "$request_time")
#: a time with its zone, neither in brackets nor in quotes
_SPACED = r"{}\S+ [-+]\d+{}"
#: times of several servers, such as `0.010, 0.020 : -`
_SEVERAL = r"{}[^\"]*?{}"
#: headers and lists of servers, which may have spaces
_FREE = ("{", "http_", "sent_http_", "cookie_", "upstream_")
_NEEDED = "time and status, and a request line or a path"


@dataclass(frozen=True)
class LogFormat:
    """The parts of a line of a log.

    `parts`: meaning and group of `pattern`, or meaning and path of a JSON key. `pattern`: a regular expression of RE2; "" for
    JSON lines. `at_end`: whether the time of a line is that of the end of the request. `places`: where most lines have the parts
    (functions of text are several times faster than a pattern): the piece between quotes, from 1, and SQL of the part in `piece`;
    `pieces`: their number; 0: unknown.
    """

    name: str
    parts: tuple[tuple[Part, str], ...]
    pattern: str
    at_end: bool
    places: tuple[tuple[int, str], ...] = ()
    pieces: int = 0

    def has(self, *meanings: Part) -> bool:
        """Return whether it has one of these parts."""
        return any(meaning in meanings for meaning, _ in self.parts)

    @property
    def whole(self) -> bool:
        """Return whether it has all that a model needs."""
        return self.has(*TIMES) and self.has("status") and self.has("request", "target", "path")


#: Squid's native format. Its sizes have the headers, and its times are those of the ends of requests.
SQUID = LogFormat(
    "squid",
    tuple((part, part) for part in ("msec", "ms", "client", "cache", "status", "bytes", "method", "target")),
    r"^(?P<msec>\d+\.\d+)\s+(?P<ms>-?\d+)\s+(?P<client>\S+)\s+(?P<cache>[A-Z_]+)/(?P<status>\d\d\d)\s+(?P<bytes>\d+)\s+"
    r"(?P<method>\S+)\s+(?P<target>\S+)\s+\S+\s+[A-Z_]+/\S+\s+\S+",
    at_end=True,
)


def parse_format(text: str) -> LogFormat:
    """Return the format of a name (`combined`, `common`, `vhost_combined`, `squid`), a LogFormat of Apache, or a log_format of nginx.

    Raises:
        RegattaError: without time, status and request.
    """
    found = SQUID if text == SQUID.name else _parsed(KNOWN.get(text, text), text)
    if not found.whole:
        names = ", ".join((*KNOWN, SQUID.name))
        raise RegattaError("--format", f"a format with {_NEEDED}", repr(text), f"give the LogFormat of Apache, the log_format of nginx, or one of {names}")  # fmt: skip
    return found


def find_format(lines: Sequence[str], where: str) -> LogFormat:
    """Return the known format that fits most of some lines.

    Args:
        lines: from the begin of a log, at least one, without empty ones.
        where: the file, for the error.

    Raises:
        RegattaError: no known format fits a tenth of the lines.
    """
    objects = sum(line.startswith("{") for line in lines)
    if 2 * objects > len(lines):
        return _json_format([line for line in lines if line.startswith("{")], where)
    candidates = [
        *(
            _parsed(pattern + timing, name + words)
            for name, pattern in KNOWN.items()
            for words, timing in ({"": ""} | _TIMINGS).items()
        ),
        SQUID,
    ]
    # In RE2, the time of a match is linear, whatever a line has.
    texts = pa.array(lines, pa.string())
    fits = [pc.sum(pc.match_substring_regex(texts, candidate.pattern)).as_py() for candidate in candidates]
    best = max(range(len(candidates)), key=lambda at: fits[at])
    if fits[best] < _LEAST_SHARE * len(lines):
        names = ", ".join((*KNOWN, SQUID.name))
        raise RegattaError(
            where, f"an access log ({names}, or JSON lines)", repr(lines[0][:200]), "give --format"
        )
    return candidates[best]


def _parsed(text: str, name: str) -> LogFormat:
    """Return the format of a format string. Fields without a meaning are matched and ignored."""
    pattern: list[str] = []
    parts: list[tuple[Part, str]] = []
    places: list[tuple[int, str]] = []
    spaced = False
    for number, token in enumerate(_TOKEN.finditer(text)):
        if token["space"]:
            pattern.append(r"\s+")
        elif token["literal"] or token["apache"] == "%":
            pattern.append(re.escape(token["literal"] or "%"))
        else:
            directive = token["apache"]
            before, following = text[token.start() - 1 : token.start()], text[token.end() : token.end() + 1]
            variable = token["braced"] or token["nginx"]
            meaning = (
                _APACHE.get(directive[:-1].lower() + directive[-1]) if directive else _NGINX.get(variable)
            )
            if variable == "upstream_response_time" and "$upstream_header_time" in text:
                meaning = None  # It has the transfer of the answer too.
            whole = _field(meaning, before, following, bracketed=directive == "t")
            free = meaning is None and before != '"' and (directive or variable).startswith(_FREE)
            spaced |= free or whole in (_SPACED, _SEVERAL)
            if meaning is None or any(meaning == used for used, _ in parts):
                pattern.append(whole.format("(?:", ")"))
            else:
                group = f"p{number}"
                parts.append((meaning, group))
                pattern.append(whole.format(f"(?P<{group}>", ")"))
                places.append(_place(text, token.start(), token.end(), bracketed=directive == "t"))
    known = not spaced and all(number for number, _ in places)
    return LogFormat(
        name,
        tuple(parts),
        "^" + "".join(pattern) + r"\s*$",
        at_end=any(variable in text for variable in _AT_END),
        places=tuple(places) if known else (),
        pieces=text.count('"') + 1 if known else 0,
    )


def _place(text: str, start: int, end: int, bracketed: bool) -> tuple[int, str]:
    """Return the piece of a line that has a field, from 1, and SQL of the field in `piece`; 0 if it is not simple."""
    before, after = text[:start], text[end:]
    piece = before.count('"') + 1
    if piece % 2 == 0:
        return (piece, "piece") if before.endswith('"') and after.startswith('"') else (0, "")
    head = before.rpartition('"')[2]
    if bracketed or (head.endswith("[") and after.startswith("]")):
        # A name of a server may have brackets: those of an address.
        opening = " [" if head.removesuffix("[").endswith(" ") else "["
        return (piece, f"split_part(split_part(piece, '{opening}', 2), ']', 1)") if head.count("[") <= 1 else (0, "")  # fmt: skip
    if (head and not head.endswith(" ")) or (after and not after.startswith((" ", '"'))):
        return 0, ""
    _, time, tail = head.rpartition("%t") if "%t" in head else head.rpartition("]")
    if time:
        return piece, f"split_part(split_part(piece, '] ', 2), ' ', {tail.count(' ')})"
    return piece, f"split_part(piece, ' ', {head.count(' ') + 1})"


def _field(meaning: Part | None, before: str, following: str, bracketed: bool) -> str:
    """Return the pattern of a field; `{}` twice: where its group begins and ends."""
    if bracketed:
        return r"\[{}[^\]]*{}\]"
    if before == "[" and following == "]":
        return r"{}[^\]]*{}"
    if meaning == "status":
        return r"{}\d\d\d{}"
    if meaning == "bytes":
        return r"{}\d+|-{}"
    if meaning == "s":
        return r"{}\d+(?:\.\d+)?{}"
    if meaning in ("us", "ms"):
        return r"{}\d+{}"
    if before == '"' and following == '"':
        return r'{}(?:[^"\\]|\\.)*{}'
    if meaning == "time":
        return _SPACED
    if meaning == "origin":
        return _SEVERAL
    if meaning == "path":
        return r"{}[^\s?]*{}"
    # The name of a user may contain spaces; a time in brackets follows it in all usual formats.
    return r"{}(?:[^\[\"\\]|\\.)*?{}" if meaning is None and following == " " else r"{}\S*?{}"


def _json_format(lines: Sequence[str], where: str) -> LogFormat:
    keys: dict[str, str] = {}
    for line in lines:
        try:
            value = parse_json(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            keys |= {
                key.lower(): f'$."{key}"'
                for key, inner in value.items()
                if '"' not in key and not isinstance(inner, (dict, list))
            }
            for outer, inner in value.items():
                if isinstance(inner, dict) and '"' not in outer:
                    keys |= {
                        f"{outer}.{key}".lower(): f'$."{outer}"."{key}"' for key in inner if '"' not in key
                    }
    parts: dict[Part, str] = {}
    for key, meaning in _JSON.items():
        if key in keys and not (meaning in TIMES and parts.keys() & TIMES):
            parts.setdefault(meaning, keys[key])
    found = LogFormat("JSON lines", tuple(parts.items()), "", at_end=True)
    if not found.whole:
        raise RegattaError(where, f"JSON lines with {_NEEDED}", f"the keys {', '.join(sorted(keys))[:300]}", "rename the keys, as documented in docs/request-models.md")  # fmt: skip
    return found
