"""`sessions.*`, `chat.*` and `agent` as other people's clients call them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.gateway.rig import Client, connected
from tests.hub_fixture import HubFixture

MAIN = "agent:main:main"
MADE_BY_ITSELF = "agent:main:dashboard:"


async def ok(client: Client, method: str, params: dict[str, Any] | None = None) -> Any:
    answer = await client.call(method, params or {})
    assert answer["ok"], answer
    return answer["payload"]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"key": "tui-1", "agentId": "main"}, "agent:main:tui-1"),
        ({"key": "agent:main:Trip to Rome"}, "agent:main:Trip to Rome"),
        ({"key": "main"}, MAIN),
        ({"key": "agent:main:direct:anna"}, "agent:main:direct:anna"),
    ],
)
async def test_a_session_has_the_key_that_its_client_chose_everywhere(
    house: HubFixture, given: dict[str, Any], key: str
) -> None:
    async with connected(house) as client:
        made = await ok(client, "sessions.create", given)
        await ok(client, "sessions.messages.subscribe", {"key": key})
        sent = await ok(client, "chat.send", {"sessionKey": key, "message": "hi", "idempotencyKey": "k"})
        final = await client.event("chat", lambda payload: payload["state"] == "final")
        stored = await client.event("session.message", lambda payload: payload["message"]["role"] == "assistant")
        history = await ok(client, "chat.history", {"sessionKey": key})
        listed = await ok(client, "sessions.list")

    keys = (made["key"], sent["sessionKey"], final["payload"]["sessionKey"], stored["payload"]["sessionKey"])
    assert {*keys, history["sessionKey"], *(each["key"] for each in listed["sessions"])} == {key}
    assert final["payload"]["agentId"] == "main"
    assert history["sessionInfo"]["key"] == key


async def test_a_session_without_a_key_gets_one_of_its_own(house: HubFixture) -> None:
    async with connected(house) as client:
        one, other = await ok(client, "sessions.create"), await ok(client, "sessions.create")

    assert one["key"].startswith(MADE_BY_ITSELF)
    assert UUID(one["key"].removeprefix(MADE_BY_ITSELF)) != UUID(other["key"].removeprefix(MADE_BY_ITSELF))


async def test_a_session_may_begin_with_a_message(house: HubFixture) -> None:
    async with connected(house) as client:
        made = await ok(client, "sessions.create", {"message": "hello", "idempotencyKey": "k"})
        final = await client.event("chat", lambda payload: payload["state"] == "final")
        again = await ok(client, "sessions.create", {"message": "hello", "idempotencyKey": "k"})
        wrong = await client.call("sessions.create", {"key": MAIN, "attachments": [{"mimeType": "text/plain"}]})

    assert (made["runStarted"], made["runId"]) == (True, "k")
    assert (final["payload"]["runId"], final["payload"]["sessionKey"]) == ("k", made["key"])
    assert again == made
    assert wrong["error"]["code"] == "INVALID_REQUEST"


async def test_whose_a_session_is_depends_on_who_made_it_and_not_on_its_key(house: HubFixture) -> None:
    token = (await house.tokens.create("phone", ["operator.write"]))[1].reveal()
    async with connected(house) as owner, connected(house, token=token, scopes=["operator.write"]) as phone:
        await ok(owner, "sessions.create", {"key": "agent:main:phone"})
        await ok(phone, "sessions.create", {"key": "agent:main:owner"})
        for number, key in enumerate(("agent:main:phone", "agent:main:owner")):
            await ok(phone, "chat.send", {"sessionKey": key, "message": "do it", "idempotencyKey": f"k{number}"})
            await phone.event("chat", lambda payload: payload["state"] == "final")
        rows = {each["key"]: each for each in (await ok(owner, "sessions.list"))["sessions"]}
        said = {}
        for key in rows:
            entries = (await ok(owner, "sessions.transcript", {"key": key}))["entries"]
            said[key] = [each["provenance"] for each in entries if (each.get("message") or {}).get("role") == "user"]

    assert (rows["agent:main:phone"]["person"], rows["agent:main:owner"]["person"]) == ("owner", None)
    assert [each["trusted"] for each in said["agent:main:phone"]] == [False]
    assert [each["trusted"] for each in said["agent:main:owner"]] == [True]


async def test_a_page_gets_all_it_needs_of_a_conversation_at_once(house: HubFixture) -> None:
    async with connected(house, scopes=["operator.write"]) as client:
        await ok(client, "chat.send", {"sessionKey": MAIN, "message": "hi", "idempotencyKey": "k"})
        await client.event("chat", lambda payload: payload["state"] == "final")
        page = await ok(client, "chat.startup", {"sessionKey": MAIN, "limit": 1, "maxBytes": 1_000_000})
        older = await ok(client, "chat.history", {"sessionKey": MAIN, "limit": 1, "offset": 1})
        described = await ok(client, "sessions.describe", {"key": "main"})
        nothing = await ok(client, "sessions.describe", {"key": "agent:main:none"})
        models = await ok(client, "models.list")

    assert (page["hasMore"], [each["role"] for each in page["messages"]]) == (True, ["assistant"])
    assert (older["hasMore"], [each["role"] for each in older["messages"]]) == (False, ["user"])
    assert (page["defaults"]["modelProvider"], page["defaults"]["model"]) == ("test", "model")
    assert page["metadata"]["models"] == models["models"]
    assert described["session"] == page["sessionInfo"]
    assert (described["session"]["status"], described["session"]["contextTokens"]) == ("done", 200_000)
    assert nothing == {"session": None}


async def test_the_list_has_pages_and_takes_what_clients_ask(house: HubFixture) -> None:
    async with connected(house) as client:
        for number in range(5):
            await ok(client, "sessions.create", {"key": f"agent:main:{number}", "label": f"Number {number}"})
        first = await ok(client, "sessions.list", {"limit": 2, "includeGlobal": True, "sortBy": "lastInteractionAt"})
        last = await ok(client, "sessions.list", {"limit": 10_000, "offset": 4})
        named = await ok(client, "sessions.list", {"label": "Number 3"})
        below = await ok(client, "sessions.list", {"spawnedBy": MAIN})
        spoken = await ok(client, "sessions.list", {"requireLastInteraction": True})

    facts = ("count", "totalCount", "limitApplied", "hasMore", "nextOffset")
    assert [first[name] for name in facts] == [2, 5, 2, True, 2]
    assert [last[name] for name in facts] == [1, 5, 10_000, False, None]
    assert [each["key"] for each in named["sessions"]] == ["agent:main:3"]
    assert (below["sessions"], spoken["sessions"]) == ([], [])


async def test_a_change_that_expects_something_else_is_not_made(house: HubFixture) -> None:
    async with connected(house) as client:
        made = await ok(client, "sessions.create", {"key": MAIN, "label": "Home"})
        conflicts = [
            await client.call(method, {"key": MAIN, **expected})
            for method in ("sessions.patch", "sessions.delete")
            for expected in ({"expectedSessionId": "other"}, {"expectedSessionUpdatedAt": 1})
        ]
        conflicts.append(await client.call("sessions.delete", {"key": MAIN, "archivedOnly": True}))
        refused = await client.call("sessions.patch", {"key": MAIN, "execSecurity": "deny", "label": "Work"})
        kept = await ok(client, "sessions.describe", {"key": MAIN})
        done = await ok(client, "sessions.delete", {"key": MAIN, "expectedSessionId": made["sessionId"]})

    assert {each["error"]["code"] for each in conflicts} == {"CONFLICT"}
    assert "execSecurity" in refused["error"]["message"]
    assert kept["session"]["label"] == "Home"
    assert (done["deleted"], done["archived"]) == (True, [])


@pytest.mark.parametrize("key", [MAIN, "agent:main:trip"])
async def test_a_conversation_can_be_set_up_before_anything_was_said_in_it(house: HubFixture, key: str) -> None:
    async with connected(house) as client:
        set_up = await ok(client, "sessions.patch", {"key": key, "responseUsage": "on"})
        reset = await ok(client, "sessions.reset", {"key": key})
        nobody = await client.call("sessions.patch", {"key": "agent:nobody:trip", "label": "x"})
        mistyped = await client.call("sessions.patch", {"key": "agent:main:telegram:direct:1", "label": "x"})

    assert (set_up["entry"]["responseUsage"], reset["entry"]["responseUsage"]) == ("tokens", "tokens")
    assert {nobody["error"]["code"], mistyped["error"]["code"]} == {"NOT_FOUND"}


@pytest.mark.parametrize(
    ("asked", "kept"),
    [("off", "off"), ("minimal", "minimal"), ("xhigh", "high"), ("max", "high"), ("ultra", "high"), ("adaptive", None)],
)
async def test_each_level_of_thinking_that_clients_know_is_taken(
    house: HubFixture, asked: str, kept: str | None
) -> None:
    async with connected(house) as client:
        made = await ok(client, "sessions.create", {"key": MAIN, "thinkingLevel": asked})
        await ok(client, "chat.send", {"sessionKey": MAIN, "message": "x", "thinking": asked, "idempotencyKey": "k"})
        await client.event("chat", lambda payload: payload["state"] == "final")

    assert made["entry"]["thinkingLevel"] == kept


async def test_an_agent_runs_in_a_session_whose_id_is_not_known_yet(house: HubFixture) -> None:
    async with connected(house) as client:
        params = {"message": "hi", "sessionId": "nightly", "lane": "nested", "idempotencyKey": "k"}
        asked = await client.send("agent", params | {"provider": "test", "model": "model"})
        accepted = (await client.answer(asked))["payload"]
        ended = await client.answer(asked)
        again = await ok(client, "agent", params | {"idempotencyKey": "k2"})

    assert accepted["sessionKey"] == again["sessionKey"] == "agent:main:explicit:nightly"
    meta = ended["payload"]["result"]["meta"]
    assert (meta["model"], meta["aborted"], meta["durationMs"] >= 0) == ("test/model", False, True)
