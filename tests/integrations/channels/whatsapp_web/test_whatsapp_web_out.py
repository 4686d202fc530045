"""WhatsApp Web: what goes out, and what the failures of the client mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hub.core.ids import new_id
from hub.messaging.contract import (
    Address,
    ChannelState,
    ChatType,
    DeliveryState,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
)
from integrations.channels.whatsapp_web.channel import WhatsAppWebChannel
from integrations.channels.whatsapp_web.client import RATE_LIMIT_S, failure
from tests.integrations.channels.rig import Rig
from tests.integrations.channels.whatsapp_web.conftest import taken
from tests.servers.whatsapp_web_double import ADA, ADAS_LID, GROUP, ME, WhatsAppWebDouble, e2e, proto

WITH_ADA = Address("whatsapp_web", ADA)
IN_GROUP = Address("whatsapp_web", GROUP, chat_type=ChatType.GROUP)


def out(text: str = "hello", address: Address = WITH_ADA, **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), address, text, **more)


@pytest.mark.parametrize(("by_lid", "author"), [(False, f"{ADA}@s.whatsapp.net"), (True, f"{ADAS_LID}@lid")])
async def test_a_reply_in_a_group_quotes_its_author_as_the_group_knows_them(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel, by_lid: bool, author: str
) -> None:
    server.says(e2e.Message(conversation="a question"), group=True, by_lid=by_lid)
    await rig.until(lambda: rig.texts() == ["a question"])

    await channel.send(out("an answer", IN_GROUP, reply_to=taken(rig)[0].message_id))
    await channel.react(IN_GROUP, taken(rig)[0].message_id, "👍")

    content = server.sent[0][2].extendedTextMessage
    assert content.text == "an answer"
    assert content.contextInfo.participant == author
    assert content.contextInfo.quotedMessage.conversation == "a question"
    assert server.reactions == {taken(rig)[0].message_id.partition(":")[0]: "👍"}


async def test_text_is_in_whatsapps_markup_and_numbers_are_mentions(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    await channel.send(out(f"**Now** @{ADA}"))

    content = server.sent[0][2].extendedTextMessage
    assert content.text == f"*Now* @{ADA}"
    assert list(content.contextInfo.mentionedJID) == [f"{ADA}@s.whatsapp.net"]


@pytest.mark.parametrize(
    ("kind", "mime", "field"),
    [
        (MediaKind.IMAGE, "image/jpeg", "imageMessage"),
        (MediaKind.IMAGE, "image/tiff", "documentMessage"),
        (MediaKind.VIDEO, "video/mp4", "videoMessage"),
        (MediaKind.AUDIO, "audio/mpeg", "audioMessage"),
        (MediaKind.STICKER, "image/webp", "stickerMessage"),
        (MediaKind.FILE, "application/pdf", "documentMessage"),
    ],
)
async def test_a_file_is_what_whatsapp_shows_it_as(
    rig: Rig,
    server: WhatsAppWebDouble,
    channel: WhatsAppWebChannel,
    tmp_path: Path,
    kind: MediaKind,
    mime: str,
    field: str,
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"bytes")

    delivery = await channel.send(out("", media=(OutboundMedia(kind, str(path), mime, "a.bin"),)))

    content = getattr(server.sent[0][2], field)
    assert delivery.state is DeliveryState.DELIVERED
    assert (content.mimetype, content.fileLength) == (mime, 5)


async def test_a_voice_note_is_sent_as_one(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel, tmp_path: Path
) -> None:
    path = tmp_path / "a.ogg"
    path.write_bytes(b"OggS")

    await channel.send(out("", media=(OutboundMedia(MediaKind.AUDIO, str(path), "audio/ogg", voice=True),)))

    audio = server.sent[0][2].audioMessage
    assert (audio.PTT, audio.mimetype) == (True, "audio/ogg; codecs=opus")


@pytest.mark.parametrize(("multiple", "count"), [(True, 0), (False, 1)])
async def test_a_poll_lets_one_or_several_be_chosen(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel, multiple: bool, count: int
) -> None:
    await channel.poll(OutboundPoll("1", WITH_ADA, "Tea?", ("yes", "no"), multiple))

    assert server.sent[0][2].pollCreationMessage.selectableOptionsCount == count


async def test_people_and_groups_are_found_by_name(channel: WhatsAppWebChannel) -> None:
    assert [(each.peer, each.name) for each in await channel.look_up("lovel", 5)] == [(ADA, "Ada Lovelace")]
    assert [(each.peer, each.chat_type) for each in await channel.look_up("FAMILY", 5)] == [(GROUP, ChatType.GROUP)]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("websocket not connected", DeliveryState.TRANSIENT),
        ("failed to get device list: info query timed out", DeliveryState.TRANSIENT),
        ("info query returned status 429: rate-overlimit", DeliveryState.TRANSIENT),
        ("info query returned status 403: forbidden", DeliveryState.PERMANENT),
        ("no signal session established with 4915122222222", DeliveryState.TRANSIENT),
        ("you're not participating in that group", DeliveryState.PERMANENT),
        ("server returned error 479", DeliveryState.PERMANENT),
        ("timed out waiting for message send response", DeliveryState.UNKNOWN),
        ("something that nobody has read before", DeliveryState.UNKNOWN),
    ],
)
def test_a_failure_says_whether_a_message_may_have_been_sent(text: str, state: DeliveryState) -> None:
    error = failure(text)

    assert (error.state, error.retry_after_s) == (state, RATE_LIMIT_S if "rate" in text else None)


async def test_what_is_sent_while_it_is_not_connected_waits(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    await rig.remove(channel)

    assert (await channel.send(out())).state is DeliveryState.TRANSIENT
    assert (await channel.probe())["ok"] is False


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (proto.StreamReplaced(), "in use elsewhere"),
        (proto.ClientOutdated(), "too old"),
        (proto.TemporaryBan(Code=proto.TemporaryBan.BLOCKED_BY_USERS, Expire=1_800_000_000), "until 2027-01-15"),
        (proto.LoggedOut(OnConnect=True, Reason=proto.LOGGED_OUT), "homarus channels link"),
        (proto.ConnectFailure(Reason=proto.BAD_USER_AGENT), "BAD_USER_AGENT"),
    ],
    ids=lambda each: each.DESCRIPTOR.name if hasattr(each, "DESCRIPTOR") else "",
)
async def test_what_takes_a_person_ends_the_connection_and_says_what_to_do(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel, event: Any, said: str
) -> None:
    server.push(event)
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert said in rig.error(channel)
    assert server.client is None


async def test_a_passing_failure_is_tried_again(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    first = server.client
    server.push(proto.ConnectFailure(Reason=proto.SERVICE_UNAVAILABLE))
    await rig.until(lambda: rig.state(channel) is ChannelState.DISCONNECTED)

    await rig.until(lambda: rig.state(channel) is ChannelState.CONNECTED)
    assert server.client is not first


async def test_silence_is_noticed_and_its_end_too(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    for _ in range(2):
        server.push(proto.KeepAliveTimeout(ErrorCount=1, LastSuccess=0))
    await rig.until(lambda: rig.state(channel) is ChannelState.DISCONNECTED)

    server.push(proto.KeepAliveRestored())

    await rig.until(lambda: rig.state(channel) is ChannelState.CONNECTED)
    assert (await channel.probe())["account_id"] == ME
