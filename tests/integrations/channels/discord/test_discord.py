"""Discord against a local server of its platform: what comes in, what goes out, and what happens when either fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    Button,
    ButtonPressed,
    ChannelState,
    ChatType,
    CommandUsed,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    OutboundMessage,
    PollAnswered,
    Quote,
    ReactionChanged,
)
from integrations.channels.discord.channel import RIGHTS, DiscordChannel
from tests.integrations.channels.rig import Rig
from tests.servers.discord_server import BOT, BOT_ROLE, DM, FORUM, GUILD, ROOM, THREAD, TOKEN, DiscordServer

IN_ROOM = Address("discord", ROOM, chat_type=ChatType.CHANNEL, space=GUILD, account_id="900")
WITH_ADA = Address("discord", "7", account_id="900")
ADA = "discord:user:7"


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server


@pytest.fixture
async def channel(rig: Rig, discord: DiscordServer) -> DiscordChannel:
    channel = bot(rig, discord)
    await rig.add(channel)
    return channel


def bot(rig: Rig, discord: DiscordServer, token: str = TOKEN) -> DiscordChannel:
    return DiscordChannel("default", Secret(token), discord.root, None, rig.clock)


def out(text: str = "hello", address: Address = IN_ROOM, **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), address, text, **more)


async def taken(rig: Rig, kind: type[Inbound] | type[InboundMessage] = InboundMessage) -> Any:
    await rig.until(lambda: any(isinstance(each, kind) for each in rig.taken))
    return next(each for each in rig.taken if isinstance(each, kind))


# --- in ---


async def test_a_message_in_a_server_names_its_room_its_server_and_the_senders_roles(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    said = await discord.say("hi")

    message = await taken(rig)

    assert message.address == IN_ROOM
    assert (message.message_id, message.sender, message.text) == (said["id"], ADA, "hi")
    assert (message.roles, message.group_name, message.mentioned) == (("77",), "general", False)


async def test_a_thread_is_a_conversation_of_its_own_below_its_room(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    await discord.say("hi", THREAD)

    message = await taken(rig)
    assert message.address == replace(IN_ROOM, peer=THREAD, parent=ROOM)
    assert (message.space_name, message.group_name, message.topic_name) == ("Home", "general", "a thread")


async def test_a_post_of_a_forum_is_a_conversation_with_its_title_and_what_the_bot_says_there_stays(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    post = await discord.open_post("Where do the cats sleep?", f"<@{BOT['id']}> tell us", mentions=[BOT])
    message = await taken(rig)

    sent = await channel.send(out("On the roof.", message.address, reply_to=message.message_id))

    assert message.address == replace(IN_ROOM, peer=post["id"], parent=FORUM)
    assert (message.group_name, message.topic_name) == ("ideas", "Where do the cats sleep?")
    assert (message.text, message.mentioned) == ("tell us", True)
    assert [each["id"] for each in discord.messages[post["id"]]][1:] == list(sent.platform_ids)
    found = await channel.look_up("idea", 50)
    assert [(each.peer, each.name) for each in found] == [(FORUM, "#ideas")]


async def test_people_and_rooms_of_its_servers_are_looked_up(rig: Rig, channel: DiscordChannel) -> None:
    people = await channel.look_up("AD", 50)
    rooms = await channel.look_up("GEN", 50)

    assert [(each.peer, each.name) for each in people] == [(ADA.rpartition(":")[2], "Ada L")]
    assert [(each.peer, each.name, each.space) for each in rooms] == [(ROOM, "#general", "Home")]


async def test_a_direct_message_goes_by_the_person(rig: Rig, discord: DiscordServer, channel: DiscordChannel) -> None:
    await discord.say("hi", DM)

    message = await taken(rig)

    assert (message.address, message.mentioned) == (WITH_ADA, True)


@pytest.mark.parametrize(
    "more",
    [
        {"mentions": [BOT]},
        {"mention_roles": [BOT_ROLE]},
        {"type": 19, "referenced_message": {"id": "1", "author": BOT, "content": "ask me"}},
    ],
)
async def test_a_mention_of_the_bot_or_its_role_or_a_reply_to_it_addresses_it(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel, more: dict[str, Any]
) -> None:
    await discord.say("you there", **more)

    assert (await taken(rig)).mentioned


async def test_mentions_are_shown_by_name_and_the_bots_own_at_the_beginning_is_left_out(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    await discord.say("<@900> ask <@8>", mentions=[BOT, {"id": "8", "username": "ben", "global_name": "Ben"}])

    assert (await taken(rig)).text == "ask @Ben"


async def test_a_reply_quotes_what_it_answers(rig: Rig, discord: DiscordServer, channel: DiscordChannel) -> None:
    replied = {"id": "5", "author": {"id": "8"}, "content": "tea?"}
    await discord.say("yes", type=19, message_reference={"message_id": "5"}, referenced_message=replied)

    message = await taken(rig)

    assert (message.reply_to, message.quoted) == ("5", Quote("tea?", "discord:user:8"))


async def test_a_voice_message_is_announced_and_fetched_only_when_asked(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    discord.files["v.ogg"] = b"x" * 100_000
    url = f"http://{discord.address}/cdn/v.ogg"
    attachment = {"id": "1", "url": url, "filename": "v.ogg", "content_type": "audio/ogg", "size": 100_000}
    await discord.say("", attachments=[{**attachment, "duration_secs": 2.5}], flags=8192)

    media = (await taken(rig)).media[0]

    assert media == Media(MediaKind.AUDIO, url, "audio/ogg", "v.ogg", 100_000, 2.5, voice=True)
    assert b"".join([piece async for piece in channel.fetch(IN_ROOM, media)]) == discord.files["v.ogg"]


async def test_an_attachment_elsewhere_than_on_discords_servers_is_not_fetched(channel: DiscordChannel) -> None:
    media = Media(MediaKind.FILE, "http://127.0.0.1:1/secret")

    with pytest.raises(HubError, match="not on its servers"):
        await anext(channel.fetch(IN_ROOM, media))


async def test_other_bots_webhooks_and_the_bot_itself_are_not_heard(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    await discord.say("beep", author={"id": "8", "bot": True})
    await discord.say("hook", webhook_id="3")
    await channel.send(out("me"))
    await discord.say("ada")

    await taken(rig)

    assert rig.texts() == ["ada"]


async def test_an_edit_is_one_and_a_link_preview_is_none(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    said = await discord.say("helo")
    await discord.emit("MESSAGE_UPDATE", {**said, "guild_id": GUILD, "edited_timestamp": None, "embeds": [{}]})
    await discord.emit("MESSAGE_UPDATE", {**said, "guild_id": GUILD, "content": "hello", "edited_timestamp": "now"})

    edited = await taken(rig, MessageEdited)

    assert edited == MessageEdited(IN_ROOM, f"{said['id']}:now", ADA, message_id=said["id"], text="hello")
    assert [type(each) for each in rig.taken] == [InboundMessage, MessageEdited]


async def test_deletes_reactions_votes_and_joins_are_events(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    place = {"channel_id": ROOM, "guild_id": GUILD}
    by_ada = {**place, "user_id": "7", "message_id": "5"}
    await discord.emit("MESSAGE_DELETE", {**place, "id": "5"})
    await discord.emit("MESSAGE_REACTION_ADD", {**by_ada, "emoji": {"name": "👍", "id": None}})
    await discord.emit("MESSAGE_REACTION_ADD", {**by_ada, "user_id": "900", "emoji": {"name": "👍", "id": None}})
    await discord.emit("MESSAGE_REACTION_REMOVE", {**by_ada, "emoji": {"name": "blob", "id": "3"}})
    await discord.emit("MESSAGE_POLL_VOTE_ADD", {**by_ada, "answer_id": 2})
    joined = await discord.say("", type=7)

    await taken(rig, MembershipChanged)

    assert rig.taken == [
        MessageDeleted(IN_ROOM, "5:deleted", "", message_id="5"),
        ReactionChanged(IN_ROOM, "session1:4", ADA, message_id="5", emoji="👍"),
        ReactionChanged(IN_ROOM, "session1:6", ADA, message_id="5", emoji="<:blob:3>", added=False),
        PollAnswered(IN_ROOM, "session1:7", ADA, poll_id="5", numbers=(1,)),
        MembershipChanged(IN_ROOM, joined["id"], ADA, member=ADA, joined=True),
    ]


def command(discord: DiscordServer, room: str = ROOM) -> dict[str, Any]:
    given = {"name": "model", "options": [{"name": "arguments", "value": "opus"}]}
    place = {"guild_id": GUILD} if room == ROOM else {}
    who = {"member": {"user": {"id": "7"}}} if room == ROOM else {"user": {"id": "7"}}
    id = discord.new_id()
    return {"id": id, "token": f"at-{room}", "type": 2, "channel_id": room, "data": given, **place, **who}


@pytest.mark.parametrize(("room", "address"), [(ROOM, IN_ROOM), (DM, WITH_ADA)])
async def test_a_command_is_deferred_and_its_answer_takes_the_place(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel, room: str, address: Address
) -> None:
    used = command(discord, room)
    await discord.emit("INTERACTION_CREATE", used)

    got = await taken(rig, CommandUsed)
    delivery = await channel.send(out("opus it is", address))

    assert got == CommandUsed(address, used["id"], ADA, name="model", arguments="opus")
    assert discord.interactions == {used["id"]: 5}
    answer = discord.originals[f"at-{room}"]
    assert (answer["content"], delivery.platform_ids) == ("opus it is", (answer["id"],))
    await channel.send(out("and more", address))
    assert discord.messages[room][-1]["content"] == "and more"


async def test_the_choice_of_a_command_comes_before_what_else_was_written(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    used = command(discord, ROOM)
    used["data"]["options"] = [{"name": "arguments", "value": "now"}, {"name": "choice", "value": "on"}]
    await discord.emit("INTERACTION_CREATE", used)

    assert (await taken(rig, CommandUsed)).arguments == "on now"


async def test_the_command_of_somebody_who_may_not_is_not_acknowledged(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    rig.refused = True
    await discord.emit("INTERACTION_CREATE", command(discord))

    await taken(rig, CommandUsed)
    await channel.send(out())

    assert (discord.interactions, discord.originals) == ({}, {})


async def test_a_button_comes_back_with_its_value_however_long(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    value = "/approve " + "x" * 200
    await channel.send(out(buttons=((Button("Yes", value), Button("No", "no")),)))
    message = discord.messages[ROOM][-1]
    yes, no = message["components"][0]["components"]
    await rig.remove(channel)
    await rig.add(bot(rig, discord))
    press = {"type": 3, "token": "t", "channel_id": ROOM, "guild_id": GUILD, "member": {"user": {"id": "7"}}}
    for button in (no, yes):
        data = {"custom_id": button["custom_id"], "component_type": 2}
        await discord.emit("INTERACTION_CREATE", {**press, "id": discord.new_id(), "message": message, "data": data})

    await rig.until(lambda: len(rig.taken) == 2)

    assert [each.value for each in rig.taken if isinstance(each, ButtonPressed)] == ["no", value]
    assert len(yes["custom_id"]) <= 100
    await rig.until(lambda: list(discord.interactions.values()) == [6, 6])


# --- the gateway ---


async def test_a_cut_connection_is_resumed_and_nothing_is_lost_or_taken_twice(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    await discord.say("1")
    await rig.until(lambda: rig.texts() == ["1"])
    await discord.cut()
    await discord.say("2")
    await rig.until(lambda: discord.resumed == 1)
    await discord.frame({"op": 7})
    await discord.say("3")

    await rig.until(lambda: rig.texts() == ["1", "2", "3"])

    assert (discord.identified, rig.duplicates) == (1, 0)
    await rig.until(lambda: rig.state(channel) is ChannelState.CONNECTED)


async def test_what_was_written_before_a_lost_session_is_read_from_the_history(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    await discord.say("1")
    await rig.until(lambda: rig.texts() == ["1"])
    discord.forget_sessions()
    for text in ("2", "3"):
        await discord.say(text, heard=False)
    channel_sockets = discord.identified
    await discord.frame({"op": 9, "d": False})
    await rig.remove(channel)
    await rig.add(bot(rig, discord))

    await rig.until(lambda: rig.texts() == ["1", "2", "3"])

    assert discord.identified == channel_sockets + 1
    assert all(each.address == IN_ROOM and each.roles == ("77",) for each in rig.taken)  # type: ignore[union-attr]


async def test_direct_messages_are_followed_over_a_restart_by_hundreds_however_discord_slows_it_down(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    await discord.say("0", DM)
    await rig.until(lambda: rig.texts() == ["0"])
    await rig.remove(channel)
    for number in range(1, 251):
        await discord.say(str(number), DM, heard=False)
    discord.fail("GET .*/messages", 429, body={"message": "slow down", "retry_after": 20})

    await rig.add(bot(rig, discord))

    await rig.until(lambda: rig.texts() == [str(number) for number in range(251)])
    assert discord.identified == 2


@pytest.mark.parametrize("resumable", [True, False])
async def test_an_invalid_session_is_taken_up_or_begun_anew(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel, resumable: bool
) -> None:
    await discord.frame({"op": 9, "d": resumable})
    await rig.until(lambda: discord.resumed + discord.identified == 2)

    await discord.say("after")

    await rig.until(lambda: rig.texts() == ["after"])
    assert discord.resumed == (1 if resumable else 0)


async def test_malformed_frames_and_events_are_left_out(
    rig: Rig, discord: DiscordServer, channel: DiscordChannel
) -> None:
    await discord.frame("{not json")
    await discord.frame("[]")
    await discord.emit("MESSAGE_CREATE", {"channel_id": ROOM, "author": {"id": "7"}})
    await discord.say("fine")

    await rig.until(lambda: rig.texts() == ["fine"])

    assert discord.identified == 1


@pytest.mark.parametrize(
    ("spoil", "says"), [("token", "refused the token"), ("revoked", "refused the token"), ("intent", "Message Content")]
)
async def test_what_takes_a_person_is_said_and_not_tried_again(
    rig: Rig, discord: DiscordServer, spoil: str, says: str
) -> None:
    channel = bot(rig, discord, token="wrong" if spoil == "token" else TOKEN)
    discord.content_intent = spoil != "intent"

    await rig.add(channel, connected=spoil == "revoked")
    if spoil == "revoked":
        discord.token = "another"
        await discord.cut()
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert says in rig.error(channel)
    assert len(rig.repairs.all()) == 1


async def test_a_probe_says_what_the_bot_may_not_do(channel: DiscordChannel, discord: DiscordServer) -> None:
    everything = sum(RIGHTS.values())
    discord.guilds = {"Home": 1 << 3, "Club": everything, "Work": everything - RIGHTS["Attach Files"]}

    right = await channel.probe()
    discord.flags = 0
    wrong = await channel.probe()

    assert right["missing"] == ["In the server Work it lacks: Attach Files."]
    assert wrong["ok"] is True
    assert "Message Content Intent" in wrong["missing"][1]
