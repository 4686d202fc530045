"""Signal against a local daemon: what comes in, what goes out, and what happens when either fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.ids import new_id
from hub.core.schema import SchemaError
from hub.messaging.contract import (
    Address,
    ChannelState,
    ChatType,
    Contact,
    DeliveryState,
    InboundMessage,
    Media,
    MediaKind,
    MessageDeleted,
    MessageEdited,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
    Quote,
    ReactionChanged,
)
from integrations.channels.signal.channel import SignalChannel
from integrations.channels.signal.schema import CONFIG_SCHEMA
from tests.integrations.channels.rig import Rig
from tests.servers.signal_server import ADA, GROUP, ME, NUMBER, SignalServer

BY_ADA = f"signal:user:{ADA}"
WITH_ADA = Address("signal", ADA, account_id=ME)
IN_GROUP = Address("signal", GROUP, chat_type=ChatType.GROUP, account_id=ME)


@pytest.fixture
async def signal() -> AsyncIterator[SignalServer]:
    async with SignalServer() as server:
        yield server


@pytest.fixture
async def channel(rig: Rig, signal: SignalServer) -> SignalChannel:
    channel = SignalChannel("default", signal.url, NUMBER, rig.clock)
    await rig.add(channel)
    return channel


def out(text: str = "hello", address: Address = WITH_ADA, **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), address, text, **more)


async def one(rig: Rig) -> Any:
    await rig.until(lambda: bool(rig.taken))
    return rig.taken[0]


# --- in ---


async def test_a_message_goes_by_the_persons_id_and_is_named_by_author_and_time(
    rig: Rig, signal: SignalServer, channel: SignalChannel
) -> None:
    said = signal.says("hi")

    message = await one(rig)

    assert (message.address, message.sender, message.text) == (WITH_ADA, BY_ADA, "hi")
    assert message.message_id == f"{said['timestamp']}:{ADA}"
    assert (message.sender_name, message.mentioned) == ("Ada", True)


async def test_a_groups_id_keeps_its_case_and_a_mention_is_read_in_utf_16(
    rig: Rig, signal: SignalServer, channel: SignalChannel
) -> None:
    mention = {"uuid": ME, "number": NUMBER, "name": "Homarus", "start": 3, "length": 1}
    signal.says("🦞 \ufffc, tea?", group=GROUP, mentions=[mention])
    signal.says("no one", group=GROUP)

    await rig.until(lambda: len(rig.taken) == 2)

    first, second = rig.taken
    assert isinstance(first, InboundMessage)
    assert isinstance(second, InboundMessage)
    assert (first.address, first.text, first.mentioned) == (IN_GROUP, "🦞 @Homarus, tea?", True)
    assert not second.mentioned


async def test_a_reply_quotes_and_addresses_its_author(rig: Rig, signal: SignalServer, channel: SignalChannel) -> None:
    signal.says("yes", group=GROUP, quote={"id": 5, "authorUuid": ME, "text": "tea?"})

    message = await one(rig)

    assert (message.reply_to, message.quoted) == (f"5:{ME}", Quote("tea?", f"signal:user:{ME}"))
    assert message.mentioned


async def test_edits_reactions_and_deletes_are_events(rig: Rig, signal: SignalServer, channel: SignalChannel) -> None:
    edit = {"targetSentTimestamp": 5, "dataMessage": {"timestamp": 6, "message": "b"}}
    signal.envelope(editMessage=edit)
    reaction = {"emoji": "👍", "targetAuthorUuid": ME, "targetSentTimestamp": 4, "isRemove": False}
    signal.envelope(dataMessage={"timestamp": 7, "message": None, "reaction": reaction})
    signal.envelope(dataMessage={"timestamp": 8, "message": None, "remoteDelete": {"timestamp": 5}})

    await rig.until(lambda: len(rig.taken) == 3)

    assert rig.taken == [
        MessageEdited(WITH_ADA, f"6:{ADA}", BY_ADA, message_id=f"5:{ADA}", text="b"),
        ReactionChanged(WITH_ADA, f"7:{ADA}", BY_ADA, "Ada", message_id=f"4:{ME}", emoji="👍"),
        MessageDeleted(WITH_ADA, f"8:{ADA}", BY_ADA, message_id=f"5:{ADA}"),
    ]


async def test_an_attachment_is_fetched_when_asked(rig: Rig, signal: SignalServer, channel: SignalChannel) -> None:
    signal.attachments["a1"] = b"voice"
    contact = {"name": {"display": "Ben"}, "phone": [{"value": "+1"}]}
    signal.says(None, attachments=[{"id": "a1", "contentType": "audio/aac", "size": 5}], contacts=[contact])

    message = await one(rig)

    assert message.media == (Media(MediaKind.AUDIO, "a1", "audio/aac", size_bytes=5, voice=True),)
    assert message.contacts == (Contact("Ben", "+1"),)
    assert signal.asked("getAttachment") == []
    assert [piece async for piece in channel.fetch(WITH_ADA, message.media[0])] == [b"voice"]


async def test_receipts_own_echoes_and_other_accounts_are_not_heard_but_the_note_to_self_is(
    rig: Rig, signal: SignalServer, channel: SignalChannel
) -> None:
    id = (await channel.send(out("to myself", Address("signal", ME)))).platform_ids[0]
    timestamp = int(id.partition(":")[0])
    signal.envelope(receiptMessage={"when": 1})
    signal.envelope(typingMessage={"action": "STARTED"})
    signal.says(None)
    to_me = {"destinationUuid": ME, "message": "echo"}
    signal.envelope(sourceUuid=ME, syncMessage={"sentMessage": {**to_me, "timestamp": timestamp}})
    signal.envelope(sourceUuid=ME, syncMessage={"sentMessage": {**to_me, "destinationUuid": ADA, "timestamp": 2}})
    signal.push('{"envelope": {"sourceUuid": "x", "dataMessage": {"timestamp": 1, "message": "x"}}, "account": "+1"}')
    signal.envelope(sourceUuid=ME, syncMessage={"sentMessage": {**to_me, "timestamp": 3, "message": "note"}})

    message = await one(rig)

    assert (message.text, message.sender, message.address.peer) == ("note", f"signal:user:{ME}", ME)


async def test_what_cannot_be_stored_waits_in_order_and_what_is_no_json_is_left_out(
    rig: Rig, signal: SignalServer, channel: SignalChannel
) -> None:
    rig.full = True
    signal.push("{broken")
    signal.says("1")
    signal.says("2")
    await rig.until(lambda: rig.clock.monotonic() > 20)
    rig.full = False

    await rig.until(lambda: rig.texts() == ["1", "2"])

    assert (signal.streams, rig.duplicates) == (1, 0)


async def test_a_broken_stream_is_opened_again(rig: Rig, signal: SignalServer, channel: SignalChannel) -> None:
    signal.cut()
    await rig.until(lambda: signal.streams == 2)
    signal.says("after")

    await rig.until(lambda: rig.texts() == ["after"])
    assert rig.state(channel) is ChannelState.CONNECTED


async def test_an_account_that_the_daemon_does_not_have_takes_a_person(rig: Rig, signal: SignalServer) -> None:
    signal.registered = False
    channel = SignalChannel("default", signal.url, NUMBER, rig.clock)

    await rig.add(channel, connected=False)
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert "Specified account does not exist" in rig.error(channel)
    assert not (await channel.probe())["ok"]


# --- out ---


async def test_a_message_is_sent_quoting_with_files(
    tmp_path: Path, signal: SignalServer, channel: SignalChannel
) -> None:
    (tmp_path / "a.txt").write_bytes(b"A")
    media = OutboundMedia(MediaKind.FILE, str(tmp_path / "a.txt"), "text/plain")

    sent = await channel.send(out("**see**", reply_to=f"5:{ADA}", media=(media,)))
    await channel.send(out("all", IN_GROUP))

    first, second = signal.sent
    assert sent.platform_ids == (f"{first['timestamp']}:{ME}",)
    assert (first["recipient"], first["message"], first["textStyle"]) == ([ADA], "see", ["0:3:BOLD"])
    assert (first["quoteTimestamp"], first["quoteAuthor"]) == (5, ADA)
    assert (second["groupId"], signal.uploaded) == (GROUP, [b"A"])


async def test_a_message_is_edited_reacted_to_and_deleted(signal: SignalServer, channel: SignalChannel) -> None:
    id = (await channel.send(out("a"))).platform_ids[0]
    timestamp = signal.sent[0]["timestamp"]

    await channel.edit(WITH_ADA, id, "b")
    await channel.react(WITH_ADA, id, "👍")
    reacted = list(signal.reactions[timestamp])
    await channel.react(WITH_ADA, id, None)
    edited = signal.sent[0]["message"]
    await channel.delete(WITH_ADA, id)

    assert (edited, reacted, signal.reactions[timestamp], signal.sent) == ("b", ["👍"], [], [])
    assert (await channel.delete(WITH_ADA, "nonsense")).state is DeliveryState.PERMANENT
    assert (await channel.react(WITH_ADA, "nonsense", "👍")).state is DeliveryState.PERMANENT


async def test_a_poll_is_opened_and_typing_is_shown(signal: SignalServer, channel: SignalChannel) -> None:
    sent = await channel.poll(OutboundPoll("1", IN_GROUP, "Tea?", ("yes", "no")))
    await channel.typing(WITH_ADA)

    assert sent.state is DeliveryState.DELIVERED
    assert signal.sent[0]["option"] == ["yes", "no"]
    assert signal.asked("sendTyping")[0]["recipient"] == [ADA]


@pytest.mark.parametrize(
    ("fault", "state", "wait_s"),
    [
        ({"error": {"code": -1, "message": "Invalid group id"}}, DeliveryState.PERMANENT, None),
        ({"error": {"code": -3, "message": "Connection closed"}}, DeliveryState.UNKNOWN, None),
        ({"error": {"code": -4, "message": "Untrusted"}}, DeliveryState.PERMANENT, None),
        ({"error": {"code": -5, "message": "Rate limit"}}, DeliveryState.TRANSIENT, 60.0),
        ({"error": {"code": -32603, "message": "Internal error"}}, DeliveryState.TRANSIENT, None),
        ({"results": [{"type": "RATE_LIMIT_FAILURE", "retryAfterSeconds": 7}]}, DeliveryState.TRANSIENT, 7.0),
        ({"results": [{"type": "UNREGISTERED_FAILURE"}]}, DeliveryState.PERMANENT, None),
        ({"results": [{"type": "NETWORK_FAILURE"}]}, DeliveryState.UNKNOWN, None),
        ({"results": [{"type": "SUCCESS"}, {"type": "UNREGISTERED_FAILURE"}]}, DeliveryState.DELIVERED, None),
        ({"done": True}, DeliveryState.UNKNOWN, None),
        ({"status": 500, "body": "oops"}, DeliveryState.UNKNOWN, None),
        ({"status": 200, "body": "{broken"}, DeliveryState.UNKNOWN, None),
    ],
)
async def test_a_failure_says_whether_to_send_again(
    signal: SignalServer, channel: SignalChannel, fault: dict[str, Any], state: DeliveryState, wait_s: float | None
) -> None:
    signal.fail("send", **fault)

    delivery = await channel.send(out())

    assert (delivery.state, delivery.retry_after_s) == (state, wait_s)
    assert bool(delivery.error) == (state is not DeliveryState.DELIVERED)


async def test_without_a_daemon_nothing_was_sent(rig: Rig, signal: SignalServer, channel: SignalChannel) -> None:
    assert await channel.probe() == {"ok": True, "id": NUMBER, "name": "signal-cli 0.14.1"}
    await signal.__aexit__()

    assert not (await channel.probe())["ok"]
    assert (await channel.send(out())).state is DeliveryState.TRANSIENT
    await rig.until(lambda: rig.state(channel) is ChannelState.DISCONNECTED)


@pytest.mark.parametrize("number", ["4915112345678", "+0151", "me", 4915112345678])
def test_a_number_without_its_country_is_refused(number: object) -> None:
    with pytest.raises(SchemaError, match="phone number with its country"):
        CONFIG_SCHEMA([{"number": number}])


async def test_contacts_and_groups_are_looked_up_by_a_part_of_their_names(
    signal: SignalServer, channel: SignalChannel
) -> None:
    signal.contacts = [
        {"number": "+15550009", "uuid": ADA, "name": "", "profile": {"givenName": "Ada", "familyName": "King"}},
        {"number": "+15550008", "uuid": None, "name": "Adam", "profile": {"givenName": "Adversary"}},
        {"number": "+15550007", "uuid": "u7", "name": "Adaline", "isBlocked": True},
        {"number": None, "uuid": "u6", "name": "", "profile": None},
    ]
    signal.groups = [
        {"id": GROUP, "name": "Adagio", "isMember": True},
        {"id": "left", "name": "Adagio before", "isMember": False},
    ]

    found = await channel.look_up("ADA", 50)

    assert [(each.peer, each.name, each.chat_type) for each in found] == [
        (ADA, "Ada King", ChatType.DIRECT),
        ("+15550008", "Adam", ChatType.DIRECT),
        (GROUP, "Adagio", ChatType.GROUP),
    ]
