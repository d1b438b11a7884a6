"""Write the access log of a shop that does not exist, to try `regatta model` without a log at hand.

People arrive at random, more by day than by night. They walk through pages: the front page, lists, items, the cart. A page
embeds pictures; a browser asks for a picture that it knows with a condition, or not at all. Robots ask for one page after the
other. The log has the Combined Log Format and the time of each answer in microseconds. It needs only Python.

With --proxy-bytes, it is the log of a caching proxy in front of the shop, as varnishncsa writes it: each line also has what the
cache did, and the time until the answer began. The cache drops what was not asked for longest. Carts are private.
"""

import argparse
import math
import random
import time

#: page -> next pages with their weights; "" ends the visit
WALK = {
    "front": {"list": 6, "item": 2, "search": 2, "": 4},
    "list": {"item": 6, "list": 3, "front": 1, "": 3},
    "search": {"item": 5, "search": 2, "": 3},
    "item": {"item": 4, "list": 3, "cart": 2, "": 4},
    "cart": {"item": 2, "checkout": 3, "": 2},
    "checkout": {"": 1},
}
LISTS, ITEMS, PICTURES_PER_PAGE = 40, 3000, 3
BEGIN = 1_767_225_600  # 2026-01-01, UTC
BEFORE_S = 1200
AGENTS = [
    f"Mozilla/5.0 (X11; Linux x86_64; rv:{number}.0) Gecko/20100101 Firefox/{number}.0"
    for number in range(120, 140)
]
ROBOT = "ExampleBot/1.0 (+https://bot.example.org/)"


class Cache:
    """A cache of a number of bytes. It passes on what is private, and keeps nothing that does not exist."""

    def __init__(self, room, chance):
        self.room, self.chance, self.sizes = room, chance, {}

    def look(self, method, path, status, size):
        """Return what it does with a request, and the seconds until the answer begins."""
        took = self.chance.lognormvariate(-3.2, 0.6)
        if method == "POST" or path.startswith("/c"):
            return "pass", took
        if path in self.sizes:
            self.sizes[path] = self.sizes.pop(path)
            return "hit", 0.0001
        if status != 404:
            self.sizes[path] = size
            self.room -= size
            while self.room < 0:
                self.room += self.sizes.pop(next(iter(self.sizes)))
        return "miss", took


class Site:
    """The pages and pictures with their sizes, and which items are popular."""

    def __init__(self, chance):
        self.chance = chance
        self.sizes = {}
        self.items = list(range(ITEMS))
        chance.shuffle(self.items)
        self.weights = [0.0]
        for rank in range(1, ITEMS + 1):
            self.weights.append(self.weights[-1] + rank**-0.8)

    def size(self, path):
        """Return the bytes of an object: lognormal, pictures larger than pages."""
        if path not in self.sizes:
            middle = 9.6 if path.startswith("/pictures/") else 8.4
            self.sizes[path] = max(200, int(math.exp(self.chance.gauss(middle, 0.8))))
        return self.sizes[path]

    def item(self):
        """Return an item: a few are popular."""
        place = self.chance.random() * self.weights[-1]
        low, high = 0, ITEMS
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.weights[middle + 1] < place else (low, middle)
        return self.items[low]

    def path(self, page):
        """Return the path of a page of a kind."""
        if page == "list":
            return f"/list/{int(LISTS * self.chance.random() ** 2)}"
        if page == "item":
            return f"/item/{self.item()}"
        if page == "search":
            return f"/search?words={self.chance.randrange(500)}"
        return "/" if page == "front" else f"/{page}"


def visit(site, chance, at, write):
    """Write the requests of one person from a time on."""
    address = f"10.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(256)}"
    agent, known, referer = chance.choice(AGENTS), set(), "-"
    page = chance.choices(["front", "item"], [7, 3])[0]
    while page:
        path = site.path(page)
        write(
            at,
            address,
            agent,
            "POST" if page == "checkout" else "GET",
            path,
            200,
            site.size(path.partition("?")[0]),
            referer,
        )
        referer = "https://shop.example.org" + path
        pictures = [
            f"/pictures/{path.strip('/').replace('/', '-').partition('?')[0] or 'front'}-{number}"
            for number in range(PICTURES_PER_PAGE)
        ]
        moment = at
        for picture in ["/style.css", *pictures]:
            moment += chance.expovariate(1 / 0.06)
            if picture not in known:
                write(moment, address, agent, "GET", picture, 200, site.size(picture), referer)
                known.add(picture)
            elif chance.random() < 0.2:
                write(moment, address, agent, "GET", picture, 304, 0, referer)
        if chance.random() < 0.02:
            write(moment, address, agent, "GET", f"/old/{chance.randrange(200)}", 404, 196, referer)
        page = chance.choices(list(WALK[page]), list(WALK[page].values()))[0]
        at = moment + 1.5 + chance.lognormvariate(2.3, 1.0)


def robot(site, chance, at, write):
    """Write the requests of a robot: one page every few seconds."""
    for _ in range(chance.randrange(20, 200)):
        path = site.path(chance.choice(["list", "item"]))
        write(
            at, "10.0.0.1", ROBOT, "HEAD" if chance.random() < 0.1 else "GET", path, 200, site.size(path), "-"
        )
        at += 2 + chance.expovariate(1 / 3)


def main():
    """Write the log."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=24, help="length of the log (default 24)")
    parser.add_argument(
        "--visits-per-hour", type=float, default=400, help="mean number of visits (default 400)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--proxy-bytes", type=int, help="bytes of the cache of a proxy (default: no proxy)")
    parser.add_argument("--output", required=True)
    given = parser.parse_args()
    chance, lines = random.Random(given.seed), []
    site = Site(chance)
    cache = Cache(given.proxy_bytes, random.Random(given.seed + 1)) if given.proxy_bytes else None

    def write(at, address, agent, method, path, status, size, referer):
        took = int(200 + size / 100 + chance.expovariate(1 / 300))
        lines.append(
            (
                at,
                f'{address} - - [%s] "{method} {path} HTTP/1.1" {status} {size} "{referer}" "{agent}" {took}',
                (method, path, status),
            )
        )

    # Visits that began before the log are in it too, as in a log of a server that runs for long.
    at, end = float(BEGIN - BEFORE_S), BEGIN + 3600 * given.hours
    while at < end:
        hour = time.gmtime(int(at)).tm_hour
        rate = given.visits_per_hour * (1 + 0.7 * math.sin((hour - 9) / 24 * 2 * math.pi))
        at += chance.expovariate(rate / 3600)
        (robot if chance.random() < 0.005 else visit)(site, chance, at, write)
    lines.sort(key=lambda one: one[0])
    with open(given.output, "w") as file:
        for moment, line, asked in lines:
            more = ""
            if cache:
                word, began = cache.look(*asked, site.size(asked[1].partition("?")[0]))
                more = f" {word} {began:.6f}"
            if BEGIN <= moment < end:
                at = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(int(moment)))
                file.write(line % at + more + "\n")


main()
