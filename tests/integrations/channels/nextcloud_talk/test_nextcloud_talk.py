"""Nextcloud Talk against a local double of it: what only it has, and what happens when it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.errors import HubError, InvalidRequest
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.capabilities import DirectoryEntry
from hub.messaging.contract import (
    Address,
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
    OutboundPoll,
    PollAnswered,
    Quote,
    ReactionChanged,
    SharedLocation,
)
from integrations.channels.nextcloud_talk.channel import TalkAccount, TalkChannel
from integrations.channels.nextcloud_talk.events import home_of
from tests.integrations.channels.rig import Rig
from tests.servers.nextcloud_server import DM, EVE, LOGIN, ME, PASSWORD, ROOM, NextcloudServer


@pytest.fixture
async def server() -> AsyncIterator[NextcloudServer]:
    async with NextcloudServer() as server:
        yield server


@pytest.fixture
async def channel(rig: Rig, server: NextcloudServer) -> TalkChannel:
    channel = account(rig, server)
    await rig.add(channel)
    return channel


def account(rig: Rig, server: NextcloudServer) -> TalkChannel:
    return TalkChannel(TalkAccount("default", server.url, LOGIN, Secret(PASSWORD)), rig.clock, wait_s=1, grace_s=30.0)


def with_ada(server: NextcloudServer) -> Address:
    return Address("nextcloud_talk", "ada", account_id=f"{ME}@{server.home}")


def in_room(server: NextcloudServer) -> Address:
    return Address("nextcloud_talk", ROOM, chat_type=ChatType.GROUP, account_id=f"{ME}@{server.home}")


def by_ada(server: NextcloudServer) -> str:
    return f"nextcloud_talk:user:ada@{server.home}"


def to(peer: str, text: str = "hello", **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), Address("nextcloud_talk", peer), text, **more)


# --- in ---


async def test_a_message_comes_with_its_files_its_quote_and_its_words_in_place_of_references(
    rig: Rig, server: NextcloudServer, channel: TalkChannel
) -> None:
    server.files["Talk/a cat.png"] = b"abc"
    asked = server.say("which?", ROOM, ME)
    file = {
        "type": "file",
        "id": "9",
        "name": "a cat.png",
        "path": "Talk/a cat.png",
        "mimetype": "image/png",
        "size": 3,
    }
    parameters = {
        "mention-user1": {"type": "user", "id": ME, "name": "Homarus"},
        "mention-user2": {"type": "user", "id": EVE, "name": "Eve"},
        "file": {**file, "size": 3},
    }
    text = "{mention-user1}: this, {mention-user2} {unknown}"
    said = server.say(text, ROOM, messageParameters=parameters, parent=asked)

    await rig.until(lambda: bool(rig.taken))

    (message,) = rig.taken
    assert isinstance(message, InboundMessage)
    assert (message.address, message.message_id, message.sender) == (in_room(server), str(said["id"]), by_ada(server))
    assert (message.text, message.mentioned, message.sender_name) == ("this, @Eve {unknown}", True, "Ada King")
    assert (message.reply_to, message.quoted, message.group_name) == (
        str(asked["id"]),
        Quote("which?", f"nextcloud_talk:user:homarus@{server.home}"),
        "Family",
    )
    reference = "remote.php/dav/files/homarus/Talk/a%20cat.png"
    assert message.media == (Media(MediaKind.IMAGE, reference, "image/png", "a cat.png", 3),)
    assert [piece async for piece in channel.fetch(message.address, message.media[0])] == [b"abc"]
    with pytest.raises(HubError, match="cannot be downloaded"):
        await anext(channel.fetch(message.address, Media(MediaKind.FILE, "remote.php/dav/files/homarus/gone")))


async def test_a_path_that_somebody_made_up_is_no_file_of_the_account(
    rig: Rig, server: NextcloudServer, channel: TalkChannel
) -> None:
    own = {"type": "file", "id": "9", "name": "my cat", "path": "Talk/Homarus/diary.txt", "mimetype": "text/plain"}
    server.say("{object}", ROOM, EVE, messageParameters={"object": own})  # as anybody may share an object

    await rig.until(lambda: bool(rig.taken))

    (message,) = rig.taken
    assert isinstance(message, InboundMessage)
    assert (message.text, message.media) == ("my cat", ())


async def test_a_voice_message_and_a_place_are_such(rig: Rig, server: NextcloudServer, channel: TalkChannel) -> None:
    voice = {"type": "file", "id": "9", "name": "talk.mp3", "path": "Talk/talk.mp3", "mimetype": "audio/mpeg"}
    server.say("{file}", messageParameters={"file": voice}, messageType="voice-message")
    place = {"type": "geo-location", "id": "geo:52.5,13.4", "name": "Berlin", "latitude": "52.5", "longitude": "13.4"}
    server.say("{object}", messageParameters={"object": place})

    await rig.until(lambda: len(rig.taken) == 2)

    spoken, shared = rig.taken
    assert isinstance(spoken, InboundMessage)
    assert isinstance(shared, InboundMessage)
    assert (spoken.text, spoken.media[0].kind, spoken.media[0].voice) == ("", MediaKind.AUDIO, True)
    assert (shared.text, shared.location) == ("", SharedLocation(52.5, 13.4, "Berlin"))


@pytest.mark.parametrize(
    ("url", "home"),
    [
        ("https://Cloud.example.org/", "cloud.example.org"),
        ("https://cloud.example.org:443", "cloud.example.org"),
        ("https://cloud.example.org:8443", "cloud.example.org:8443"),
        ("http://cloud.example.org", "cloud.example.org:80"),
        ("https://cloud.example.org/nextcloud/", "cloud.example.org/nextcloud"),
        ("http://[FE80::1]:8080/a", "[fe80::1]:8080/a"),
    ],
)
def test_each_nextcloud_has_a_name_of_its_own_also_on_one_host(url: str, home: str) -> None:
    assert home_of(url) == home


async def test_guests_and_people_of_other_clouds_are_nobody_of_this_one_and_programs_are_not_read(
    rig: Rig, server: NextcloudServer, channel: TalkChannel
) -> None:
    for kind, id in (("bots", "bot-1"), ("bridged", "ada"), ("guests", "ada"), ("federated_users", "ada@127.0.0.2")):
        server.say(kind, ROOM, id, actorType=kind)

    await rig.until(lambda: len(rig.taken) == 2)

    assert [each.sender for each in rig.taken] == [
        f"nextcloud_talk:guest:ada@{server.home}",
        "nextcloud_talk:federated:ada@127.0.0.2",
    ]


async def test_edits_deletes_reactions_and_joins_are_events(
    rig: Rig, server: NextcloudServer, channel: TalkChannel
) -> None:
    said = server.say("a", ROOM)
    server.change(said["id"], "b")
    server.notice("message_deleted", said)
    server.notice("reaction", said, text="👍")
    server.notice("reaction_revoked", said)
    eve = {"user": {"type": "user", "id": EVE, "name": "Eve"}}
    server.say("x", ROOM, systemMessage="user_added", messageType="system", messageParameters=eve)

    await rig.until(lambda: len(rig.taken) == 5)

    id, (_, edited, deleted, liked, joined) = str(said["id"]), rig.taken
    assert isinstance(edited, MessageEdited)
    assert (edited.message_id, edited.text, edited.sender) == (id, "b", by_ada(server))
    assert isinstance(deleted, MessageDeleted)
    assert deleted.message_id == id
    assert isinstance(liked, ReactionChanged)
    assert (liked.message_id, liked.emoji, liked.added) == (id, "👍", True)
    assert isinstance(joined, MembershipChanged)
    assert (joined.member, joined.joined) == (f"nextcloud_talk:user:eve@{server.home}", True)


async def test_votes_are_told_when_a_poll_is_closed_and_one_that_is_gone_holds_up_nothing(
    rig: Rig, server: NextcloudServer, channel: TalkChannel
) -> None:
    asked = OutboundPoll(new_id(), in_room(server), "When?", ("Monday", "Tuesday", "never"), multiple=True)
    opened = await channel.poll(asked)
    (poll,) = server.polls.values()
    server.vote(poll, EVE, 2, 0)
    server.vote(poll, "ada", 1)
    server.vote(poll, ME, 1)
    server.close(poll, EVE)
    server.close({**poll, "id": 99})
    server.say("next", ROOM)

    await rig.until(lambda: rig.texts() == ["next"])

    shown = next(each for each in server.messages[ROOM] if each["message"] == "{object}")
    assert opened.platform_ids == (str(shown["id"]), f"poll:{poll['id']}")
    assert (poll["maxVotes"], poll["resultMode"]) == (0, 0)
    votes = [each for each in rig.taken if isinstance(each, PollAnswered)]
    eve = f"nextcloud_talk:user:{EVE}@{server.home}"
    assert [(each.sender, each.numbers) for each in votes] == [(eve, (0, 2)), (by_ada(server), (1,))]
    assert {each.poll_id for each in votes} == {f"poll:{poll['id']}"}
    assert len({each.event_id for each in votes}) == 2


async def test_a_poll_among_two_is_a_list_and_one_choice_is_one_vote(
    server: NextcloudServer, channel: TalkChannel
) -> None:
    await channel.poll(OutboundPoll(new_id(), with_ada(server), "Tea?", ("yes", "no")))
    await channel.poll(OutboundPoll(new_id(), in_room(server), "Tea?", ("yes", "no")))

    assert [each["message"] for each in server.ours(DM)] == ["Tea?\n1. yes\n2. no"]
    assert [each["maxVotes"] for each in server.polls.values()] == [1]


async def test_a_thread_has_a_name_and_what_goes_to_it_stays_there(
    rig: Rig, tmp_path: Path, server: NextcloudServer, channel: TalkChannel
) -> None:
    thread = await channel.open_thread(in_room(server), "Holidays")
    root = server.ours(ROOM)[0]
    server.say("where to?", ROOM, threadId=root["id"])
    server.say("out here", ROOM)
    (tmp_path / "a.txt").write_bytes(b"A")
    file = OutboundMedia(MediaKind.FILE, str(tmp_path / "a.txt"), "text/plain", "a.txt")
    for message in (OutboundMessage(new_id(), thread, "south"), OutboundMessage(new_id(), thread, "", media=(file,))):
        assert (await channel.send(message)).state is DeliveryState.DELIVERED
    await channel.poll(OutboundPoll(new_id(), thread, "When?", ("May", "June")))

    await rig.until(lambda: len(rig.taken) == 2)

    inside, outside = rig.taken
    assert isinstance(inside, InboundMessage)
    assert isinstance(outside, InboundMessage)
    assert thread == replace(in_room(server), thread=str(root["id"]))
    assert await channel.open_thread(thread, "More") == thread
    assert (inside.address, inside.topic_name) == (thread, "Holidays")
    assert (outside.address, outside.topic_name) == (in_room(server), None)
    assert {each["threadId"] for each in server.ours(ROOM)} == {root["id"]}


async def test_an_older_talk_has_no_threads(server: NextcloudServer, channel: TalkChannel) -> None:
    assert server.features is not None
    server.features.remove("threads")
    await channel.probe()

    with pytest.raises(InvalidRequest, match="no threads"):
        await channel.open_thread(in_room(server), "Holidays")


async def test_malformed_messages_and_conversations_are_left_out(
    rig: Rig, server: NextcloudServer, channel: TalkChannel
) -> None:
    server.say("odd", actorType=7)
    server.say("odd", messageParameters={"file": {"type": "file"}})
    server.add_room("odd", 2, "odd")
    server.rooms["odd"]["lastReadMessage"] = "x"
    server.say("odd", "odd")
    server.say("fine")

    await rig.until(lambda: rig.texts() == ["fine"])


async def test_a_conversation_that_began_while_the_hub_was_away_is_read_from_its_mark_and_an_old_one_from_its_place(
    rig: Rig, server: NextcloudServer, channel: TalkChannel
) -> None:
    server.say("1")
    await rig.until(lambda: rig.texts() == ["1"])
    await rig.remove(channel)
    server.say("2")
    server.say("mine", DM, ME)
    server.add_room("new", 2, "New")
    server.rooms["new"]["lastReadMessage"] = server.say("before the account was added to it", "new")["id"]
    server.say("3", "new")

    await rig.add(account(rig, server))
    await rig.until(lambda: len(rig.texts()) == 3)

    assert rig.texts() == ["1", "2", "3"]


async def test_a_long_backlog_is_read_page_by_page(rig: Rig, server: NextcloudServer, channel: TalkChannel) -> None:
    server.say("0")
    await rig.until(lambda: rig.texts() == ["0"])
    await rig.remove(channel)
    for number in range(1, 250):
        server.say(str(number))

    await rig.add(account(rig, server))

    await rig.until(lambda: rig.texts() == [str(number) for number in range(250)])


async def test_a_conversation_that_was_left_blocks_nothing(
    rig: Rig, server: NextcloudServer, channel: TalkChannel
) -> None:
    server.fail("GET chat", 404, "")
    server.say("hello", ROOM)
    await rig.until(lambda: not server.faults)
    server.say("hello")

    await rig.until(lambda: "hello" in rig.texts())


@pytest.mark.parametrize(("broken", "says"), [("password", "refused the app password"), ("talk", "has no Talk")])
async def test_what_takes_a_person_is_said(rig: Rig, server: NextcloudServer, broken: str, says: str) -> None:
    if broken == "password":
        server.password = "another"
    else:
        server.features = None
    channel = account(rig, server)

    await rig.add(channel, connected=False)
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert says in rig.error(channel)
    assert (await channel.probe())["ok"] is False


# --- out ---


async def test_a_message_keeps_its_markup_answers_what_it_answers_and_wakes_nobody(
    server: NextcloudServer, channel: TalkChannel
) -> None:
    asked = server.say("?")

    await channel.send(to("ada", "**a** @all @alligator, me@all.org", reply_to=str(asked["id"])))

    (sent,) = server.ours(DM)
    assert (sent["message"], sent["parent"]["id"]) == ("**a** @\u200ball @alligator, me@all.org", asked["id"])


async def test_a_conversation_with_a_person_is_opened_once_and_one_with_nobody_never(
    server: NextcloudServer, channel: TalkChannel
) -> None:
    server.users["ben"] = "Ben"

    for _ in range(2):
        assert (await channel.send(to("ben"))).state is DeliveryState.DELIVERED
    refused = await channel.send(to("nobody"))

    assert [len(found) for token, found in server.messages.items() if token.endswith("ben")] == [2]
    assert refused.state is DeliveryState.PERMANENT


@pytest.mark.parametrize(
    ("status", "error", "state", "says"),
    [
        (403, "", DeliveryState.PERMANENT, "takes no messages"),
        (412, "", DeliveryState.PERMANENT, "lobby"),
        (413, "message", DeliveryState.PERMANENT, "too large"),
        (429, None, DeliveryState.TRANSIENT, "too many requests"),
        (500, "", DeliveryState.TRANSIENT, "failed"),
        (502, None, DeliveryState.UNKNOWN, "failed"),
    ],
)
async def test_a_refusal_says_why(
    server: NextcloudServer, channel: TalkChannel, status: int, error: str | None, state: DeliveryState, says: str
) -> None:
    server.fail("POST chat", status, error)

    delivery = await channel.send(to("ada"))

    assert delivery.state is state
    assert says in (delivery.error or "")


async def test_a_file_is_put_among_the_accounts_own_and_shared_and_found_again_when_the_answer_was_lost(
    tmp_path: Path, server: NextcloudServer, channel: TalkChannel
) -> None:
    (tmp_path / "a.mp3").write_bytes(b"A")
    media = OutboundMedia(MediaKind.AUDIO, str(tmp_path / "a.mp3"), "audio/mpeg", "note.mp3", voice=True)
    sent = await channel.send(to("ada", "", media=(media,)))
    server.fail("POST shares", done=True)
    lost = to("ada", "", media=(media,))
    unknown = await channel.send(lost)

    first, second = server.ours(DM)
    assert (first["messageType"], first["messageParameters"]["file"]["name"]) == ("voice-message", "note.mp3")
    assert sent.platform_ids == (str(first["id"]),)
    assert unknown.state is DeliveryState.UNKNOWN
    found = await channel.find(lost, 0.0)
    assert found is not None
    assert found.platform_ids == (str(second["id"]),)
    assert await channel.find(to("ada"), 0.0) is None


async def test_deleting_what_is_gone_is_done_and_editing_it_is_not(
    server: NextcloudServer, channel: TalkChannel
) -> None:
    (id,) = (await channel.send(to("ada"))).platform_ids
    address = to("ada").address

    states = [(await channel.delete(address, id)).state for _ in range(2)]

    assert states == [DeliveryState.DELIVERED] * 2
    assert (await channel.edit(address, id, "new")).state is DeliveryState.PERMANENT


async def test_people_and_conversations_are_found_by_their_names(server: NextcloudServer, channel: TalkChannel) -> None:
    assert await channel.look_up("KING", 10) == [DirectoryEntry("ada", "Ada King")]
    assert await channel.look_up("fam", 10) == [DirectoryEntry(ROOM, "Family", ChatType.GROUP)]


async def test_what_the_server_cannot_do_and_where_it_may_not_write_is_missing(
    rig: Rig, server: NextcloudServer
) -> None:
    assert server.features is not None
    server.features.remove("edit-messages")
    server.rooms[ROOM]["readOnly"] = 1
    channel = account(rig, server)
    await rig.add(channel)

    assert (await channel.probe())["missing"] == [
        "Its Talk is too old for edits.",
        "It may not write in the room Family.",
    ]
