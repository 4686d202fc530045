"""What only Feishu has: cards that grow, topics, voice, tokens that end, names by other requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hub.messaging.contract import (
    Address,
    Button,
    ChatType,
    CommandUsed,
    DeliveryState,
    InboundMessage,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    OutboundMedia,
    OutboundMessage,
    Quote,
    ReactionChanged,
)
from integrations.channels.feishu.cards import TEXT_BYTES
from integrations.channels.feishu.channel import FeishuChannel
from tests.channels.feishu_rig import FeishuRig
from tests.channels.kit import ADA, EVE, Heard, HurriedClock
from tests.servers.feishu_server import ADA as ADAS_ID, GROUP, GROUP_NAME, FeishuServer
from tests.until import until

TO_ADA = Address("feishu", ADAS_ID)
TO_GROUP = Address("feishu", GROUP, chat_type=ChatType.GROUP)
CONTENT = "/elements/answer/content"


async def send(channel: FeishuChannel, text: str = "hello", to: Address = TO_ADA, id: str = "id-1", **more: Any) -> str:
    delivery = await channel.send(OutboundMessage(id, to, text, **more))
    assert delivery.state is DeliveryState.DELIVERED, delivery
    return delivery.platform_ids[0]


async def until_heard(heard: Heard, count: int = 1) -> Any:
    await until(lambda: len(heard.inbound) >= count)
    return heard.inbound[-1]


# --- cards that grow ---


async def test_an_answer_grows_in_its_card_and_is_finished_when_nothing_more_comes(
    channel: FeishuChannel, server: FeishuServer, clock: HurriedClock
) -> None:
    id = await send(channel, "It")

    for text in ("It grows", "It grows and ends."):
        assert (await channel.edit(TO_ADA, id, text)).state is DeliveryState.DELIVERED
    (card,) = server.cards.values()
    await until(lambda: card["settings"][-1] is False)

    assert server.shown(server.chat_with(ADAS_ID)) == ["It grows and ends."]
    assert server.calls("PATCH", f"/messages/{id}") == []
    changes = server.calls("PUT", CONTENT)
    assert len({each["uuid"] for each in changes}) == len(changes)
    assert sorted(changes, key=lambda each: each["sequence"]) == changes


async def test_a_card_whose_streaming_ended_is_replaced_as_a_whole(
    channel: FeishuChannel, server: FeishuServer
) -> None:
    id = await send(channel, "It")
    server.fail(CONTENT, 400, code=300309)

    assert (await channel.edit(TO_ADA, id, "It ends")).state is DeliveryState.DELIVERED

    assert server.shown(server.chat_with(ADAS_ID)) == ["It ends"]
    assert len(server.calls("PATCH", f"/messages/{id}")) == 1


async def test_an_app_without_the_permission_for_cards_asks_once(channel: FeishuChannel, server: FeishuServer) -> None:
    id = await send(channel, "It")
    server.fail("id_convert", 400, code=99991672)

    for text in ("It grows", "It ends"):
        assert (await channel.edit(TO_ADA, id, text)).state is DeliveryState.DELIVERED

    assert len(server.calls("POST", "id_convert")) == 1
    assert server.shown(server.chat_with(ADAS_ID)) == ["It ends"]


async def test_an_edit_takes_the_buttons_away(channel: FeishuChannel, server: FeishuServer) -> None:
    id = await send(channel, "May I?", buttons=((Button("Yes", "y"),),))

    await channel.edit(TO_ADA, id, "Allowed")

    assert len(json.loads(server.messages[id]["content"])["body"]["elements"]) == 1
    assert server.cards == {}


async def test_an_edit_whose_markup_is_refused_is_plain(channel: FeishuChannel, server: FeishuServer) -> None:
    id = await send(channel, "It", buttons=((Button("Yes", "y"),),))

    await channel.edit(TO_ADA, id, "|a|\n|---|\n" * 6)
    await channel.edit(TO_ADA, id, "**x**")
    server.fail(f"/messages/{id}", 400, code=230099)
    await channel.edit(TO_ADA, id, "**x**")

    assert json.loads(server.messages[id]["content"])["body"]["elements"][0]["tag"] == "div"


async def test_an_edit_that_failed_for_now_says_so(channel: FeishuChannel, server: FeishuServer) -> None:
    id = await send(channel, "It")
    server.fail(CONTENT, 429, code=99991400)

    delivery = await channel.edit(TO_ADA, id, "It ends")

    assert (delivery.state, delivery.retry_after_s) == (DeliveryState.TRANSIENT, 1.0)


@pytest.mark.parametrize("filler", ['"', "\n", "\\", "家"])
async def test_the_longest_text_fits_a_card_however_it_is_escaped(
    channel: FeishuChannel, server: FeishuServer, filler: str
) -> None:
    text = "a" + filler * ((TEXT_BYTES - 2) // len(filler.encode())) + "b"

    await send(channel, text)

    assert server.shown(server.chat_with(ADAS_ID)) == [text]


# --- out ---


async def test_a_voice_note_a_picture_and_a_film_are_shown_as_such(
    channel: FeishuChannel, server: FeishuServer, tmp_path: Path
) -> None:
    sent = {"audio/ogg": MediaKind.AUDIO, "image/png": MediaKind.IMAGE, "video/mp4": MediaKind.VIDEO}
    sent |= {"audio/mpeg": MediaKind.AUDIO, "application/pdf": MediaKind.FILE}
    for number, (mime, kind) in enumerate(sent.items()):
        path = tmp_path / f"{number}"
        path.write_bytes(mime.encode())
        await send(channel, "", id=f"m{number}", media=(OutboundMedia(kind, str(path), mime, voice=True),))

    shown = [each["msg_type"] for each in server.messages.values()]
    assert shown == ["audio", "image", "media", "file", "file"]
    assert [kind for kind, _ in server.uploaded.values()] == ["opus", "image", "mp4", "stream", "pdf"]


async def test_a_file_that_is_refused_is_not_sent(channel: FeishuChannel, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    media = (OutboundMedia(MediaKind.FILE, str(tmp_path / "empty"), "text/plain"),)

    delivery = await channel.send(OutboundMessage("id-1", TO_ADA, "", media=media))

    assert delivery.state is DeliveryState.PERMANENT


async def test_a_message_into_a_topic_is_an_answer_there(channel: FeishuChannel, server: FeishuServer) -> None:
    root = (await server.say("a topic", chat=GROUP, thread_id="omt_1"))["message"]["message_id"]

    id = await send(channel, to=Address("feishu", GROUP, chat_type=ChatType.GROUP, thread=root))

    assert (server.messages[id]["root_id"], server.messages[id]["thread_id"]) == (root, "omt_1")


async def test_an_answer_to_what_was_taken_back_is_a_message_of_its_own(
    channel: FeishuChannel, server: FeishuServer
) -> None:
    first = (await server.say("hello"))["message"]["message_id"]
    server.messages[first]["deleted"] = True

    id = await send(channel, reply_to=first)

    assert "root_id" not in server.messages[id]


async def test_a_message_that_is_sent_twice_with_one_id_is_shown_once(
    channel: FeishuChannel, server: FeishuServer
) -> None:
    assert await send(channel) == await send(channel)
    assert len(server.messages) == 1


async def test_what_is_gone_already_counts_as_taken_back(channel: FeishuChannel) -> None:
    id = await send(channel)

    for _ in range(2):
        assert (await channel.delete(TO_ADA, id)).state is DeliveryState.DELIVERED
    assert (await channel.delete(TO_ADA, "om_none")).state is DeliveryState.PERMANENT


async def test_only_the_bots_own_reactions_are_taken_back(channel: FeishuChannel, server: FeishuServer) -> None:
    id = (await server.say("hello"))["message"]["message_id"]
    theirs = {"operator_type": "user", "operator_id": "ou_x"}
    server.messages[id]["reactions"].append({"reaction_id": "r", "operator": theirs})

    await channel.react(TO_ADA, id, "🎉")
    await channel.react(TO_ADA, id, None)

    assert [each["reaction_id"] for each in server.messages[id]["reactions"]] == ["r"]


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (230002, DeliveryState.PERMANENT),
        (230020, DeliveryState.TRANSIENT),
        (230049, DeliveryState.TRANSIENT),
        (99991672, DeliveryState.PERMANENT),
    ],
)
async def test_refusals_are_sorted_by_their_codes(
    channel: FeishuChannel, server: FeishuServer, code: int, state: DeliveryState
) -> None:
    server.fail("/im/v1/messages", 400, code=code)

    delivery = await channel.send(OutboundMessage("id-1", TO_ADA, "hello"))

    assert delivery.state is state
    assert f"(code {code})" in str(delivery.error)


# --- tokens ---


async def test_a_token_is_renewed_before_it_ends_and_when_it_is_refused(
    channel: FeishuChannel, server: FeishuServer, clock: HurriedClock
) -> None:
    await send(channel, id="id-1")
    server.tokens.clear()
    await send(channel, id="id-2")
    await clock.sleep(3_000)
    await clock.sleep(3_000)
    await clock.sleep(1_000)
    await send(channel, id="id-3")

    assert len(server.calls("POST", "/internal")) == 3
    assert len(server.shown(server.chat_with(ADAS_ID))) == 3


async def test_a_lost_answer_about_a_token_leaves_the_message_unsent(
    channel: FeishuChannel, server: FeishuServer
) -> None:
    server.tokens.clear()
    server.fail("/internal")

    delivery = await channel.send(OutboundMessage("id-1", TO_ADA, "hello"))

    assert delivery.state is DeliveryState.TRANSIENT


async def test_a_secret_that_is_refused_takes_a_person(
    channel: FeishuChannel, server: FeishuServer, heard: Heard
) -> None:
    server.revoke()

    await until(lambda: any("docs/channels/feishu.md" in each for each in heard.errors))


async def test_a_server_that_is_busy_is_asked_again(channel: FeishuChannel, server: FeishuServer, heard: Heard) -> None:
    server.fail("/ws/endpoint", 200, code=1000040350)
    server.cut()
    await until(lambda: server.connections == 2)
    await server.say("hello")

    assert (await until_heard(heard)).text == "hello"


# --- in ---


async def test_an_event_in_parts_is_one_message(channel: FeishuChannel, server: FeishuServer, heard: Heard) -> None:
    server.parts = 7
    await server.say("in seven parts")

    assert (await until_heard(heard)).text == "in seven parts"
    await until(lambda: server.answers == [200])


async def test_a_message_has_the_names_of_its_sender_and_group_which_are_asked_once(
    channel: FeishuChannel, server: FeishuServer, platform: FeishuRig, heard: Heard
) -> None:
    for _ in range(3):
        await platform.says("hello", group=True)
    found = await until_heard(heard, 3)

    assert (found.sender_name, found.group_name, found.mentioned, found.text) == ("Ada", GROUP_NAME, True, "hello")
    assert len(server.calls("GET", f"/users/{ADAS_ID}")) == 1
    assert len(server.calls("GET", f"/chats/{GROUP}")) == 1


async def test_a_group_that_got_another_name_is_asked_again(
    channel: FeishuChannel, server: FeishuServer, platform: FeishuRig, heard: Heard
) -> None:
    await platform.says("hello", group=True)
    await until_heard(heard)
    server.groups[GROUP] = "The large family"
    await server.tell("im.chat.updated_v1", {"chat_id": GROUP})
    await platform.says("hello", group=True)

    assert (await until_heard(heard, 2)).group_name == "The large family"


async def test_nothing_is_asked_about_a_stranger(
    channel: FeishuChannel, server: FeishuServer, platform: FeishuRig, heard: Heard
) -> None:
    heard.strangers.append(platform.identity(EVE))
    before = len(server.asked)
    parent = (await server.say("first", kind="text", who=ADAS_ID, chat=GROUP))["message"]["message_id"]
    await until_heard(heard)
    before = len(server.asked)

    await server.say("let me in", "on_eve", GROUP, parent_id=parent, root_id=parent)
    await until_heard(heard, 2)

    assert len(server.asked) == before


async def test_without_the_permission_for_names_a_message_has_none(
    channel: FeishuChannel, server: FeishuServer, heard: Heard
) -> None:
    server.scopes["contact:user.base:readonly"] = 0
    await server.say("one")
    await server.say("two")

    assert (await until_heard(heard, 2)).sender_name is None
    assert len(server.calls("GET", f"/users/{ADAS_ID}")) == 1


async def test_what_a_message_answers_is_quoted(channel: FeishuChannel, server: FeishuServer, heard: Heard) -> None:
    first = (await server.say("the first"))["message"]["message_id"]
    await server.say("the second", parent_id=first, root_id=first)
    found = await until_heard(heard, 2)

    assert (found.reply_to, found.quoted) == (first, Quote("the first"))


async def test_what_a_message_answers_is_quoted_only_if_it_can_be_had(
    channel: FeishuChannel, server: FeishuServer, heard: Heard
) -> None:
    await server.say("the second", parent_id="om_gone", root_id="om_gone")

    assert (await until_heard(heard)).quoted is None


async def test_a_reaction_is_told_in_its_chat_whoever_wrote_the_message(
    channel: FeishuChannel, server: FeishuServer, heard: Heard
) -> None:
    direct = (await server.say("hello"))["message"]["message_id"]
    group = (await server.say("hello", chat=GROUP))["message"]["message_id"]
    reaction = {"reaction_type": {"emoji_type": "THUMBSUP"}, "operator_type": "user", "user_id": server.ids(ADAS_ID)}

    for id, added in ((direct, "created"), (group, "deleted")):
        await server.tell(f"im.message.reaction.{added}_v1", {"message_id": id, **reaction})
    await server.tell("im.message.reaction.created_v1", {"message_id": group, **reaction, "operator_type": "app"})
    await until_heard(heard, 4)

    told = [each for each in heard.inbound if isinstance(each, ReactionChanged)]
    assert [(each.address, each.emoji, each.added) for each in told] == [(TO_ADA, "👍", True), (TO_GROUP, "👍", False)]


async def test_a_message_that_was_taken_back_and_who_came_and_went_are_told(
    channel: FeishuChannel, server: FeishuServer, heard: Heard
) -> None:
    await server.say("hello")
    await server.tell("im.message.recalled_v1", {"message_id": "om_1", "chat_id": server.chat_with(ADAS_ID)})
    users = {"chat_id": GROUP, "users": [{"name": "Eve", "user_id": server.ids("on_eve")}]}
    await server.tell("im.chat.member.user.added_v1", users)
    await server.tell("im.chat.member.user.deleted_v1", users)
    await server.tell(
        "application.bot.menu_v6", {"operator": {"operator_id": server.ids(ADAS_ID)}, "event_key": "status"}
    )
    await until_heard(heard, 5)

    recalled, came, went, command = heard.inbound[1:]
    assert isinstance(recalled, MessageDeleted)
    assert isinstance(came, MembershipChanged)
    assert isinstance(went, MembershipChanged)
    assert isinstance(command, CommandUsed)
    assert (recalled.message_id, recalled.address) == ("om_1", TO_ADA)
    assert (came.member, came.joined, went.joined, came.address) == ("feishu:user:on_eve", True, False, TO_GROUP)
    assert command.name == "status"


@pytest.mark.parametrize(
    "payload",
    [b"", b"[]", b"null", b'{"header": []}', b'{"header": {"event_type": "im.message.receive_v1", "event_id": "e"}}'],
)
async def test_an_event_that_is_none_is_acknowledged_and_left_out(
    channel: FeishuChannel, server: FeishuServer, heard: Heard, payload: bytes
) -> None:
    await server.deliver(payload)
    await server.say("hello")

    assert (await until_heard(heard)).text == "hello"
    await until(lambda: server.answers == [200, 200])


async def test_a_file_is_fetched_by_its_message_and_key(
    channel: FeishuChannel, server: FeishuServer, platform: FeishuRig, heard: Heard
) -> None:
    await platform.says("", media=b"content")
    found = await until_heard(heard)
    assert isinstance(found, InboundMessage)

    content = b"".join([piece async for piece in channel.fetch(found.address, found.media[0])])

    assert (content, server.fetched) == (b"content", ["file_v3_a"])


# --- what it knows ---


async def test_the_rights_that_are_missing_are_named(channel: FeishuChannel, server: FeishuServer) -> None:
    server.scopes = {
        "im:message": 1,
        "im:message.p2p_msg": 1,
        "im:resource": 0,
        "im:chat": 1,
        "im:message.group_msg": 1,
    }

    missing = (await channel.probe())["missing"]

    assert [each.split()[2].rstrip(",") for each in missing] == [
        "im:resource",
        "contact:user.base:readonly",
        "cardkit:card:write",
    ]


async def test_groups_are_found_by_a_part_of_their_names(channel: FeishuChannel, server: FeishuServer) -> None:
    server.groups |= {"oc_2": "The Familiar", "oc_3": "Work"}

    found = await channel.look_up("famil", 5)

    assert [(each.peer, each.name) for each in found] == [(GROUP, GROUP_NAME), ("oc_2", "The Familiar")]
    assert len(await channel.look_up("", 2)) == 2


async def test_with_whom_a_chat_is_is_still_known_after_a_restart(
    channel: FeishuChannel, server: FeishuServer, platform: FeishuRig, heard: Heard, tmp_path: Path, clock: HurriedClock
) -> None:
    await platform.says("hello", ADA)
    await until_heard(heard)
    await channel.stop()
    again = platform.channel(tmp_path, clock)
    await again.start(heard)
    before = len(server.calls("GET", server.chat_with(ADAS_ID)))
    await server.tell("im.message.recalled_v1", {"message_id": "om_1", "chat_id": server.chat_with(ADAS_ID)})
    found = await until_heard(heard, 2)
    await again.stop()

    assert found.address == TO_ADA
    assert len(server.calls("GET", server.chat_with(ADAS_ID))) == before
