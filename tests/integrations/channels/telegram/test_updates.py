"""What updates say: who wrote where, to whom, and with what."""

from __future__ import annotations

from typing import Any

import pytest
from telegram import Message, Update, User

from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    InboundMessage,
    MediaKind,
    MembershipChanged,
    PollAnswered,
    ReactionChanged,
)
from integrations.channels.button_values import ButtonValues
from integrations.channels.moved_rooms import MovedRooms
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.telegram.updates import SentPoll, UpdateReader, topic_named
from tests.channels.kit import Heard
from tests.servers.telegram_chats import TelegramChats

ME = {"id": 42, "is_bot": True, "first_name": "Homarus", "username": "Homarus_Bot"}
GROUP = -100123
FILE = {"file_id": "f", "file_unique_id": "u"}
SIZE = {"width": 1, "height": 1}


class Said:
    """Reads what people say in the chats of a server."""

    def __init__(self) -> None:
        self.topics = PersistentMap(Heard(), "topics", 500, str)
        self.polls = PersistentMap(Heard(), "polls", 500, SentPoll)
        kept = (ButtonValues(Heard(), 64), self.polls, self.topics, MovedRooms(Heard()))
        self.reader = UpdateReader("default", User.de_json(ME), *kept)
        self.found: list[Any] = []
        self.chats = TelegramChats(ME, self._update)

    def _update(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        update = {"update_id": 1, kind: body}
        self.found = self.reader.read(Update.de_json(update))
        return update

    def says(self, text: str | None = None, **more: Any) -> InboundMessage:
        """Return how something that is said is read."""
        self.chats.says(text, **more)
        (message,) = self.found
        assert isinstance(message, InboundMessage)
        return message

    def says_nothing(self, text: str | None = None, **more: Any) -> bool:
        """Return whether something that is said means nothing here."""
        self.chats.says(text, **more)
        return self.found == []


@pytest.fixture
def said() -> Said:
    return Said()


def test_a_direct_message_tells_sender_chat_and_time(said: Said) -> None:
    message = said.says("hello 😀")

    assert message.address == Address("telegram", "7")
    assert (message.sender, message.sender_name, message.text) == ("telegram:user:7", "Person 7", "hello 😀")
    assert message.message_id == "100"
    assert message.sent_at is not None


def test_a_name_that_looks_like_a_number_is_no_identity(said: Said) -> None:
    impostor = {"id": 666, "is_bot": False, "first_name": "telegram:user:7", "username": "7"}

    assert said.says("let me in", **{"from": impostor}).sender == "telegram:user:666"


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("@homarus_bot what time is it?", True),
        ("😀😀 what says @HOMARUS_BOT?", True),
        ("@homarus_bot_2 what time is it?", False),
        ("homarus_bot what time is it?", False),
        ("mail me@homarus_bot", False),
        ("/status", True),
        ("/status@homarus_bot", True),
    ],
)
def test_in_a_group_it_is_addressed_by_its_name_and_by_commands(said: Said, text: str, mentioned: bool) -> None:
    message = said.says(text, chat=GROUP)

    assert message.mentioned is mentioned
    assert message.address.chat_type is ChatType.GROUP
    assert message.group_name == f"Group {GROUP}"


def test_a_command_loses_the_name_of_the_bot_and_keeps_what_follows(said: Said) -> None:
    assert said.says("/think@Homarus_Bot high 😀", chat=GROUP).text == "/think high 😀"


def test_a_command_for_another_bot_is_not_ours(said: Said) -> None:
    assert said.says_nothing("/status@other_bot", chat=GROUP)


def test_a_mention_without_a_user_name_addresses_it(said: Said) -> None:
    entity = {"type": "text_mention", "offset": 0, "length": 7, "user": ME}

    assert said.says("Homarus, hello", chat=GROUP, entities=[entity]).mentioned


def test_a_reply_to_it_addresses_it_and_one_to_another_does_not(said: Said) -> None:
    mine = said.chats.send_message({"chat_id": str(said.says("hello", chat=GROUP).address.peer), "text": "hi"})
    other = said.says("something else", chat=GROUP)

    assert said.says("why?", chat=GROUP, reply_to=mine["message_id"]).mentioned
    reply = said.says("what?", chat=GROUP, reply_to=int(other.message_id))
    assert not reply.mentioned
    assert reply.reply_to == other.message_id
    assert reply.quoted is not None
    assert (reply.quoted.text, reply.quoted.sender) == ("something else", "telegram:user:7")


def test_the_message_that_opened_a_topic_is_no_reply(said: Said) -> None:
    opener = {"id": 7, "is_bot": False, "first_name": "Bea"}
    made = {"name": "Garden", "icon_color": 7322096}
    chat = {"id": GROUP, "type": "supergroup"}
    stub = {"message_id": 77, "date": 1, "chat": chat, "from": opener, "forum_topic_created": made}

    message = said.says("hello", chat=GROUP, thread=77, reply_to_message=stub)

    assert (message.address.thread, message.mentioned, message.reply_to) == ("77", False, None)


def test_in_a_topic_that_the_bot_opened_it_is_meant_by_what_replies_to_nobody(said: Said) -> None:
    said.says("hello", chat=GROUP)
    said.chats.forums[GROUP] = True
    topic = said.chats.create_topic({"chat_id": GROUP, "name": "Cats"})["message_thread_id"]

    first = said.says("only the black ones", chat=GROUP, thread=topic)
    reply = said.says("what?", chat=GROUP, thread=topic, reply_to=int(first.message_id))

    assert (first.address.thread, first.mentioned, first.reply_to) == (str(topic), True, None)
    assert (first.group_name, first.topic_name) == (f"Group {GROUP}", "Cats")
    assert (reply.mentioned, reply.reply_to) == (False, first.message_id)


async def test_a_topic_is_called_as_it_was_last_named(said: Said) -> None:
    said.says("hello", chat=GROUP)
    said.chats.forums[GROUP] = True
    topic = said.chats.create_topic({"chat_id": GROUP, "name": "Cats"})["message_thread_id"]
    renamed = said.chats.says(None, chat=GROUP, thread=topic, forum_topic_edited={"name": "Dogs"})
    assert said.found == []

    key, name = topic_named(Message.de_json(renamed))
    await said.topics.put(key, name or "")

    assert said.says("hello", chat=GROUP, thread=topic).topic_name == "Dogs"
    assert said.says("hello", chat=GROUP, thread=77).topic_name is None


def test_the_part_that_was_quoted_is_what_is_quoted(said: Said) -> None:
    first = said.says("a long story about tea")

    message = said.says("this!", reply_to=int(first.message_id), quote={"text": "about tea", "position": 13})

    assert message.quoted is not None
    assert message.quoted.text == "about tea"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"document": FILE | {"file_name": "a.pdf", "mime_type": "application/pdf"}}, MediaKind.FILE),
        ({"audio": FILE | {"duration": 3}}, MediaKind.AUDIO),
        ({"video": FILE | SIZE | {"duration": 3}}, MediaKind.VIDEO),
        ({"video_note": FILE | {"length": 1, "duration": 3}}, MediaKind.VIDEO),
        ({"animation": FILE | SIZE | {"duration": 3}, "document": FILE}, MediaKind.VIDEO),
        (
            {"sticker": FILE | SIZE | {"emoji": "🦞", "type": "regular", "is_animated": False, "is_video": False}},
            MediaKind.STICKER,
        ),
    ],
)
def test_each_kind_of_file_is_announced_with_its_caption(said: Said, fields: dict[str, Any], kind: MediaKind) -> None:
    message = said.says(None, **fields, caption="look")

    (media,) = message.media
    assert (media.kind, media.reference, media.voice, message.text) == (kind, "f", False, "look")


def test_of_a_picture_the_largest_size_is_taken(said: Said) -> None:
    sizes = [{"file_id": str(n), "file_unique_id": str(n), "width": n, "height": n} for n in (90, 1_280, 320)]

    assert [media.reference for media in said.says(None, photo=sizes).media] == ["1280"]


def test_a_voice_message_is_marked_as_one(said: Said) -> None:
    (media,) = said.says(None, voice=FILE | {"duration": 4, "mime_type": "audio/ogg"}).media

    assert (media.kind, media.voice, media.duration_s) == (MediaKind.AUDIO, True, 4)


def test_a_place_and_a_contact_are_shared(said: Said) -> None:
    where = {"latitude": 1.5, "longitude": 2.5}
    place = said.says(None, location=where, venue={"location": where, "title": "Harbour", "address": "Quay 1"})
    contact = said.says(None, contact={"first_name": "Bea", "phone_number": "+49123"})

    assert place.location is not None
    assert (place.location.latitude, place.location.name) == (1.5, "Harbour")
    assert [(each.name, each.phone) for each in contact.contacts] == [("Bea", "+49123")]


def test_a_poll_of_somebody_is_read_as_its_words(said: Said) -> None:
    options = [{"text": each, "voter_count": 0, "persistent_id": each} for each in ("yes", "no")]
    flags = dict.fromkeys(("is_closed", "is_anonymous", "allows_multiple_answers", "allows_revoting"), False)
    poll = {"id": "p", "type": "regular", "total_voter_count": 0, "members_only": False, **flags}
    poll |= {"question": "Tea?", "options": options}

    assert said.says(None, poll=poll).text == "Tea?\n- yes\n- no"


def test_who_speaks_for_a_chat_is_that_chat(said: Said) -> None:
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
    chat = {"id": GROUP, "type": "supergroup", "title": "Family"}

    message = said.says("hello", chat=GROUP, sender_chat=chat, **{"from": anonymous})

    assert message.sender == f"telegram:chat:{GROUP}"


def test_bots_and_what_is_forwarded_from_a_linked_channel_are_not_heard(said: Said) -> None:
    assert said.says_nothing("buy now", chat=GROUP, **{"from": {"id": 99, "is_bot": True, "first_name": "Spam"}})
    assert said.says_nothing("hello", chat=GROUP, **{"from": ME})
    assert said.says_nothing(
        "a post", chat=GROUP, sender_chat={"id": -1009, "type": "channel"}, is_automatic_forward=True
    )


def test_an_album_is_meant_as_a_whole_when_one_caption_names_the_assistant(said: Said) -> None:
    picture = [FILE | SIZE]

    parts = [
        said.says(text, chat=GROUP, photo=picture, media_group_id=album)
        for text, album in (("@homarus_bot what is this?", "a"), (None, "a"), (None, "b"))
    ]

    assert [(part.album, part.mentioned) for part in parts] == [("a", True), ("a", True), ("b", False)]


def test_a_reaction_that_replaces_another_is_two_events(said: Said) -> None:
    said.chats.reacts(7, 100, "👍", before="❤")

    events = [event for event in said.found if isinstance(event, ReactionChanged)]
    assert [(event.emoji, event.added) for event in events] == [("❤", False), ("👍", True)]
    assert len({event.event_id for event in events}) == 2


def test_a_button_tells_its_value_and_who_pressed_it(said: Said) -> None:
    said.says("hello")
    keyboard = '{"inline_keyboard": [[{"text": "Yes", "callback_data": "approve"}]]}'
    sent = said.chats.send_message({"chat_id": "7", "text": "May I?", "reply_markup": keyboard})

    query = said.chats.presses(7, "Yes", who=8)

    (event,) = said.found
    assert isinstance(event, ButtonPressed)
    assert (event.event_id, event.sender, event.value) == (f"button:{query}", "telegram:user:8", "approve")
    assert event.message_id == str(sent["message_id"])


async def test_a_vote_is_heard_where_the_poll_is(said: Said) -> None:
    where = Address("telegram", str(GROUP), chat_type=ChatType.GROUP, thread="77")
    await said.polls.put("p", SentPoll("p", where, ("tea", "coffee")))

    said.chats.votes("p", 1)

    (event,) = said.found
    assert isinstance(event, PollAnswered)
    assert (event.address, event.choices) == (where, ("coffee",))
    said.chats.votes("another", 1)
    assert said.found == []


def test_joins_and_leaves_name_who_came_and_went(said: Said) -> None:
    people = [{"id": 8, "is_bot": False, "first_name": "Bea"}, ME]
    said.chats.says(None, chat=GROUP, new_chat_members=people)
    joined = list(said.found)
    said.chats.says(None, chat=GROUP, left_chat_member=people[0])
    left = list(said.found)
    said.chats.bot_joins(GROUP)

    events = [each for each in (*joined, *left, *said.found) if isinstance(each, MembershipChanged)]
    assert [(event.member, event.joined) for event in events] == [
        ("telegram:user:8", True),
        ("telegram:user:8", False),
        ("telegram:user:42", True),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"pinned_message": {"message_id": 1, "date": 0, "chat": {"id": GROUP, "type": "supergroup"}}},
        {"forum_topic_created": {"name": "Garden", "icon_color": 7322096}},
        {"new_chat_title": "Family"},
        {"migrate_to_chat_id": -100124},
    ],
)
def test_what_the_service_says_is_no_message(said: Said, fields: dict[str, Any]) -> None:
    assert said.says_nothing(None, chat=GROUP, **fields)


def test_what_is_newer_than_the_library_does_not_hide_what_is_known(said: Said) -> None:
    message = said.says(
        "hello",
        chat=GROUP,
        field_of_tomorrow={"a": [1]},
        entities=[{"type": "hologram", "offset": 0, "length": 5, "depth": 3}],
        reply_markup={"inline_keyboard": [[{"text": "x", "teleport": {}}]]},
    )

    assert message.text == "hello"
    assert said.reader.read(Update.de_json({"update_id": 2, "kind_of_tomorrow": {"id": 1}})) == []


def test_a_live_location_that_moves_is_no_edit(said: Said) -> None:
    who, where = {"id": 7, "is_bot": False, "first_name": "Bea"}, {"latitude": 1.5, "longitude": 2.5}
    moved = {"message_id": 5, "date": 1, "chat": {"id": 7, "type": "private"}, "from": who, "location": where}

    assert said.reader.read(Update.de_json({"update_id": 1, "edited_message": moved})) == []
