"""The Matrix channel against a real Synapse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from hub.messaging.capabilities import ListedCommand
from hub.messaging.contract import (
    Address,
    ChatType,
    DeliveryState,
    InboundMessage,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    OutboundMedia,
    OutboundPoll,
    PollAnswered,
    ReactionChanged,
)
from tests.integrations.channels.matrix.rig import MatrixRig, matrix_rig
from tests.servers.synapse import Synapse
from tests.until import until


@pytest.fixture
async def rig(synapse: Synapse, tmp_path: Path) -> AsyncIterator[MatrixRig]:
    async with matrix_rig(synapse, tmp_path) as rig:
        yield rig


async def test_a_direct_message_is_received_and_answered(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()

    event_id = await rig.ada.say(room, "Hello there")
    heard = await rig.heard(event_id)
    sent = await channel.send(rig.message(room, "Hello **Ada**"))

    assert isinstance(heard, InboundMessage)
    assert (heard.text, heard.sender, heard.address.peer) == ("Hello there", rig.ada.identity, room)
    assert heard.address.chat_type is ChatType.DIRECT
    assert heard.sent_at is not None
    assert sent.state is DeliveryState.DELIVERED
    (answer,) = await rig.ada.events(room, "m.room.message", rig.bot.user_id)
    assert answer["event_id"] == sent.platform_ids[0]
    assert answer["content"]["formatted_body"] == "<p>Hello <strong>Ada</strong></p>"
    assert rig.hub.account_id == rig.bot.user_id


async def test_what_was_said_before_the_first_time_is_not_answered(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    await rig.ada.say(room, "Before")
    await rig.start()

    await rig.heard(await rig.ada.say(room, "After"))

    assert rig.hub.texts == ["After"]


async def test_what_was_said_while_the_hub_was_down_is_received_in_order_however_much_it_is(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    await rig.start()
    await rig.heard(await rig.ada.say(room, "Before"))
    await rig.stop()
    said = [f"Message {number}" for number in range(70)]
    for each in said:
        await rig.ada.say(room, each)

    await rig.start()
    await until(lambda: len(rig.hub.texts) > 70)

    assert rig.hub.texts == ["Before", *said]


async def test_what_cannot_be_stored_is_offered_again_before_the_position_moves(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    await rig.start()
    rig.hub.full = 3

    await rig.heard(await rig.ada.say(room, "Keep this"))

    assert rig.hub.texts == ["Keep this"]
    assert "the disk is full" in rig.hub.errors[0][0]
    await until(lambda: rig.hub.states[-1] == "connected")


async def test_a_room_of_three_is_a_group_and_its_mentions_are_seen(rig: MatrixRig, synapse: Synapse) -> None:
    bob = await synapse.user()
    room = await rig.ada.room_with(rig.bot, bob, name="Kitchen")
    await rig.start()

    plain = await rig.heard(await rig.ada.say(room, "Soup?"))
    said = {"m.mentions": {"user_ids": [rig.bot.user_id]}}
    stated = await rig.heard(await bob.say(room, "you there", **said))
    other = await rig.heard(await bob.say(room, rig.bot.user_id, **{"m.mentions": {}}))
    by_id = await rig.heard(await bob.say(room, f"ask {rig.bot.user_id}"))

    assert [isinstance(each, InboundMessage) and each.mentioned for each in (plain, stated, other, by_id)] == [
        False,
        True,
        False,
        True,
    ]
    assert isinstance(plain, InboundMessage)
    assert (plain.address.chat_type, plain.group_name) == (ChatType.GROUP, "Kitchen")
    await bob.close()


async def test_threads_replies_and_their_quotes(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    root = await rig.ada.say(room, "The root")
    thread = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True, "m.in_reply_to": {"event_id": root}}

    in_thread = await rig.heard(await rig.ada.say(room, "In the thread", **{"m.relates_to": thread}))
    replied = await rig.heard(
        await rig.ada.say(
            room, "> <@a:b> The root\n\nAn answer", **{"m.relates_to": {"m.in_reply_to": {"event_id": root}}}
        )
    )
    assert isinstance(in_thread, InboundMessage)
    await channel.send(rig.message(room, "Answer", address=in_thread.address, reply_to=in_thread.message_id))

    assert (in_thread.address.thread, in_thread.reply_to) == (root, None)
    assert isinstance(replied, InboundMessage)
    assert (replied.text, replied.reply_to, replied.address.thread) == ("An answer", root, None)
    assert replied.quoted is not None
    assert (replied.quoted.text, replied.quoted.sender) == ("The root", rig.ada.identity)
    (answer,) = await rig.ada.events(room, "m.room.message", rig.bot.user_id)
    assert answer["content"]["m.relates_to"] == {
        "rel_type": "m.thread",
        "event_id": root,
        "is_falling_back": False,
        "m.in_reply_to": {"event_id": in_thread.message_id},
    }


async def test_edits_reactions_redactions_and_joins_are_events(rig: MatrixRig, synapse: Synapse) -> None:
    room = await rig.ada.room_with(rig.bot)
    bob = await synapse.user()
    await rig.start()
    said = await rig.ada.say(room, "Wrong")
    new = {"m.new_content": {"msgtype": "m.text", "body": "Right"}}
    relation = {"m.relates_to": {"rel_type": "m.replace", "event_id": said}}
    await rig.ada.say(room, "* Right", **new, **relation)
    key = {"m.relates_to": {"rel_type": "m.annotation", "event_id": said, "key": "👍"}}
    reaction = await rig.ada.send(room, "m.reaction", key)
    await rig.ada.redact(room, reaction)
    await rig.heard(await rig.ada.redact(room, said))
    await rig.ada.call("POST", f"rooms/{room}/invite", {"user_id": bob.user_id})
    await bob.join(room)
    await until(lambda: rig.hub.of(MembershipChanged))

    (edit,) = rig.hub.of(MessageEdited)
    assert (edit.message_id, edit.text) == (said, "Right")
    assert [(each.message_id, each.emoji, each.added) for each in rig.hub.of(ReactionChanged)] == [
        (said, "👍", True),
        (said, "👍", False),
    ]
    assert [each.message_id for each in rig.hub.of(MessageDeleted)] == [said]
    assert [(each.member, each.joined) for each in rig.hub.of(MembershipChanged)] == [(bob.identity, True)]
    await bob.close()


async def test_notices_and_our_own_messages_are_not_received(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    await channel.send(rig.message(room, "Mine"))
    await rig.ada.send(room, "m.room.message", {"msgtype": "m.notice", "body": "A bot speaks"})

    await rig.heard(await rig.ada.say(room, "End"))

    assert rig.hub.texts == ["End"]


async def test_what_is_sent_can_be_edited_reacted_to_and_taken_back(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    address = Address("matrix", room)
    hers = await rig.ada.say(room, "Hi")
    (mine,) = (await channel.send(rig.message(room, "One"))).platform_ids

    results = [
        await channel.edit(address, mine, "Two"),
        await channel.react(address, hers, "👀"),
        await channel.react(address, hers, "👀"),
        await channel.react(address, hers, None),
        await channel.delete(address, mine),
    ]
    await channel.typing(address)

    assert [each.state for each in results] == [DeliveryState.DELIVERED] * 5
    messages = await rig.ada.events(room, "m.room.message", rig.bot.user_id)
    deleted, edit = (each["content"] for each in messages)
    assert deleted == {}
    assert edit["m.new_content"]["body"] == "Two"
    (reaction,) = await rig.ada.events(room, "m.reaction", rig.bot.user_id)
    assert reaction["content"] == {}


async def test_media_go_both_ways(rig: MatrixRig, tmp_path: Path) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    uri = await rig.ada.upload(b"sound" * 40_000, "audio/ogg")
    info = {"mimetype": "audio/ogg", "size": 200_000, "duration": 3_200}
    content = {"msgtype": "m.audio", "body": "voice.ogg", "url": uri, "info": info, "org.matrix.msc3245.voice": {}}
    heard = await rig.heard(await rig.ada.send(room, "m.room.message", content))
    assert isinstance(heard, InboundMessage)
    (media,) = heard.media

    fetched = b"".join([piece async for piece in channel.fetch(heard.address, media)])
    (tmp_path / "plan.png").write_bytes(b"picture")
    file = OutboundMedia(MediaKind.IMAGE, str(tmp_path / "plan.png"), "image/png", "plan.png")
    sent = await channel.send(rig.message(room, "", media=(file,)))

    assert (media.kind, media.voice, media.duration_s, media.name, heard.text) == (
        MediaKind.AUDIO,
        True,
        3.2,
        "voice.ogg",
        "",
    )
    assert fetched == b"sound" * 40_000
    assert sent.state is DeliveryState.DELIVERED
    (image,) = await rig.ada.events(room, "m.room.message", rig.bot.user_id)
    assert image["content"]["msgtype"] == "m.image"
    assert image["content"]["url"].startswith("mxc://")


async def test_polls_go_both_ways(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    sent = await channel.poll(OutboundPoll("p1", Address("matrix", room), "Tea?", ("Yes", "No")))
    (poll,) = sent.platform_ids
    vote = {
        "m.relates_to": {"rel_type": "m.reference", "event_id": poll},
        "org.matrix.msc3381.poll.response": {"answers": ["Yes"]},
    }

    heard = await rig.heard(await rig.ada.send(room, "org.matrix.msc3381.poll.response", vote))

    assert isinstance(heard, PollAnswered)
    assert (heard.poll_id, heard.choices) == (poll, ("Yes",))


async def test_a_command_may_begin_with_an_exclamation_mark(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    await channel.publish_commands([ListedCommand("help", "Show the commands")])

    for text in ("!help", "!help me", "!helpless", "!"):
        await rig.heard(await rig.ada.say(room, text))

    assert rig.hub.texts == ["/help", "/help me", "!helpless", "!"]


async def test_a_location_is_received(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    await rig.start()
    content = {"msgtype": "m.location", "body": "The pier", "geo_uri": "geo:53.5,-9.99;u=35"}

    heard = await rig.heard(await rig.ada.send(room, "m.room.message", content))

    assert isinstance(heard, InboundMessage)
    assert heard.location is not None
    assert (heard.location.latitude, heard.location.longitude, heard.text) == (53.5, -9.99, "")


async def test_an_invitation_is_accepted_only_from_those_whom_the_hub_lets_in(rig: MatrixRig, synapse: Synapse) -> None:
    mallory = await synapse.user()
    rig.hub.welcome = lambda inbound: inbound.sender == rig.ada.identity
    await rig.start()

    theirs = await mallory.room(rig.bot)
    hers = await rig.ada.room(rig.bot)
    said = await rig.ada.say(hers, "Said before the assistant joined")
    await rig.heard(said)

    assert await rig.ada.members(hers) == sorted([rig.ada.user_id, rig.bot.user_id])
    assert await mallory.members(theirs) == [mallory.user_id]
    assert [each.text for each in rig.hub.messages if each.sender == rig.ada.identity] == [
        "Said before the assistant joined"
    ]
    await mallory.close()


@pytest.mark.parametrize("is_alone", [True, False])
async def test_what_is_said_to_a_stranger_who_invited_is_said_in_their_room_if_nobody_else_is_in_it(
    rig: MatrixRig, synapse: Synapse, is_alone: bool
) -> None:
    mallory, bob = await synapse.user(), await synapse.user()
    rig.hub.welcome = lambda inbound: False
    channel = await rig.start()
    room = await mallory.room_with(*([] if is_alone else [bob]))
    await mallory.call("POST", f"rooms/{quote(room)}/invite", {"user_id": rig.bot.user_id})
    await until(lambda: bool(rig.hub.messages))
    (word,) = rig.hub.messages
    assert (word.address.peer, word.address.chat_type, word.sender) == (room, ChatType.DIRECT, mallory.identity)
    assert await mallory.members(room) == sorted([mallory.user_id, *([] if is_alone else [bob.user_id])])

    sent = await channel.send(rig.message(room, "Your code"))

    said = await mallory.events(room, "m.room.message", rig.bot.user_id)
    assert [each["content"]["body"] for each in said] == (["Your code"] if is_alone else [])
    assert (rig.bot.user_id in await mallory.members(room)) is is_alone
    assert sent.state is (DeliveryState.DELIVERED if is_alone else DeliveryState.PERMANENT)
    await mallory.close()
    await bob.close()


async def test_a_direct_chat_into_which_a_third_comes_is_a_group_and_without_them_one_again(
    rig: MatrixRig, synapse: Synapse
) -> None:
    bob = await synapse.user()
    room = await rig.ada.room_with(rig.bot, is_direct=False)
    await rig.start()
    kinds = []
    for comes in (None, True, False):
        if comes:
            await rig.ada.call("POST", f"rooms/{quote(room)}/invite", {"user_id": bob.user_id})
            await bob.join(room)
        elif comes is False:
            await bob.call("POST", f"rooms/{quote(room)}/leave", {})
        message = await rig.heard(await rig.ada.say(room, "Hello"))
        kinds.append(message.address.chat_type)

    assert kinds == [ChatType.DIRECT, ChatType.GROUP, ChatType.DIRECT]
    await bob.close()


async def test_a_probe_names_the_rooms_in_which_it_may_not_write(rig: MatrixRig) -> None:
    await rig.ada.room_with(rig.bot, name="Open")
    await rig.ada.room_with(rig.bot, name="News", power_level_content_override={"events_default": 50})
    await rig.ada.room_with(rig.bot, name="Quiet", power_level_content_override={"events": {"m.reaction": 50}})
    channel = await rig.start()

    probed = await channel.probe()

    assert probed["ok"] is True
    assert sorted(probed["missing"]) == [
        "It may not react or delete in the room Quiet.",
        "It may not write in the room News.",
    ]
