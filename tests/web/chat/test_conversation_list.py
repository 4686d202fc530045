"""The list of conversations: pinned, archived, snoozed, unread, copied, and found by name and by what was said."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.servers.hub_process import HubProcess
from tests.until import LIMIT_S, until
from tests.web.test_pages import signed_in


@pytest.fixture
async def owner(hub: HubProcess) -> AsyncIterator[ClientSession]:
    async with signed_in(hub) as session:
        yield session


async def look_at(owner: ClientSession, key: str) -> None:
    """Have a conversation open in a tab."""
    async with owner.ws_connect("/live") as socket:
        await socket.send_json({"t": "watch", "topics": [f"session:{key}"]})
        while (await socket.receive_json()).get("id") != "log":
            pass


async def test_conversations_are_pinned_archived_and_found_by_name(owner: ClientSession) -> None:
    oak, elm = "agent:main:webchat:direct:oak", "agent:main:webchat:direct:elm"

    async def listed(**query: str) -> list[str]:
        answer = await owner.get("/chat/sessions", params=query, headers={"Accept": "application/json"})
        return [each["key"] for each in (await answer.json())["sessions"] if each["key"] in (oak, elm)]

    for key in (oak, elm):
        await owner.post("/chat/rename", json={"session": key, "name": f"Planting {key[-3:]}"})
    await owner.post("/chat/place", json={"session": oak, "place": "pin"})
    pinned = await listed()
    await owner.post("/chat/place", json={"session": elm, "place": "archive"})
    left, archived, searched = await listed(), await listed(show="archived"), await listed(search="elm PLANT")
    page = await (await owner.get(f"/chat?session={elm}", headers={"Accept": "text/html"})).text()
    await owner.post("/chat/place", json={"session": elm, "place": "unarchive"})
    wrong = await owner.post("/chat/place", json={"session": elm, "place": "attic"})

    await owner.post("/chat/place", json={"session": elm, "place": "snooze_1d"})
    without, snoozed = await listed(), await listed(show="snoozed")
    await look_at(owner, elm)
    nonsense = await owner.get("/chat/sessions", params={"show": "attic"})

    assert pinned == [oak, elm]
    assert (without, snoozed, nonsense.status) == ([oak], [elm], 400)
    assert (left, archived, searched) == ([oak], [elm], [elm])
    assert "Take out of the archive" in page
    assert await listed() == [oak, elm]
    assert wrong.status == 400


async def test_messages_are_found_by_their_words_also_from_before_a_reset(
    owner: ClientSession, hub: HubProcess
) -> None:
    key = "agent:main:webchat:direct:said"
    hub.rpc("chat.send", {"sessionKey": key, "message": "The axolotl eats at noon", "idempotencyKey": "said-1"})
    hub.rpc("agent.wait", {"runId": "said-1", "timeoutMs": 50_000})
    await until_found(owner, "axolotl")
    hub.rpc("sessions.reset", {"key": key})

    found = (await (await owner.get("/find", params={"q": "axolot"})).json())["found"]
    listed = await owner.get("/chat/sessions", params={"search": "axolotl"}, headers={"Accept": "application/json"})
    (message, *_) = [each for each in (await listed.json())["messages"] if "eats at noon" in each["text"]]
    past = await (await owner.get(message["path"], headers={"Accept": "text/html"})).text()
    wrong = await owner.get("/chat", params={"session": key, "past": "00000000"})

    assert ("message", "The axolotl eats at noon") in [(each["kind"], each["name"]) for each in found]
    assert message["past"]
    assert "The axolotl eats at noon" in past
    assert wrong.status == 404


async def until_found(owner: ClientSession, query: str) -> None:
    async with asyncio.timeout(LIMIT_S):
        found: list[dict[str, object]] = []
        while not any(each["kind"] == "message" for each in found):
            found = (await (await owner.get("/find", params={"q": query})).json())["found"]


async def test_an_answer_that_nobody_saw_is_unread_until_the_conversation_is_opened(
    owner: ClientSession, hub: HubProcess
) -> None:
    key = "agent:main:webchat:direct:unseen"

    async def shown() -> dict[str, object]:
        answer = await owner.get("/chat/sessions", headers={"Accept": "application/json"})
        return next((each for each in (await answer.json())["sessions"] if each["key"] == key), {"unread": None})

    hub.rpc("chat.send", {"sessionKey": key, "message": "hello", "idempotencyKey": "unseen-1"})
    async with asyncio.timeout(LIMIT_S):
        while not (before := await shown())["unread"]:
            pass
    await owner.get("/chat", params={"session": key})
    fetched = await shown()
    await look_at(owner, key)
    opened = await shown()
    await owner.post("/chat/place", json={"session": key, "place": "unread"})

    seen = [each["unread"] for each in (before, fetched, opened, await shown())]
    assert seen == [True, True, False, True]


async def test_copies_are_listed_below_their_original(owner: ClientSession, hub: HubProcess) -> None:
    key = "agent:main:webchat:direct:original"
    await owner.post("/chat/rename", json={"session": key, "name": "Original"})
    copy = hub.rpc("sessions.fork", {"key": key, "label": "Copy"})["key"]
    again = hub.rpc("sessions.fork", {"key": copy, "label": "Copy of the copy"})["key"]

    answer = await owner.get("/chat/sessions?show=copies", headers={"Accept": "application/json"})
    listed = [(each["key"], each["depth"]) for each in (await answer.json())["sessions"]]
    page = await (await owner.get("/chat/sessions?show=copies", headers={"Accept": "text/html"})).text()

    assert [each for each in listed if each[0] in (key, copy, again)] == [(key, 0), (copy, 1), (again, 2)]
    assert "└ Copy of the copy" in page


async def test_of_an_incognito_conversation_nothing_is_left_when_it_is_deleted(
    owner: ClientSession, hub: HubProcess
) -> None:
    key = (await (await owner.post("/chat/incognito", headers={"Accept": "application/json"})).json())["session"]
    sent = {"session": key, "key": "secret-1", "text": "Remember that the okapi is striped"}
    await owner.post("/chat/send", json=sent)
    hub.rpc("agent.wait", {"runId": "secret-1", "timeoutMs": 50_000})
    hub.rpc("agent", {"message": "When does the okapi sleep?", "sessionKey": key, "idempotencyKey": "secret-2"})
    hub.rpc("agent.wait", {"runId": "secret-2", "timeoutMs": 50_000})
    page = await (await owner.get("/chat", params={"session": key}, headers={"Accept": "text/html"})).text()
    during = okapis(hub)
    await owner.post("/chat/delete", json={"session": key})

    assert "Incognito:" in page
    assert during
    await until(lambda: not okapis(hub))


def okapis(hub: HubProcess) -> list[str]:
    """Return where the word is: files of the home, and databases by their rows."""
    paths = [each for each in hub.home.rglob("*") if each.is_file() and "-wal" not in each.name]
    return [each.name for each in paths if b"okapi" in dumped(each)]


def dumped(path: Path) -> bytes:
    """Return what is in a file; nothing when it was deleted just now."""
    with suppress(FileNotFoundError, sqlite3.OperationalError):
        if path.suffix != ".db":
            return path.read_bytes()
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            return "\n".join(database.iterdump()).encode()
    return b""
