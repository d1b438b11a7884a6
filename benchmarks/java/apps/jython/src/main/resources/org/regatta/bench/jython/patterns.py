# Regular expressions on the lines of a log.

import re

LINE = re.compile(r"^(\d+\.\d+\.\d+\.\d+) - (\w+|-) \[(\d+)/(\w{3})/(\d{4}):(\d\d):(\d\d)\] \"(GET|POST|PUT) ([^\"]*)\" (\d{3}) (\d+|-)$")
QUERY = re.compile(r"[?&](?P<name>[a-z]+)=(?P<value>[^&\s]*)")
NUMBER = re.compile(r"\d+")
REPEATED = re.compile(r"(\w{2,})\W+\1")
PATH = re.compile(r"^/(?:static|img)/.*\.(?:png|css|js)$")


def lines(seed, count):
    state = seed % 2147483647 or 1
    for i in xrange(count):
        state = state * 16807 % 2147483647
        address = "10.%d.%d.%d" % (state % 7, state % 251, state % 13)
        name = "user%d" % (state % 17) if state % 3 else "-"
        if state % 5 == 0:
            path = "/static/site/%d/style.%s" % (state % 31, ("css", "js", "png")[state % 3])
        else:
            path = "/find/page?word=w%d&word=w%d&page=%d" % (state % 97, state % 89, state % 11)
        code = (200, 200, 200, 304, 404, 500)[state // 7 % 6]
        length = str(state % 100000) if code == 200 else "-"
        yield '%s - %s [%02d/Nov/2026:%02d:%02d] "%s %s HTTP/1.1" %d %s' % (
            address, name, i % 28 + 1, i // 60 % 24, i % 60, ("GET", "POST")[state % 2], path, code, length)


def run(size, seed):
    users, codes, values = {}, {}, {}
    sent = static = repeated = 0
    hidden = []
    for line in lines(seed, 60 * size):
        match = LINE.match(line)
        if match is None:
            raise ValueError(line)
        user, request, code, length = match.group(2, 9, 10, 11)
        users[user] = users.get(user, 0) + 1
        codes[code] = codes.get(code, 0) + 1
        if length != "-":
            sent += int(length)
        path = request.split(" ")[0]
        if PATH.match(path):
            static += 1
        for found in QUERY.finditer(path):
            values.setdefault(found.group("name"), []).append(found.group("value"))
        if REPEATED.search(path):
            repeated += 1
        hidden.append(NUMBER.sub(lambda digits: "#" * len(digits.group()), line))
    counts = sorted((name, len(some), max(some)) for name, some in values.items())
    return "%s %s %d %d %d %s %s" % (
        sorted(users.items()), sorted(codes.items()), sent, static, repeated, counts, "\n".join(hidden[-20:]))
