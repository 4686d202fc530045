"""iMessage against a local BlueBubbles server: what comes in, what goes out, and what happens when either fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.ids import new_id
from hub.core.schema import Invalid
from hub.core.secret import Secret
from hub.messaging.capabilities import Capability, capabilities_of
from hub.messaging.contract import (
    Address,
    ChannelState,
    DeliveryState,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    OutboundMedia,
    OutboundMessage,
)
from integrations.channels.imessage.channel import IMessageAccount, IMessageChannel, channel_for
from integrations.channels.imessage.events import Reading, inbound_of
from integrations.channels.imessage.schema import CONFIG_SCHEMA
from tests.channels.imessage_node_rig import IMessageNodeRig
from tests.channels.kit import Heard
from tests.channels.webhook_host import WebhookHost
from tests.integrations.channels.rig import Rig
from tests.servers.bluebubbles_server import ADA, EVE, GROUP, ME, BlueBubblesServer
from tests.until import until

CHAT = f"iMessage;-;{ADA}"
WITH_ADA = Address("imessage", CHAT)
TO_MYSELF = f"iMessage;-;{ME}"
SECRET = "a-long-secret-of-the-hook"


@pytest.fixture
async def server() -> AsyncIterator[BlueBubblesServer]:
    async with BlueBubblesServer() as server:
        yield server


@pytest.fixture
def account(server: BlueBubblesServer) -> IMessageAccount:
    return IMessageAccount("default", server.url, Secret(server.password), private_api=True, names=("Homarus",))


@pytest.fixture
async def channel(rig: Rig, account: IMessageAccount) -> Any:
    channel = channel_for(account, rig.clock)
    await rig.add(channel)
    return channel


def out(text: str = "hello", **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), WITH_ADA, text, **more)


def read(row: dict[str, Any], event: str = "") -> Any:
    return inbound_of(row, Reading("default", ("Homarus",), {"MINE"}), event)


async def test_a_home_that_is_new_answers_nothing_of_before(
    rig: Rig, server: BlueBubblesServer, account: IMessageAccount
) -> None:
    server.says("years ago")
    await rig.add(channel_for(account, rig.clock))

    server.says("now")
    await rig.until(lambda: rig.texts() == ["now"])


async def test_what_a_webhook_told_is_not_taken_again_when_it_is_polled(
    rig: Rig, server: BlueBubblesServer, account: IMessageAccount
) -> None:
    channels: list[IMessageChannel] = []
    host = WebhookHost(lambda: [route for each in channels[-1:] if (route := each.route()) is not None])
    account = replace(account, webhook_secret=Secret(SECRET), webhook_url=await host.start(), poll_s=3_600.0)
    channels.append(channel_for(account, rig.clock))
    await rig.add(channels[0])
    await rig.until(lambda: bool(server.hooks))

    server.says("at once")
    await rig.until(lambda: server.hooked == [200])
    await rig.clock.advance(3_601)
    server.says("and this")
    await rig.until(lambda: rig.texts() == ["at once", "and this"])

    assert rig.duplicates == 0
    await rig.remove(channels[0])
    channels.append(channel_for(account, rig.clock))
    await rig.add(channels[1])
    await host.stop()
    assert len(server.hooks) == 1


async def test_a_delivery_that_cannot_be_stored_is_refused_and_found_by_polling(
    rig: Rig, server: BlueBubblesServer, channel: IMessageChannel
) -> None:
    rig.full = True
    server.says("hello")
    await rig.until(lambda: rig.state(channel) is ChannelState.DISCONNECTED)
    rig.full = False

    await rig.until(lambda: rig.texts() == ["hello"])


async def test_the_chat_with_oneself_is_answered_once(
    rig: Rig, server: BlueBubblesServer, channel: IMessageChannel
) -> None:
    server.row(TO_MYSELF, None, "a note")
    server.says("a note", ME, TO_MYSELF)
    await rig.until(lambda: rig.texts() == ["a note"])

    await channel.send(replace(out("an answer"), address=Address("imessage", TO_MYSELF)))
    server.says("another", ME, TO_MYSELF)
    await rig.until(lambda: rig.texts() == ["a note", "another"])

    assert [each["text"] for each in server.rows].count("an answer") == 2


async def test_somebody_else_may_say_what_the_assistant_said(
    rig: Rig, server: BlueBubblesServer, channel: IMessageChannel
) -> None:
    await channel.send(out("OK"))
    server.says("OK")

    await rig.until(lambda: rig.texts() == ["OK"])


@pytest.mark.parametrize("service", [None, "any"])
def test_a_sender_of_an_unknown_service_is_nobody_who_was_let_in_on_imessage(service: str | None) -> None:
    row = BlueBubblesServer().row(f"any;-;{ADA}", ADA, "let me in")
    row["handle"]["service"] = service

    assert read(row).sender == f"imessage:sms:{ADA}"


@pytest.mark.parametrize("service", ["SMS", "RCS"])
def test_the_sender_of_an_sms_is_nobody_who_was_let_in_on_imessage(service: str) -> None:
    by_chat = read(BlueBubblesServer().row(f"{service};-;{ADA}", ADA, "let me in"))
    row = BlueBubblesServer().row(f"any;-;{ADA}", ADA, "let me in")
    row["handle"]["service"] = service

    assert by_chat.sender == read(row).sender == f"imessage:sms:{ADA}"
    assert read(BlueBubblesServer().row(CHAT, ADA, "hello")).sender == f"imessage:user:{ADA}"


@pytest.mark.parametrize(
    ("text", "mentioned", "heard"),
    [
        ("Homarus, what now?", True, "what now?"),
        ("what now, homarus?", True, "what now, homarus?"),
        ("@Homarus", True, "@Homarus"),
        ("Homaruses are lobsters", False, "Homaruses are lobsters"),
    ],
)
def test_a_name_addresses_it_in_a_group(text: str, mentioned: bool, heard: str) -> None:
    found = read(BlueBubblesServer().row(GROUP, ADA, text))

    assert (found.mentioned, found.text, found.group_name) == (mentioned, heard, "Family")


def test_a_reply_to_its_message_addresses_it_and_one_to_another_does_not() -> None:
    server = BlueBubblesServer()

    assert read(server.row(GROUP, ADA, "why?", threadOriginatorGuid="MINE")).mentioned is True
    assert read(server.row(GROUP, ADA, "why?", threadOriginatorGuid="OTHER")).mentioned is False


@pytest.mark.parametrize(
    ("kind", "emoji", "added"),
    [("love", "❤️", True), ("-laugh", "😂", False), ("2001", "👍", True), ("3004", "‼️", False)],
)
def test_a_tapback_says_what_and_to_which(kind: str, emoji: str, added: bool) -> None:
    row = BlueBubblesServer().row(CHAT, ADA, "", associatedMessageGuid="p:0/MINE", associatedMessageType=kind)
    found = read(row)

    assert (found.message_id, found.emoji, found.added) == ("MINE", emoji, added)


def test_an_unsent_message_and_who_leaves_are_told_and_receipts_are_not() -> None:
    server = BlueBubblesServer()
    gone = read(server.row(CHAT, ADA, "", dateRetracted=5), "updated-message")
    left = read(server.row(GROUP, ADA, None, itemType=3))

    assert isinstance(gone, MessageDeleted)
    assert isinstance(left, MembershipChanged)
    assert left.joined is False
    assert read(server.row(CHAT, ADA, "hello", dateRead=5), "updated-message") is None


@pytest.mark.parametrize("row", [{"chats": []}, {"handle": None}, {"itemType": 2}, {"text": "\ufffc"}])
def test_rows_that_say_nothing_make_nothing(row: dict[str, Any]) -> None:
    assert read(BlueBubblesServer().row(CHAT, ADA, "hello") | row) is None


async def test_a_row_that_is_malformed_is_left_out(
    rig: Rig, server: BlueBubblesServer, channel: IMessageChannel
) -> None:
    server.says("bad", handle={"no": "address"})
    server.says("good", EVE)

    await rig.until(lambda: rig.texts() == ["good"])


async def test_what_is_taken_is_marked_as_read(rig: Rig, server: BlueBubblesServer, channel: IMessageChannel) -> None:
    server.says("hello")

    await rig.until(lambda: server.read == [CHAT])


async def test_without_the_private_api_there_is_text_and_nothing_that_needs_it(
    rig: Rig, server: BlueBubblesServer, account: IMessageAccount
) -> None:
    server.private_api = False
    channel = channel_for(replace(account, private_api=False), rig.clock)
    await rig.add(channel)

    assert (await channel.send(out(reply_to="anything"))).state is DeliveryState.DELIVERED
    assert server.asked[0][1]["method"] == "apple-script"
    assert capabilities_of(channel) == {Capability.MEDIA}


async def test_a_private_api_that_is_gone_is_said_and_not_asked(
    rig: Rig, server: BlueBubblesServer, account: IMessageAccount
) -> None:
    server.private_api = False
    channel: Any = channel_for(account, rig.clock)
    await rig.add(channel)

    assert (await channel.edit(WITH_ADA, "X", "text")).state is DeliveryState.PERMANENT
    assert (await channel.send(out())).state is DeliveryState.DELIVERED
    assert len((await channel.probe())["missing"]) == 1


async def test_an_emoji_that_is_no_tapback_is_refused(rig: Rig, channel: Any) -> None:
    delivery = await channel.react(WITH_ADA, "X", "🦞")

    assert delivery.state is DeliveryState.PERMANENT
    assert "❤️" in str(delivery.error)


async def test_a_reply_and_a_voice_message_are_such(
    rig: Rig, server: BlueBubblesServer, channel: IMessageChannel, tmp_path: Path
) -> None:
    path = tmp_path / "a.m4a"
    path.write_bytes(b"sound")
    await channel.send(out(reply_to="THEIRS"))
    await channel.send(out("", media=(OutboundMedia(MediaKind.AUDIO, str(path), "audio/mp4", voice=True),)))

    assert server.rows[0]["threadOriginatorGuid"] == "THEIRS"
    assert server.asked[1][1]["isAudioMessage"] == "true"
    assert server.uploaded == [b"sound"]


async def test_a_number_alone_is_written_to_on_imessage(
    rig: Rig, server: BlueBubblesServer, channel: IMessageChannel
) -> None:
    await channel.send(replace(out(), address=Address("imessage", ADA)))

    assert server.rows[0]["chats"][0]["guid"] == CHAT


async def test_people_and_groups_are_found_by_name(
    rig: Rig, server: BlueBubblesServer, channel: IMessageChannel
) -> None:
    server.says("hello", chat=GROUP)

    assert [(each.peer, each.name) for each in await channel.look_up("lovel", 5)] == [(CHAT, "Ada Lovelace")]
    assert [each.peer for each in await channel.look_up("fam", 5)] == [GROUP]


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        ({"status": 500, "type": "iMessage Error", "data": {"error": 22}}, DeliveryState.PERMANENT),
        ({"status": 500, "type": "iMessage Error", "message": "timed out"}, DeliveryState.UNKNOWN),
        ({"status": 400, "type": "Validation Error", "message": "Message is already queued"}, DeliveryState.TRANSIENT),
        ({"status": 400, "type": "Validation Error", "message": "bad"}, DeliveryState.PERMANENT),
    ],
)
async def test_a_failure_says_whether_a_message_may_have_been_sent(
    rig: Rig, server: BlueBubblesServer, channel: IMessageChannel, fault: dict[str, Any], state: DeliveryState
) -> None:
    server.fail(**fault)

    assert (await channel.send(out())).state is state


async def test_a_message_that_was_cut_off_by_a_restart_is_found(
    rig: Rig, server: BlueBubblesServer, channel: IMessageChannel
) -> None:
    server.row(CHAT, None, "hello")

    found = await channel.find(out(), server.rows[0]["dateCreated"] / 1_000)

    assert found is not None
    assert found.platform_ids == (server.rows[0]["guid"],)
    assert await channel.find(out("something else"), server.rows[0]["dateCreated"] / 1_000) is None


async def test_a_wrong_password_takes_a_person(rig: Rig, server: BlueBubblesServer, account: IMessageAccount) -> None:
    channel = channel_for(replace(account, password=Secret("wrong")), rig.clock)
    await rig.add(channel, connected=False)
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert "password" in rig.error(channel)


def test_the_configuration_becomes_an_account() -> None:
    (entry,) = CONFIG_SCHEMA({"url": "http://mac:1234", "password": "x", "own_addresses": ["+4915"]})
    account = IMessageAccount.from_config(entry)

    assert (account.poll_s, account.names, account.own_addresses) == (3.0, ("Homarus",), ("+4915",))
    assert channel_for(account, Clock()).route() is None


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"url": "http://mac:1234"},
        {"password": "p"},
        {"node": "mac", "url": "http://mac:1234", "password": "p"},
        {"node": "mac", "private_api": True},
        {"node": "mac", "webhook_secret": "x" * 40},
    ],
)
def test_an_entry_has_a_server_or_a_node(entry: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        CONFIG_SCHEMA([entry])
    assert CONFIG_SCHEMA([{"node": "mac"}])[0]["node"] == "mac"


async def test_a_mac_that_is_a_node_can_only_what_it_can(tmp_path: Path) -> None:
    node_rig = IMessageNodeRig()
    await node_rig.start()
    channel = node_rig.channel(tmp_path, Clock())
    heard = Heard()
    await channel.start(heard)
    await until(lambda: heard.account_id == "default")

    assert capabilities_of(channel).isdisjoint(
        {Capability.EDIT, Capability.DELETE, Capability.REACT, Capability.TYPING, Capability.BUTTONS}
    )
    assert (await channel.probe())["missing"] == []
    node_rig.gone["default"]("it disconnected")
    delivery = await channel.send(out())
    assert (delivery.state, node_rig.node.sends) == (DeliveryState.TRANSIENT, 0)
    await until(lambda: any("not connected" in each for each in heard.errors))
    await channel.stop()
    await node_rig.stop()
