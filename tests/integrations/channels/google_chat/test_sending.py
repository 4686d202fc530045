"""What goes out through Google Chat, and the outcome when its API or the network fails."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hub.core.errors import HubError
from hub.core.schema import SchemaError
from hub.gateway.calls.routes import RouteTable
from hub.messaging.contract import (
    Address,
    Button,
    ChannelState,
    ChatType,
    DeliveryState,
    Media,
    MediaKind,
    OutboundMessage,
    OutboundPoll,
)
from hub.storage.homedir import Home
from integrations.channels.google_chat import setup
from integrations.channels.google_chat.channel import GoogleChatChannel
from integrations.channels.google_chat.schema import CONFIG_SCHEMA
from tests.channels.google_chat_rig import GoogleChatPullRig, GoogleChatRig, buttons_of
from tests.channels.webhook_host import WebhookHost
from tests.hosting import host_on
from tests.integrations.channels.rig import Rig
from tests.servers.google_chat_server import (
    ADAS_DM,
    EMAIL,
    GROUP,
    PROJECT,
    ROOM,
    SUBSCRIPTION,
    GoogleChatServer,
    service_account,
)

WITH_ADA, IN_ROOM = Address("google_chat", ADAS_DM), Address("google_chat", ROOM, chat_type=ChatType.CHANNEL)
SECTION = {"service_account": service_account(), "audience": PROJECT}


def out(text: str = "hello", address: Address = WITH_ADA, **more: Any) -> OutboundMessage:
    return OutboundMessage(more.pop("id", "row-1"), address, text, **more)


async def test_text_has_chats_marks_and_calls_nobody(server: GoogleChatServer, channel: GoogleChatChannel) -> None:
    await channel.send(out("**a** ~~b~~ `c` [here](https://x.test) <users/all> & <b>"))

    assert server.messages[0]["text"] == "*a* ~b~ `c` here (https://x.test) <\u200busers/all> & <b>"


@pytest.mark.parametrize(
    ("fault", "state", "wait_s"),
    [
        ({"status": 400, "state": "INVALID_ARGUMENT"}, DeliveryState.PERMANENT, None),
        ({"status": 403, "state": "PERMISSION_DENIED"}, DeliveryState.PERMANENT, None),
        ({"status": 404, "state": "NOT_FOUND"}, DeliveryState.PERMANENT, None),
        ({"status": 429, "state": "RESOURCE_EXHAUSTED"}, DeliveryState.TRANSIENT, 5.0),
        ({"status": 429, "state": "X", "headers": {"Retry-After": "30"}}, DeliveryState.TRANSIENT, 30.0),
        ({"status": 500, "state": "INTERNAL"}, DeliveryState.TRANSIENT, None),
        ({"status": 502}, DeliveryState.UNKNOWN, None),
        ({"done": True}, DeliveryState.UNKNOWN, None),
    ],
)
async def test_a_failure_is_sorted_by_what_it_means(
    server: GoogleChatServer,
    channel: GoogleChatChannel,
    fault: dict[str, Any],
    state: DeliveryState,
    wait_s: float | None,
) -> None:
    server.fail(**fault)

    delivery = await channel.send(out())

    assert (delivery.state, delivery.retry_after_s) == (state, wait_s)


async def test_a_message_that_is_sent_twice_is_there_once(server: GoogleChatServer, channel: GoogleChatChannel) -> None:
    server.fail(done=True)

    first, again = await channel.send(out()), await channel.send(out())

    assert (first.state, again.state) == (DeliveryState.UNKNOWN, DeliveryState.DELIVERED)
    assert [each["name"] for each in server.messages] == list(again.platform_ids)


async def test_a_token_that_ended_early_is_renewed_once(server: GoogleChatServer, channel: GoogleChatChannel) -> None:
    server.tokens.clear()

    assert (await channel.send(out())).state is DeliveryState.DELIVERED
    assert len(server.tokens) == 1


async def test_a_thread_is_opened_and_answered_in(server: GoogleChatServer, channel: GoogleChatChannel) -> None:
    thread = await channel.open_thread(IN_ROOM, "Holidays")
    await channel.send(out("Where?", thread))
    await channel.send(out("Elsewhere", IN_ROOM, id="row-2"))

    threads = [each["thread"]["name"] for each in server.messages]
    assert threads[0] == threads[1] == thread.thread != threads[2]
    assert await channel.open_thread(thread, "More") == thread
    with pytest.raises(HubError, match="spaces alone"):
        await channel.open_thread(WITH_ADA, "Holidays")


async def test_a_message_is_edited_without_its_buttons_and_deleted(
    server: GoogleChatServer, channel: GoogleChatChannel
) -> None:
    (id,) = (await channel.send(out("a", buttons=((Button("Yes", "yes"), Button("No", "no")),)))).platform_ids
    assert list(buttons_of(server.messages[0])) == ["Yes", "No"]

    await channel.edit(WITH_ADA, id, "b")
    assert (server.messages[0]["text"], server.messages[0]["cardsV2"]) == ("b", [])
    for _ in range(2):
        assert (await channel.delete(WITH_ADA, id)).state is DeliveryState.DELIVERED
    assert server.messages == []


async def test_a_poll_takes_one_choice_or_several(server: GoogleChatServer, channel: GoogleChatChannel) -> None:
    for multiple in (False, True):
        await channel.poll(OutboundPoll(str(multiple), WITH_ADA, "Tea?", ("tea", "cake"), multiple=multiple))

    inputs = [each["cardsV2"][0]["card"]["sections"][0]["widgets"][0]["selectionInput"] for each in server.messages]
    assert [each["type"] for each in inputs] == ["RADIO_BUTTON", "CHECK_BOX"]
    assert [each["text"] for each in inputs[0]["items"]] == ["tea", "cake"]


async def test_people_and_spaces_are_found_by_name(
    platform: GoogleChatRig, server: GoogleChatServer, channel: GoogleChatChannel
) -> None:
    await platform.says("hi")
    await server.settled()

    found = [(each.peer, each.name, each.chat_type) for each in await channel.look_up("a", 9)]

    assert found == [(ADAS_DM, "Ada", ChatType.DIRECT), (GROUP, "Ada, Eve", ChatType.GROUP)]
    assert [each.peer for each in await channel.look_up("KITCHEN", 9)] == [ROOM]


@pytest.mark.parametrize("platform", [GoogleChatPullRig], indirect=True)
async def test_a_probe_says_what_is_missing(server: GoogleChatServer, channel: GoogleChatChannel) -> None:
    assert (await channel.probe())["missing"] == []

    server.is_enabled = server.may_pull = False
    api, subscription = (await channel.probe())["missing"]

    assert "Chat API" in str(api)
    assert "Pub/Sub Subscriber" in str(subscription)


async def test_a_file_is_fetched_with_the_token_and_one_of_drive_is_not(
    server: GoogleChatServer, channel: GoogleChatChannel
) -> None:
    server.files["r/1=="] = b"a picture"

    assert [piece async for piece in channel.fetch(WITH_ADA, Media(MediaKind.IMAGE, "r/1=="))] == [b"a picture"]
    with pytest.raises(HubError, match="Google Drive"):
        [piece async for piece in channel.fetch(WITH_ADA, Media(MediaKind.FILE, ""))]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"service_account": "{}"}, "client_email"),
        ({"service_account": "key.json"}, "client_email"),
        ({"audience": "x"}, "project number"),
        ({"subscription": SUBSCRIPTION}, "only one of them"),
        ({"account": "A/b"}, "lower-case"),
    ],
)
def test_what_cannot_be_right_is_refused(wrong: dict[str, str], says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        CONFIG_SCHEMA([{**SECTION, **wrong}])
    with pytest.raises(SchemaError, match="audience"):
        CONFIG_SCHEMA([{"service_account": service_account()}])


async def test_each_app_is_set_up_and_a_refused_key_fails_one(rig: Rig, tmp_path: Path) -> None:
    parts = cast(Any, rig)
    parts.home, parts.gateway = Home(tmp_path), SimpleNamespace(routes=RouteTable())
    host, _ = host_on(parts, "google_chat")
    async with GoogleChatServer() as server:
        server.now = rig.clock.time
        good = {**SECTION, "api_root": server.url, "token_url": f"{server.url}/token"}
        good["certs_url"] = f"{server.url}/certs"
        broken = {"client_email": EMAIL, "private_key": "-----BEGIN nothing"}
        bad = {
            "another": {"service_account": service_account("another")},
            "broken": {"service_account": json.dumps(broken)},
        }
        await setup(host, CONFIG_SCHEMA([good, *({**good, **each, "account": name} for name, each in bad.items())]))
        states = {each.channel.account: each for each in rig.channels.all()}
        await rig.until(lambda: states["default"].status.state is ChannelState.CONNECTED)
        await rig.until(lambda: all(states[each].status.state is ChannelState.FAILED for each in bad))
        web = WebhookHost(lambda: [parts.gateway.routes.match("POST", "/google_chat/default").route])
        server.hub = await web.start() + "/google_chat/default"

        server.says("hi")
        await rig.until(lambda: rig.texts() == ["hi"])
        await web.stop()

    assert "Invalid JWT Signature" in str(states["another"].status.error)
    assert "malformed" in str(states["broken"].status.error)
