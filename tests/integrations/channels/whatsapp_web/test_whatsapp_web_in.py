"""WhatsApp Web: what comes in, as whose, and what is left out."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest

from hub.messaging.contract import (
    Address,
    ChannelState,
    ChatType,
    Contact,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    OutboundMessage,
    OutboundPoll,
    PollAnswered,
    Quote,
    ReactionChanged,
    SharedLocation,
)
from integrations.channels.http_api import PlatformError
from integrations.channels.whatsapp_web.channel import WhatsAppWebChannel
from integrations.channels.whatsapp_web.events import Reading, _media, inbound_of, jid_from, person_of, unwrap
from tests.integrations.channels.rig import Rig
from tests.integrations.channels.whatsapp_web.conftest import Make, taken
from tests.servers.whatsapp_web_double import (
    ADA,
    ADAS_LID,
    EVE,
    EVES_LID,
    GROUP,
    ME,
    MY_LID,
    WhatsAppWebDouble,
    e2e,
    jid,
    proto,
    split,
)

BY_ADA = f"whatsapp_web:user:{ADA}"


def text(words: str = "hello") -> Any:
    return e2e.Message(conversation=words)


def mentioning(words: str, jids: list[str]) -> Any:
    message = e2e.Message(extendedTextMessage=e2e.ExtendedTextMessage(text=words))
    message.extendedTextMessage.contextInfo.mentionedJID.extend(jids)
    return message


async def one(rig: Rig) -> Any:
    await rig.until(lambda: bool(rig.taken))
    return taken(rig)[0]


@pytest.mark.parametrize("told", [True, False])
async def test_a_person_is_the_same_under_their_number_and_their_lid(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel, told: bool
) -> None:
    server.told_number = told
    server.says(text("one"))
    server.says(text("two"), by_lid=True)
    await rig.until(lambda: len(rig.taken) == 2)

    assert {each.sender for each in taken(rig)} == {BY_ADA}
    assert {each.address.peer for each in taken(rig)} == {ADA}


async def test_a_lid_without_a_number_is_nobody_elses(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    server.told_number = server.knows_numbers = False
    server.says(text(), EVE, by_lid=True)
    message = await one(rig)

    assert message.sender == f"whatsapp_web:user:{EVES_LID}@lid"
    assert jid_from(message.address.peer) == f"{EVES_LID}@lid"


async def test_what_was_said_while_the_hub_was_away_comes_when_it_is_back(
    rig: Rig, server: WhatsAppWebDouble, make: Make
) -> None:
    first = make()
    await rig.add(first)
    await rig.remove(first)
    server.says(text("are you there?"))

    await rig.add(make())

    assert (await one(rig)).text == "are you there?"


async def test_a_message_that_the_hub_cannot_store_yet_is_not_lost(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    rig.full = True
    server.says(text("one"))
    server.says(text("two"))
    await rig.until(lambda: rig.state(channel) is ChannelState.DISCONNECTED)
    rig.full = False

    await rig.until(lambda: rig.texts() == ["one", "two"])


async def test_messages_to_oneself_are_read_and_everything_else_of_the_own_phone_is_not(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    to_ada = server.says(text("written on the phone"), ME)
    to_ada.Info.MessageSource.Chat.CopyFrom(jid(ADA))
    to_ada.Info.ID = "3EBFFF"
    server.push(to_ada)
    rig.taken.clear()
    server.says(text("a note"), ME)
    await rig.until(lambda: "a note" in rig.texts())

    assert {each.sender for each in taken(rig)} == {f"whatsapp_web:user:{ME}"}
    assert "3EBFFF" not in {each.message_id.partition(":")[0] for each in taken(rig)}


async def test_what_is_deleted_on_the_own_phone_is_told_though_nothing_else_of_it_is(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    gone = e2e.Message()
    gone.protocolMessage.type = e2e.ProtocolMessage.REVOKE
    gone.protocolMessage.key.ID, gone.protocolMessage.key.fromMe = "3EB0AA", True
    server.says(gone, ME, group=True)
    server.says(text("written on the phone"), ME, group=True)
    server.says(text("after"))
    await rig.until(lambda: "after" in rig.texts())

    deleted = taken(rig)[0]
    assert isinstance(deleted, MessageDeleted)
    assert deleted.message_id == f"3EB0AA:{ME}"
    assert rig.texts() == ["after"]


async def test_a_note_to_oneself_is_not_marked_as_read_and_its_answer_is_no_note(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    sent = await channel.send(OutboundMessage("1", Address("whatsapp_web", ME), "an answer"))
    server.says(text("an answer"), ME, id=sent.platform_ids[0].partition(":")[0])
    server.says(text("a note"), ME)
    event = server.says(text("after"))
    await rig.until(lambda: server.read == [event.Info.ID])

    assert rig.texts() == ["a note", "after"]


async def test_nothing_is_marked_as_read_where_that_is_switched_off(rig: Rig, server: WhatsAppWebDouble) -> None:
    channel = WhatsAppWebChannel("default", server.open, rig.clock, read_receipts=False)
    await rig.add(channel)
    server.says(text("one"))
    server.says(text("two"))
    await rig.until(lambda: len(rig.taken) == 2)
    await channel.stop()

    assert server.read == []


async def test_an_option_that_a_poll_does_not_have_is_no_vote(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    await channel.poll(OutboundPoll("p", Address("whatsapp_web", ADA), "Tea?", ("yes", "no")))
    server.unknown_votes = [b"0" * 32]
    server.vote(1)
    voted = await one(rig)

    assert isinstance(voted, PollAnswered)
    assert voted.numbers == (1,)


@pytest.mark.parametrize("server_name", ["broadcast", "newsletter"])
def test_stories_and_channels_are_left_out(server_name: str) -> None:
    event = WhatsAppWebDouble().says(text())
    event.Info.MessageSource.Chat.CopyFrom(jid("status", server_name))

    assert inbound_of(event, Reading("default", ME, {}), ()) is None


async def test_in_a_group_it_is_addressed_by_a_mention_or_a_reply(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    server.says(text("to all"), group=True)
    server.says(mentioning(f"@{MY_LID} and you?", [f"{MY_LID}@lid"]), group=True, by_lid=True)
    reply = mentioning("to that", [])
    context = reply.extendedTextMessage.contextInfo
    context.stanzaID, context.participant = "3EB0AA", f"{MY_LID}@lid"
    context.quotedMessage.conversation = "what I said"
    server.says(reply, group=True)
    await rig.until(lambda: len(rig.taken) == 3)

    group = Address("whatsapp_web", GROUP, chat_type=ChatType.GROUP, account_id=ME)
    assert {each.address for each in taken(rig)} == {group}
    assert [(each.mentioned, each.text, each.group_name) for each in taken(rig)] == [
        (False, "to all", "Family"),
        (True, "and you?", "Family"),
        (True, "to that", "Family"),
    ]
    assert taken(rig)[2].reply_to == f"3EB0AA:{ME}"
    assert taken(rig)[2].quoted == Quote("what I said", f"whatsapp_web:user:{ME}")
    assert server.group_lookups == 1


async def test_view_once_and_disappearing_messages_are_unwrapped(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    message = e2e.Message()
    inner = message.ephemeralMessage.message.viewOnceMessageV2.message
    inner.imageMessage.caption, inner.imageMessage.mimetype = "look", "image/jpeg"
    inner.imageMessage.mediaKey, inner.imageMessage.fileLength = server.keep(b"a picture"), 9
    server.says(message)
    found = await one(rig)

    assert (found.text, found.media[0].kind, found.media[0].size_bytes) == ("look", MediaKind.IMAGE, 9)
    assert b"".join([piece async for piece in channel.fetch(found.address, found.media[0])]) == b"a picture"


async def test_a_voice_note_is_one_and_an_album_is_one(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    note = e2e.Message(audioMessage=e2e.AudioMessage(PTT=True, seconds=3, mimetype="audio/ogg; codecs=opus"))
    note.messageContextInfo.messageAssociation.parentMessageKey.ID = "3EBALBUM"
    server.says(note)
    found = await one(rig)

    (media,) = found.media
    assert (media.kind, media.voice, media.duration_s, media.mime_type) == (MediaKind.AUDIO, True, 3.0, "audio/ogg")
    assert found.album == "3EBALBUM"


async def test_a_round_video_can_be_fetched(rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel) -> None:
    video = e2e.VideoMessage(mimetype="video/mp4", mediaKey=server.keep(b"round"), fileLength=5)
    message = e2e.Message(ptvMessage=video)
    server.says(message)
    found = await one(rig)

    assert [piece async for piece in channel.fetch(found.address, found.media[0])] == [b"round"]


@pytest.mark.parametrize(("length", "why"), [(100_000_001, "too large"), (0, "not told")])
async def test_a_file_is_refused_by_its_length_before_it_is_loaded(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel, length: int, why: str
) -> None:
    server.says(e2e.Message(videoMessage=e2e.VideoMessage(mimetype="video/mp4", fileLength=length)))
    found = await one(rig)

    with pytest.raises(PlatformError, match=why):
        [piece async for piece in channel.fetch(found.address, found.media[0])]
    assert server.downloads == []


async def test_places_and_cards_are_read(rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel) -> None:
    server.says(
        e2e.Message(locationMessage=e2e.LocationMessage(degreesLatitude=1.5, degreesLongitude=2.5, name="Home"))
    )
    card = e2e.ContactMessage(displayName="Bob", vcard="BEGIN:VCARD\nTEL;waid=4915199:+49 151 99\nEND:VCARD")
    server.says(e2e.Message(contactMessage=card))
    await rig.until(lambda: len(rig.taken) == 2)

    assert taken(rig)[0].location == SharedLocation(1.5, 2.5, "Home")
    assert taken(rig)[1].contacts == (Contact("Bob", "+4915199"),)


async def test_a_withdrawn_message_and_a_reaction_in_a_group_say_whose_it_was(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    gone = e2e.Message()
    gone.protocolMessage.type, gone.protocolMessage.key.ID = e2e.ProtocolMessage.REVOKE, "3EB0BB"
    gone.protocolMessage.key.participant = f"{EVES_LID}@lid"
    server.says(gone, group=True, by_lid=True)
    liked = e2e.Message(reactionMessage=e2e.ReactionMessage(text="👍"))
    liked.reactionMessage.key.ID, liked.reactionMessage.key.participant = "3EB0CC", f"{MY_LID}@lid"
    server.says(liked, group=True)
    await rig.until(lambda: len(rig.taken) == 2)

    deleted, reacted = taken(rig)
    assert isinstance(deleted, MessageDeleted)
    assert deleted.message_id == f"3EB0BB:{EVE}"
    assert isinstance(reacted, ReactionChanged)
    assert (reacted.message_id, reacted.emoji, reacted.added) == (f"3EB0CC:{ME}", "👍", True)


async def test_a_vote_in_somebody_elses_poll_is_left_out(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    vote = e2e.Message()
    vote.pollUpdateMessage.pollCreationMessageKey.ID = "3EBPOLL"
    server.says(vote)
    server.says(text("after"))
    await rig.until(lambda: "after" in rig.texts())

    assert not any(isinstance(each, PollAnswered) for each in taken(rig))


async def test_who_joins_and_leaves_a_group_is_told_and_its_new_name_is_used(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    event = proto.GroupInfoEvent(JID=split(GROUP), Sender=jid(ADA), Timestamp=int(time.time()))
    event.Name.Name = "The family"
    event.Join.append(jid(EVES_LID, "lid"))
    server.push(event)
    server.says(text(), group=True)
    await rig.until(lambda: len(rig.taken) == 2)

    joined, said = taken(rig)
    assert isinstance(joined, MembershipChanged)
    assert (joined.member, joined.joined, joined.sender) == (f"whatsapp_web:user:{EVE}", True, BY_ADA)
    assert isinstance(said, InboundMessage)
    assert said.group_name == "The family"


async def test_what_is_accepted_is_marked_as_read_and_nothing_else(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    event = server.says(text())
    await rig.until(lambda: server.read == [event.Info.ID])
    rig.refused = True
    server.says(text("not for you"))
    await rig.until(lambda: len(rig.taken) == 2)

    assert server.read == [event.Info.ID]


async def test_a_message_of_a_kind_that_is_not_read_says_so(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    server.says(e2e.Message(eventMessage=e2e.EventMessage(name="Party")))

    assert "eventMessage" in (await one(rig)).text


def test_messages_that_say_nothing_make_none() -> None:
    event = WhatsAppWebDouble().says(e2e.Message(senderKeyDistributionMessage=e2e.SenderKeyDistributionMessage()))

    assert inbound_of(event, Reading("default", ME, {}), ()) is None


def test_wrappers_that_never_end_are_not_followed() -> None:
    message = text("deep")
    for _ in range(50):
        outer = e2e.Message()
        outer.ephemeralMessage.message.CopyFrom(message)
        message = outer

    assert inbound_of(WhatsAppWebDouble().says(message), Reading("default", ME, {}), ()) is None


@pytest.mark.parametrize("reference", ["???", base64.b64encode(b"no message").decode()])
async def test_a_reference_that_is_none_is_refused(rig: Rig, channel: WhatsAppWebChannel, reference: str) -> None:
    media = Media(MediaKind.IMAGE, reference)

    with pytest.raises(PlatformError):
        [piece async for piece in channel.fetch(Address("whatsapp_web", ADA), media)]


@pytest.mark.parametrize(
    ("jid_text", "person"),
    [
        (f"{ADA}@s.whatsapp.net", ADA),
        (f"{ADA}:7@s.whatsapp.net", ADA),
        (f"{ADAS_LID}:7@lid", ADA),
        (f"{EVES_LID}@lid", f"{EVES_LID}@lid"),
    ],
)
def test_people_are_named_without_their_devices(jid_text: str, person: str) -> None:
    assert person_of(jid_text, {f"{ADAS_LID}@lid": ADA}) == person


@pytest.mark.parametrize("peer", ["", "ada", "12@g.us", "123456@evil.example", "1234567@newsletter"])
def test_what_is_no_address_is_refused(peer: str) -> None:
    with pytest.raises(PlatformError):
        jid_from(peer)


def test_a_file_is_only_fetched_from_whatsapp_whatever_address_its_sender_wrote() -> None:
    server = WhatsAppWebDouble()
    message = server.document(b"x", "a.txt", "")
    file = message.documentWithCaptionMessage.message.documentMessage
    file.URL = "http://192.168.1.1/reboot"

    (media,) = _media(unwrap(message))

    kept = e2e.Message.FromString(base64.b64decode(media.reference)).documentMessage
    assert (kept.URL, kept.directPath) == ("", "/x")


@pytest.mark.parametrize("server", ["hosted.lid", "bot", "interop", "msgr"])
def test_the_digits_of_another_network_are_nobodys_phone_number(server: str) -> None:
    assert person_of(f"{ADA}@{server}", {ADAS_LID: ADA}) == f"{ADA}@{server}"
