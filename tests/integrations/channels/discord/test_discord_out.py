"""What Discord is sent, and what is made of its refusals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError
from hub.messaging.capabilities import Capability, ListedCommand, capabilities_of
from hub.messaging.contract import (
    Address,
    ChannelState,
    ChatType,
    Delivery,
    DeliveryState,
    MediaKind,
    OutboundMedia,
    OutboundPoll,
)
from integrations.channels.discord.channel import DiscordChannel
from tests.channels.kit import SOUND
from tests.integrations.channels.discord.test_discord import IN_ROOM, WITH_ADA, bot, channel, discord, out, taken
from tests.integrations.channels.rig import Rig
from tests.servers.discord_server import FORUM, ROOM, DiscordServer

__all__ = ["channel", "discord"]

POST = f"POST /channels/{ROOM}/messages$"


async def test_a_message_goes_out_once_under_its_nonce_and_pings_nobody(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    message = out("**hi** @everyone", reply_to="5", silent=True)

    first, again = await channel.send(message), await channel.send(message)

    posted = discord.messages[ROOM]
    assert len(posted) == 1
    assert first == again == Delivery(DeliveryState.DELIVERED, (posted[0]["id"],))
    assert posted[0]["content"] == "**hi** @everyone"
    assert posted[0]["allowed_mentions"] == {"parse": [], "replied_user": False}
    assert posted[0]["message_reference"] == {"message_id": "5", "fail_if_not_exists": False}
    assert posted[0]["flags"] == 4096 | 4  # silent, and no previews of links


async def test_a_thread_is_opened_and_what_is_said_in_it_is_meant_for_the_bot(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    opened = await channel.open_thread(IN_ROOM, "cats")
    await channel.send(out("I count", opened))
    await discord.say("only the black ones", opened.peer)
    message = await taken(rig)

    assert discord.channels[opened.peer] == discord.channels[opened.peer] | {"type": 11, "name": "cats"}
    assert discord.messages[opened.peer][0]["content"] == "I count"
    assert (message.address, message.mentioned) == (opened, True)
    assert await channel.open_thread(opened, "more cats") == opened


IN_FORUM = Address("discord", FORUM, chat_type=ChatType.CHANNEL)


async def test_what_is_sent_to_a_forum_opens_a_post_and_the_rest_of_it_goes_there(
    rig: Rig, tmp_path: Path, discord: DiscordServer, channel: DiscordChannel
) -> None:
    (tmp_path / "a.txt").write_bytes(b"A")
    media = OutboundMedia(MediaKind.FILE, str(tmp_path / "a.txt"), "text/plain", "list.txt")

    first = await channel.send(out("**Cats**\nThere are two.", IN_FORUM, reply_to="5"))
    rest = await channel.send(out("", IN_FORUM, media=(media,), part=1))
    other = await channel.send(out("", Address("discord", FORUM), media=(media,)))

    (post,) = first.platform_ids
    assert discord.channels[post]["name"] == "Cats"
    assert [each["content"] for each in discord.messages[post]] == ["**Cats**\nThere are two.", ""]
    assert rest.platform_ids == (discord.messages[post][1]["id"],)
    assert discord.channels[other.platform_ids[0]]["name"] == "list.txt"
    await channel.edit(IN_FORUM, post, "**Cats**\nThree.")
    await channel.react(IN_FORUM, post, "🐈")
    assert discord.messages[post][0]["content"] == "**Cats**\nThree."
    assert discord.messages[post][0]["reactions"]


async def test_a_post_whose_first_piece_was_refused_leaves_nothing_in_an_older_one(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    (older,) = (await channel.send(out("Cats", IN_FORUM))).platform_ids
    discord.fail(f"POST /channels/{FORUM}/threads", 400, body={"message": "A tag is required", "code": 40067})

    refused = await channel.send(out("Dogs", IN_FORUM))
    rest = await channel.send(out("and more of dogs", IN_FORUM, part=1))

    assert refused.error is not None
    assert "A tag is required" in refused.error
    assert rest.state is DeliveryState.DELIVERED
    assert [each["content"] for each in discord.messages[older]] == ["Cats"]


async def test_a_post_whose_answer_was_lost_is_found_among_those_that_are_open(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    discord.fail(f"POST /channels/{FORUM}/threads", done=True)
    message = out("Cats\nThere are two.", IN_FORUM)
    await discord.open_post("Cats", message.text)

    assert await channel.find(message, rig.clock.time()) is None
    lost = await channel.send(message)
    found = await channel.find(message, rig.clock.time())
    rest = await channel.send(out("more", IN_FORUM, part=1))

    assert lost.state is DeliveryState.UNKNOWN
    assert found is not None
    assert [each["content"] for each in discord.messages[found.platform_ids[0]]] == [message.text, "more"]
    assert rest.state is DeliveryState.DELIVERED
    assert await channel.find(out("Cats\nThere are three.", IN_FORUM), rig.clock.time()) is None


async def test_a_thread_in_a_forum_is_a_post(discord: DiscordServer, channel: DiscordChannel) -> None:
    opened = await channel.open_thread(IN_FORUM, "cats")
    await channel.send(out("I count", opened))

    assert opened.parent == FORUM
    assert [each["content"] for each in discord.messages[opened.peer]] == ["cats", "I count"]


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [(403, 50013, "Missing Permissions"), (400, 160006, "Maximum number of active threads reached")],
)
async def test_a_thread_that_discord_refuses_is_not_there(
    discord: DiscordServer, channel: DiscordChannel, status: int, code: int, said: str
) -> None:
    discord.fail(f"POST /channels/{ROOM}/threads", status, body={"message": said, "code": code})

    with pytest.raises(HubError, match=said):
        await channel.open_thread(IN_ROOM, "cats")
    with pytest.raises(HubError, match="Cannot execute action on this channel type"):
        await channel.open_thread(WITH_ADA, "cats")


async def test_a_person_is_written_to_by_their_id_and_a_room_by_its_own_even_as_a_person(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    assert (await channel.send(out("hi", WITH_ADA))).state is DeliveryState.DELIVERED
    assert (await channel.send(out("there", Address("discord", ROOM)))).state is DeliveryState.DELIVERED

    assert discord.messages["17"][0]["content"] == "hi"
    assert discord.messages[ROOM][0]["content"] == "there"


async def test_marks_that_do_not_fit_are_left_out(discord: DiscordServer, channel: DiscordChannel) -> None:
    text = " ".join(["**a**"] * 400)

    assert (await channel.send(out(text))).state is DeliveryState.DELIVERED

    assert discord.messages[ROOM][0]["content"] == " ".join(["a"] * 400)


async def test_files_go_beside_the_text_and_one_that_is_missing_fails_for_good(
    tmp_path: Path, discord: DiscordServer, channel: DiscordChannel
) -> None:
    (tmp_path / "a.txt").write_bytes(b"A")
    media = OutboundMedia(MediaKind.FILE, str(tmp_path / "a.txt"), "text/plain", "list.txt")
    gone = OutboundMedia(MediaKind.FILE, str(tmp_path / "b.txt"), "text/plain")

    sent = await channel.send(out("see", media=(media,)))
    failed = await channel.send(out("see", media=(gone,)))

    assert (sent.state, failed.state) == (DeliveryState.DELIVERED, DeliveryState.PERMANENT)
    assert discord.files == {"list.txt": b"A"}
    assert discord.messages[ROOM][0]["content"] == "see"


async def voice(channel: DiscordChannel, path: Path, content: bytes, text: str = "") -> Delivery:
    await asyncio.to_thread(path.write_bytes, content)
    media = OutboundMedia(MediaKind.AUDIO, str(path), "audio/ogg", "v.ogg", voice=True)
    return await channel.send(out(text, media=(media,), silent=True))


async def test_a_voice_message_says_how_long_it_is(
    tmp_path: Path, discord: DiscordServer, channel: DiscordChannel
) -> None:
    await voice(channel, tmp_path / "v", SOUND)

    (posted,) = discord.messages[ROOM]
    assert posted["flags"] == 8192 | 4096
    assert "content" not in posted
    assert posted["attachments"][0]["duration_secs"] == 3.0


@pytest.mark.parametrize(("content", "text", "takes"), [(b"RIFF", "", True), (SOUND, "text", True), (SOUND, "", False)])
async def test_what_cannot_be_a_voice_message_is_a_file(
    tmp_path: Path, discord: DiscordServer, channel: DiscordChannel, content: bytes, text: str, takes: bool
) -> None:
    discord.takes_voices = takes

    delivery = await voice(channel, tmp_path / "v", content, text)

    (posted,) = discord.messages[ROOM]
    assert delivery.state is DeliveryState.DELIVERED
    assert (posted["content"], posted["flags"] & 8192) == (text, 0)
    assert discord.files == {"v.ogg": content}


async def test_a_voice_message_whose_answer_was_lost_is_not_sent_again_as_a_file(
    tmp_path: Path, discord: DiscordServer, channel: DiscordChannel
) -> None:
    discord.fail(POST, done=True)

    delivery = await voice(channel, tmp_path / "v", SOUND)

    assert (delivery.state, len(discord.messages[ROOM])) == (DeliveryState.UNKNOWN, 1)


async def test_a_message_is_edited_reacted_to_and_deleted(discord: DiscordServer, channel: DiscordChannel) -> None:
    id = (await channel.send(out("a"))).platform_ids[0]
    message = discord.messages[ROOM][0]

    await channel.edit(IN_ROOM, id, "b")
    await channel.react(IN_ROOM, id, "👍")
    await channel.react(IN_ROOM, id, "<:blob:3>")
    reacted = [each["emoji"]["name"] for each in message["reactions"]]
    await channel.react(IN_ROOM, id, None)

    assert (message["content"], reacted, message["reactions"]) == ("b", ["👍", "blob"], [])
    for _ in range(2):
        assert (await channel.delete(IN_ROOM, id)).state is DeliveryState.DELIVERED
    assert discord.messages[ROOM] == []
    assert (await channel.edit(IN_ROOM, id, "c")).state is DeliveryState.PERMANENT


async def test_a_poll_is_opened_and_typing_is_shown(discord: DiscordServer, channel: DiscordChannel) -> None:
    await channel.poll(OutboundPoll("1" * 32, IN_ROOM, "Tea?", ("yes", "no"), multiple=True))
    await channel.typing(IN_ROOM)

    poll = discord.messages[ROOM][0]["poll"]
    assert (poll["question"]["text"], poll["allow_multiselect"]) == ("Tea?", True)
    assert [each["poll_media"]["text"] for each in poll["answers"]] == ["yes", "no"]
    assert discord.asked("/typing$")
    assert capabilities_of(channel) == frozenset(Capability) - {Capability.DRAFT}


async def test_commands_are_published_once_for_one_list(discord: DiscordServer, channel: DiscordChannel) -> None:
    for _ in range(2):
        await channel.publish_commands([ListedCommand("status", "Say how it goes"), ListedCommand("model", "Choose")])

    assert len(discord.asked("PUT .*/commands")) == 1
    assert [each["name"] for each in discord.published] == ["status", "model"]


@pytest.mark.parametrize(
    ("choices", "free", "options"),
    [
        ((), True, [("arguments", None)]),
        (("on", "off"), False, [("choice", ["on", "off"])]),
        (("on", "off"), True, [("choice", ["on", "off"]), ("arguments", None)]),
        (tuple(map(str, range(26))), False, [("arguments", None)]),
        (("on", "x" * 101), False, [("choice", ["on"]), ("arguments", None)]),
    ],
)
async def test_the_choices_of_a_command_are_offered(
    discord: DiscordServer, channel: DiscordChannel, choices: tuple[str, ...], free: bool, options: list[Any]
) -> None:
    await channel.publish_commands([ListedCommand("set", "Set it", choices, free)])

    (command,) = discord.published
    found = [(each["name"], each.get("choices")) for each in command["options"]]
    assert [(name, offered and [each["value"] for each in offered]) for name, offered in found] == options


@pytest.mark.parametrize(
    ("fault", "state", "posted"),
    [
        ({"status": 429, "body": {"message": "slow", "retry_after": 0.65}}, DeliveryState.TRANSIENT, 0),
        ({"status": 500, "body": {}}, DeliveryState.UNKNOWN, 0),
        ({"status": 500, "body": {"message": "500: Internal", "code": 0}}, DeliveryState.TRANSIENT, 0),
        ({"status": 502, "body": "<html>", "done": True}, DeliveryState.UNKNOWN, 1),
        ({"done": True}, DeliveryState.UNKNOWN, 1),
        ({"status": 200, "body": "{broken", "done": True}, DeliveryState.UNKNOWN, 1),
        ({"status": 403, "body": {"message": "Missing Permissions", "code": 50013}}, DeliveryState.PERMANENT, 0),
        ({"status": 401, "body": {"message": "401: Unauthorized", "code": 0}}, DeliveryState.PERMANENT, 0),
    ],
)
async def test_a_failure_says_whether_to_send_again_and_doing_so_shows_it_once(
    discord: DiscordServer, channel: DiscordChannel, fault: dict[str, Any], state: DeliveryState, posted: int
) -> None:
    message = out("once")
    discord.fail(POST, **fault)

    failed = await channel.send(message)

    assert (failed.state, len(discord.messages[ROOM])) == (state, posted)
    assert failed.retry_after_s == (0.65 if fault.get("status") == 429 else None)
    assert failed.error
    assert (await channel.send(message)).state is DeliveryState.DELIVERED
    assert len(discord.messages[ROOM]) == 1


async def test_without_a_server_nothing_was_sent(rig: Rig, discord: DiscordServer, channel: DiscordChannel) -> None:
    await discord.__aexit__()

    assert not (await channel.probe())["ok"]
    assert (await channel.send(out())).state is DeliveryState.TRANSIENT
    await rig.until(lambda: rig.state(channel) is ChannelState.DISCONNECTED)


async def test_a_message_is_looked_up_once_its_nonce_is_too_old(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    message = out("there?")
    rig.clock.jump(discord_now(discord) - rig.clock.time())
    since = rig.clock.time()
    id = (await channel.send(message)).platform_ids[0]

    assert await channel.find(message, since) is None
    rig.clock.jump(600)

    assert await channel.find(message, since) == Delivery(DeliveryState.DELIVERED, (id,))
    assert await channel.find(out("never"), since) is None
    discord.fail("GET .*/messages", 500)
    with pytest.raises(HubError):
        await channel.find(message, since)


def discord_now(discord: DiscordServer) -> float:
    return ((int(discord.new_id()) >> 22) + 1_420_070_400_000) / 1000


async def test_a_probe_asks_who_the_bot_is(rig: Rig, discord: DiscordServer, channel: DiscordChannel) -> None:
    found = await channel.probe()
    assert (found["id"], found["rights"], found["missing"]) == ("900", ["In the server Home: Administrator."], [])
    assert bot(rig, discord).account == "default"
