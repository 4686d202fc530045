"""Slack against a local server of its platform: what comes in, what goes out, and what happens when either fails."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.capabilities import Capability, ListedCommand, capabilities_of
from hub.messaging.contract import (
    Address,
    Button,
    ButtonPressed,
    ChannelState,
    ChatType,
    CommandUsed,
    Delivery,
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
    ReactionChanged,
)
from integrations.channels.slack.channel import SCOPES, SlackChannel
from tests.integrations.channels.rig import Rig
from tests.servers.slack_server import ADA, APP_TOKEN, BOT_TOKEN, DM, ME, ROOM, TEAM, SlackServer

BY_ADA = f"slack:user:{TEAM}/{ADA}"
IN_ROOM = Address("slack", ROOM, chat_type=ChatType.CHANNEL, space=TEAM, account_id=f"{TEAM}/{ME}")
WITH_ADA = Address("slack", ADA, space=TEAM, account_id=f"{TEAM}/{ME}")


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    async with SlackServer() as server:
        yield server


@pytest.fixture
async def channel(rig: Rig, slack: SlackServer) -> SlackChannel:
    channel = app(rig, slack)
    await rig.add(channel)
    return channel


def app(rig: Rig, slack: SlackServer, bot_token: str = BOT_TOKEN, app_token: str = APP_TOKEN) -> SlackChannel:
    return SlackChannel("default", Secret(bot_token), Secret(app_token), slack.root, rig.clock, ping_s=1_000.0)


def out(text: str = "hello", address: Address = IN_ROOM, **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), address, text, **more)


async def one(rig: Rig) -> Any:
    await rig.until(lambda: bool(rig.taken))
    return rig.taken[0]


# --- in ---


async def test_a_message_is_acknowledged_once_it_was_taken(rig: Rig, slack: SlackServer, channel: SlackChannel) -> None:
    rig.full = True
    said = await slack.say("hi &amp; <https://a.b|there>, <@U2|ben>")
    await rig.until(lambda: "disk is full" in rig.error(channel))
    assert slack.acknowledged == []
    rig.full = False

    message = await one(rig)

    assert message.address == IN_ROOM
    assert (message.message_id, message.sender, message.mentioned) == (said["ts"], BY_ADA, False)
    assert message.text == "hi & there (https://a.b), @ben"
    await rig.until(lambda: len(slack.acknowledged) == 1)
    assert rig.texts() == [message.text]


async def test_a_direct_message_goes_by_the_person(rig: Rig, slack: SlackServer, channel: SlackChannel) -> None:
    await slack.say("hi", DM)

    message = await one(rig)

    assert (message.address, message.mentioned) == (WITH_ADA, True)


async def test_a_mention_that_comes_as_two_events_is_one_message(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    said = await slack.say(f"<@{ME}> /status")
    await slack.event({**said, "type": "app_mention", "channel": ROOM})
    await rig.until(lambda: rig.duplicates == 1)

    message = await one(rig)

    assert (message.text, message.mentioned) == ("/status", True)


async def test_an_answer_in_a_thread_of_ours_addresses_us_and_a_shouted_command_is_one(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    thread = replace(IN_ROOM, thread="1.000001")
    await channel.send(out("first", thread))
    await slack.say("!status now", thread_ts="1.000001")

    message = await one(rig)

    assert (message.address, message.mentioned) == (thread, True)
    assert message.text == "/status now"


async def test_what_bots_and_slack_itself_say_is_not_heard(rig: Rig, slack: SlackServer, channel: SlackChannel) -> None:
    await slack.say("beep", bot_id="B2")
    await slack.say("me", who=ME)
    await slack.say("joined", subtype="channel_join")
    await slack.say("ada")

    await one(rig)

    assert rig.texts() == ["ada"]


async def test_edits_deletes_reactions_and_joins_are_events_and_a_preview_is_none(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    place = {"channel": ROOM, "channel_type": "channel"}
    message = {"type": "message", "user": ADA, "ts": "5.0", "text": "b"}
    changed = {"type": "message", "subtype": "message_changed", **place}
    await slack.event({**changed, "message": message})
    await slack.event({**changed, "message": {**message, "edited": {"user": ADA, "ts": "6.0"}}})
    deleted = {"type": "message", "subtype": "message_deleted", "deleted_ts": "5.0", "previous_message": message}
    await slack.event({**deleted, **place})
    reaction = {"user": ADA, "item": {"type": "message", "channel": ROOM, "ts": "5.0"}}
    await slack.event({"type": "reaction_added", "reaction": "+1", **reaction}, "Ev1")
    await slack.event({"type": "reaction_removed", "reaction": "blob", **reaction}, "Ev2")
    await slack.event({"type": "member_joined_channel", "user": ADA, "channel": ROOM, "team": TEAM}, "Ev3")

    await rig.until(lambda: len(rig.taken) == 5)

    assert rig.taken == [
        MessageEdited(IN_ROOM, "5.0:6.0", BY_ADA, message_id="5.0", text="b"),
        MessageDeleted(IN_ROOM, "5.0:deleted", BY_ADA, message_id="5.0"),
        ReactionChanged(IN_ROOM, "Ev1", BY_ADA, message_id="5.0", emoji="👍"),
        ReactionChanged(IN_ROOM, "Ev2", BY_ADA, message_id="5.0", emoji=":blob:", added=False),
        MembershipChanged(IN_ROOM, "Ev3", BY_ADA, member=BY_ADA, joined=True),
    ]


async def test_commands_and_buttons_come_in(rig: Rig, slack: SlackServer, channel: SlackChannel) -> None:
    await channel.send(out(buttons=((Button("Yes", "/approve 1"),),)))
    message = slack.messages[ROOM][-1]
    action = {**message["blocks"][1]["elements"][0], "action_ts": "7.0"}
    who = {"user": {"id": ADA, "team_id": TEAM}, "channel": {"id": ROOM}}
    await slack.envelope("interactive", {"type": "block_actions", **who, "message": message, "actions": [action]})
    given = {"team_id": TEAM, "user_id": ADA, "channel_id": ROOM, "text": "model opus"}
    await slack.envelope("slash_commands", {**given, "command": "/homarus", "trigger_id": "t1"})
    await slack.envelope("slash_commands", {**given, "command": "/note", "trigger_id": "t2"})

    await rig.until(lambda: len(slack.acknowledged) == 3)

    assert rig.taken == [
        ButtonPressed(IN_ROOM, "7.0:0:0", BY_ADA, message_id=message["ts"], value="/approve 1"),
        CommandUsed(IN_ROOM, "t1", BY_ADA, name="model", arguments="opus"),
        CommandUsed(IN_ROOM, "t2", BY_ADA, name="note", arguments="model opus"),
    ]


async def test_a_voice_message_is_fetched_with_the_token_and_a_sign_in_page_is_none(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    clip = {"id": "F1", "mimetype": "video/mp4", "subtype": "slack_audio", "size": 3, "duration_ms": 1500}
    slack.files["F1"] = {**clip, "url_private": f"http://{slack.address}/files/F1"}
    slack.contents["F1"] = b"abc"
    await slack.say("", subtype="file_share", files=[clip])

    media = (await one(rig)).media[0]

    assert media == Media(MediaKind.AUDIO, "F1", "video/mp4", size_bytes=3, duration_s=1.5, voice=True)
    assert [piece async for piece in channel.fetch(IN_ROOM, media)] == [b"abc"]
    slack.files["F1"]["url_private"] = "http://127.0.0.1:1/elsewhere"
    with pytest.raises(HubError, match="not on its servers"):
        await anext(channel.fetch(IN_ROOM, media))


async def test_a_file_is_followed_with_the_token_to_slacks_own_servers_alone(
    slack: SlackServer, channel: SlackChannel
) -> None:
    slack.files["F1"] = {"id": "F1", "mimetype": "image/png", "url_private": f"http://{slack.address}/files/F1"}
    slack.contents["F2"], media = b"abc", Media(MediaKind.IMAGE, "F1")
    slack.moved["F1"] = "/files/F2"

    assert [piece async for piece in channel.fetch(IN_ROOM, media)] == [b"abc"]
    for place, says in (("http://127.0.0.1:1/elsewhere", "not on its servers"), ("/files/F1", "redirected too often")):
        slack.moved["F1"] = place
        with pytest.raises(HubError, match=says):
            await anext(channel.fetch(IN_ROOM, media))


async def test_a_file_without_a_possible_address_cannot_be_had(slack: SlackServer, channel: SlackChannel) -> None:
    slack.files["F1"] = {"id": "F1", "mimetype": "image/png", "url_private": "https://[/F1"}

    with pytest.raises(HubError, match="the address of a file is none"):
        await anext(channel.fetch(IN_ROOM, Media(MediaKind.IMAGE, "F1")))


# --- the connection ---


async def test_a_broken_connection_loses_nothing(rig: Rig, slack: SlackServer, channel: SlackChannel) -> None:
    await slack.say("1")
    await one(rig)
    slack.cut()
    await slack.say("2")
    await slack.say("3", heard=False)

    await rig.until(lambda: rig.texts() == ["1", "2", "3"] and rig.duplicates >= 1)

    assert slack.connections == 2


async def test_a_renewed_connection_reads_no_history(rig: Rig, slack: SlackServer, channel: SlackChannel) -> None:
    await slack.say("1")
    await one(rig)
    read = len(slack.asked("conversations.history"))
    await slack.frame({"type": "disconnect", "reason": "refresh_requested"})
    await rig.until(lambda: slack.connections == 2)
    await slack.say("2")

    await rig.until(lambda: rig.texts() == ["1", "2"])

    assert len(slack.asked("conversations.history")) == read


async def test_rooms_and_threads_are_followed_over_a_restart_however_slack_slows_it_down(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    await slack.say("0")
    await slack.say(f"<@{ME}> t", thread_ts="1.000001")
    await rig.until(lambda: len(rig.texts()) == 2)
    await rig.remove(channel)
    for number in range(1, 301):
        await slack.say(str(number), heard=False)
    await slack.say("in the thread", thread_ts="1.000001", heard=False)
    slack.fail("conversations.history", 429, retry_after=20)

    await rig.add(app(rig, slack))

    await rig.until(lambda: rig.texts() == ["0", "t", *(str(number) for number in range(1, 301)), "in the thread"])


async def test_malformed_frames_and_events_are_left_out(rig: Rig, slack: SlackServer, channel: SlackChannel) -> None:
    await slack.frame("{not json")
    await slack.frame("[]")
    await slack.event({"type": "message", "channel": ROOM})
    await slack.envelope("interactive", {"type": "block_actions"})
    await slack.say("fine")

    await rig.until(lambda: rig.texts() == ["fine"])

    assert slack.connections == 1


async def test_slack_is_answered_while_what_was_missed_is_read_and_new_messages_come_after_it(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    await slack.say("1")
    await one(rig)
    await rig.remove(channel)
    await slack.say("missed", heard=False)
    slack.messages[ROOM].remove(await slack.say("new"))
    slack.impatient = True

    await rig.add(app(rig, slack))

    await rig.until(lambda: rig.texts() == ["1", "missed", "new"])


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        ({"app_token": "wrong"}, "Slack refused a token"),
        ({"bot_token": "wrong"}, "Slack refused a token"),
        ({}, "Socket"),
    ],
)
async def test_what_takes_a_person_is_said_and_not_tried_again(
    rig: Rig, slack: SlackServer, tokens: dict[str, str], says: str
) -> None:
    channel = app(rig, slack, **tokens)

    await rig.add(channel, connected=not tokens)
    if not tokens:
        await slack.frame({"type": "disconnect", "reason": "link_disabled"})
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert says in rig.error(channel)


# --- out ---


async def test_a_message_is_posted_in_slacks_markup_and_its_thread(slack: SlackServer, channel: SlackChannel) -> None:
    sent = await channel.send(out("**a** <b>", replace(IN_ROOM, thread="1.000001")))

    posted = slack.messages[ROOM][0]
    assert sent == Delivery(DeliveryState.DELIVERED, (posted["ts"],))
    assert (posted["text"], posted["thread_ts"]) == ("*a* &lt;b&gt;", "1.000001")
    assert (posted["unfurl_links"], posted["unfurl_media"]) == (False, False)
    assert (await channel.send(out("hi", WITH_ADA))).state is DeliveryState.DELIVERED
    assert slack.messages[DM][0]["text"] == "hi"


async def test_files_are_uploaded_and_shared_with_the_text(
    tmp_path: Path, slack: SlackServer, channel: SlackChannel
) -> None:
    (tmp_path / "a.txt").write_bytes(b"A")
    media = OutboundMedia(MediaKind.FILE, str(tmp_path / "a.txt"), "text/plain", "list.txt")
    gone = OutboundMedia(MediaKind.FILE, str(tmp_path / "b.txt"), "text/plain")

    sent = await channel.send(out("see", media=(media,)))
    failed = await channel.send(out("see", media=(gone,)))

    assert (sent.state, failed.state) == (DeliveryState.DELIVERED, DeliveryState.PERMANENT)
    assert (slack.contents, [each["text"] for each in slack.messages[ROOM]]) == ({"F1": b"A"}, ["see"])


async def test_a_message_is_edited_reacted_to_and_deleted(slack: SlackServer, channel: SlackChannel) -> None:
    id = (await channel.send(out("a", buttons=((Button("Yes", "1"),),)))).platform_ids[0]
    message = slack.messages[ROOM][0]

    await channel.edit(IN_ROOM, id, "b")
    for emoji in ("👍", "👍", ":blob:"):
        assert (await channel.react(IN_ROOM, id, emoji)).state is DeliveryState.DELIVERED
    reacted = [each["name"] for each in message["reactions"]]
    await channel.react(IN_ROOM, id, None)

    assert (message["text"], message["blocks"]) == ("b", [])
    assert (reacted, message["reactions"]) == (["+1", "blob"], [])
    for _ in range(2):
        assert (await channel.delete(IN_ROOM, id)).state is DeliveryState.DELIVERED
    assert (await channel.edit(IN_ROOM, id, "c")).state is DeliveryState.PERMANENT
    assert capabilities_of(channel) == frozenset(Capability) - {Capability.DRAFT}


async def vote(slack: SlackServer, option: int, who: str = ADA, at: str = "") -> None:
    message = next(each for each in slack.messages[ROOM] if each.get("blocks"))
    action = {**message["blocks"][1]["elements"][option], "action_ts": at or slack.new_ts()}
    about = {"type": "block_actions", "user": {"id": who, "team_id": TEAM}, "channel": {"id": ROOM}}
    await slack.envelope("interactive", {**about, "message": message, "actions": [action]})


def counts(slack: SlackServer) -> list[str]:
    message = next(each for each in slack.messages[ROOM] if each.get("blocks"))
    return [each["text"]["text"] for each in message["blocks"][1]["elements"]]


async def votes_for(rig: Rig, *all_so_far: tuple[int, ...]) -> None:
    await rig.until(lambda: [each.numbers for each in rig.taken if isinstance(each, PollAnswered)] == list(all_so_far))


async def test_votes_are_counted_once_each_also_after_a_restart(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    opened = await channel.poll(OutboundPoll("p", IN_ROOM, "Tea?", ("yes", "no")))
    await vote(slack, 0)
    await votes_for(rig, (0,))
    await rig.until(lambda: counts(slack) == ["yes (1)", "no (0)"])
    await rig.remove(channel)
    await rig.add(app(rig, slack))

    await vote(slack, 1, at="9.0")
    await votes_for(rig, (0,), (1,))
    await vote(slack, 1, at="9.0")
    await vote(slack, 1, "U666")
    await votes_for(rig, (0,), (1,), (1,))
    await rig.until(lambda: counts(slack) == ["yes (0)", "no (2)"])
    await vote(slack, 1, at="10.0")
    await votes_for(rig, (0,), (1,), (1,), ())

    await rig.until(lambda: counts(slack) == ["yes (0)", "no (1)"])
    assert rig.duplicates == 1
    assert rig.taken[0].poll_id == opened.platform_ids[0]  # type: ignore[union-attr]


async def test_of_many_options_several_are_chosen_where_the_poll_says_so(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    await channel.poll(OutboundPoll("p", IN_ROOM, "Which?", ("a", "b", "c"), multiple=True))

    await vote(slack, 2)
    await vote(slack, 0)
    await votes_for(rig, (2,), (0, 2))
    await vote(slack, 2)
    await votes_for(rig, (2,), (0, 2), (0,))

    too_many = OutboundPoll("q", IN_ROOM, "Which?", tuple(map(str, range(26))))
    assert (await channel.poll(too_many)).state is DeliveryState.PERMANENT


async def test_a_vote_in_a_poll_that_nobody_remembers_is_none(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    await channel.poll(OutboundPoll("p", IN_ROOM, "Tea?", ("yes", "no")))
    slack.messages[ROOM][0]["ts"] = "1.000001"

    await vote(slack, 0)
    await rig.until(lambda: len(slack.acknowledged) == 1)

    assert rig.taken == []


async def test_a_status_is_shown_below_the_last_message_and_ends_with_the_answer(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    await channel.typing(IN_ROOM)
    said = await slack.say("hello")
    await one(rig)

    await channel.typing(IN_ROOM)
    await channel.send(out())
    await rig.until(lambda: len(slack.statuses) == 2)

    assert [(each["thread_ts"], bool(each["status"])) for each in slack.statuses] == [
        (said["ts"], True),
        (said["ts"], False),
    ]


async def test_an_app_that_may_show_no_status_is_not_asked_again(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    slack.assistant = False
    await slack.say("hello")
    await one(rig)

    for _ in range(3):
        await channel.typing(IN_ROOM)

    assert len(slack.asked("assistant.threads.setStatus")) == 1


async def test_the_home_of_the_app_says_who_it_is_and_what_it_understands(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    await channel.publish_commands([ListedCommand("new", "begin a fresh conversation")])

    for tab in ("messages", "home"):
        await slack.event({"type": "app_home_opened", "user": ADA, "channel": DM, "tab": tab})
    await rig.until(lambda: len(slack.acknowledged) == 2)

    texts = [each["text"]["text"] for each in slack.views[ADA]["blocks"]]
    assert texts == ["homarus", "!new  begin a fresh conversation"]
    assert len(slack.asked("views.publish")) == 1


@pytest.mark.parametrize(
    ("fault", "state", "posted"),
    [
        ({"status": 429, "retry_after": 7}, DeliveryState.TRANSIENT, 0),
        ({"status": 200, "body": {"ok": False, "error": "internal_error"}, "done": True}, DeliveryState.UNKNOWN, 1),
        ({"status": 200, "body": {"ok": False, "error": "service_unavailable"}}, DeliveryState.TRANSIENT, 0),
        ({"status": 500, "body": {"ok": False, "error": "anything"}}, DeliveryState.TRANSIENT, 0),
        ({"status": 503, "body": "<html>"}, DeliveryState.UNKNOWN, 0),
        ({"done": True}, DeliveryState.UNKNOWN, 1),
        ({"status": 200, "body": "{broken", "done": True}, DeliveryState.UNKNOWN, 1),
        ({"status": 200, "body": {"ok": False, "error": "is_archived"}}, DeliveryState.PERMANENT, 0),
        ({"status": 200, "body": {"ok": False, "error": "token_revoked"}}, DeliveryState.PERMANENT, 0),
    ],
)
async def test_a_failure_says_whether_to_send_again_and_the_history_whether_it_arrived(
    rig: Rig, slack: SlackServer, channel: SlackChannel, fault: dict[str, Any], state: DeliveryState, posted: int
) -> None:
    message, since = out("once"), time.time()
    await channel.send(out("once"))
    slack.fail("chat.postMessage", **fault)

    failed = await channel.send(message)
    found = await channel.find(message, since)

    assert (failed.state, len(slack.messages[ROOM]) - 1) == (state, posted)
    assert failed.retry_after_s == (7 if fault.get("status") == 429 else None)
    assert failed.error
    assert (found.platform_ids if found else None) == ((slack.messages[ROOM][-1]["ts"],) if posted else None)


async def test_without_a_server_nothing_was_sent(rig: Rig, slack: SlackServer, channel: SlackChannel) -> None:
    assert (await channel.probe())["id"] == f"{TEAM}/{ME}"
    await slack.__aexit__()

    assert not (await channel.probe())["ok"]
    assert (await channel.send(out())).state is DeliveryState.TRANSIENT
    with pytest.raises(HubError):
        await channel.find(out(), 0.0)
    await rig.until(lambda: rig.state(channel) is ChannelState.DISCONNECTED)


async def test_a_probe_says_which_scopes_the_app_has_and_lacks(slack: SlackServer, channel: SlackChannel) -> None:
    lacking = await channel.probe()
    slack.scopes = ",".join(SCOPES)
    whole = await channel.probe()

    assert lacking["rights"] == ["It has the scopes channels:read, chat:write."]
    assert "It lacks the scopes app_mentions:read, channels:history, commands," in lacking["missing"][0]
    assert whole["missing"] == []


async def test_who_writes_and_where_is_asked_for_once_and_never_for_a_stranger(
    rig: Rig, slack: SlackServer, channel: SlackChannel
) -> None:
    rig.strangers = (f"slack:user:{TEAM}/U666",)
    await slack.say("let me in", room="C666", who="U666")
    await slack.say("hello <@U900>")
    await slack.say("again <@U900>")
    await rig.until(lambda: len(rig.taken) == 3)

    names = [(each.sender_name, each.group_name) for each in rig.taken if isinstance(each, InboundMessage)]
    assert names == [(None, None), ("Ada", "general"), ("Ada", "general")]
    assert [len(slack.asked(each)) for each in ("users.info", "conversations.info")] == [1, 1]


# --- the directory ---


async def test_people_and_channels_are_looked_up_by_a_part_of_their_names(
    slack: SlackServer, channel: SlackChannel
) -> None:
    slack.people = [
        {"id": ADA, "name": "ada", "profile": {"display_name": "Ada Lovelace", "real_name": "Ada King"}},
        {"id": "U9", "name": "adam", "profile": {"display_name": "", "real_name": "Adam"}},
        {"id": "U7", "name": "adaline", "deleted": True},
        {"id": "U8", "name": "adabot", "is_bot": True},
    ]
    slack.rooms = [
        {"id": ROOM, "name": "adagio", "is_member": True},
        {"id": "C9", "name": "adrift-ada", "is_member": False},
    ]

    found = await channel.look_up("ADA", 50)
    few = await channel.look_up("ada", 1)

    assert [(each.peer, each.name, each.chat_type) for each in found] == [
        (ADA, "Ada Lovelace", ChatType.DIRECT),
        ("U9", "Adam", ChatType.DIRECT),
        (ROOM, "#adagio", ChatType.CHANNEL),
    ]
    assert [each.peer for each in few] == [ADA]


async def test_a_look_up_that_the_app_may_not_make_says_what_it_needs(
    slack: SlackServer, channel: SlackChannel
) -> None:
    slack.fail("users.list", status=200, body={"ok": False, "error": "missing_scope", "needed": "users:read"})

    with pytest.raises(HubError, match="users:read"):
        await channel.look_up("ada", 50)
