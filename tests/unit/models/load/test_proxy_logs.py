"""Logs of caching proxies: what the cache did, and how long the server behind the proxy took."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import pytest

from helpers.request_logs import AGENT, BEGIN_S, divided, line, read_text, rows
from regatta.host.errors import RegattaError
from regatta.models.load.comparing import compare_loads, of_log, of_model
from regatta.models.load.distributions import Distribution
from regatta.models.load.drawing import Drawn, draw, joined, replayed, write_sessions
from regatta.models.load.fitting import fit_model
from regatta.models.load.formats import find_format
from regatta.models.load.model import Proxy, RequestModel, model_text, read_model, write_model
from regatta.models.load.visits import KINDS, Pauses
from regatta.spec.home import find_home

NGINX = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent $upstream_cache_status $upstream_response_time'
#: as the web driver lets nginx write them
OWN = " 0.010 1795514400.000 {} {}"
SHOP = find_home() / "configs" / "loads" / "shop.yml"
MU, SIGMA = -3.0, 0.5


def nginx(at_s: int, cache: str, took: str, path: str = "/a", size: int = 100, status: int = 200) -> str:
    return line(at_s, path=path, size=size, status=status, more=OWN.format(cache, took))


def squid(
    result: str, at_s: float = 0.0, took_ms: int = 10, size: int = 100, url: str = "http://example.org/a", method: str = "GET"
) -> str:  # fmt: skip
    return f"{BEGIN_S + at_s:.3f} {took_ms:6d} 192.0.2.7 {result} {size} {method} {url} - HIER_DIRECT/203.0.113.1 text/html\n"


# --- what a line says ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "expected"),
    [("HIT", "hit"), ("STALE", "hit"), ("UPDATING", "hit"), ("REVALIDATED", "hit"), ("MISS", "miss"),
     ("EXPIRED", "miss"), ("BYPASS", "bypass"), ("-", None)],
)  # fmt: skip
def test_each_status_of_the_cache_of_nginx_is_known(word: str, expected: str | None, tmp_path: Path) -> None:
    for number, (text, given) in enumerate(((nginx(0, word, "0.025"), None), (nginx(0, f'"{word}"', '"0.025"'), _QUOTED))):  # fmt: skip
        folder = tmp_path / str(number)
        folder.mkdir()
        read = read_text(folder, text, given=given)
        took = 25_000 if expected in ("miss", "bypass") else None
        assert rows(read, "cache, origin_us") == [(expected, took)]


_QUOTED = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" '
    '$request_time $msec "$upstream_cache_status" "$upstream_response_time"'
)


@pytest.mark.parametrize(
    ("took", "expected"),
    [("0.000", 0), ("1.5", 1_500_000), ("0.010, 0.020", 30_000), ("0.010 : 0.020", 30_000), ("-, 0.020", 20_000), ("-", None)],
)  # fmt: skip
def test_times_of_several_servers_are_added(took: str, expected: int | None, tmp_path: Path) -> None:
    read = read_text(tmp_path, nginx(0, "MISS", took) + nginx(1, "HIT", "-"))
    assert rows(read, "cache, origin_us") == [("miss", expected), ("hit", None)]
    assert [name.partition(" and ")[0] for name in read.formats] == ["combined, nginx's $request_time, $msec"]


def test_the_time_of_the_head_is_preferred_to_that_of_the_answer(tmp_path: Path) -> None:
    asked = {
        "remote_addr": "192.0.2.1",
        "msec": BEGIN_S,
        "request": "GET /a HTTP/1.1",
        "status": 200,
        "body_bytes_sent": 5,
    }
    times = {"upstream_cache_status": "MISS", "upstream_response_time": "0.9", "upstream_header_time": "0.1"}
    read = read_text(tmp_path, json.dumps(asked | times) + "\n")
    assert rows(read, "cache, origin_us") == [("miss", 100_000)]
    given = f"{NGINX} $upstream_header_time"
    text = line(0).replace(' "-" "' + AGENT + '"', " MISS 0.9 0.1")
    assert rows(read_text(tmp_path, text, given=given), "cache, origin_us") == [("miss", 100_000)]


def test_varnish_logs_are_read_with_their_format(tmp_path: Path) -> None:
    given = '%h %l %u %t "%r" %s %b %{Varnish:handling}x %{Varnish:time_firstbyte}x'
    text = "".join(
        line(0).replace(' "-" "' + AGENT + '"', f" {word} 0.25")
        for word in ("hit", "miss", "pass", "pipe", "synth")
    )
    found = [row[0] for row in rows(read_text(tmp_path, text, given=given), "cache")]
    assert found == ["hit", "miss", "bypass", "bypass", None]


@pytest.mark.parametrize(
    ("result", "expected"),
    [("TCP_HIT", "hit"), ("TCP_MEM_HIT", "hit"), ("TCP_IMS_HIT", "hit"), ("TCP_NEGATIVE_HIT", "hit"),
     ("TCP_REFRESH_UNMODIFIED", "hit"), ("TCP_REFRESH_FAIL_OLD", "hit"), ("TCP_MISS", "miss"),
     ("TCP_REFRESH_MODIFIED", "miss"), ("TCP_REFRESH_FAIL_ERR", "miss"), ("TCP_SWAPFAIL_MISS", "miss"),
     ("TCP_MISS_ABORTED", "miss"), ("TCP_CLIENT_REFRESH_MISS", "bypass"), ("TCP_DENIED", None), ("NONE", None),
     ("NONE_NONE", None), ("UDP_HIT", None)],
)  # fmt: skip
def test_each_result_of_squid_is_known(result: str, expected: str | None, tmp_path: Path) -> None:
    read = read_text(tmp_path, squid(f"{result}/200", took_ms=40))
    took = 40_000 if expected in ("miss", "bypass") else None
    assert rows(read, "cache, origin_us") == [(expected, took)]
    assert read.formats == ["squid"]


def test_a_log_of_squid_has_the_same_columns_as_others(tmp_path: Path) -> None:
    text = squid("TCP_MISS/200", 1.25, 310, 1234, "http://example.org/a?x=1") + squid("TCP_HIT/304", 2)
    read = read_text(tmp_path, text, names=True)
    columns = "at_us, duration_us, method, path, query, status, bytes"
    assert rows(read, columns) == [
        (BEGIN_S * 10**6 + 1_250_000, 310_000, "GET", "http://example.org/a", True, 200, 1234),
        (BEGIN_S * 10**6 + 2_000_000, 10_000, "GET", "http://example.org/a", False, 304, 100),
    ]
    assert read.at_end
    again = read_text(tmp_path, text, given="squid")
    assert rows(again, "at_us, object, status") == rows(read, "at_us, object, status")


def test_objects_of_two_hosts_with_one_path_are_two(tmp_path: Path) -> None:
    text = squid("TCP_MISS/200") + squid("TCP_MISS/200", url="http://example.net/a")
    assert len(set(rows(read_text(tmp_path, text), "object"))) == 2


# --- what is wrong ---------------------------------------------------------------------------------------


def test_bad_values_are_counted_by_reason_and_stop_nothing(tmp_path: Path) -> None:
    text = "".join(
        [
            nginx(0, "MISS", "0.1"),
            nginx(1, "maybe", "0.1"),
            nginx(2, "HIT';drop", "-"),
            nginx(3, "MISS", "-1"),
            nginx(4, "MISS", "nan"),
            nginx(5, "MISS", "0.1, x"),
            nginx(6, "MISS", "86401"),
            nginx(7, "MISS", "1e400"),
        ]
    )
    read = read_text(tmp_path, text)
    assert rows(read, "cache, origin_us") == [("miss", 100_000)]
    found = {one.reason.split()[0]: (one.count, one.where) for one in read.broken}
    assert found == {
        "unknown": (2, f"{tmp_path / '0.log'}:2"),
        "unreadable": (5, f"{tmp_path / '0.log'}:4"),
    }


def test_tunnels_and_queries_of_other_proxies_are_counted(tmp_path: Path) -> None:
    text = "".join(
        [
            squid("TCP_HIT/200"),
            squid("TCP_TUNNEL/200", url="example.org:443", method="CONNECT", size=10**9),
            squid("UDP_MISS/000", method="ICP_QUERY"),
            squid("TCP_HIT/200").replace("/200", "/20"),
            "garbage\n",
        ]
    )
    read = read_text(tmp_path, text)
    assert read.requests == 1
    assert {one.reason.partition(" in ")[0]: one.count for one in read.broken} == {
        "a tunnel (CONNECT)": 1,
        "unreadable status": 1,
        "not": 2,
    }


@pytest.mark.parametrize(
    "url",
    ["http://example.org/';drop table lines;--", "http://example.org/$(touch x)`touch y`", "http://[::1/\x1b[2J", "javascript:alert(1)",
     "http://example.org/../../etc/passwd\0", "/" + "a" * 20_000],
)  # fmt: skip
def test_text_of_a_url_is_only_data(url: str, tmp_path: Path) -> None:
    plain = squid("TCP_MISS/200", 1)
    read = read_text(tmp_path, squid("TCP_HIT/200", url=url.replace(" ", "%20")) + plain, names=True)
    assert [row[0] for row in rows(read, "cache")] == ["hit", "miss"]
    assert rows(read, "path")[0] == (url.replace(" ", "%20").partition("?")[0],)
    assert read.lines == 2


def test_a_log_without_a_known_format_names_that_of_squid(tmp_path: Path) -> None:
    with pytest.raises(RegattaError, match="squid"):
        find_format(["no log at all"], "x.log")


# --- the model -------------------------------------------------------------------------------------------


def lru_log(
    random: np.random.Generator, count: int = 6000, capacity: int = 40
) -> tuple[str, dict[str, float]]:
    """A log of a cache of some objects with lognormal latencies, and what it should show."""
    cache: OrderedDict[int, None] = OrderedDict()
    sizes = random.integers(100, 10_000, 300)
    weights = np.arange(1, 301) ** -0.9
    texts, seen = [], Counter[str]()
    for at, number in enumerate(random.choice(300, count, p=weights / weights.sum())):
        bypass = number % 20 == 7
        word = "BYPASS" if bypass else "HIT" if number in cache else "MISS"
        took = "-" if word == "HIT" else f"{random.lognormal(MU, SIGMA):.3f}"
        if not bypass:
            cache[number] = None
            cache.move_to_end(number)
            if len(cache) > capacity:
                cache.popitem(last=False)
        seen.update({word: 1, "bytes": int(sizes[number]), "hit bytes": int(sizes[number]) * (word == "HIT")})
        more = OWN.format(word, took)
        texts.append(line(at, f"192.0.2.{at % 50}", f"/o/{number}", size=int(sizes[number]), more=more))
    shares = {"hits": seen["HIT"] / count, "bypass": seen["BYPASS"] / count}
    return "".join(texts), shares | {"bytes": seen["hit bytes"] / seen["bytes"]}


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> tuple[RequestModel, dict[str, float]]:
    text, shares = lru_log(np.random.default_rng(5))
    return fit_model(divided(tmp_path_factory.mktemp("proxied"), text), Pauses()), shares


def test_hit_ratios_and_latencies_of_a_log_are_recovered(
    proxied: tuple[RequestModel, dict[str, float]],
) -> None:
    model, shares = proxied
    assert model.proxy is not None
    assert model.proxy.requests == 6000
    assert model.proxy.hit_ratio == pytest.approx(shares["hits"], abs=1e-6)
    assert model.proxy.byte_hit_ratio == pytest.approx(shares["bytes"], abs=1e-6)
    assert model.proxy.uncacheable == pytest.approx(shares["bypass"], abs=1e-6)
    latency = model.proxy.origin_latency
    assert latency is not None
    assert latency.distribution == "lognormal"
    assert latency.n == round(6000 * (1 - shares["hits"]))
    assert latency.parameters["mu"] == pytest.approx(MU, abs=5 * SIGMA / latency.n**0.5)
    assert latency.parameters["sigma"] == pytest.approx(SIGMA, abs=5 * SIGMA / (2 * latency.n) ** 0.5)
    assert latency.distance < 0.03


def test_a_model_with_a_proxy_survives_its_file(
    proxied: tuple[RequestModel, dict[str, float]], tmp_path: Path
) -> None:
    write_model(proxied[0], tmp_path / "m.yml")
    assert read_model(tmp_path / "m.yml") == proxied[0]


def test_a_model_without_a_proxy_stays_valid_and_has_none(tmp_path: Path) -> None:
    model = fit_model(divided(tmp_path, line(0) + line(5, path="/b")), Pauses())
    assert model.proxy is None
    assert "proxy" not in model_text(model)
    write_model(model, tmp_path / "m.yml")
    assert read_model(tmp_path / "m.yml").proxy is None


def test_shares_above_one_are_refused() -> None:
    with pytest.raises(ValueError, match="sum up to 1"):
        Proxy(requests=1, hit_ratio=0.7, byte_hit_ratio=0.0, uncacheable=0.4)


# --- sessions --------------------------------------------------------------------------------------------


def test_sessions_have_the_share_of_private_objects_and_the_latencies(
    proxied: tuple[RequestModel, dict[str, float]],
) -> None:
    model, shares = proxied
    drawn = draw(model, 500, np.random.default_rng(1))
    assert drawn.private[drawn.objects].mean() == pytest.approx(shares["bypass"], abs=0.01)
    assert not (drawn.private[drawn.objects] & (drawn.kinds == KINDS.index("unmodified"))).any()
    logs = np.log(drawn.latencies_us / 1e6)
    assert len(logs) == 1000
    assert logs.mean() == pytest.approx(MU, abs=0.05)
    assert logs.std() == pytest.approx(SIGMA, abs=0.05)


def test_a_client_sends_no_condition_for_a_private_object() -> None:
    model = read_model(SHOP)
    assert model.kinds["unmodified"] > 0
    model = model.model_copy(
        update={"proxy": Proxy(requests=1, hit_ratio=0.0, byte_hit_ratio=0.0, uncacheable=1.0)}
    )
    drawn = draw(model, 50, np.random.default_rng(1))
    assert drawn.private[drawn.objects].all()
    assert KINDS.index("unmodified") not in drawn.kinds


def sections(path: Path) -> dict[str, list[int]]:
    """The parts of a file of sessions that are for a proxy."""
    words = path.read_text().split()
    return {
        name: [int(word) for word in words[at + 2 : at + 2 + int(words[at + 1])]]
        for name in ("private", "latencies")
        for at in [words.index(name) if name in words else len(words)]
        if at < len(words)
    }


def test_the_file_of_sessions_has_what_a_proxy_needs_and_otherwise_nothing_more(tmp_path: Path) -> None:
    drawn = Drawn(
        np.array([-1]), np.array([2]), np.array([0, 5]), np.array([1, 3]), np.array([0, 0]), np.array([True, False]),
        np.array([10, 20, 30, 40]), np.array([True, False, True, True]), np.array([7, 9]),
    )  # fmt: skip
    write_sessions(drawn, tmp_path / "a")
    assert (tmp_path / "a").read_text().splitlines()[1:4] == ["objects 2", "20", "40"]
    assert sections(tmp_path / "a") == {"private": [1], "latencies": [7, 9]}
    plain = draw(fit_model(divided(tmp_path, line(0)), Pauses()), 3, np.random.default_rng(1))
    write_sessions(plain, tmp_path / "b")
    assert sections(tmp_path / "b") == {}


def test_a_replay_has_the_latencies_and_the_private_objects_of_the_log(tmp_path: Path) -> None:
    text = "".join(
        [nginx(at, "MISS", f"{0.01 * (at + 1):.3f}", f"/o/{at}", 100 + at) for at in range(10)]
        + [nginx(20, "HIT", "-", "/o/0"), nginx(21, "BYPASS", "0.050", "/private", 7)]
    )
    found = replayed(divided(tmp_path, text))
    assert found.sizes[found.private].tolist() == [7]
    assert found.latencies_us[[0, -1]] == pytest.approx([10_000, 100_000], abs=100)


def test_latencies_of_several_models_are_mixed_by_their_requests() -> None:
    def part(requests: int, latencies: list[int]) -> Drawn:
        zeros = np.zeros(requests, dtype=np.int64)
        return Drawn(
            np.array([-1]), np.array([requests]), zeros, zeros, zeros, zeros > 0, np.array([5]), np.array([False]), np.array(latencies)
        )  # fmt: skip

    found = joined([part(300, [10] * 1000), part(100, [20] * 500), part(50, [])])
    assert np.mean(found.latencies_us == 10) == pytest.approx(0.75, abs=0.002)
    assert set(found.latencies_us.tolist()) == {10, 20}
    assert len(found.private) == 3


# --- comparison ------------------------------------------------------------------------------------------


def test_latencies_are_compared_if_a_load_has_them(
    proxied: tuple[RequestModel, dict[str, float]], tmp_path: Path
) -> None:
    text, _ = lru_log(np.random.default_rng(6))
    read = divided(tmp_path, text)
    random = np.random.default_rng(1)
    log = of_log("log", read, fit_model(read, Pauses()))

    def distance(model: RequestModel) -> float:
        found = compare_loads(log, of_model("model", model, 500, random), 1800, random)
        (one,) = [part.distance for part in found.parts if part.part.title == "Latency of the origin"]
        assert one is not None
        return one.distance

    assert distance(proxied[0]) < 0.05
    assert proxied[0].proxy is not None
    slower = Distribution(distribution="exponential", parameters={"mean": 1.0}, n=1, mean=1.0, distance=0.0)
    proxy = proxied[0].proxy.model_copy(update={"origin_latency": slower})
    assert distance(proxied[0].model_copy(update={"proxy": proxy})) > 0.5
    plain = of_model("shop", read_model(SHOP).model_copy(update={"proxy": None}), 50, random)
    titles = [part.part.title for part in compare_loads(plain, plain, 1800, random).parts]
    assert "Latency of the origin" not in titles
