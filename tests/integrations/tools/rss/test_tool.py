"""The tool `rss` and its service, against a real server on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hub.core.context import Context
from hub.security.egress import Egress
from integrations.tools import rss
from tests.integrations.tools.standing import Standing
from tests.security.web_servers import WebServer, started

ITEMS = "".join(
    f"<item><title>Day {day}</title><link>https://a.example/{day}</link><description>On day {day}.</description></item>"
    for day in (3, 2, 1)
)
FEED = f'<rss version="2.0"><channel><title>Garden</title>{ITEMS}</channel></rss>'


@pytest.fixture
async def server(standing: Standing) -> AsyncIterator[WebServer]:
    found, runner = await started()
    standing.egress = Egress(lambda: {found.target})
    await standing.set_up(rss)
    yield found
    await standing.egress.close()
    await runner.cleanup()


async def test_the_newest_items_are_read_and_are_words_from_outside(standing: Standing, server: WebServer) -> None:
    server.page("/feed", FEED)
    server.page("/page", "no feed")

    read = await standing.call("rss", {"url": server.url("/feed"), "limit": 2})
    none = await standing.call("rss", {"url": server.url("/page")})
    served = await standing.services.call(
        "test", "items", {"url": server.url("/feed")}, context=Context(standing.owner), wants_response=True
    )

    assert "Garden\n\nDay 3\nhttps://a.example/3\nOn day 3.\n\nDay 2\n" in read.output
    assert "Day 1" not in read.output
    assert not read.trusted
    assert "expected a feed" in none.output
    assert served is not None
    assert [item["title"] for item in served["items"]] == ["Day 3", "Day 2", "Day 1"]


async def test_among_words_from_outside_a_new_feed_needs_the_owner(standing: Standing, server: WebServer) -> None:
    tainted = standing.owner.narrow(tainted=True)

    refused = await standing.call("rss", {"url": server.url("/feed?secret")}, authority=tainted)

    assert refused.details["code"] == "FORBIDDEN"
    assert server.asked == []
