"""The trigger `feed`: real servers, real files, and feeds that mean no good."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.core.errors import InvalidRequest
from hub.core.schema import Invalid
from hub.security.egress import Egress
from hub.security.outside_reader import OutsideReader
from integrations.tools.rss.feeds import SEEN_LIMIT, FeedState, FeedStateFile, read_feed
from integrations.tools.rss.trigger import FIRED_LIMIT
from tests.automation.triggers.bench import Bench, BenchSite, explained, valid
from tests.security.web_servers import WebServer, started
from tests.until import until


def rss(ids: Iterable[object], title: str = "News") -> str:
    """Return a feed with items of these ids, the newest first."""
    items = "".join(
        f"<item><guid>{id}</guid><title>Item {id}</title><link>https://news.example/{id}</link>"
        f"<description>&lt;b&gt;Text&lt;/b&gt; of {id}</description></item>"
        for id in ids
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>{title}</title>{items}</channel></rss>'


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    found, runner = await started()
    yield found
    await runner.cleanup()


@pytest.fixture
async def feeds(bench: Bench, server: WebServer) -> AsyncIterator[Bench]:
    """A bench from which this one server can be reached."""
    egress = Egress(lambda: {server.target})
    bench.with_source(Egress, egress)
    yield bench
    await egress.close()


@pytest.fixture
async def reader() -> AsyncIterator[OutsideReader]:
    made = OutsideReader()
    yield made
    await made.close()


def looking(bench: Bench) -> bool:
    return any(name.startswith("feed of") for name in bench.tasks.names())


async def look_again(bench: Bench) -> None:
    """Let the next look come due, and be over."""
    await until(lambda: not looking(bench))
    await bench.clock.advance(900)
    await until(lambda: not looking(bench))


def ids(site: BenchSite) -> list[str]:
    return [fired.trigger["item"]["id"] for fired in site.fired]


def test_mistakes_are_told() -> None:
    with pytest.raises(Invalid, match="url"):
        valid({"trigger": "feed"})
    with pytest.raises(Invalid, match="http"):
        valid({"trigger": "feed", "url": "file:///etc/passwd"})
    with pytest.raises(Invalid, match="one minute"):
        valid({"trigger": "feed", "url": "https://a.example/feed", "every": 5})


async def test_only_what_is_new_since_the_first_look_fires_the_oldest_first(feeds: Bench, server: WebServer) -> None:
    server.page("/feed", rss([2, 1]), ETag='"a"')
    site = feeds.arm({"trigger": "feed", "url": server.url("/feed")})
    await look_again(feeds)
    assert site.fired == []

    server.page("/feed", rss([4, 3, 2, 1]))
    await look_again(feeds)
    await look_again(feeds)

    assert ids(site) == ["3", "4"]
    trigger = site.fired[0].trigger
    assert trigger["feed"] == {"title": "News", "link": "", "url": server.url("/feed")}
    assert trigger["item"]["title"] == "Item 3"
    assert trigger["item"]["summary"] == "Text of 3"
    assert trigger["item"]["link"] == "https://news.example/3"
    assert site.fired[0].tainted
    assert server.asked[1].headers["If-None-Match"] == '"a"'


async def test_what_was_seen_is_remembered_over_a_restart(feeds: Bench, server: WebServer) -> None:
    server.page("/feed", rss([1]))
    feeds.arm({"trigger": "feed", "url": server.url("/feed")})
    await look_again(feeds)
    feeds.disarm()

    server.page("/feed", rss([2, 1]))
    site = feeds.arm({"trigger": "feed", "url": server.url("/feed")})
    await until(lambda: bool(site.fired))

    assert ids(site) == ["2"]


async def test_nothing_changed_is_no_news(feeds: Bench, server: WebServer) -> None:
    server.page("/feed", rss([1]))
    site = feeds.arm({"trigger": "feed", "url": server.url("/feed")})
    await look_again(feeds)

    server.page("/feed", b"", status=304)
    for _ in range(4):
        await look_again(feeds)

    assert (site.fired, site.failures) == ([], [])


async def test_of_many_new_items_the_newest_fire_and_the_others_are_counted(feeds: Bench, server: WebServer) -> None:
    server.page("/feed", rss([0]))
    site = feeds.arm({"trigger": "feed", "url": server.url("/feed")})
    await look_again(feeds)

    server.page("/feed", rss(range(FIRED_LIMIT + 5, -1, -1)))
    await look_again(feeds)

    assert ids(site) == [str(n) for n in range(6, FIRED_LIMIT + 6)]
    assert [fired.trigger["release"] for fired in site.fired[:2]] == [5, 0]


async def test_it_is_told_when_it_failed_three_times_and_it_goes_on(feeds: Bench, server: WebServer) -> None:
    server.page("/feed", "<html><body>no feed</body></html>")
    site = feeds.arm({"trigger": "feed", "url": server.url("/feed")})
    await look_again(feeds)
    assert site.failures == []

    server.page("/feed", "gone", status=404)
    await look_again(feeds)
    assert len(site.failures) == 1
    assert "404" in site.failures[0]
    server.page("/feed", rss([1]))
    await look_again(feeds)
    server.page("/feed", rss([2, 1]))
    await look_again(feeds)

    assert ids(site) == ["2"]


async def test_what_may_not_be_reached_and_where_nothing_may_be_fetched_is_told(bench: Bench) -> None:
    nowhere = bench.arm({"trigger": "feed", "url": "https://news.example/feed"})
    bench.with_source(Egress, Egress(lambda: ()))
    private = bench.arm({"trigger": "feed", "url": "http://127.0.0.1:9/feed"})
    for _ in range(3):
        await look_again(bench)

    assert "cannot be fetched here" in nowhere.failures[0]
    assert len(private.failures) == 1


async def test_nothing_is_left_when_it_is_disarmed(feeds: Bench, server: WebServer) -> None:
    feeds.arm({"trigger": "feed", "url": server.url("/hang")})
    await server.hanging.wait()

    feeds.disarm()
    await until(lambda: not looking(feeds))

    assert len(feeds.parts.timetable) == 0


# --- reading ---


async def test_atom_is_read_too(reader: OutsideReader) -> None:
    feed = await read_feed(
        b'<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><entry><id>urn:1</id><title>One</title>'
        b'<link href="https://a.example/1"/><updated>2026-01-01T12:00:00+01:00</updated><category term="x"/>'
        b"</entry></feed>",
        reader,
    )

    assert feed.title == "A"
    assert feed.items[0]["published"] == "2026-01-01T11:00:00Z"
    assert feed.items[0]["tags"] == ["x"]


@pytest.mark.parametrize("body", [b"", b"/etc/passwd", b"\x00\xff" * 100, b"{}", b"<rss", b"<" * 100_000])
async def test_what_is_no_feed_is_refused(body: bytes, reader: OutsideReader) -> None:
    with pytest.raises(InvalidRequest, match="expected a feed"):
        await read_feed(body, reader)


async def test_entities_that_multiply_and_endless_texts_stay_small(reader: OutsideReader) -> None:
    bomb = (
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
        b'<rss version="2.0"><channel><item><guid>1</guid><title>&c;</title><description>'
        + b"x" * 1_000_000
        + b"</description><link>javascript:alert(1)</link></item></channel></rss>"
    )

    feed = await read_feed(bomb, reader)

    assert all(len(item["title"]) <= 500 and len(item["summary"]) <= 4_000 for item in feed.items)
    assert [item["link"] for item in feed.items] == [""]


@given(st.lists(st.lists(st.integers(0, 30), max_size=10), max_size=10))
def test_each_item_is_new_once(looks: list[list[int]]) -> None:
    seen, new = FeedState(), list[str]()

    for look in looks:
        new.extend(item["id"] for item in seen.take(tuple({"id": str(id)} for id in look)))

    first = set(map(str, looks[0])) if looks else set()
    assert sorted(new) == sorted({str(id) for look in looks for id in look} - first)


def test_so_many_ids_are_remembered_and_no_more() -> None:
    seen = FeedState()
    for start in range(0, 5_000, 100):
        seen.take(tuple({"id": str(n)} for n in range(start, start + 100)))

    assert len(seen.ids) == SEEN_LIMIT
    assert seen.ids[-1] == "4999"


async def test_a_damaged_file_is_a_first_look(bench: Bench) -> None:
    folder = bench.parts.home / ".storage" / "feeds"
    file = FeedStateFile(bench.parts.home, "k")
    file.write(FeedState(["1"], "e", "m", looked=True))
    assert file.read() == FeedState(["1"], "e", "m", looked=True)

    for path in folder.glob("*.json"):
        path.write_text('{"version": 1, "data": {"ids"')

    assert file.read() == FeedState()


def test_it_is_explained_in_plain_words() -> None:
    config: dict[str, Any] = {"trigger": "feed", "url": "https://a.example/feed", "every": "1h"}

    assert explained(config) == "when something new appears in “https://a.example/feed”, checked every 1 h"
