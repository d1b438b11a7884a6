"""The log of a web server, for a script."""
# ruff: noqa: SIM905 - lists of many words are read more easily as one string

from __future__ import annotations

import argparse
from typing import IO

from splitmix import SplitMix64
from words import TABLE_BITS, make_vocabulary, zipf_table

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # 2024
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:{v}.0) Gecko/20100101 Firefox/{v}.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{v}.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{v}.1 Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 Version/{v}.4 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (compatible; Examplebot/{v}.1; +https://bot.example/about)",
    "curl/8.{v}.0",
    "-",
)
SECTIONS = "news shop blog docs images api forum help".split()
EXTENSIONS = {"images": (".png", ".jpg", ".svg"), "docs": (".html", ".pdf"), "api": ("", "", ".json")}
METHODS = ["GET"] * 17 + ["POST", "POST", "HEAD"]
STATUSES = [200] * 30 + [304] * 5 + [301, 302, 404, 404, 403, 500, 503]


def timestamp(seconds: int) -> str:
    """Return a time of 2024 in the format of a web server log; the year repeats after its end."""
    days, second_of_day = divmod(seconds, 86400)
    days %= 366
    month = 0
    while days >= MONTH_DAYS[month]:
        days -= MONTH_DAYS[month]
        month += 1
    hour, rest = divmod(second_of_day, 3600)
    return f"{days + 1:02d}/{MONTHS[month]}/2024:{hour:02d}:{rest // 60:02d}:{rest % 60:02d} +0000"


def write_log(random: SplitMix64, options: argparse.Namespace, out: IO[str]) -> None:
    """Write `options.lines` lines of a log in the "combined" format of Apache httpd."""
    words = make_vocabulary(random, 2000)
    table = zipf_table(words)
    paths = []
    for _ in range(700):
        section = random.choose(SECTIONS)
        depth = "".join(f"/{random.choose(words)}" for _ in range(random.between(1, 3)))
        paths.append(f"/{section}{depth}{random.choose(EXTENSIONS.get(section, ('', '/', '.html')))}")
    path_table = zipf_table(paths)
    clients = [
        f"{random.between(11, 99)}.{random.below(40)}.{random.below(250)}.{random.between(1, 254)}"
        for _ in range(3000)
    ]
    client_table = zipf_table(clients)
    mask = (1 << TABLE_BITS) - 1
    seconds = 0
    for _ in range(options.lines):
        seconds += random.below(8)
        bits = random.next()
        path = path_table[bits & mask]
        client = client_table[bits >> 16 & mask]
        if random.below(6) == 0:
            terms = "+".join(table[random.next() & mask] for _ in range(random.between(1, 4)))
            path = f"/search?q={terms}%2C{bits >> 60}&page={random.between(1, 9)}"
        referer = "-" if bits >> 40 & 3 == 0 else f"https://www.example.org{path_table[bits >> 48]}"
        # The agent is derived from the address, so it is constant for a client.
        trait = sum(map(ord, client))
        agent = AGENTS[trait % len(AGENTS)].format(v=100 + trait % 23)
        size = random.below(1 << random.between(4, 20))
        out.write(
            f'{client} - - [{timestamp(seconds)}] "{random.choose(METHODS)} {path} HTTP/1.1" '
            f'{STATUSES[random.below(len(STATUSES))]} {size} "{referer}" "{agent}"\n'
        )
