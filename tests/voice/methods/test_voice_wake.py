"""`voicewake.*`: shared words reach every client and node, and call whom they are to call."""

from __future__ import annotations

from tests.gateway.access.test_setup_codes import PHONE, token_in
from tests.gateway.rig import Device, client_of, connected
from tests.gateway.test_nodes import NODE_HOST
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer
from tests.voice.methods.test_talk import asked


async def test_words_are_shared_with_clients_and_nodes(house: HubFixture) -> None:
    async with client_of(house) as node, connected(house) as phone, connected(house, scopes=["operator.read"]) as mac:
        await node.connect(Device(), **NODE_HOST, token=house.token)
        at_first = (await node.event("voicewake.changed"))["payload"]
        routing = (await node.event("voicewake.routing.changed"))["payload"]
        kept = await asked(phone, "voicewake.set", triggers=[" hey house ", ""])
        told = [(await each.event("voicewake.changed"))["payload"] for each in (node, mac)]
        read = await asked(mac, "voicewake.get")
        denied = await mac.call("voicewake.set", {"triggers": ["x"]})
        many = await phone.call("voicewake.set", {"triggers": ["x"] * 33})
        again = await asked(phone, "voicewake.set", triggers=[])

    assert at_first == again == {"triggers": ["homarus", "computer"]}
    assert routing["config"]["defaultTarget"] == {"mode": "current"}
    assert kept == read == told[0] == told[1] == {"triggers": ["hey house"]}
    assert denied["error"]["details"]["missingScope"] == "operator.write"
    assert many["error"]["details"]["field"] == "triggers"


async def test_words_call_an_agent_or_a_conversation(house: HubFixture) -> None:
    routes = [
        {"trigger": "Hey, cook!", "target": {"agentId": "kitchen"}},
        {"trigger": "hey trip", "target": {"sessionKey": "agent:main:trip"}},
    ]
    async with connected(house) as mac, connected(house) as phone:

        async def run(key: str, trigger: str, **named: str) -> str:
            sent = {"message": "hello", "idempotencyKey": key, "voiceWakeTrigger": trigger, **named}
            return str((await asked(mac, "agent", **sent))["sessionKey"])

        before = await run("1", "hey cook")
        kept = await asked(mac, "voicewake.routing.set", config={"routes": routes})
        heard = (await phone.event("voicewake.routing.changed"))["payload"]
        read = await asked(mac, "voicewake.routing.get")
        cook, trip = await run("2", "HEY COOK"), await run("3", "hey trip", sessionKey="main")
        named = await run("4", "hey cook", sessionKey="agent:main:other")
        twice = await mac.call("voicewake.routing.set", {"config": {"routes": [routes[0], routes[0]]}})
        nobody = await mac.call(
            "voicewake.routing.set", {"config": {"routes": [{"trigger": "x", "target": {"agentId": "nobody"}}]}}
        )
        both = {"agentId": "main", "sessionKey": "main"}
        mixed = await mac.call("voicewake.routing.set", {"config": {"defaultTarget": both}})

    assert before == "agent:main:main"
    assert kept == heard == read
    assert (cook, trip) == ("agent:kitchen:main", "agent:main:trip")
    assert named == "agent:main:other"
    assert "no other route" in twice["error"]["message"]
    assert nobody["error"]["code"] == "NOT_FOUND"
    assert mixed["error"]["code"] == "INVALID_REQUEST"


SAID: list[dict[str, object]] = [
    {"text": "is it raining", "eventId": "e1"},
    {"text": "and tomorrow"},
    {"text": "and then", "callId": "c", "sequence": 7},
]


async def test_words_of_a_phone_are_a_message_and_once_only(house: HubFixture, openai_server: OpenAIServer) -> None:
    openai_server.queue("First.", "Second.", "Third.")
    phone, address = Device(), house.url.replace("http", "ws")
    async with connected(house) as owner, client_of(house) as node:
        made = await asked(owner, "device.pair.setupCode", publicUrl=address)
        await node.connect(phone, **PHONE, auth={"bootstrapToken": token_in(made["setupCode"])})
        await node.event("voicewake.routing.changed")
        reasons = []
        for said in SAID:
            event = {"event": "voice.transcript", "payload": {"sessionKey": "agent:main:main", **said}}
            both = [await node.send("node.event", event), await node.send("node.event", event)]
            answers = {frame["id"]: frame["payload"] for frame in [await node.frame(), await node.frame()]}
            reasons += [answers[id].get("reason", "") for id in both]
            await owner.event("chat", lambda told: told["state"] == "final")
        history = (await asked(owner, "chat.history", sessionKey="agent:main:main"))["messages"]

    assert reasons == ["", "", "", "duplicate", "", ""]
    heard = [each["content"][0]["text"].rpartition("\n")[2] for each in history if each["role"] == "user"]
    assert heard == [each["text"] for each in SAID]
