"""Mattermost against a local server of its platform: what only it has, and what happens when it fails."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.errors import HubError, Unauthorized
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.capabilities import Capability, DirectoryEntry, capabilities_of
from hub.messaging.contract import (
    Address,
    Button,
    ChannelState,
    ChatType,
    DeliveryState,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    OutboundMedia,
    OutboundMessage,
    ReactionChanged,
)
from integrations.channels.mattermost.buttons import attachment, call_of
from integrations.channels.mattermost.channel import MattermostAccount, MattermostChannel
from tests.integrations.channels.rig import Rig
from tests.servers.mattermost_server import ADA, DEEP, DM, EVE, ME, ROOM, TEAM, TOKEN, MattermostServer

BY_ADA = f"mattermost:user:{ADA}"
IN_ROOM = Address("mattermost", ROOM, chat_type=ChatType.CHANNEL, space=TEAM, account_id=ME)
WITH_ADA = Address("mattermost", ADA, account_id=ME)


@pytest.fixture
async def server() -> AsyncIterator[MattermostServer]:
    async with MattermostServer() as server:
        yield server


@pytest.fixture
async def channel(rig: Rig, server: MattermostServer) -> MattermostChannel:
    channel = bot(rig, server)
    await rig.add(channel)
    await rig.until(lambda: server.asked.count("GET users/me/channels") == 2)
    return channel


def bot(rig: Rig, server: MattermostServer, callback_url: str | None = None) -> MattermostChannel:
    account = MattermostAccount("default", server.url, Secret(TOKEN), callback_url)
    return MattermostChannel(account, rig.clock, ping_s=1_000.0)


def out(text: str = "hello", address: Address = IN_ROOM, **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), address, text, **more)


# --- in ---


async def test_a_message_comes_with_its_room_its_sender_and_its_files(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    file = server.add_file(b"abc", "cat.png", "image/png")
    said = await server.say("@Homarus: look", ROOM, file_ids=[file])

    await rig.until(lambda: bool(rig.taken))

    (message,) = rig.taken
    assert isinstance(message, InboundMessage)
    assert (message.address, message.message_id, message.sender) == (IN_ROOM, said["id"], BY_ADA)
    assert (message.text, message.mentioned, message.sender_name) == ("look", True, "ada")
    assert (message.group_name, message.sent_at) == ("Family", said["create_at"] / 1000)
    assert message.media == (Media(MediaKind.IMAGE, file, "image/png", "cat.png", 3),)
    assert [piece async for piece in channel.fetch(IN_ROOM, message.media[0])] == [b"abc"]
    with pytest.raises(HubError, match="cannot be downloaded"):
        await anext(channel.fetch(IN_ROOM, Media(MediaKind.IMAGE, "gone")))


@pytest.mark.parametrize(
    ("text", "mentioned", "read"),
    [
        ("@homarus !new", True, "/new"),
        ("ask @homarus.", True, "ask @homarus."),
        ("mail me@homarus", False, "mail me@homarus"),
        ("@homarus-two hi", False, "@homarus-two hi"),
    ],
)
async def test_the_bot_is_mentioned_by_its_whole_name_alone(
    rig: Rig, server: MattermostServer, channel: MattermostChannel, text: str, mentioned: bool, read: str
) -> None:
    await server.say(text, ROOM)

    await rig.until(lambda: bool(rig.taken))

    (message,) = rig.taken
    assert isinstance(message, InboundMessage)
    assert (message.mentioned, message.text) == (mentioned, read)


async def test_an_answer_in_a_thread_that_the_bot_began_addresses_it_and_in_others_does_not(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    (id,) = (await channel.send(out("first"))).platform_ids
    other = server.add_post(ROOM, EVE, "something else")

    await server.say("and then?", ROOM, root_id=id)
    await server.say("not you", ROOM, root_id=other["id"])
    await rig.until(lambda: len(rig.texts()) == 2)

    found = [(each.address.thread, each.mentioned) for each in rig.taken if isinstance(each, InboundMessage)]
    assert found == [(id, True), (other["id"], False)]


async def test_what_programs_and_the_server_itself_say_is_not_heard(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    await server.say("beep", ROOM, props={"from_bot": "true"})
    await server.say("beep", ROOM, props={"from_webhook": "true"})
    await server.say("me", ROOM, ME)
    await server.say("ada changed the header", ROOM, type="system_header_change")
    await server.say("waves", ROOM, type="me")

    await rig.until(lambda: bool(rig.texts()))

    assert rig.texts() == ["waves"]


async def test_edits_deletes_reactions_and_joins_are_events_and_a_preview_is_none(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    post = server.add_post(ROOM, ADA, "a")
    id = post["id"]
    await server.tell_post("post_edited", post)
    await server.change(id, "b")
    await server.react(id, ADA, "+1")
    await server.react(id, ADA, "blob", added=False)
    await server.react(id, ME, "eyes")
    await server.remove(id)
    added = await server.say("ada added eve", ROOM, type="system_add_to_channel", props={"addedUserId": EVE})

    await rig.until(lambda: len(rig.taken) == 5)

    edited, liked, unliked, deleted, joined = rig.taken
    assert edited == MessageEdited(IN_ROOM, f"{id}:{post['edit_at']}", BY_ADA, message_id=id, text="b")
    assert isinstance(liked, ReactionChanged)
    assert (liked.message_id, liked.emoji, liked.added, liked.sender) == (id, "👍", True, BY_ADA)
    assert isinstance(unliked, ReactionChanged)
    assert (unliked.emoji, unliked.added) == (":blob:", False)
    assert deleted == MessageDeleted(IN_ROOM, f"{id}:deleted", BY_ADA, message_id=id)
    eve = f"mattermost:user:{EVE}"
    assert joined == MembershipChanged(IN_ROOM, added["id"], BY_ADA, member=eve, joined=True)


async def test_malformed_frames_and_events_are_left_out(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    for text in ("{no json", "[]", '{"event": 7}', '{"event": "posted", "data": {"post": "{"}}'):
        await server.frame(text)
    await server.frame(json.dumps({"event": "posted", "data": {"post": json.dumps({"id": "x", "channel_id": ROOM})}}))
    await server.say("fine")

    await rig.until(lambda: rig.texts() == ["fine"])

    assert server.connections == 1


# --- what was missed ---


async def test_what_was_missed_is_read_in_all_conversations_also_in_one_that_began_meanwhile(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    old = await server.say("1")
    gone = await server.say("2")
    await rig.until(lambda: len(rig.texts()) == 2)
    await rig.remove(channel)
    await server.change(old["id"], "one")
    await server.remove(gone["id"])
    await server.say("3", heard=False)
    await server.say("in the room", ROOM, heard=False)
    new = server._direct([ME, EVE])
    await server.say("hello from eve", new["id"], EVE, heard=False)

    await rig.add(bot(rig, server))
    await rig.until(lambda: len(rig.texts()) == 5)

    assert sorted(rig.texts()) == ["1", "2", "3", "hello from eve", "in the room"]
    events = [each for each in rig.taken if not isinstance(each, InboundMessage)]
    assert [type(each) for each in events] == [MessageEdited, MessageDeleted]


async def test_a_post_that_nests_too_deep_to_be_read_holds_up_its_own_room_alone(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    await server.say("1")
    await rig.until(lambda: rig.texts() == ["1"])
    await rig.remove(channel)
    await server.say("", ROOM, EVE, heard=False, props={"mine": DEEP})
    await server.say("hello", heard=False)

    await rig.add(bot(rig, server))

    await rig.until(lambda: rig.texts() == ["1", "hello"])
    await server.say("still there?")
    await rig.until(lambda: rig.texts() == ["1", "hello", "still there?"])


async def test_more_is_read_than_the_server_gives_at_once_however_it_slows_the_bot_down(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    await server.say("0")
    await rig.until(lambda: rig.texts() == ["0"])
    await rig.remove(channel)
    for number in range(1, 1_101):
        server.add_post(DM, ADA, str(number))
    server.fail(f"GET channels/{DM}/posts", 429, headers={"X-Ratelimit-Reset": "20"})

    await rig.add(bot(rig, server))

    await rig.until(lambda: rig.texts() == [str(number) for number in range(1_101)])


async def test_a_first_connection_reads_no_history(rig: Rig, server: MattermostServer) -> None:
    server.add_post(DM, ADA, "long ago")
    await rig.add(bot(rig, server))
    await rig.until(lambda: server.asked.count("GET users/me/channels") == 2)
    await server.say("now")

    await rig.until(lambda: bool(rig.texts()))

    assert rig.texts() == ["now"]


async def test_a_room_that_the_bot_was_taken_out_of_blocks_nothing(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    await rig.remove(channel)
    server.add_post(ROOM, ADA, "for others")
    server.fail(f"GET channels/{ROOM}/posts", 403, "api.context.permissions.app_error")
    await rig.add(bot(rig, server))
    await server.say("hello")

    await rig.until(lambda: rig.texts() == ["hello"])


async def test_a_refused_token_takes_a_person(rig: Rig, server: MattermostServer) -> None:
    server.token = "another"
    channel = bot(rig, server)

    await rig.add(channel, connected=False)
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert "refused the token" in rig.error(channel)
    assert (await channel.probe())["ok"] is False


# --- out ---


async def test_a_message_keeps_its_markup_and_its_thread_and_wakes_nobody(
    server: MattermostServer, channel: MattermostChannel
) -> None:
    root = server.add_post(ROOM, ADA, "?")

    await channel.send(out("**a** | @all @here, me@channel.org", replace(IN_ROOM, thread=root["id"])))

    post = list(server.posts.values())[-1]
    assert (post["message"], post["root_id"]) == ("**a** | @\u200ball @\u200bhere, me@channel.org", root["id"])


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (replace(IN_ROOM, thread="gone"), "the thread hangs on is gone"),
        (replace(IN_ROOM, peer="elsewhere"), "add it to the team and the channel"),
        (replace(WITH_ADA, peer="nobody"), "invalid_user"),
    ],
)
async def test_a_message_that_can_never_arrive_says_why(
    channel: MattermostChannel, address: Address, says: str
) -> None:
    delivery = await channel.send(out(address=address))

    assert delivery.state is DeliveryState.PERMANENT
    assert says in (delivery.error or "")


async def test_the_limits_are_those_of_the_server(rig: Rig, server: MattermostServer) -> None:
    server.config = {"MaxPostSize": "4000", "MaxFileSize": "5000000"}
    channel = bot(rig, server)
    await rig.add(channel)

    assert (channel.limits.text, channel.limits.media_bytes) == (4_000, 5_000_000)


async def test_a_message_whose_answer_was_lost_is_found_and_one_that_never_arrived_is_not(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    server.fail("POST posts", done=True)
    arrived, never = out("here", WITH_ADA), out("nowhere", WITH_ADA)
    since = rig.clock.time() if rig.clock.time() < server.now() / 1000 else server.now() / 1000

    assert (await channel.send(arrived)).state is DeliveryState.UNKNOWN
    found = await channel.find(arrived, since)

    assert found is not None
    assert found.state is DeliveryState.DELIVERED
    assert await channel.find(never, since) is None


async def test_a_message_that_is_sent_again_at_once_is_shown_once(
    server: MattermostServer, channel: MattermostChannel
) -> None:
    message = out("once")

    first, second = await channel.send(message), await channel.send(message)

    assert first == second
    assert len(server.posts) == 1


async def test_a_file_is_uploaded_before_its_post_and_one_that_is_too_large_is_refused_for_good(
    tmp_path: Path, server: MattermostServer, channel: MattermostChannel
) -> None:
    (tmp_path / "a.txt").write_bytes(b"A")
    media = OutboundMedia(MediaKind.FILE, str(tmp_path / "a.txt"), "text/plain", "list.txt")
    sent = await channel.send(out("see", media=(media,)))
    server.fail("POST files", 413, "api.file.upload_file.too_large_detailed.app_error")
    refused = await channel.send(out("see", media=(media,)))
    server.fail("POST files")
    lost = await channel.send(out("see", media=(media,)))

    states = (sent.state, refused.state, lost.state)
    assert states == (DeliveryState.DELIVERED, DeliveryState.PERMANENT, DeliveryState.TRANSIENT)
    (post,) = server.posts.values()
    assert server.files[post["file_ids"][0]] == (
        {"id": post["file_ids"][0], "name": "list.txt", "mime_type": "text/plain", "size": 1},
        b"A",
    )


async def test_deleting_what_is_gone_is_done_and_editing_it_is_not(
    server: MattermostServer, channel: MattermostChannel
) -> None:
    (id,) = (await channel.send(out())).platform_ids

    states = [(await channel.delete(IN_ROOM, id)).state for _ in range(2)]

    assert states == [DeliveryState.DELIVERED] * 2
    assert (await channel.edit(IN_ROOM, id, "new")).state is DeliveryState.PERMANENT
    assert (await channel.react(IN_ROOM, id, "🦞")).state is DeliveryState.PERMANENT


async def test_people_and_rooms_are_found_by_their_names(server: MattermostServer, channel: MattermostChannel) -> None:
    assert await channel.look_up("ADA", 10) == [DirectoryEntry(ADA, "Ada King")]
    assert await channel.look_up("fam", 10) == [DirectoryEntry(ROOM, "Family", ChatType.CHANNEL)]
    assert await channel.look_up("homarus", 10) == []


async def test_a_bot_that_is_in_no_team_is_told_so(server: MattermostServer, channel: MattermostChannel) -> None:
    assert (await channel.probe())["missing"] == []
    server.teams.clear()

    assert (await channel.probe())["missing"] == ["It is in no team, and sees no channel."]


# --- buttons ---


async def test_without_an_address_of_the_hub_there_are_no_buttons(
    rig: Rig, server: MattermostServer, channel: MattermostChannel
) -> None:
    assert Capability.BUTTONS not in capabilities_of(channel)
    assert Capability.BUTTONS in capabilities_of(bot(rig, server, "http://hub.home"))


async def test_an_edited_message_loses_its_buttons_and_stays_a_bots(rig: Rig, server: MattermostServer) -> None:
    channel = bot(rig, server, "http://hub.home/")
    await rig.add(channel)
    (id,) = (await channel.send(out(buttons=((Button("Yes", "y"),),)))).platform_ids
    assert server._integrations[id][0]["integration"]["url"] == "http://hub.home/mattermost/default"

    await channel.edit(IN_ROOM, id, "done")

    assert server.posts[id]["props"] == {"attachments": [], "from_bot": "true"}


@pytest.mark.parametrize("change", [{"channel_id": ROOM}, {"context": {"value": "n"}}, {"context": []}, {}])
def test_a_call_is_taken_for_a_button_in_the_room_that_it_was_sent_to_alone(change: dict[str, Any]) -> None:
    sent = attachment([[Button("Yes", "y")]], "http://hub.home", Secret(TOKEN), DM)["actions"][0]["integration"]
    body = {"user_id": ADA, "channel_id": DM, "post_id": "p", "context": sent["context"], **change}
    if not change:
        assert call_of(json.dumps(body).encode(), Secret(TOKEN)).value == "y"
        return

    with pytest.raises(Unauthorized):
        call_of(json.dumps(body).encode(), Secret(TOKEN))
