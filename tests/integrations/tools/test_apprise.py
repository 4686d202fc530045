"""Notifications: the tool and the service, through Apprise itself, to a real server on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from hub.core.context import Context
from integrations.tools import apprise
from integrations.tools.apprise.schema import CONFIG_SCHEMA
from tests.integrations.tools.standing import Standing
from tests.security.web_servers import WebServer, started


@pytest.fixture
async def server(standing: Standing) -> AsyncIterator[WebServer]:
    found, runner = await started()
    targets = {
        "phone": f"json://user:key-0123456789@{found.target}/ok",
        "gone": f"json://user:key-0123456789@{found.target}/gone",
        "odd": ["nonsense://key-0123456789"],
    }
    await standing.set_up(apprise, CONFIG_SCHEMA({"targets": targets}))
    found.page("/ok", "{}")
    yield found
    await runner.cleanup()


async def test_a_notification_reaches_the_place_by_tool_and_by_service(standing: Standing, server: WebServer) -> None:
    result = await standing.call("notify", {"target": "phone", "title": "Tea", "text": "It is ready: \\n 茶"})
    data = {"target": "phone", "text": "again", "level": "warning"}
    await standing.services.call("test", "send", data, context=Context(standing.owner))

    assert result.output == "sent to phone"
    sent = [json.loads(asked.body) for asked in server.asked]
    assert [(each["title"], each["message"], each["type"]) for each in sent] == [
        ("Tea", "It is ready: \\n 茶", "info"),
        ("", "again", "warning"),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"target": "gone", "text": "x"}, "gone did not accept the notification; check its URL in apprise: targets"),
        ({"target": "odd", "text": "x"}, "apprise: targets: odd has a URL that Apprise does not know"),
        ({"target": "json://127.0.0.1/", "text": "x"}, "target"),
        ({"target": "phone", "text": ""}, "text"),
    ],
)
async def test_what_is_not_sent_says_why_and_shows_no_key(
    standing: Standing, server: WebServer, arguments: dict[str, str], words: str
) -> None:
    result = await standing.call("notify", arguments)

    assert result.is_error
    assert words in result.output
    assert "key-0123456789" not in f"{result.output} {result.details}"


async def test_others_and_words_from_outside_need_the_owner(standing: Standing, server: WebServer) -> None:
    for authority in (standing.owner.narrow(tainted=True), standing.anna):
        result = await standing.call("notify", {"target": "phone", "text": "obey"}, authority=authority)

        assert result.details["code"] == "FORBIDDEN"
    assert server.asked == []
