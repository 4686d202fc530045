"""The methods, as clients call them."""

from __future__ import annotations

import logging

import aiohttp
import pytest

from tests.gateway.rig import connected
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer
from tests.until import until

MAIN = "agent:main:main"


async def test_chat_send_is_answered_by_events_under_its_own_key(
    house: HubFixture, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"text": "one two three", "chunks": 3}])

    async with connected(house, scopes=["operator.write"]) as client:
        sent = await client.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        final = await client.event("chat", lambda payload: payload["state"] == "final")
        deltas = [each["payload"] for each in client.events if each.get("event") == "chat"]
        agent = [each["payload"] for each in client.events if each.get("event") == "agent"]
        history = await client.call("chat.history", {"sessionKey": "main"})

    assert sent["payload"] == {"runId": "k1", "status": "started", "sessionKey": MAIN}
    assert final["payload"]["runId"] == "k1"
    assert final["payload"]["sessionKey"] == MAIN
    assert final["payload"]["model"] == "test/model"
    assert final["payload"]["durationMs"] >= 0
    assert final["payload"]["message"]["content"] == [{"type": "text", "text": "one two three"}]
    assert "".join(delta["deltaText"] for delta in deltas) == "one two three"
    assert deltas[-1]["message"]["content"][0]["text"] == "one two three"
    assert [each["seq"] for each in agent] == list(range(1, len(agent) + 1))
    assert agent[0]["stream"] == "lifecycle"
    roles = [message["role"] for message in history["payload"]["messages"]]
    assert roles == ["user", "assistant"]
    assert all("timestamp" in message for message in history["payload"]["messages"])


async def test_frames_are_numbered_without_gaps(house: HubFixture) -> None:
    async with connected(house) as client:
        await client.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        final = await client.event("chat", lambda payload: payload["state"] == "final")

    numbers = [each["seq"] for each in client.events if "seq" in each]
    assert [*numbers, final["seq"]] == list(range(1, final["seq"] + 1))


async def test_people_get_few_deltas_and_the_whole_text(house: HubFixture, openai_server: OpenAIServer) -> None:
    text = "word " * 200
    openai_server.queue([{"text": "word "}, {"thinking": "hm"}] * 200)  # what comes at once, and is alike, is joined
    screen = {"id": "webchat-ui", "version": "1", "platform": "web", "mode": "ui"}

    async with connected(house, client=screen) as watcher, connected(house) as program:
        await program.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        await program.event("chat", lambda payload: payload["state"] == "final")
        await watcher.event("chat", lambda payload: payload["state"] == "final")

    seen = [each["payload"]["deltaText"] for each in watcher.events if each.get("event") == "chat"]
    told = [each["payload"]["deltaText"] for each in program.events if each.get("event") == "chat"]
    assert "".join(seen) == "".join(told) == text
    assert len(seen) < len(told)


async def test_a_command_is_answered_at_once(house: HubFixture) -> None:
    async with connected(house) as client:
        answer = await client.call("chat.send", {"sessionKey": "main", "message": "/whoami", "idempotencyKey": "k1"})
        final = await client.event("chat", lambda payload: payload["state"] == "final")

    assert answer["payload"]["status"] == "ok"
    assert answer["payload"]["reply"] == final["payload"]["message"]["content"][0]["text"]


async def test_agent_answers_twice_under_one_id(house: HubFixture, openai_server: OpenAIServer) -> None:
    openai_server.queue("done")

    async with connected(house, scopes=["operator.write"]) as client:
        id = await client.send("agent", {"message": "do it", "idempotencyKey": "run-1"})
        first = await client.answer(id)
        second = await client.answer(id)
        waited = await client.call("agent.wait", {"runId": "run-1"})

    assert first["payload"]["status"] == "accepted"
    assert first["payload"]["runId"] == "run-1"
    assert second["payload"]["status"] == "ok"
    assert second["payload"]["summary"] == "done"
    assert second["payload"]["result"]["payloads"] == [{"text": "done"}]
    assert waited["payload"]["status"] == "ok"
    assert waited["payload"]["reply"] == "done"
    assert waited["payload"]["endedAt"] >= waited["payload"]["startedAt"]


async def test_an_answer_is_delivered_where_the_conversation_is_held(
    house: HubFixture, openai_server: OpenAIServer
) -> None:
    openai_server.queue("done")

    async with connected(house) as client:
        nowhere = await client.call(
            "agent", {"message": "x", "idempotencyKey": "run-0", "deliver": True, "sessionKey": "agent:main:cron:c"}
        )
        id = await client.send("agent", {"message": "do it", "idempotencyKey": "run-1", "deliver": True})
        await client.answer(id)
        second = await client.answer(id)
        [row] = await house.outbox.rows()

    assert "channel and to" in nowhere["error"]["message"]
    assert second["payload"]["summary"] == "done"
    assert (row.address.channel, row.address.peer, row.session_key) == ("webchat", MAIN, MAIN)


async def test_waiting_for_a_run_times_out_and_an_unknown_one_is_not_there(
    house: HubFixture, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"hold": "later"}, {"text": "done"}])

    async with connected(house) as client:
        await client.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        early = await client.call("agent.wait", {"runId": "k1", "timeoutMs": 10})
        unknown = await client.call("agent.wait", {"runId": "nobody"})
        openai_server.release("later")
        late = await client.call("agent.wait", {"runId": "k1"})

    assert early["payload"]["status"] == "timeout"
    assert unknown["error"]["code"] == "NOT_FOUND"
    assert late["payload"]["reply"] == "done"


async def test_rpc_waits_for_the_second_answer_when_asked(
    house: HubFixture, http: aiohttp.ClientSession, openai_server: OpenAIServer
) -> None:
    openai_server.queue("done")
    params = {"message": "do it", "idempotencyKey": "run-1"}

    async with http.post(
        f"{house.url}/api/rpc", json={"method": "agent", "params": params, "wait": True}, headers=house.bearer
    ) as answer:
        payload = (await answer.json())["payload"]

    assert payload["summary"] == "done"


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"method":"\xff"}'])
async def test_rpc_says_what_is_wrong_with_a_body(house: HubFixture, http: aiohttp.ClientSession, body: bytes) -> None:
    async with http.post(f"{house.url}/api/rpc", data=body, headers=house.bearer) as answer:
        told = await answer.json()

    assert answer.status == 400
    assert "the body" in told["error"]["message"]


async def test_a_cancel_frame_aborts_the_request(house: HubFixture, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "later"}, {"text": "done"}])

    async with connected(house) as client:
        await client.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        id = await client.send("agent.wait", {"runId": "k1", "timeoutMs": 60_000})
        await client.ws.send_str(f'{{"type":"cancel","id":"{id}"}}')
        answer = await client.answer(id)
        openai_server.release("later")

    assert answer["error"]["code"] == "ABORTED"


async def test_a_run_is_stopped(house: HubFixture, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "begin"}, {"hold": "later"}])

    async with connected(house) as client:
        await client.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        await client.event("chat", lambda payload: payload["state"] == "delta")
        answer = await client.call("chat.abort", {"sessionKey": "main", "runId": "k1"})
        ended = await client.event("chat", lambda payload: payload["state"] != "delta")
        openai_server.release("later")

    assert answer["payload"] == {"ok": True, "aborted": True, "runIds": ["k1"]}
    assert ended["payload"]["state"] == "aborted"


async def test_a_failed_run_is_told_as_an_error(house: HubFixture, openai_server: OpenAIServer) -> None:
    openai_server.set_default({"status": 401, "body": {"error": {"message": "no"}}})

    async with connected(house) as client:
        await client.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        ended = await client.event("chat", lambda payload: payload["state"] != "delta")

    assert ended["payload"]["state"] == "error"
    assert (ended["payload"]["errorKind"], ended["payload"]["errorCode"]) == ("unknown", "MODEL_AUTH")
    assert ended["payload"]["errorMessage"]


async def test_an_injected_message_is_in_the_history(house: HubFixture) -> None:
    async with connected(house) as client:
        answer = await client.call("chat.inject", {"sessionKey": "main", "message": "note this", "label": "note"})
        history = await client.call("chat.history", {"sessionKey": "main"})

    assert answer["ok"]
    assert history["payload"]["messages"][-1]["content"] == [{"type": "text", "text": "[note]\n\nnote this"}]


async def test_a_shortcut_in_a_message_is_answered_beside_its_run(house: HubFixture) -> None:
    message = {"sessionKey": "main", "message": "hey /whoami how are you?", "idempotencyKey": "k9"}

    async with connected(house) as client:
        sent = (await client.call("chat.send", message))["payload"]
        await client.event("chat", lambda payload: payload["state"] == "final")

    assert (sent["status"], sent["runId"]) == ("started", "k9")
    assert "You are" in sent["reply"]


async def test_sessions_are_listed_changed_begun_anew_and_deleted(house: HubFixture) -> None:
    async with connected(house) as client:
        await client.call("sessions.subscribe")
        await client.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        await client.event("chat", lambda payload: payload["state"] == "final")
        listed = (await client.call("sessions.list"))["payload"]["sessions"]
        settings = {"thinkingLevel": "low", "verboseLevel": "on", "sendPolicy": "deny", "groupActivation": "always"}
        patched = await client.call("sessions.patch", {"key": "main", "label": "Home", **settings})
        resolved = await client.call("sessions.resolve", {"label": "Home"})
        got = await client.call("sessions.get", {"key": MAIN})
        shown = await client.call("sessions.transcript", {"key": "main"})
        peek = await client.call("sessions.preview", {"keys": ["main", "agent:main:cron:none"]})
        fresh = await client.call("sessions.reset", {"key": "main"})
        changed = await client.event("sessions.changed", lambda payload: payload["reason"] == "reset")
        gone = await client.call("sessions.delete", {"key": "main"})
        missing = await client.call("sessions.get", {"key": "main"})

    assert [each["key"] for each in listed] == [MAIN]
    assert patched["payload"]["entry"]["title"] == "Home"
    assert {name: patched["payload"]["entry"][name] for name in settings} == settings
    assert resolved["payload"]["key"] == MAIN
    assert [message["role"] for message in got["payload"]["messages"]] == ["user", "assistant"]
    assert shown["payload"]["file"].endswith(".jsonl")
    assert shown["payload"]["entries"]
    assert [each["status"] for each in peek["payload"]["previews"]] == ["ok", "missing"]
    assert fresh["payload"]["sessionId"] != listed[0]["sessionId"]
    assert changed["payload"]["sessionKey"] == MAIN
    assert gone["payload"]["deleted"] is True
    assert missing["error"]["code"] == "NOT_FOUND"


async def test_a_session_is_copied_and_exported(house: HubFixture) -> None:
    async with connected(house) as client:
        await client.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        await client.event("chat", lambda payload: payload["state"] == "final")
        forked = (await client.call("sessions.fork", {"key": "main", "label": "What if"}))["payload"]
        exported = await client.call("sessions.export", {"key": forked["key"], "format": "md"})
        refused = await client.call("sessions.export", {"key": "main", "format": "pdf"})

    assert forked["entry"]["title"] == "What if"
    assert exported["payload"]["text"].startswith("# What if\n\n## user, ")
    assert refused["error"]["code"] == "INVALID_REQUEST"


async def test_an_archived_session_is_listed_apart(house: HubFixture) -> None:
    async with connected(house) as client:
        await client.call("sessions.create", {"key": "main", "label": "Home"})
        patched = await client.call("sessions.patch", {"key": "main", "archived": True, "pinned": True})
        listed = await client.call("sessions.list")
        archived = await client.call("sessions.list", {"archived": True})

    assert (patched["payload"]["entry"]["archived"], patched["payload"]["entry"]["pinned"]) == (True, True)
    assert listed["payload"]["sessions"] == []
    assert [each["key"] for each in archived["payload"]["sessions"]] == [MAIN]


async def test_messages_go_to_those_who_subscribed(house: HubFixture) -> None:
    async with connected(house) as near, connected(house) as far:
        await near.call("sessions.messages.subscribe", {"key": "main"})
        await far.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        said = await near.event("session.message", lambda payload: payload["message"]["role"] == "assistant")
        await far.event("chat", lambda payload: payload["state"] == "final")

    assert said["payload"]["sessionKey"] == MAIN
    assert not [each for each in far.events if each.get("event") == "session.message"]


async def test_chats_are_told_only_to_those_who_may_read(house: HubFixture) -> None:
    async with connected(house, scopes=["operator.pairing"]) as deaf, connected(house) as client:
        await client.call("chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"})
        await client.event("chat", lambda payload: payload["state"] == "final")
        await deaf.call("device.pair.list")

    assert {each["event"] for each in deaf.events} <= {"presence", "health", "tick"}


async def test_a_session_key_that_cannot_be_is_refused(house: HubFixture) -> None:
    async with connected(house) as client:
        for key in ("../../etc/passwd", "agent::main", "agent:main:main\n", "agent:nobody:main"):
            answer = await client.call("chat.send", {"sessionKey": key, "message": "x", "idempotencyKey": key[:8]})

            assert answer["error"]["code"] in ("INVALID_REQUEST", "NOT_FOUND"), key


async def test_attachments_are_judged(house: HubFixture) -> None:
    bad = [
        {"mimeType": "application/pdf", "content": "AAAA"},
        {"mimeType": "image/png", "content": "not base64!"},
        {"mimeType": "image/png", "content": ""},
        {"mimeType": "image/png"},
    ]

    async with connected(house) as client:
        for index, attachment in enumerate(bad):
            params = {"sessionKey": "main", "message": "x", "idempotencyKey": f"k{index}", "attachments": [attachment]}
            answer = await client.call("chat.send", params)

            assert answer["error"]["code"] == "INVALID_REQUEST", attachment
            assert "attachments" in answer["error"]["message"]


async def test_the_configuration_is_read_and_saved_with_a_base_hash(house: HubFixture) -> None:
    async with connected(house) as client:
        got = (await client.call("config.get"))["payload"]
        broken = await client.call("config.set", {"raw": "hub: [", "baseHash": got["hash"]})
        saved = await client.call("config.set", {"raw": "hub:\n  name: New\n", "baseHash": got["hash"]})
        late = await client.call("config.set", {"raw": "hub:\n  name: Late\n", "baseHash": got["hash"]})
        outside = await client.call("config.set", {"raw": "x", "baseHash": None, "file": "../evil.yaml"})
        schema = await client.call("config.schema")

    assert got["valid"] is True
    assert got["raw"].startswith("hub:")
    assert broken["ok"] is False
    assert saved["ok"], saved
    assert late["error"]["code"] == "CONFLICT"
    assert outside["ok"] is False
    assert "http" in schema["payload"]["schema"]["properties"]


async def test_the_configuration_is_patched_key_by_key(house: HubFixture) -> None:
    async with connected(house) as client:
        hash = (await client.call("config.get"))["payload"]["hash"]
        hidden = await client.call(
            "config.patch", {"raw": '{"hub": {"name": "__OPENCLAW_REDACTED__"}}', "baseHash": hash}
        )
        wrong = [await client.call("config.patch", {"raw": raw, "baseHash": hash}) for raw in ("[]", "{", '{"hub": 1}')]
        patch = '{"hub": {"name": null}, "script": null, "exec": {"mode": "deny"}}'
        patched = await client.call("config.patch", {"raw": patch, "baseHash": hash})
        late = await client.call("config.patch", {"raw": '{"exec": null}', "baseHash": hash})
        after = (await client.call("config.get"))["payload"]["raw"]
        found = (await client.call("config.schema.lookup", {"path": "http"}))["payload"]
        nowhere = await client.call("config.schema.lookup", {"path": "levitation.height"})

    assert [answer["error"]["code"] for answer in (hidden, *wrong[:2])] == ["INVALID_REQUEST"] * 3
    assert not wrong[2]["ok"]
    assert patched["payload"]["ok"], patched
    assert late["error"]["code"] == "CONFLICT"
    assert "mode: deny" in after
    assert "script" not in after
    assert "automations.yaml" in after
    assert {"key": "port", "path": "http.port", "hasChildren": False}.items() <= found["children"][1].items()
    assert nowhere["error"]["code"] == "NOT_FOUND"


async def test_what_there_is_is_told(house: HubFixture) -> None:
    async with connected(house) as client:
        models = await client.call("models.list")
        agents = await client.call("agents.list")
        tools = await client.call("tools.catalog")
        identity = await client.call("agent.identity.get", {"sessionKey": "agent:kitchen:main"})
        status = await client.call("status")
        health = await client.call("health")
        presence = await client.call("system-presence")

    assert models["payload"]["models"]
    assert [agent["id"] for agent in agents["payload"]["agents"]] == ["main", "kitchen"]
    assert agents["payload"]["defaultId"] == "main"
    assert "hub_docs" in [tool["name"] for tool in tools["payload"]["tools"]]
    assert identity["payload"] | {"agentId": "kitchen", "name": "kitchen", "avatar": "k"} == identity["payload"]
    assert {"version", "uptime_s", "state", "integrations", "agents", "models"} <= status["payload"].keys()
    assert status["payload"]["state"] == "running"
    assert health["payload"]["ok"] is True
    assert [each["reason"] for each in presence["payload"]] == ["self"]


async def test_the_log_is_told_without_secrets_and_goes_on_from_a_cursor(house: HubFixture) -> None:
    house.redactor.register("correct-horse-battery")
    logger = logging.getLogger("test.tail")
    logger.addHandler(house.log)

    async with connected(house) as client:
        logger.warning("the password is %s", "correct-horse-battery")
        first = (await client.call("logs.tail", {"limit": 10}))["payload"]
        logger.warning("second")
        second = (await client.call("logs.tail", {"cursor": first["cursor"]}))["payload"]

    logger.removeHandler(house.log)
    assert "correct-horse-battery" not in "".join(first["lines"])
    assert len(second["lines"]) == 1
    assert second["lines"][0].endswith("second")


async def test_tokens_are_made_listed_and_revoked_and_never_wider_than_their_maker(house: HubFixture) -> None:
    wide = {"name": "n", "scopes": ["operator.read"]}

    async with connected(house) as client:
        made = (await client.call("token.create", wide | {"expires": "90d"}))["payload"]
        odd = await client.call("token.create", {"name": "n", "scopes": ["made.up"]})
        listed = (await client.call("token.list"))["payload"]["tokens"]
        revoked = await client.call("token.revoke", {"id": made["id"]})

    assert made["token"].startswith("homtok_")
    assert made["expiresAtMs"] > made["createdAtMs"]
    assert odd["error"]["code"] == "INVALID_REQUEST"
    assert [each["id"] for each in listed] == [made["id"]]
    assert "token" not in listed[0]
    assert revoked["payload"]["revokedAtMs"] is not None


async def test_a_sign_in_link_opens_the_door_once(house: HubFixture, http: aiohttp.ClientSession) -> None:
    async with connected(house) as client:
        link = (await client.call("dashboard.link"))["payload"]
    async with http.post(f"{house.url}/api/login", json={"code": link["code"]}) as answer:
        assert answer.status == 200

    assert link["url"] == f"{house.url}/login#{link['code']}"


async def test_a_pairing_is_asked_approved_and_told(house: HubFixture) -> None:
    from tests.gateway.rig import Device, client_of

    device = Device()
    _, secret = await house.tokens.create("phone", ["operator.read"])

    async with connected(house) as owner:
        async with client_of(house) as phone:
            refused = await phone.connect(device, token=secret.reveal(), scopes=["operator.read"])
        asked = await owner.event("device.pair.requested")
        listed = (await owner.call("device.pair.list"))["payload"]
        approved = await owner.call("device.pair.approve", {"requestId": asked["payload"]["requestId"]})
        await owner.event("device.pair.resolved", lambda payload: payload["decision"] == "approved")
        async with client_of(house) as phone:
            accepted = await phone.connect(device, token=secret.reveal(), scopes=["operator.read"])

    assert refused["error"]["code"] == "NOT_PAIRED"
    assert [each["requestId"] for each in listed["pending"]] == [asked["payload"]["requestId"]]
    assert approved["payload"]["device"]["deviceId"] == device.id
    assert accepted["ok"]


async def test_who_may_pair_only_gives_no_more_than_they_have(house: HubFixture) -> None:
    from tests.gateway.rig import Device, client_of

    device = Device()
    _, secret = await house.tokens.create("phone", ["operator.admin"])
    async with client_of(house) as phone:
        refused = await phone.connect(device, token=secret.reveal(), scopes=["operator.admin"])
    request_id = refused["error"]["details"]["requestId"]

    async with connected(house, scopes=["operator.pairing"]) as helper:
        answer = await helper.call("device.pair.approve", {"requestId": request_id})

    assert answer["error"]["code"] == "FORBIDDEN"
    assert house.devices.grants() == []


@pytest.mark.parametrize("name", ["nothing.here", "chat.send ", "CHAT.SEND", "__class__"])
async def test_an_unknown_method_is_named(house: HubFixture, name: str) -> None:
    async with connected(house) as client:
        answer = await client.call(name)

    assert answer["error"]["code"] == "INVALID_REQUEST"
    assert answer["error"]["message"] == f"unknown method: {name}"


async def test_nobody_follows_runs_when_nobody_may_see_them(house: HubFixture) -> None:
    def followers() -> int:
        return house.bus.listener_counts().get("run_delta", 0)

    before = followers()
    async with connected(house):
        assert followers() == before + 1

    await until(lambda: followers() == before)
