"""What DingTalk's robot is told, as the hub's messages; and texts as DingTalk takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as some

from hub.messaging.contract import Address, ChatType, MediaKind, OutboundMedia, Quote
from integrations.channels.acknowledging import MALFORMED
from integrations.channels.dingtalk.events import SessionWebhook, message_of, session_of
from integrations.channels.dingtalk.outgoing import (
    TEXT_BYTES,
    markdown_of,
    media_body,
    robot_body,
    title_of,
    upload_kind,
)
from integrations.channels.ogg_opus import ogg_ms
from tests.servers.dingtalk_server import ADA, BODY_BYTES, GROUP, DingTalkServer

SERVER = DingTalkServer()
SERVER.root = "https://oapi.dingtalk.com"
SOUND = b"OggS\x00\x02" + bytes(22) + b"OpusHead" + bytes(90) + b"OggS\x00\x04" + (48_000 * 3).to_bytes(8, "little")


def test_a_direct_message_goes_by_the_person() -> None:
    found = message_of(SERVER.message("hello"), "work")

    assert (found.address, found.sender) == (Address("dingtalk", ADA, "work"), f"dingtalk:user:{ADA}")
    assert (found.text, found.sender_name, found.mentioned, found.group_name) == ("hello", "Ada", True, None)


def test_a_message_in_a_group_has_its_name_and_no_room_before_it() -> None:
    found = message_of(SERVER.message("hello", group=True), "default")

    assert found.address == Address("dingtalk", GROUP, chat_type=ChatType.GROUP)
    assert (found.text, found.mentioned, found.group_name) == ("hello", True, "The family")


def test_somebody_of_another_organisation_is_known_by_their_other_id() -> None:
    message = SERVER.message("hello")
    del message["senderStaffId"]

    assert message_of(message, "default").sender == f"dingtalk:user:$:LWCP_v1:${ADA}"


def test_a_rich_text_is_its_words_and_pictures() -> None:
    parts = [{"text": "see"}, {"type": "picture", "downloadCode": "c1"}, {"text": "\nthis"}]
    found = message_of(SERVER.message(msgtype="richText", content={"richText": parts}), "default")

    assert found.text == "see\nthis"
    assert [(each.kind, each.reference) for each in found.media] == [(MediaKind.IMAGE, "c1")]


def test_a_voice_message_has_its_sound_and_the_words_that_dingtalk_heard() -> None:
    content = {"downloadCode": "c", "recognition": "good morning", "duration": 2500}
    found = message_of(SERVER.message(msgtype="audio", content=content), "default")

    (sound,) = found.media
    assert (found.text, sound.voice, sound.duration_s, sound.mime_type) == ("good morning", True, 2.5, "audio/amr")


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("picture", {"downloadCode": "c"}, (MediaKind.IMAGE, None)),
        ("video", {"downloadCode": "c", "videoType": "mp4", "duration": 3}, (MediaKind.VIDEO, None)),
        ("file", {"downloadCode": "c", "fileName": "a.pdf"}, (MediaKind.FILE, "a.pdf")),
    ],
)
def test_attachments_are_announced(kind: str, content: Any, expected: Any) -> None:
    (media,) = message_of(SERVER.message(msgtype=kind, content=content), "default").media

    assert (media.kind, media.name) == expected


def test_what_a_message_answers_is_quoted() -> None:
    replied = {"msgType": "text", "msgId": "m0", "content": {"text": "the first"}}
    text = {"content": "no", "isReplyMsg": True, "repliedMsg": replied}
    found = message_of(SERVER.message() | {"text": text}, "default")

    assert (found.reply_to, found.quoted) == ("m0", Quote("the first"))


def test_what_has_no_content_here_says_so() -> None:
    assert message_of(SERVER.message(msgtype="chatRecord"), "default").text.startswith("(a message of the kind")


def test_a_conversation_is_answered_at_an_address_for_a_while() -> None:
    assert session_of({"sessionWebhook": "https://x", "sessionWebhookExpiredTime": "1500"}) == SessionWebhook(
        "https://x", 1.5
    )
    assert session_of({"sessionWebhook": "https://x"}) is None


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from(["text", "content", "type"]), inner)
    ),
    max_leaves=8,
)
KEYS = some.sampled_from(
    ["text", "content", "createAt", "conversationType", "senderStaffId", "sessionWebhookExpiredTime"]
)


@given(some.sampled_from(["text", "richText", "audio", "file", "x"]), some.dictionaries(KEYS, JSON))
def test_a_malformed_message_is_one_of_the_errors_that_are_left_out(kind: str, wrong: Any) -> None:
    data = SERVER.message("hello", msgtype=kind) | wrong
    try:
        message_of(data, "default")
        session_of(data)
    except MALFORMED:
        return


# --- out ---


def test_lines_stay_lines_and_tables_are_blocks_of_code() -> None:
    written = markdown_of("one\ntwo\n\nthree\n\n```\na\nb\n```\n\n|a|b|\n|---|---|\n|1|2|")

    assert written.startswith("one  \ntwo\n\nthree\n\n```\na\nb\n```")
    assert "a | b\n" in written
    assert "|---|" not in written


def test_a_text_can_neither_show_a_picture_nor_write_for_its_reader() -> None:
    written = markdown_of("![x](http://e/?q) [yes](dtmd://dingtalkclient/sendMessage?content=x)")

    assert "![" not in written
    assert "dtmd:" not in written


def test_a_title_is_the_first_words_without_marks() -> None:
    assert title_of("# **Hello** `you`\n\nthere") == "Hello you there"
    assert len(title_of("word " * 100)) == 40


@pytest.mark.parametrize("filler", ['"', "\n", "\\", "家"])
def test_the_longest_text_fits_however_it_is_escaped(filler: str) -> None:
    body = robot_body("a" + filler * ((TEXT_BYTES - 2) // len(filler.encode())) + "b")

    assert len(json.dumps(body, ensure_ascii=False).encode()) < BODY_BYTES


def test_a_voice_note_has_its_length() -> None:
    assert ogg_ms(SOUND) == 3_000
    unknown = SOUND[:-8] + b"\xff" * 8
    assert [ogg_ms(each) for each in (b"", b"OggS", b"RIFF" + SOUND, SOUND[:-1], unknown)] == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("kind", "mime", "content", "expected"),
    [
        (MediaKind.AUDIO, "audio/ogg; codecs=opus", SOUND, "voice"),
        (MediaKind.AUDIO, "audio/ogg", b"no sound", "file"),
        (MediaKind.AUDIO, "audio/mpeg", b"x", "file"),
        (MediaKind.IMAGE, "image/png", b"x", "image"),
        (MediaKind.IMAGE, "image/webp", b"x", "file"),
        (MediaKind.VIDEO, "video/mp4", b"x", "file"),
    ],
)
def test_what_dingtalk_does_not_show_or_play_is_a_file(
    kind: MediaKind, mime: str, content: bytes, expected: str
) -> None:
    assert upload_kind(OutboundMedia(kind, "a", mime), content) == expected


def test_a_file_has_its_name_and_ending() -> None:
    sent = json.loads(media_body("file", "@1", "Letter.PDF", b"")["msgParam"])

    assert sent == {"mediaId": "@1", "fileName": "Letter.PDF", "fileType": "pdf"}
