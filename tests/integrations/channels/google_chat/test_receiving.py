"""What Google Chat delivers: who may deliver, what it becomes, and what is left out."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import Unavailable
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    CommandUsed,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    PollAnswered,
    Quote,
    Receipt,
)
from integrations.channels.google_chat.channel import GoogleChatChannel
from integrations.channels.google_chat.events import BUTTON, CHOICE, POLL, event_of, inbound_of
from integrations.channels.google_chat.webhook import GoogleChatWebhook
from tests.channels.google_chat_rig import GoogleChatPullRig, GoogleChatRig
from tests.channels.kit import EVE, Heard, HurriedClock
from tests.servers.google_chat_server import ADA, ADAS_DM, CHAT, GROUP, ROOM, GoogleChatServer
from tests.until import until

WITH_ADA, BY_ADA = Address("google_chat", ADAS_DM), "google_chat:user:100000000000000000007"
NOW = time.time()
"""When the tests were collected, which may be many minutes before they run."""
ENDPOINT = "https://home.example/google_chat/default"
ADDON = "service-123456789012@gcp-sa-gsuiteaddons.iam.gserviceaccount.com"


async def posted(platform: GoogleChatRig, token: str, event: Any) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return await platform.host.post("/google_chat/default", json.dumps(event).encode(), headers)


def read(event: Any) -> Inbound:
    (found,) = inbound_of(event_of(event), "default")
    return found


def as_addon(server: GoogleChatServer, kind: str, message: Any, common: Any = None) -> Any:
    payload = {"message": message, "space": message["space"]}
    chat = {"user": server.user(ADA), "eventTime": "2026-11-30T10:00:00.123456Z", kind: payload}
    return {"commonEventObject": common or {}, "authorizationEventObject": {"systemIdToken": "x"}, "chat": chat}


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://accounts.google.com"},
        {"iss": "another@system.gserviceaccount.com"},
        {"aud": "another"},
        {"exp": NOW - 400},
        {"iat": NOW + 86_400},
    ],
)
@pytest.mark.usefixtures("channel")
async def test_a_token_that_is_not_for_this_project_is_refused(
    platform: GoogleChatRig, server: GoogleChatServer, heard: Heard, claims: dict[str, Any]
) -> None:
    assert await posted(platform, server.token(**claims), {"type": "MESSAGE"}) == 401
    assert heard.inbound == []


@pytest.mark.parametrize(
    ("claims", "caller", "status"),
    [
        ({}, CHAT, 200),
        ({"iss": "accounts.google.com"}, CHAT, 200),
        ({"email": ADDON}, ADDON, 200),
        ({"email": "eve@home.iam.gserviceaccount.com"}, CHAT, 401),
        ({"email_verified": False}, CHAT, 401),
        ({"aud": "https://another.example/"}, CHAT, 401),
        ({"iss": CHAT}, CHAT, 401),
    ],
)
async def test_an_endpoint_is_called_by_google_chat_alone(
    platform: GoogleChatRig,
    channel: GoogleChatChannel,
    server: GoogleChatServer,
    clock: HurriedClock,
    claims: dict[str, Any],
    caller: str,
    status: int,
) -> None:
    assert channel.webhook is not None
    keys = channel.webhook._keys
    channel.webhook = GoogleChatWebhook("default", ENDPOINT, caller, keys, clock, channel.take)
    server.audience = ENDPOINT

    assert await posted(platform, server.token(**claims), {"type": "ADDED_TO_SPACE"}) == status


@pytest.mark.parametrize(
    "event",
    [
        [],
        None,
        7,
        {},
        {"type": "MESSAGE", "message": {"name": "spaces/a/messages/b"}},
        {"type": "MESSAGE", "message": {"sender": {}, "space": {"name": "x", "type": "NEW"}}},
        {"type": "CARD_CLICKED", "action": {"parameters": [{}]}},
        {"chat": []},
    ],
)
@pytest.mark.usefixtures("channel")
async def test_what_is_malformed_is_left_out_and_the_next_is_taken(
    server: GoogleChatServer, heard: Heard, event: Any
) -> None:
    server.deliver(event)
    server.says("hello")
    await server.settled()

    assert [each.text for each in heard.inbound if isinstance(each, InboundMessage)] == ["hello"]
    assert [status for status, _ in server.answers] == [200, 200]


async def test_what_is_not_stored_is_not_acknowledged(server: GoogleChatServer, channel: GoogleChatChannel) -> None:
    class Full(Heard):
        async def __call__(self, inbound: Inbound) -> Receipt:
            raise Unavailable("the disk is full")

    channel._receive = Full()
    server.says("hi")
    await server.settled()

    assert [status for status, _ in server.answers] == [503]


def test_a_message_is_read_with_its_quote_and_files() -> None:
    server = GoogleChatServer()
    attachment = [
        {"contentName": "a.png", "contentType": "image/png", "attachmentDataRef": {"resourceName": "r/1"}},
        {"contentName": "b.pdf", "contentType": "application/pdf", "source": "DRIVE_FILE", "driveDataRef": {}},
    ]
    quoted = {"name": "spaces/x/messages/y", "quotedMessageSnapshot": {"text": "Tea?"}}
    message = server.message("yes", attachment=attachment, quotedMessageMetadata=quoted)

    for event in ({"type": "MESSAGE", "message": message}, as_addon(server, "messagePayload", message)):
        found = read(event)
        assert isinstance(found, InboundMessage)
        assert (found.address, found.sender, found.sender_name, found.mentioned) == (WITH_ADA, BY_ADA, "Ada", True)
        assert (found.text, found.reply_to, found.quoted) == ("yes", "spaces/x/messages/y", Quote("Tea?"))
        assert found.media == (
            Media(MediaKind.IMAGE, "r/1", "image/png", "a.png"),
            Media(MediaKind.FILE, "", "application/pdf", "b.pdf"),
        )
        assert found.sent_at is not None


@pytest.mark.usefixtures("channel")
async def test_rooms_have_names_and_only_answers_are_in_a_thread(server: GoogleChatServer, heard: Heard) -> None:
    server.says("hi", ROOM)
    server.says("hi", ROOM, thread=f"{ROOM}/threads/t")
    server.says("hi", GROUP)
    await server.settled()

    room, thread, group = (each for each in heard.inbound if isinstance(each, InboundMessage))
    assert room.address == Address("google_chat", ROOM, chat_type=ChatType.CHANNEL)
    assert (room.text, room.mentioned, room.group_name) == ("hi", True, "Kitchen")
    assert thread.address.thread == f"{ROOM}/threads/t"
    assert (group.address.chat_type, group.group_name) == (ChatType.GROUP, "Ada, Eve")


def test_a_slash_command_is_one_in_both_forms() -> None:
    server = GoogleChatServer()
    command = {"commandName": "/new", "commandId": "2", "type": "INVOKE", "bot": {"name": "users/1"}}
    annotations = [{"type": "SLASH_COMMAND", "slashCommand": command}]
    message = server.message("/new gpt hello", annotations=annotations, argumentText=" gpt hello")

    for event in ({"type": "MESSAGE", "message": message}, as_addon(server, "appCommandPayload", message)):
        found = read(event)
        assert isinstance(found, CommandUsed)
        assert (found.name, found.arguments, found.event_id) == ("new", "gpt hello", message["name"])


def test_what_is_pressed_is_the_same_in_both_forms() -> None:
    server = GoogleChatServer()
    message = server.message("May I?", who="users/1")
    inputs = {CHOICE: {"stringInputs": {"value": ["0", "2"]}}}
    for parameters, kind in (({BUTTON: "yes"}, ButtonPressed), ({POLL: "1"}, PollAnswered)):
        common = {"parameters": parameters, "formInputs": inputs}
        classic = {"type": "CARD_CLICKED", "message": message, "user": server.user(ADA), "common": common}
        for event in (classic, as_addon(server, "buttonClickedPayload", message, common)):
            found = read(event)
            assert type(found) is kind
            assert (found.sender, getattr(found, "value", "yes")) == (BY_ADA, "yes")
            assert getattr(found, "numbers", (0, 2)) == (0, 2)


def test_bots_and_spaces_that_come_and_go_say_nothing() -> None:
    server = GoogleChatServer()
    bots = {"type": "MESSAGE", "message": server.message("hi") | {"sender": {"name": "users/2", "type": "BOT"}}}
    added = {"type": "ADDED_TO_SPACE", "space": server.space(ROOM), "user": server.user(ADA)}

    assert [*inbound_of(event_of(bots), "default"), *inbound_of(event_of(added), "default")] == []


@pytest.mark.parametrize(("space", "is_addon"), [(ADAS_DM, False), (ROOM, False), (ROOM, True)])
async def test_a_notice_is_for_who_pressed_alone(
    server: GoogleChatServer, channel: GoogleChatChannel, space: str, *, is_addon: bool
) -> None:
    class Noticing(Heard):
        async def __call__(self, inbound: Inbound) -> Receipt:
            return Receipt("1", accepted=False, notice="Not for you.")

    channel._receive = Noticing()
    message, common = server.message("May I?", space), {"parameters": {BUTTON: "yes"}}
    if is_addon:
        server.deliver(as_addon(server, "buttonClickedPayload", message, common))
    else:
        server.event("CARD_CLICKED", message, common=common)
    await server.settled()

    ((_, told),) = server.answers
    if is_addon:
        told = told["hostAppDataAction"]["chatDataAction"]["createMessageAction"]["message"]
    assert told["text"] == "Not for you."
    assert told.get("privateMessageViewer") == (None if space == ADAS_DM else {"name": ADA})


async def test_nothing_of_a_stranger_is_kept(
    platform: GoogleChatRig, server: GoogleChatServer, channel: GoogleChatChannel, heard: Heard
) -> None:
    heard.strangers.append(platform.identity(EVE))
    await platform.says("hi", EVE)
    await server.settled()

    assert heard._cursors == {}
    assert [each.name for each in await channel.look_up("eve", 5)] == ["Ada, Eve"]


@pytest.mark.parametrize("platform", [GoogleChatPullRig], indirect=True)
@pytest.mark.usefixtures("channel")
async def test_pubsub_forgets_only_what_is_stored(server: GoogleChatServer, heard: Heard) -> None:
    server.deliver_raw(b"no json")
    server.says("hello")
    await until(lambda: not server.unacknowledged)

    assert [each.text for each in heard.inbound if isinstance(each, InboundMessage)] == ["hello"]


@pytest.mark.parametrize("platform", [GoogleChatPullRig], indirect=True)
async def test_an_app_with_a_subscription_has_no_endpoint(
    platform: GoogleChatRig, channel: GoogleChatChannel, tmp_path: Path
) -> None:
    assert channel.webhook is None
    assert await platform.host.post("/google_chat/default", b"{}", {}) == 404
