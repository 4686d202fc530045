"""Sending to Telegram: what a message becomes there, and what each refusal means."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError
from hub.messaging.capabilities import ListedCommand
from hub.messaging.contract import (
    Address,
    Button,
    ChatType,
    Delivery,
    DeliveryState,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
    PollAnswered,
)
from integrations.channels.telegram.channel import Telegram
from tests.channels.kit import Heard, HurriedClock
from tests.channels.telegram_rig import telegram_channel
from tests.servers.telegram_chats import Json
from tests.servers.telegram_server import BAD_GATEWAY, DELETED_AT_ONCE, HANGS, Fault, TelegramServer
from tests.until import until

ADA = Address("telegram", "7")
GROUP = -100123


def to(chat: int = 7, thread: str | None = None) -> Address:
    """Return the address of a chat."""
    return Address("telegram", str(chat), chat_type=ChatType.GROUP if chat < 0 else ChatType.DIRECT, thread=thread)


async def send(bot: Telegram, text: str, address: Address = ADA, **more: Any) -> Delivery:
    return await bot.send(OutboundMessage("outbox-1", address, text, **more))


def last(server: TelegramServer, chat: int = 7) -> Json:
    """The newest message of a chat."""
    return list(server.chats.messages[chat].values())[-1]


def files(folder: Path, *kinds: MediaKind) -> tuple[OutboundMedia, ...]:
    found = []
    for number, kind in enumerate(kinds):
        path = folder / f"{number}"
        path.write_bytes(f"{kind} {number}".encode())
        found.append(OutboundMedia(kind, str(path), "image/png", f"{number}.png"))
    return tuple(found)


async def test_markdown_is_shown_as_what_it_means(server: TelegramServer, bot: Telegram) -> None:
    await send(bot, "**bold** and `x < y` & [here](https://example.org/?a=1&b=2)")

    assert server.chats.shown(7) == ["bold and x < y & here"]
    assert [each["type"] for each in last(server)["entities"]] == ["bold", "code", "text_link"]
    assert last(server)["link_preview_options"] == {"is_disabled": True}


async def test_words_that_look_like_markup_stay_words(server: TelegramServer, bot: Telegram) -> None:
    await send(bot, "<b>not bold</b> & <script>")

    assert server.chats.shown(7) == ["<b>not bold</b> & <script>"]


async def test_a_message_without_sound_and_with_a_reply_is_one(server: TelegramServer, bot: Telegram) -> None:
    asked = server.chats.says("well?")

    await send(bot, "yes", reply_to=str(asked["message_id"]), silent=True)

    assert last(server)["reply_to_message"]["text"] == "well?"


async def test_an_answer_goes_into_its_topic_but_never_names_the_general_one(
    server: TelegramServer, bot: Telegram
) -> None:
    server.chats.says("hello", chat=GROUP, thread=77)

    await send(bot, "in the topic", to(GROUP, "77"))
    await send(bot, "in general", to(GROUP, "1"))

    assert server.chats.shown(GROUP, 77) == ["in the topic"]
    assert "message_thread_id" not in last(server, GROUP)


async def test_a_deleted_topic_is_said_and_the_message_goes_to_the_group(server: TelegramServer, bot: Telegram) -> None:
    server.chats.says("hello", chat=GROUP)

    delivery = await send(bot, "**bold**", to(GROUP, "99"))

    assert delivery.state is DeliveryState.DELIVERED
    assert server.chats.shown(GROUP) == ["(The topic was deleted.)\n\nbold"]


async def test_what_was_said_in_a_topic_that_is_closed_goes_to_the_group(server: TelegramServer, bot: Telegram) -> None:
    server.chats.says("hello", chat=GROUP, thread=77)
    server.chats.closed.add((GROUP, 77))

    delivery = await send(bot, "done", to(GROUP, "77"))

    assert delivery.state is DeliveryState.DELIVERED
    assert server.chats.shown(GROUP) == ["(The topic was deleted.)\n\ndone"]


async def test_a_topic_is_opened_in_a_forum_where_the_bot_may(server: TelegramServer, bot: Telegram) -> None:
    server.chats.says("hello", chat=GROUP)
    for rights, refusal in ((None, "the chat is not a forum"), (False, "not enough rights to create a topic")):
        if rights is not None:
            server.chats.forums[GROUP] = rights
        with pytest.raises(HubError, match=refusal):
            await bot.open_thread(to(GROUP), "Cats")
    server.chats.forums[GROUP] = True

    opened = await bot.open_thread(to(GROUP), "Cats")
    await send(bot, "I count", opened)

    assert opened.thread is not None
    assert opened.topic
    assert server.chats.shown(GROUP, int(opened.thread))[1:] == ["I count"]


async def test_a_picture_has_its_caption(server: TelegramServer, bot: Telegram, tmp_path: Path) -> None:
    await send(bot, "**look**", media=files(tmp_path, MediaKind.IMAGE))

    assert server.chats.shown(7) == ["look"]
    assert list(server.chats.files.values()) == [b"image 0"]


async def test_a_voice_message_is_one(server: TelegramServer, bot: Telegram, tmp_path: Path) -> None:
    (file,) = files(tmp_path, MediaKind.AUDIO)

    await send(bot, "", media=(OutboundMedia(MediaKind.AUDIO, file.path, "audio/ogg", "a.ogg", voice=True),))

    assert "voice" in last(server)


async def test_a_file_that_is_gone_is_refused(bot: Telegram, tmp_path: Path) -> None:
    gone = OutboundMedia(MediaKind.IMAGE, str(tmp_path / "gone"), "image/png")

    assert (await send(bot, "look", media=(gone,))).state is DeliveryState.PERMANENT


async def test_a_text_without_chat_or_too_long_is_refused(server: TelegramServer, bot: Telegram) -> None:
    assert (await send(bot, "hello", to(8))).state is DeliveryState.PERMANENT
    assert (await send(bot, "x" * 4_096)).state is DeliveryState.DELIVERED
    assert (await send(bot, "😀" * 2_049)).state is DeliveryState.PERMANENT


async def test_a_person_who_blocked_the_bot_is_not_written_to_again(server: TelegramServer, bot: Telegram) -> None:
    server.chats.blocked.add(7)

    delivery = await send(bot, "hello")

    assert delivery.state is DeliveryState.PERMANENT
    assert "blocked" in str(delivery.error)


async def test_a_group_that_became_another_while_nobody_listened_is_written_to_at_the_next_attempt(
    server: TelegramServer, bot: Telegram
) -> None:
    server.chats.says("hello", chat=GROUP)
    server.chats.says("hello", chat=-100999)
    server.chats.migrated[GROUP] = -100999

    first = await send(bot, "hello", to(GROUP))
    second = await send(bot, "hello", to(GROUP))

    assert (first.state, second.state) == (DeliveryState.TRANSIENT, DeliveryState.DELIVERED)
    assert server.chats.shown(-100999) == ["hello"]


async def test_no_answer_in_time_may_mean_that_it_arrived(server: TelegramServer, bot: Telegram) -> None:
    server.fail("sendMessage", HANGS)

    async with asyncio.timeout(30):
        delivery = await send(bot, "hello")

    assert delivery.state is DeliveryState.UNKNOWN


async def test_a_message_that_was_sent_and_is_gone_is_not_sent_again(server: TelegramServer, bot: Telegram) -> None:
    server.fail("sendMessage", DELETED_AT_ONCE)

    delivery = await send(bot, "hello")

    assert last(server)["text"] == "hello"
    assert delivery.state is DeliveryState.UNKNOWN
    assert "immediately deleted" in str(delivery.error)


async def test_a_server_that_is_not_there_was_surely_sent_nothing(
    tmp_path: Path, clock: HurriedClock, heard: Heard
) -> None:
    server = TelegramServer()
    await server.start()
    bot = telegram_channel(server, tmp_path, clock)
    await server.stop()
    await bot.start(heard)

    delivery = await send(bot, "hello")
    probed = await bot.probe()
    await bot.stop()

    assert (delivery.state, probed["ok"]) == (DeliveryState.TRANSIENT, False)
    assert "cannot be reached" in str(delivery.error)
    assert (await send(bot, "hello")).state is DeliveryState.TRANSIENT


async def test_the_caption_of_a_picture_is_edited(server: TelegramServer, bot: Telegram, tmp_path: Path) -> None:
    sent = await send(bot, "before", media=files(tmp_path, MediaKind.IMAGE))

    delivery = await bot.edit(ADA, sent.platform_ids[0], "**after**")

    assert delivery.state is DeliveryState.DELIVERED
    assert server.chats.shown(7) == ["after"]


async def test_an_edit_whose_markup_is_refused_is_plain(server: TelegramServer, bot: Telegram) -> None:
    sent = await send(bot, "before")
    server.fail("editMessageText", Fault(400, "Bad Request: can't parse entities: no"))

    await bot.edit(ADA, sent.platform_ids[0], "**after**")

    assert server.chats.shown(7) == ["**after**"]


async def test_what_is_gone_can_be_deleted_but_not_edited(bot: Telegram) -> None:
    assert (await bot.delete(ADA, "9999")).state is DeliveryState.DELIVERED
    assert (await bot.edit(ADA, "9999", "after")).state is DeliveryState.PERMANENT


async def test_a_reaction_that_telegram_does_not_have_is_refused(server: TelegramServer, bot: Telegram) -> None:
    message = server.chats.says("hello")

    assert (await bot.react(ADA, str(message["message_id"]), "🦞")).state is DeliveryState.PERMANENT


async def test_an_emoji_is_written_as_telegram_has_it(server: TelegramServer, bot: Telegram) -> None:
    message = server.chats.says("hello")

    await bot.react(ADA, str(message["message_id"]), "❤️")

    assert server.chats.reactions[7, message["message_id"]] == [{"type": "emoji", "emoji": "❤"}]


async def test_a_row_of_many_buttons_is_broken(server: TelegramServer, bot: Telegram) -> None:
    row = tuple(Button(f"{n}", f"{n}") for n in range(10))

    await send(bot, "choose", buttons=(row,))

    assert [len(each) for each in last(server)["reply_markup"]["inline_keyboard"]] == [8, 2]


async def test_long_values_of_buttons_survive_a_restart(
    server: TelegramServer, bot: Telegram, tmp_path: Path, clock: HurriedClock, heard: Heard
) -> None:
    await send(bot, "May I?", buttons=((Button("Yes", "y" * 100),),))
    await bot.stop()
    again = telegram_channel(server, tmp_path, clock)
    await again.start(heard)

    server.chats.presses(7, "Yes")

    await until(lambda: [getattr(each, "value", "") for each in heard.inbound] == ["y" * 100])
    await again.stop()


async def test_a_vote_names_what_was_chosen(server: TelegramServer, bot: Telegram, heard: Heard) -> None:
    server.chats.says("hello", chat=GROUP, thread=77)
    await bot.poll(OutboundPoll("1", to(GROUP, "77"), "Tea?", ("yes", "no"), multiple=True))
    poll = last(server, GROUP)["poll"]

    server.chats.votes(poll["id"], 0, 1)
    [vote] = await until(lambda: [each for each in heard.inbound if isinstance(each, PollAnswered)])

    assert (vote.choices, vote.address) == (("yes", "no"), to(GROUP, "77"))
    assert poll["is_anonymous"] is False


async def test_a_draft_grows_with_its_markup(server: TelegramServer, bot: Telegram) -> None:
    await bot.draft(ADA, "draft-1", "An")
    await bot.draft(ADA, "draft-1", "An **answer**")

    assert [text for _, _, text in server.chats.drafts] == ["An", "An answer"]
    assert len({number for _, number, _ in server.chats.drafts}) == 1


async def test_typing_that_fails_disturbs_nobody(server: TelegramServer, bot: Telegram) -> None:
    server.fail("sendChatAction", BAD_GATEWAY)

    await bot.typing(ADA)
    await bot.typing(to(7, "1"))

    assert server.chats.actions == [(7, "typing")]


async def test_commands_are_published_once(
    server: TelegramServer, bot: Telegram, tmp_path: Path, clock: HurriedClock
) -> None:
    commands = [ListedCommand("help", "show this list"), ListedCommand("status", "x" * 300)]

    await bot.publish_commands(commands)
    await bot.publish_commands(commands)

    assert [each["command"] for each in server.chats.commands] == ["help", "status"]
    assert len(server.chats.commands[1]["description"]) == 256
    assert server.calls["setmycommands"] == 1


async def test_a_file_is_fetched_in_pieces(server: TelegramServer, bot: Telegram) -> None:
    content = bytes(range(256)) * 1_000
    file = server.chats.file(content)

    pieces = [piece async for piece in bot.fetch(ADA, Media(MediaKind.FILE, file["file_id"]))]

    assert b"".join(pieces) == content
    assert len(pieces) > 1


@pytest.mark.parametrize("reference", ["gone", "large"])
async def test_a_file_that_cannot_be_had_is_an_error_without_the_token(
    server: TelegramServer, bot: Telegram, reference: str
) -> None:
    server.chats.files["large"] = b"x" * 20_000_001

    with pytest.raises(HubError) as found:
        _ = [piece async for piece in bot.fetch(ADA, Media(MediaKind.FILE, reference))]

    assert server.token not in str(found.value)


@pytest.mark.parametrize(
    ("fault", "state", "text"),
    [
        (Fault(400, "Bad Request: chat not found"), DeliveryState.PERMANENT, "Telegram: Bad Request: chat not found"),
        (Fault(401, "Unauthorized"), DeliveryState.PERMANENT, "Telegram: Unauthorized"),
        (Fault(404, "Not Found"), DeliveryState.PERMANENT, "Telegram: Not Found"),
        (Fault(409, "Conflict: no"), DeliveryState.PERMANENT, "Telegram: Conflict: no"),
        (Fault(413, "Request Entity Too Large"), DeliveryState.PERMANENT, "Telegram: Request Entity Too Large"),
        (Fault(429, "Too Many Requests"), DeliveryState.TRANSIENT, "Telegram: Too Many Requests"),
        (Fault(500, "Internal Server Error"), DeliveryState.TRANSIENT, "Telegram: Internal Server Error"),
        (Fault(200, body=b'{"ok": false}'), DeliveryState.TRANSIENT, "Telegram: sendMessage failed (HTTP 200)"),
        (Fault(200, body=b"<html>"), DeliveryState.UNKNOWN, "Telegram: sendMessage failed (HTTP 200)"),
        (Fault(200, body=b'{"ok": tr'), DeliveryState.UNKNOWN, "Telegram: sendMessage failed (HTTP 200)"),
        (Fault(502, body=b'{"error": "x"}'), DeliveryState.UNKNOWN, "Telegram: sendMessage failed (HTTP 502)"),
        (Fault(429, body=b"<html>"), DeliveryState.TRANSIENT, "Telegram: sendMessage failed (HTTP 429)"),
        (Fault(403, body=b"<html>"), DeliveryState.PERMANENT, "Telegram: sendMessage failed (HTTP 403)"),
    ],
)
async def test_a_refusal_means_what_telegram_itself_says_and_keeps_its_words(
    server: TelegramServer, bot: Telegram, fault: Fault, state: DeliveryState, text: str
) -> None:
    server.fail("sendMessage", fault)

    delivery = await send(bot, "hello")

    assert (delivery.state, delivery.error) == (state, text)


async def test_telegram_says_how_long_a_message_must_wait(server: TelegramServer, bot: Telegram) -> None:
    server.fail("sendMessage", Fault(429, "Too Many Requests: retry after 7", {"retry_after": 7}))

    delivery = await send(bot, "hello")

    assert (delivery.state, delivery.retry_after_s) == (DeliveryState.TRANSIENT, 7)


async def test_an_answer_of_telegram_that_has_another_shape_may_mean_that_it_arrived(
    server: TelegramServer, bot: Telegram
) -> None:
    server.fail("sendMessage", Fault(200, body=json.dumps({"ok": True, "result": {}}).encode()))

    assert (await send(bot, "hello")).state is DeliveryState.UNKNOWN


async def test_a_bot_that_is_logged_out_sends_nothing(bot: Telegram, server: TelegramServer) -> None:
    await bot.stop()

    delivery = await send(bot, "hello")

    assert delivery.state is DeliveryState.TRANSIENT
    assert "logged out" in str(delivery.error)
