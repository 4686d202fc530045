"""Feishu's events, as the hub's messages: what people wrote, and where."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as some

from hub.messaging.contract import Address, Button, ChatType, InboundMessage, MediaKind, SharedLocation
from integrations.channels.acknowledging import MALFORMED
from integrations.channels.feishu.cards import card_of, markdown_of
from integrations.channels.feishu.emoji import emoji_of, name_of
from integrations.channels.feishu.events import FeishuRoom, FeishuScene, command_of, message_of, room_of, text_of

ME = "ou_me"
GROUP = FeishuRoom("oc_1", None, "The family")


def event(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"message_id": "om_1", "chat_id": "oc_1", "chat_type": "group", "message_type": kind, **more}
    sender = {"sender_id": {"open_id": "ou_ada", "union_id": "on_ada"}, "sender_type": "user"}
    return {"sender": sender, "message": {**message, "content": json.dumps(content), "create_time": "1700000000500"}}


def mention(number: int, id: str, name: str) -> dict[str, Any]:
    return {"key": f"@_user_{number}", "id": {"open_id": id}, "name": name}


def read(kind: str, content: Any, sent: tuple[str, ...] = (), **more: Any) -> InboundMessage:
    found = message_of(event(kind, content, **more), FeishuScene(GROUP, "work", ME, sent))
    assert found is not None
    return found


def test_a_text_in_a_group_has_its_sender_and_the_names_of_who_is_mentioned() -> None:
    mentions = [mention(1, ME, "Homarus"), *(mention(number, "ou_eve", f"Eve{number}") for number in range(2, 12))]
    found = read("text", {"text": "@_user_1 ask @_user_11 and @_user_2, @_all"}, mentions=mentions)

    assert found.address == Address("feishu", "oc_1", "work", chat_type=ChatType.GROUP)
    assert (found.sender, found.text, found.mentioned) == ("feishu:user:on_ada", "ask @Eve11 and @Eve2, @all", True)
    assert (found.sent_at, found.group_name, found.message_id) == (1_700_000_000.5, "The family", "om_1")


def test_what_mentions_somebody_else_or_everybody_is_not_addressed_to_the_bot() -> None:
    assert not read("text", {"text": "@_user_1 @_all"}, mentions=[mention(1, "ou_eve", "Eve")]).mentioned


def test_an_answer_to_the_bot_is_addressed_to_it() -> None:
    found = read("text", {"text": "no"}, sent=("om_0",), parent_id="om_0", root_id="om_0")

    assert (found.mentioned, found.reply_to, found.address.thread) == (True, "om_0", None)


def test_a_topic_is_named_by_its_first_message() -> None:
    inside = read("text", {"text": "a"}, thread_id="omt_1", root_id="om_0", parent_id="om_0")
    first = read("text", {"text": "a"}, thread_id="omt_1")

    assert (inside.address.thread, inside.reply_to) == ("om_0", None)
    assert first.address.thread == "om_1"


def test_a_direct_message_goes_by_the_person() -> None:
    direct = event("text", {"text": "hi"}, chat_type="p2p")

    assert room_of(direct).address("default") == Address("feishu", "on_ada")


def test_a_rich_text_is_its_words_with_links_and_its_pictures() -> None:
    content = {
        "title": "Plan",
        "content": [
            [{"tag": "text", "text": "see "}, {"tag": "a", "href": "https://a.example", "text": "this"}],
            [{"tag": "at", "user_id": "@_user_1", "user_name": "Eve"}, {"tag": "emotion", "emoji_type": "THUMBSUP"}],
            [{"tag": "img", "image_key": "img_1"}, {"tag": "media", "file_key": "file_1"}],
            [{"tag": "code_block", "language": "PYTHON", "text": "1 + 1"}],
        ],
    }
    found = read("post", content, mentions=[mention(1, "ou_eve", "Eve")])

    assert found.text == "Plan\nsee this (https://a.example)\n@Eve👍\n```python\n1 + 1\n```"
    assert [each.reference for each in found.media] == ["om_1/img_1/image", "om_1/file_1/file"]


def test_each_kind_of_attachment_is_announced() -> None:
    voice = read("audio", {"file_key": "f", "duration": 2500}).media[0]
    video = read("media", {"file_key": "f", "image_key": "i", "file_name": "a.mp4", "duration": 1000}).media[0]
    picture = read("image", {"image_key": "i"}).media[0]
    file = read("file", {"file_key": "f", "file_name": "a.pdf"}).media[0]

    assert (voice.kind, voice.voice, voice.duration_s, voice.mime_type) == (MediaKind.AUDIO, True, 2.5, "audio/ogg")
    assert (video.kind, video.name) == (MediaKind.VIDEO, "a.mp4")
    assert (picture.kind, picture.reference) == (MediaKind.IMAGE, "om_1/i/image")
    assert (file.kind, file.name, file.reference) == (MediaKind.FILE, "a.pdf", "om_1/f/file")


def test_a_place_and_what_has_no_content_here() -> None:
    place = read("location", {"name": "Home", "longitude": "13.4", "latitude": "52.5"})

    assert (place.location, place.text) == (SharedLocation(52.5, 13.4, "Home"), "")
    assert read("sticker", {"file_key": "f"}).text == "(a message of the kind 'sticker', without its content)"


@pytest.mark.parametrize("kind", ["app", "bot"])
def test_what_a_program_wrote_is_left_out(kind: str) -> None:
    written = event("text", {"text": "hi"})
    written["sender"]["sender_type"] = kind

    assert message_of(written, FeishuScene(GROUP, "default", ME)) is None


def test_an_entry_of_the_menu_is_a_command() -> None:
    chosen = {"operator": {"operator_id": {"union_id": "on_ada", "open_id": "ou_ada"}}, "event_key": "/model fast"}

    found = command_of(chosen, "e", "default")

    assert (found.name, found.arguments, found.address.peer) == ("model", "fast", "on_ada")


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from(["text", "content", "tag", "key"]), inner)
    ),
    max_leaves=8,
)


@given(some.sampled_from(["text", "post", "image", "audio", "location", "x"]), JSON, JSON)
def test_a_malformed_message_is_one_of_the_errors_that_are_left_out(kind: str, content: Any, mentions: Any) -> None:
    try:
        message_of(event(kind, content, mentions=mentions), FeishuScene(GROUP, "default", ME))
    except MALFORMED:
        return


def test_an_answer_can_neither_call_everybody_nor_show_a_picture() -> None:
    written = markdown_of("hi <at id=all></at> ![x](http://e/?q) 1 < 2 `<at id=all>` \x07\n```\n<at id=all>![]\n```")

    assert "<at" not in written
    assert "![x]" not in written
    assert "\x07" not in written
    assert "1 < 2" in written
    assert "&#60;at id=all>&#60;/at> [x](http://e/?q)" in written


def test_a_card_has_a_text_and_rows_of_buttons() -> None:
    card = card_of("**May I?**", ((Button("Yes", "y"), Button("No", "n")),))
    text, row = card["body"]["elements"]

    assert (text["tag"], text["content"]) == ("markdown", "**May I?**")
    assert [each["elements"][0]["behaviors"][0]["value"] for each in row["columns"]] == [
        {"pressed": "y"},
        {"pressed": "n"},
    ]


def test_emoji_have_names_and_others_keep_theirs() -> None:
    assert (name_of("❤️"), emoji_of("HEART"), name_of(":Typing:"), emoji_of("HappyDragon")) == (
        "HEART",
        "❤",
        "Typing",
        ":HappyDragon:",
    )


def test_text_of_a_quote_knows_mentions_by_their_names_too() -> None:
    assert text_of("text", {"text": "@_user_1 hi"}, [{"key": "@_user_1", "id": "ou_x", "name": "Eve"}]) == "@Eve hi"
