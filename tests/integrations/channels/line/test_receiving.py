"""What LINE delivers: what it becomes, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.errors import HubError
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    OutboundMessage,
    Quote,
    SharedLocation,
)
from integrations.channels.line.channel import LineChannel
from tests.channels.kit import Heard, HurriedClock
from tests.servers.line_server import ADA, EVE, GROUP, LineServer
from tests.until import until

pytestmark = pytest.mark.usefixtures("channel")

WITH_ADA, BY_ADA = Address("line", ADA), f"line:user:{ADA}"
IN_GROUP = Address("line", GROUP, chat_type=ChatType.GROUP)


async def heard_of(heard: Heard, count: int = 1) -> list[Any]:
    await until(lambda: len(heard.inbound) == count)
    return heard.inbound


async def test_each_kind_of_message_is_read(server: LineServer, heard: Heard) -> None:
    server.says({"type": "text", "text": "hello"})
    server.says({"type": "image", "id": "1", "imageSet": {"id": "set", "index": 1, "total": 2}})
    server.says({"type": "audio", "id": "2", "duration": 1500})
    server.says({"type": "file", "id": "3", "fileName": "a.pdf", "fileSize": 7})
    server.says({"type": "video", "id": "4", "contentProvider": {"type": "external", "originalContentUrl": "http://x"}})
    server.says({"type": "location", "title": "Zoo", "address": "Berlin", "latitude": 52.5, "longitude": 13.4})
    server.says({"type": "sticker", "stickerId": "1", "keywords": ["cony", "hi"]})
    server.says({"type": "flex"})

    text, image, voice, file, video, place, sticker, other = await heard_of(heard, 8)

    assert (text.text, text.sender_name, text.sender, text.address) == ("hello", "Ada", BY_ADA, WITH_ADA)
    assert (image.media[0].kind, image.album) == (MediaKind.IMAGE, "set")
    assert voice.media == (Media(MediaKind.AUDIO, "2", duration_s=1.5, voice=True),)
    assert file.media == (Media(MediaKind.FILE, "3", name="a.pdf", size_bytes=7),)
    assert video.media == ()  # it is on another server
    assert place.location == SharedLocation(52.5, 13.4, "Zoo, Berlin")
    assert sticker.text == "(a sticker: cony, hi)"
    assert "'flex'" in other.text


async def test_in_a_group_names_and_mentions_are_known(server: LineServer, heard: Heard) -> None:
    me = {"type": "user", "isSelf": True, "index": 0, "length": 6}
    server.says({"type": "text", "text": "@Hom🏠 tea?", "mention": {"mentionees": [me]}}, group=GROUP)
    server.says({"type": "text", "text": "@Eve", "mention": {"mentionees": [{**me, "isSelf": False}]}}, group=GROUP)
    server.says({"type": "text", "text": "@All", "mention": {"mentionees": [{"type": "all", "index": 0}]}}, group=GROUP)

    mine, hers, everyone = await heard_of(heard, 3)

    assert (mine.text, mine.mentioned, mine.group_name, mine.sender_name) == ("tea?", True, "Family", "Ada")
    assert (hers.text, hers.mentioned) == ("@Eve", False)
    assert not everyone.mentioned
    assert len(server.named) == 2  # each is asked for once


async def test_a_stranger_is_not_looked_up(server: LineServer, heard: Heard) -> None:
    heard.strangers.append(f"line:user:{EVE}")
    server.says({"type": "text", "text": "hello"}, EVE)

    (message,) = await heard_of(heard)

    assert message.sender_name is None
    assert server.named == []


async def test_what_was_taken_back_and_who_came_and_went_are_events(server: LineServer, heard: Heard) -> None:
    unsent = server.happens({"type": "unsend", "unsend": {"messageId": "7"}})["webhookEventId"]
    server.happens({"type": "memberJoined", "joined": {"members": [{"userId": EVE}]}}, None, GROUP)
    server.happens({"type": "memberLeft", "left": {"members": [{"userId": EVE}]}}, None, GROUP)

    deleted, came, went = await heard_of(heard, 3)

    assert deleted == MessageDeleted(WITH_ADA, unsent, BY_ADA, message_id="7")
    assert isinstance(came, MembershipChanged)
    assert (came.address, came.member, came.joined, went.joined) == (IN_GROUP, f"line:user:{EVE}", True, False)


async def test_a_reply_to_the_assistant_is_meant_for_it_and_quotes_it(
    server: LineServer, channel: LineChannel, heard: Heard
) -> None:
    delivery = await channel.send(OutboundMessage("row", IN_GROUP, "Tea?"))
    (id,) = delivery.platform_ids
    server.says({"type": "text", "text": "yes", "quotedMessageId": id}, group=GROUP)
    server.says({"type": "text", "text": "no", "quotedMessageId": "999"}, group=GROUP)

    mine, other = await heard_of(heard, 2)

    assert (mine.reply_to, mine.quoted, mine.mentioned) == (id, Quote("Tea?"), True)
    assert (other.reply_to, other.quoted, other.mentioned) == ("999", None, False)


async def test_what_is_not_understood_is_left_out_and_the_rest_is_taken(server: LineServer, heard: Heard) -> None:
    server.deliver([])  # as LINE does when the address is verified
    server.happens({"type": "follow"})
    server.happens({"type": "message", "message": {"type": "text"}})
    server.happens({"type": "message", "message": {"type": "text", "id": "1", "text": "?"}}, None, GROUP)
    server.happens({"type": "postback", "postback": {}})
    server.post_raw(b"[]")
    server.says({"type": "text", "text": "hello"})
    await until(lambda: len(server.answers) == 7)

    assert [each.text for each in heard.inbound if isinstance(each, InboundMessage)] == ["hello"]
    assert set(server.answers) == {200}


async def test_what_is_for_another_account_is_left_out(server: LineServer, heard: Heard) -> None:
    event = server.happens({"type": "message", "message": {"type": "text", "id": "1", "text": "hello"}})
    theirs = {**event, "message": {"type": "text", "id": "2", "text": "for another"}}
    server.deliver([theirs], destination="U" + "0" * 32)
    await until(lambda: len(server.answers) == 2)

    assert [each.text for each in heard.inbound if isinstance(each, InboundMessage)] == ["hello"]


async def test_a_group_that_was_renamed_is_asked_for_its_name_after_an_hour(
    server: LineServer, heard: Heard, clock: HurriedClock
) -> None:
    for name in ("Family", "Kitchen", "Kitchen"):
        server.group_name = name
        server.says({"type": "text", "text": "hi"}, group=GROUP)
        await until(lambda: bool(server.answers))
        server.answers.clear()
        await clock.sleep(3_599)

    names = [each.group_name for each in heard.inbound if isinstance(each, InboundMessage)]
    assert names == ["Family", "Family", "Kitchen"]


async def test_a_postback_of_a_message_that_is_not_known_names_its_row(server: LineServer, heard: Heard) -> None:
    server.happens({"type": "postback", "postback": {"data": "row-9 yes please"}})

    (pressed,) = await heard_of(heard)

    assert isinstance(pressed, ButtonPressed)
    assert (pressed.message_id, pressed.value) == ("row-9", "yes please")


async def test_a_sound_is_fetched_once_line_has_prepared_it(server: LineServer, channel: LineChannel) -> None:
    server.files["77"], server.processing["77"] = b"a sound", 3

    pieces = [piece async for piece in channel.fetch(WITH_ADA, Media(MediaKind.AUDIO, "77"))]

    assert b"".join(pieces) == b"a sound"
    with pytest.raises(HubError, match="HTTP 404"):
        [piece async for piece in channel.fetch(WITH_ADA, Media(MediaKind.FILE, "78"))]
