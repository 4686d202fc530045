"""WeCom against a local server of its long connection: what only it has, and what it must not be able to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    Button,
    ButtonPressed,
    ChannelState,
    ChatType,
    DeliveryState,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
    PollAnswered,
)
from integrations.channels.wecom.channel import ANSWERED_S, FILE_HOSTS, STREAM_S, WeComChannel
from integrations.channels.wecom.crypt import decrypted
from integrations.channels.wecom.events import event_of, message_of
from integrations.channels.wecom.socket import RATE_PAUSE_S
from tests.integrations.channels.rig import Rig
from tests.servers.wecom_server import ADA, AES_KEY, BOT_ID, GROUP, SECRET, WeComFault, WeComServer

WITH_ADA = Address("wecom", ADA, account_id=BOT_ID)
IN_GROUP = Address("wecom", GROUP, chat_type=ChatType.GROUP, account_id=BOT_ID)
PICTURE = {"url": f"https://{FILE_HOSTS[-1]}/a?sign=1 ", "aeskey": AES_KEY}


@pytest.fixture
async def wecom() -> AsyncIterator[WeComServer]:
    async with WeComServer() as server:
        yield server


@pytest.fixture
async def channel(rig: Rig, wecom: WeComServer) -> WeComChannel:
    channel = bot(rig, wecom)
    await rig.add(channel)
    return channel


def bot(rig: Rig, wecom: WeComServer, *, ping_s: float = 1_000.0) -> WeComChannel:
    return WeComChannel("default", BOT_ID, Secret(SECRET), wecom.url, rig.clock, ping_s=ping_s)


def out(text: str = "hello", address: Address = WITH_ADA, **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), address, text, **more)


async def hear(rig: Rig, wecom: WeComServer, text: str = "hello", **more: Any) -> InboundMessage:
    """Let Ada write, and return what was taken."""
    known = len(rig.taken)
    await wecom.say({"msgtype": "text", "text": {"content": text}}, **more)
    await rig.until(lambda: len(rig.taken) > known)
    taken = rig.taken[-1]
    assert isinstance(taken, InboundMessage)
    return taken


async def read(channel: WeComChannel, media: Media) -> bytes:
    return b"".join([piece async for piece in channel.fetch(WITH_ADA, media)])


# --- in ---


def callback(**content: Any) -> dict[str, Any]:
    return {"msgid": "m1", "chattype": "single", "from": {"userid": ADA}, **content}


def test_words_and_pictures_of_a_mixed_message_come_together() -> None:
    items = [{"msgtype": "text", "text": {"content": "look"}}, {"msgtype": "image", "image": PICTURE}]

    heard = message_of(callback(msgtype="mixed", mixed={"msg_item": items}), "home")

    assert (heard.text, [each.kind for each in heard.media]) == ("look", [MediaKind.IMAGE])
    assert heard.address == Address("wecom", ADA, "home")


def test_a_voice_message_is_its_words_and_a_quote_is_told() -> None:
    quote = {"msgtype": "voice", "voice": {"content": "at eight"}}

    heard = message_of(callback(msgtype="voice", voice={"content": "is that right?"}, quote=quote), "default")

    assert heard.text == "is that right?"
    assert heard.quoted is not None
    assert heard.quoted.text == "at eight"
    assert heard.media == ()


def test_a_quoted_picture_has_no_words() -> None:
    quote = {"msgtype": "image", "image": PICTURE}

    heard = message_of(callback(msgtype="text", text={"content": "this?"}, quote=quote), "default")

    assert heard.quoted is None


def test_in_a_group_the_mention_of_the_bot_is_no_part_of_the_words() -> None:
    said = callback(msgtype="text", text={"content": "@Homarus\u2005/status @all"}) | {"chattype": "group"}

    heard = message_of(said | {"chatid": GROUP}, "default")

    assert (heard.text, heard.mentioned) == ("/status @all", True)
    assert heard.address == Address("wecom", GROUP, chat_type=ChatType.GROUP)


def test_a_vote_for_several_options_is_told_by_their_numbers() -> None:
    chosen = {"question_key": "vote", "option_ids": {"option_id": ["0", "2"]}}
    card = {"card_type": "vote_interaction", "task_id": "p1", "selected_items": {"selected_item": [chosen]}}
    event = {"eventtype": "template_card_event", "template_card_event": card}

    heard = event_of(callback(msgtype="event", event=event), "default")

    assert isinstance(heard, PollAnswered)
    assert (heard.poll_id, heard.numbers) == ("p1", (0, 2))


async def test_what_is_malformed_or_unknown_is_left_out(rig: Rig, wecom: WeComServer, channel: WeComChannel) -> None:
    await wecom.bring({"msgid": "m1", "msgtype": "text"} | {"from": {"userid": ADA}})
    await wecom.say({"msgtype": "hologram", "hologram": {}})
    await wecom.event({"eventtype": "enter_chat"})
    await wecom.event({"eventtype": "template_card_event", "template_card_event": {"event_key": "x"}})
    await wecom.frame("[]")
    await wecom.frame('{"cmd": "aibot_event_callback", "headers": {"req_id": "1"}, "body": 7}')

    await hear(rig, wecom)

    assert rig.texts() == ["hello"]
    assert wecom.connections == 1


async def test_what_cannot_be_stored_is_kept_until_it_can(rig: Rig, wecom: WeComServer, channel: WeComChannel) -> None:
    rig.full = True
    await wecom.say({"msgtype": "text", "text": {"content": "one"}})
    await wecom.say({"msgtype": "text", "text": {"content": "two"}})
    await rig.until(lambda: "disk is full" in rig.error(channel))

    rig.full = False
    await rig.until(lambda: len(rig.taken) == 2)

    assert rig.texts() == ["one", "two"]
    await rig.until(lambda: rig.state(channel) is ChannelState.CONNECTED)


async def test_a_file_is_decrypted_with_its_own_key(rig: Rig, wecom: WeComServer, channel: WeComChannel) -> None:
    content = bytes(range(256)) * 1_000
    await wecom.say({"msgtype": "file", "file": wecom.encrypted_file("f1", content)})
    await rig.until(lambda: bool(rig.taken))
    (heard,) = rig.taken
    assert isinstance(heard, InboundMessage)

    assert await read(channel, heard.media[0]) == content

    for foreign in (b"not encrypted at all", bytes(64)):
        wecom.files["f1"] = foreign
        with pytest.raises(HubError, match="cannot be decrypted"):
            await read(channel, heard.media[0])


@pytest.mark.parametrize(
    "url", ["https://example.com/a", "https://evil.cos.ap-guangzhou.myqcloud.com/a", f"http://{FILE_HOSTS[-1]}/a"]
)
async def test_a_file_elsewhere_is_not_fetched(channel: WeComChannel, url: str) -> None:
    media = message_of(callback(msgtype="image", image={"url": url, "aeskey": AES_KEY}), "default").media[0]

    with pytest.raises(HubError, match="not on its servers"):
        await read(channel, media)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 70_000])
async def test_any_length_is_decrypted_whatever_the_pieces(wecom: WeComServer, size: int) -> None:
    content = b"x" * size
    wecom.encrypted_file("f", content)

    async def pieces() -> AsyncIterator[bytes]:
        whole = wecom.files["f"]
        for start in range(0, len(whole), 4_097):
            yield whole[start : start + 4_097]

    assert b"".join([each async for each in decrypted(pieces(), AES_KEY)]) == content


# --- the connection ---


async def test_a_bot_that_connects_elsewhere_too_is_given_up(
    rig: Rig, wecom: WeComServer, channel: WeComChannel
) -> None:
    other = bot(rig, wecom)
    other.account = "other"
    await rig.add(other)

    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert "Another program has connected with this Bot ID" in rig.error(channel)
    assert (rig.state(other), wecom.connections) == (ChannelState.CONNECTED, 2)
    delivery = await channel.send(out())
    assert delivery.state is DeliveryState.TRANSIENT


async def test_a_dead_connection_is_noticed(rig: Rig, wecom: WeComServer) -> None:
    await rig.add(bot(rig, wecom, ping_s=1.0))
    wecom.deaf = True

    await rig.until(lambda: wecom.connections == 2)

    await hear(rig, wecom, "are you there?")


async def test_a_revoked_secret_is_said(rig: Rig, wecom: WeComServer) -> None:
    wecom.secret = "another"
    channel = bot(rig, wecom)

    await rig.add(channel, connected=False)
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert "refused the Bot ID or its Secret" in rig.error(channel)


# --- out ---


async def test_an_answer_grows_in_the_message_that_it_ends_in(
    rig: Rig, wecom: WeComServer, channel: WeComChannel
) -> None:
    await hear(rig, wecom)
    await channel.draft(WITH_ADA, "run1", "An")
    await hear(rig, wecom, "one more thing")
    await channel.draft(WITH_ADA, "run1", "An answ")

    first = await channel.send(out("An answer", run_id="run1"))
    await channel.send(out("and its second part", run_id="run1"))

    assert wecom.growing == ["An", "An answ"]
    assert [(each["type"], each["text"]) for each in wecom.sent] == [
        ("stream", "An answer"),
        ("markdown", "and its second part"),
    ]
    assert list(wecom.streams) == [first.platform_ids[0]]


async def test_an_answer_that_took_too_long_for_its_stream_is_a_message(
    rig: Rig, wecom: WeComServer, channel: WeComChannel
) -> None:
    await hear(rig, wecom)
    await channel.draft(WITH_ADA, "run1", "An")
    await rig.clock.advance(STREAM_S)

    delivery = await channel.send(out("An answer", run_id="run1"))

    assert delivery.state is DeliveryState.DELIVERED
    assert [(each["type"], each["text"]) for each in wecom.sent] == [("markdown", "An answer")]


async def test_a_draft_needs_a_message_to_answer(rig: Rig, wecom: WeComServer, channel: WeComChannel) -> None:
    with pytest.raises(HubError, match="nothing was written here"):
        await channel.draft(WITH_ADA, "run1", "An")

    await hear(rig, wecom)
    await rig.clock.advance(ANSWERED_S)
    with pytest.raises(HubError, match="nothing was written here"):
        await channel.draft(WITH_ADA, "run1", "An")


async def test_an_answer_in_a_group_belongs_to_its_question_and_calls_nobody(
    rig: Rig, wecom: WeComServer, channel: WeComChannel
) -> None:
    heard = await hear(rig, wecom, "@Homarus hello", group=True)
    await hear(rig, wecom, "@Homarus and me?", group=True)

    await channel.send(out("Ask <@all>.", IN_GROUP, reply_to=heard.message_id))
    wecom.forget_requests()
    await channel.send(out("Later.", IN_GROUP, reply_to=heard.message_id))

    assert [(each["type"], each["text"]) for each in wecom.sent] == [
        ("stream", "Ask < @all>."),
        ("markdown", "Later."),
    ]
    assert wecom.asked[0]["id"] == "req2"


async def test_who_never_wrote_cannot_be_written_to(wecom: WeComServer, channel: WeComChannel) -> None:
    delivery = await channel.send(out("hello", Address("wecom", "nobody")))

    assert delivery.state is DeliveryState.PERMANENT
    assert "(93006)" in (delivery.error or "")


async def test_a_text_too_long_for_a_card_goes_before_its_buttons_once(
    rig: Rig, wecom: WeComServer, channel: WeComChannel
) -> None:
    await hear(rig, wecom)
    question = out("May I run **this**? " * 12, buttons=((Button("Yes", "yes"),),))
    wecom.faults.append(WeComFault(-1))
    assert (await channel.send(question)).state is DeliveryState.TRANSIENT
    wecom.faults += [None, WeComFault(45009)]

    limited = await channel.send(question)
    assert (limited.state, limited.retry_after_s) == (DeliveryState.TRANSIENT, RATE_PAUSE_S)
    assert (await channel.send(question)).state is DeliveryState.DELIVERED

    assert [each["type"] for each in wecom.sent] == ["markdown", "template_card"]
    await wecom.event(
        {
            "eventtype": "template_card_event",
            "template_card_event": {"card_type": "button_interaction", "event_key": "yes", "task_id": question.id},
        }
    )
    await rig.until(lambda: isinstance(rig.taken[-1], ButtonPressed))


async def test_files_go_in_pieces_and_as_what_wecom_can_show(
    rig: Rig, wecom: WeComServer, channel: WeComChannel, tmp_path: Path
) -> None:
    await hear(rig, wecom)
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(1_200_000))
    kinds = ("image/png", "video/mp4", "audio/amr", "audio/ogg", "image/webp")

    for mime in kinds:
        media = (OutboundMedia(MediaKind.FILE, str(path), mime, "a.bin"),)
        assert (await channel.send(out("", media=media))).state is DeliveryState.DELIVERED

    assert [each["type"] for each in wecom.sent] == ["image", "video", "voice", "file", "file"]
    assert wecom.uploaded == [bytes(1_200_000)] * len(kinds)
    assert sum(each["cmd"] == "aibot_upload_media_chunk" for each in wecom.asked) == 3 * len(kinds)


async def test_a_file_of_hardly_anything_is_refused_for_good(
    rig: Rig, wecom: WeComServer, channel: WeComChannel, tmp_path: Path
) -> None:
    await hear(rig, wecom)
    (tmp_path / "a").write_bytes(b"abc")

    media = (OutboundMedia(MediaKind.FILE, str(tmp_path / "a"), "text/plain", "a"),)
    delivery = await channel.send(out("", media=media))

    assert delivery.state is DeliveryState.PERMANENT


async def test_a_vote_with_too_many_options_is_refused(wecom: WeComServer, channel: WeComChannel) -> None:
    poll = OutboundPoll("p", WITH_ADA, "Which?", tuple(str(each) for each in range(21)))

    assert (await channel.poll(poll)).state is DeliveryState.PERMANENT


async def test_a_bot_that_is_not_connected_is_no_healthy_bot(
    rig: Rig, wecom: WeComServer, channel: WeComChannel
) -> None:
    assert (await channel.probe())["ok"] is True
    wecom.secret = "another"
    wecom.cut()
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert "not connected" in (await channel.probe())["error"]
