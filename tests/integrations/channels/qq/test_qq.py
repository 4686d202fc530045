"""QQ against a local server of its API and gateway: the few answers, the token, the session, and what is malformed."""

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
    ChannelState,
    ChatType,
    Delivery,
    DeliveryState,
    InboundMessage,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
)
from integrations.channels.qq.answers import MESSAGES, WINDOWS
from integrations.channels.qq.api import FILE_HOSTS, RATE_PAUSE_S, QQLogin
from integrations.channels.qq.channel import QQChannel
from integrations.channels.qq.events import message_of
from tests.integrations.channels.rig import Rig
from tests.servers.qq_server import ADA, ADA_IN_GROUP, APP_ID, GROUP, SECRET, QQFault, QQServer

WITH_ADA = Address("qq", ADA, account_id=APP_ID)
IN_GROUP = Address("qq", GROUP, chat_type=ChatType.GROUP, account_id=APP_ID)
DIRECT, GROUPS = WINDOWS[ChatType.DIRECT], WINDOWS[ChatType.GROUP]
SAID = {"id": "m1", "timestamp": "2026-11-05T12:00:00+08:00", "content": "hello", "author": {"user_openid": ADA}}


@pytest.fixture
async def qq() -> AsyncIterator[QQServer]:
    async with QQServer() as server:
        yield server


@pytest.fixture
async def channel(rig: Rig, qq: QQServer) -> QQChannel:
    channel = bot(rig, qq)
    await rig.add(channel)
    await rig.until(lambda: qq.is_heard)
    return channel


def bot(rig: Rig, qq: QQServer) -> QQChannel:
    return QQChannel("default", QQLogin(APP_ID, Secret(SECRET), qq.root, qq.token_url), rig.clock)


def out(text: str = "hello", address: Address = WITH_ADA, **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), address, text, **more)


async def hear(rig: Rig, qq: QQServer, text: str = "hello", **more: Any) -> InboundMessage:
    """Let somebody write, and return what was taken."""
    known = len(rig.taken)
    await qq.say(text, **more)
    await rig.until(lambda: len(rig.taken) > known)
    taken = rig.taken[-1]
    assert isinstance(taken, InboundMessage)
    return taken


def keys(qq: QQServer) -> list[tuple[str, int]]:
    return [(each["msg_id"], each["msg_seq"]) for each in qq.sent]


def is_closed(delivery: Delivery) -> bool:
    return delivery.state is DeliveryState.PERMANENT and "QQ lets a bot only answer" in (delivery.error or "")


# --- the few answers ---


async def test_what_nobody_asked_for_is_not_even_tried(qq: QQServer, channel: QQChannel) -> None:
    assert is_closed(await channel.send(out()))
    assert qq.attempts == 0


async def test_each_message_is_answered_a_few_times_and_the_next_part_says_why_not(
    rig: Rig, qq: QQServer, channel: QQChannel
) -> None:
    heard = await hear(rig, qq)

    deliveries = [await channel.send(out(f"part {number}")) for number in range(DIRECT.answers + 1)]

    assert [each.state for each in deliveries[:-1]] == [DeliveryState.DELIVERED] * DIRECT.answers
    assert is_closed(deliveries[-1])
    assert keys(qq) == [(heard.message_id, number + 1) for number in range(DIRECT.answers)]


async def test_a_number_that_another_answer_has_is_passed_over(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    heard = await hear(rig, qq)
    qq.answered(heard.message_id, 1)  # before the hub forgot of it, and heard it again

    delivery = await channel.send(out())

    assert delivery.state is DeliveryState.DELIVERED
    assert delivery.platform_ids
    assert keys(qq) == [(heard.message_id, 2)]


async def test_what_is_sent_again_goes_to_its_place_also_when_its_question_is_forgotten(
    rig: Rig, qq: QQServer, channel: QQChannel
) -> None:
    await hear(rig, qq)
    sent = out()
    await channel.send(sent)
    for number in range(MESSAGES):
        await hear(rig, qq, f"and {number}")

    again = await channel.send(sent)

    assert again.state is DeliveryState.DELIVERED
    assert len(qq.sent) == 1


async def test_another_message_gives_more_answers(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    first = await hear(rig, qq, "one")
    for _ in range(DIRECT.answers - 1):
        await channel.send(out())
    second = await hear(rig, qq, "two")

    for _ in range(DIRECT.answers + 1):
        assert (await channel.send(out())).state is DeliveryState.DELIVERED

    assert keys(qq)[-2:] == [(second.message_id, DIRECT.answers), (first.message_id, DIRECT.answers)]


@pytest.mark.parametrize(("address", "window"), [(WITH_ADA, DIRECT), (IN_GROUP, GROUPS)])
async def test_after_a_while_a_message_cannot_be_answered(
    rig: Rig, qq: QQServer, channel: QQChannel, address: Address, window: Any
) -> None:
    await hear(rig, qq, group=address is IN_GROUP)
    assert (await channel.send(out(address=address))).state is DeliveryState.DELIVERED

    await rig.clock.advance(window.seconds)

    assert is_closed(await channel.send(out(address=address)))
    assert qq.attempts == 1


async def test_what_qq_finds_too_late_can_be_sent_again_once_somebody_has_written(
    rig: Rig, qq: QQServer, channel: QQChannel
) -> None:
    await hear(rig, qq)
    await channel.send(out("in time"))
    late, other = out("late"), out("also late")
    qq.late_s = 2 * 3_600
    assert is_closed(await channel.send(late))
    assert is_closed(await channel.send(other))

    heard = await hear(rig, qq, "again")
    for message in (late, other):
        assert (await channel.send(message)).state is DeliveryState.DELIVERED

    assert keys(qq)[1:] == [(heard.message_id, 1), (heard.message_id, 2)]


async def test_the_message_that_is_meant_is_answered(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    first = await hear(rig, qq, "one", group=True)
    second = await hear(rig, qq, "two", group=True)

    await channel.send(out(address=IN_GROUP, reply_to=first.message_id))
    await channel.send(out(address=IN_GROUP))

    assert keys(qq) == [(first.message_id, 1), (second.message_id, 1)]


async def test_answers_are_counted_over_a_restart_and_a_repeated_one_is_shown_once(
    rig: Rig, qq: QQServer, channel: QQChannel
) -> None:
    heard = await hear(rig, qq)
    message = out("once")
    qq.faults.append(QQFault(done=True))
    assert (await channel.send(message)).state is DeliveryState.UNKNOWN
    await rig.remove(channel)
    again = bot(rig, qq)
    await rig.add(again)
    await rig.until(lambda: len(qq.introductions) == 2)

    assert (await again.send(message)).state is DeliveryState.DELIVERED
    await again.send(out("twice"))

    assert [each["content"] for each in qq.sent] == ["once", "twice"]
    assert keys(qq) == [(heard.message_id, 1), (heard.message_id, 2)]


# --- in ---


def test_in_a_group_what_does_not_mention_the_bot_is_only_overheard() -> None:
    author = {"author": {"member_openid": ADA_IN_GROUP, "username": "Ada"}, "group_openid": GROUP}
    overheard = message_of("GROUP_MESSAGE_CREATE", {**SAID, **author}, "home")
    called = {**SAID, **author, "content": "<@!B0T> /status", "mentions": [{"is_you": True}]}
    mentioned = message_of("GROUP_MESSAGE_CREATE", called, "home")

    assert overheard is not None
    assert (overheard.mentioned, overheard.sender, overheard.sender_name) == (False, f"qq:user:{ADA_IN_GROUP}", "Ada")
    assert overheard.address == Address("qq", GROUP, "home", ChatType.GROUP)
    assert mentioned is not None
    assert (mentioned.mentioned, mentioned.text) == (True, "/status")


def test_a_voice_message_is_fetched_as_wav_and_a_quote_is_told() -> None:
    voice = {"content_type": "voice", "url": "//a.qq.com/x.silk", "voice_wav_url": "https://a.qq.com/x.wav", "size": 9}
    quote = {"message_type": 103, "msg_elements": [{"content": "at eight"}]}

    heard = message_of("C2C_MESSAGE_CREATE", {**SAID, "attachments": [voice], **quote}, "default")

    assert heard is not None
    assert heard.quoted is not None
    assert heard.quoted.text == "at eight"
    (media,) = heard.media
    assert (media.kind, media.reference, media.mime_type) == (MediaKind.AUDIO, "https://a.qq.com/x.wav", "audio/wav")
    assert (media.voice, media.size_bytes) == (True, None)


async def test_other_bots_and_what_is_malformed_are_left_out(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    await qq.say("beep", group=True, author={"bot": True})
    malformed: list[Any] = [{}, [], None, {**SAID, "author": {}}, {**SAID, "timestamp": "yesterday"}]
    for data in malformed:
        await qq.bring("C2C_MESSAGE_CREATE", data)
    await qq.bring("GROUP_ADD_ROBOT", {"group_openid": GROUP})

    await hear(rig, qq)

    assert rig.texts() == ["hello"]
    assert len(qq.introductions) == 1


@pytest.mark.parametrize("url", ["https://example.com/a", f"http://a{FILE_HOSTS[0]}/a", "https://qq.com.example.com/a"])
async def test_a_file_elsewhere_is_not_fetched(channel: QQChannel, url: str) -> None:
    data = {**SAID, "attachments": [{"content_type": "image/png", "url": url}]}
    heard = message_of("C2C_MESSAGE_CREATE", data, "default")
    assert heard is not None

    with pytest.raises(HubError, match="not on its servers"):
        _ = [piece async for piece in channel.fetch(WITH_ADA, heard.media[0])]


# --- the token and the session ---


async def test_the_token_is_renewed_before_it_ends_and_when_it_is_refused(
    rig: Rig, qq: QQServer, channel: QQChannel
) -> None:
    await hear(rig, qq)
    await rig.clock.advance(qq.token_s - 100)
    known = len(qq.tokens)
    await channel.probe()
    await rig.clock.advance(41)
    await channel.probe()
    assert len(qq.tokens) == known + 1

    qq.tokens.append("nobody's")

    assert (await channel.probe())["ok"] is True
    assert len(qq.tokens) == known + 3


async def test_a_token_that_the_gateway_refuses_is_renewed(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    known = len(qq.tokens)
    await qq.close(4004)
    await rig.until(lambda: len(qq.introductions) == 2 and qq.is_heard)

    await hear(rig, qq)

    assert len(qq.tokens) == known + 1


async def test_a_session_is_resumed_also_by_another_run(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    await hear(rig, qq, "one")
    await rig.remove(channel)
    await qq.say("two")

    await rig.add(bot(rig, qq))
    await rig.until(lambda: rig.texts() == ["one", "two"])

    assert [each["op"] for each in qq.introductions] == [2, 6]


async def test_a_hub_that_is_killed_before_a_heartbeat_resumes_its_session(
    rig: Rig, qq: QQServer, channel: QQChannel
) -> None:
    await hear(rig, qq)

    kept = await rig.db.read(lambda connection: connection.execute("SELECT * FROM channel_cursors").fetchall())

    assert any("gateway session" in str(each) for row in kept for each in row)


async def test_a_session_that_qq_has_ended_is_begun_again(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    await hear(rig, qq, "one")
    qq.end_session()
    qq.cut()

    await rig.until(lambda: [each["op"] for each in qq.introductions] == [2, 6, 2])

    await hear(rig, qq, "two")


async def test_another_connection_is_made_when_qq_asks_for_it(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    await qq.frame({"op": 7})

    await rig.until(lambda: len(qq.introductions) == 2)

    await hear(rig, qq)


@pytest.mark.parametrize(("code", "says"), [(4014, "neither direct chats nor groups"), (4914, "sandbox")])
async def test_a_bot_that_is_refused_says_what_to_do(
    rig: Rig, qq: QQServer, channel: QQChannel, code: int, says: str
) -> None:
    await qq.close(code)

    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert says in rig.error(channel)


async def test_a_revoked_secret_is_said(rig: Rig, qq: QQServer) -> None:
    qq.secret = "another"
    channel = bot(rig, qq)

    await rig.add(channel, connected=False)
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert "refused the AppID or the AppSecret" in rig.error(channel)
    assert (await channel.send(out())).state is DeliveryState.TRANSIENT


# --- out ---


async def test_too_many_messages_wait(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    await hear(rig, qq)
    qq.faults.append(QQFault(400, 22009))

    delivery = await channel.send(out())

    assert (delivery.state, delivery.retry_after_s) == (DeliveryState.TRANSIENT, RATE_PAUSE_S)


async def test_links_that_qq_refuses_are_words(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    await hear(rig, qq)
    qq.no_links = True

    delivery = await channel.send(out("See **it**: https://example.com/a.b. Bye."))

    assert delivery.state is DeliveryState.DELIVERED
    assert [each["content"] for each in qq.sent] == ["See it: https://example .com/a .b. Bye."]
    assert keys(qq)[0][1] == 1


async def test_files_go_as_what_qq_shows(rig: Rig, qq: QQServer, channel: QQChannel, tmp_path: Path) -> None:
    await hear(rig, qq, group=True)
    (tmp_path / "a").write_bytes(b"content")

    for mime in ("image/png", "video/mp4", "audio/mpeg", "text/plain"):
        media = (OutboundMedia(MediaKind.FILE, str(tmp_path / "a"), mime, "a.x"),)
        assert (await channel.send(out("", IN_GROUP, media=media))).state is DeliveryState.DELIVERED

    assert [each["file"]["file_type"] for each in qq.sent] == [1, 2, 3, 4]
    assert {each["file"]["file_name"] for each in qq.sent} == {"a.x"}


async def test_a_message_is_taken_back_for_two_minutes(rig: Rig, qq: QQServer, channel: QQChannel) -> None:
    await hear(rig, qq)
    (first,) = (await channel.send(out("oops"))).platform_ids
    (second,) = (await channel.send(out("again"))).platform_ids

    taken = await channel.delete(WITH_ADA, first)
    qq.late_s = 200
    late = await channel.delete(WITH_ADA, second)

    assert (taken.state, late.state) == (DeliveryState.DELIVERED, DeliveryState.PERMANENT)
    assert [each["content"] for each in qq.sent] == ["again"]


async def test_typing_is_shown_once_a_while_and_never_again_where_it_is_refused(
    rig: Rig, qq: QQServer, channel: QQChannel
) -> None:
    await channel.typing(WITH_ADA)
    await hear(rig, qq)
    await hear(rig, qq, group=True)
    await channel.typing(IN_GROUP)
    for _ in range(3):
        await channel.typing(WITH_ADA)
    await channel.send(out())
    assert len(qq.typing) == 1

    qq.no_typing = True
    await rig.clock.advance(60)
    with pytest.raises(HubError):
        await channel.typing(WITH_ADA)
    qq.no_typing = False
    await rig.clock.advance(60)
    await channel.typing(WITH_ADA)

    assert len(qq.typing) == 1
    assert qq.typing[0]["msg_seq"] not in {number for _, number in keys(qq)}


async def test_that_it_cannot_write_first_is_said(channel: QQChannel) -> None:
    found = await channel.probe()

    assert (found["id"], found["name"]) == (APP_ID, "Homarus")
    assert "cannot write first" in found["missing"][0]
