"""What Teams delivers: who may deliver, what it becomes, and what is left out."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import Unavailable
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
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
    Receipt,
)
from integrations.channels.bearer_tokens import signed_token
from integrations.channels.msteams.channel import TeamsChannel
from integrations.channels.msteams.events import BUTTON, CHOICE, FILE, POLL
from integrations.channels.msteams.webhook import ISSUER
from tests.channels.kit import EVE, Heard, HurriedClock
from tests.channels.msteams_rig import TeamsRig
from tests.servers.msteams_server import (
    ADA,
    ADAS_CHAT,
    EVES_CHAT,
    GROUP_CHAT,
    KEY_ID,
    ROOM,
    TEAM,
    TeamsServer,
    private_key,
)
from tests.until import until

pytestmark = pytest.mark.usefixtures("channel")

WITH_ADA, BY_ADA = Address("msteams", ADAS_CHAT), f"msteams:user:{ADA}"
NOW = time.time()
"""When the tests were collected, which may be many minutes before they run."""


async def delivered(server: TeamsServer, heard: Heard, **activity: Any) -> list[Inbound]:
    server.deliver(server.activity(**activity))
    await server.settled()
    return heard.inbound


async def posted(platform: TeamsRig, token: str, activity: Any) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return await platform.host.post("/msteams/default", json.dumps(activity).encode(), headers)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://sts.windows.net/another/"},
        {"aud": "another"},
        {"aud": ["another"]},
        {"exp": NOW - 400},
        {"exp": None},
        {"nbf": NOW + 86_400},
        {"serviceurl": "https://smba.trafficmanager.net/emea/"},
        {"serviceurl": None},
    ],
)
async def test_a_token_that_is_not_for_this_delivery_is_refused(
    platform: TeamsRig, server: TeamsServer, heard: Heard, claims: dict[str, Any]
) -> None:
    activity = server.activity("message", text="hi")

    assert await posted(platform, server.token(**claims), activity) == 401
    assert heard.inbound == []


@pytest.mark.parametrize("token", ["", "a", "a.b.c", "é.é.é", "e30.e30.e30", "x" * 8_100])
async def test_what_is_no_token_is_refused(platform: TeamsRig, server: TeamsServer, token: str) -> None:
    assert await posted(platform, token.encode().decode("latin-1"), server.activity("message", text="hi")) == 401


async def test_a_key_that_may_not_speak_for_teams_is_refused(platform: TeamsRig, server: TeamsServer) -> None:
    server.keys[KEY_ID] = {"endorsements": ["webchat"]}

    assert await posted(platform, server.token(), server.activity("message", text="hi")) == 401


async def test_a_new_key_is_looked_for_once_in_a_while(
    platform: TeamsRig, server: TeamsServer, clock: HurriedClock, heard: Heard
) -> None:
    server.says("hi")
    await server.settled()
    for _ in range(5):
        assert await posted(platform, server.token(key="new"), server.activity("message", text="hi")) == 401
    assert server.keys_asked == 1

    server.keys["new"] = {"endorsements": ["msteams"]}
    await clock.sleep(301)

    assert await posted(platform, server.token(key="new"), server.activity("message", text="hi")) == 200
    assert (server.keys_asked, len(heard.inbound)) == (2, 2)


async def test_while_the_keys_cannot_be_had_a_delivery_is_for_later_and_they_are_not_asked_for_at_each(
    platform: TeamsRig, server: TeamsServer, clock: HurriedClock
) -> None:
    keys, server.keys = server.keys, {}
    for _ in range(3):
        assert await posted(platform, server.token(), server.activity("message", text="hi")) == 503
    server.keys = keys
    assert await posted(platform, server.token(), server.activity("message", text="hi")) == 503
    assert server.keys_asked == 1

    await clock.sleep(11)

    assert await posted(platform, server.token(), server.activity("message", text="hi")) == 200


async def test_what_another_key_signed_in_the_name_of_theirs_is_refused(
    platform: TeamsRig, server: TeamsServer, heard: Heard
) -> None:
    claims = {"iss": ISSUER, "aud": server.app, "serviceurl": server.service, "nbf": NOW, "exp": NOW + 3_600}
    forged = signed_token(claims, private_key("of somebody else"), KEY_ID)

    assert await posted(platform, forged, server.activity("message", text="hi")) == 401
    assert heard.inbound == []


@pytest.mark.parametrize("body", [[], None, 7, {}, {"serviceUrl": "x"}])
async def test_what_is_no_activity_is_refused(platform: TeamsRig, server: TeamsServer, body: Any) -> None:
    assert await posted(platform, server.token(), body) == 400


@pytest.mark.parametrize(
    "broken",
    [
        {"from": None},
        {"conversation": {"id": "x", "conversationType": "new"}},
        {"entities": [{"type": "mention", "text": "<at>x</at>"}]},
        {"attachments": [{"contentType": FILE}]},
        {"attachments": ["x"]},
        {"timestamp": "yesterday"},
        {"type": "messageReaction", "reactionsAdded": [{}]},
        {"type": "invoke", "name": "adaptiveCard/action", "value": 7},
        {"type": "invoke", "name": "fileConsent/invoke", "value": {}},
        {"value": {POLL: True, CHOICE: "x"}},
    ],
)
async def test_what_is_malformed_is_left_out_and_the_next_is_taken(
    server: TeamsServer, heard: Heard, broken: dict[str, Any]
) -> None:
    server.deliver(server.activity("message", text="hi") | broken)
    server.says("hello")
    await server.settled()

    assert [each.text for each in heard.inbound if isinstance(each, InboundMessage)] == ["hello"]
    assert [status for status, _ in server.answers] == [200, 200]


async def test_what_is_not_stored_is_not_acknowledged(server: TeamsServer, heard: Heard, channel: TeamsChannel) -> None:
    class Full(Heard):
        async def __call__(self, inbound: Inbound) -> Receipt:
            raise Unavailable("the disk is full")

    channel._receive = Full()
    server.says("hi")
    await server.settled()

    assert [status for status, _ in server.answers] == [503]


async def test_a_message_is_read_with_its_mentions_quote_and_files(server: TeamsServer, heard: Heard) -> None:
    quoted = (
        '<blockquote itemscope="" itemtype="http://schema.skype.com/Reply" itemid="1700">'
        '<strong itemprop="mri">Bot</strong><p itemprop="preview">Tea &amp; cake?</p></blockquote><p>yes</p>'
    )
    attachments = [
        {"contentType": "text/html", "content": quoted},
        {"contentType": "image/*", "contentUrl": f"{server.service}v3/attachments/1/views/original"},
        {"contentType": FILE, "name": "note.ogg", "content": {"downloadUrl": "https://x-my.sharepoint.com/1"}},
    ]
    entities = [{"type": "mention", "text": "<at>Ben</at>", "mentioned": {"id": "29:ben", "name": "Ben B"}}]
    activity = {"text": "<at>Ben</at>\xa0says yes", "attachments": attachments, "entities": entities}

    (message,) = await delivered(server, heard, kind="message", **activity)

    assert isinstance(message, InboundMessage)
    assert (message.address, message.sender, message.sender_name, message.mentioned) == (WITH_ADA, BY_ADA, "Ada", True)
    assert (message.text, message.reply_to, message.quoted) == ("@Ben B says yes", "1700", Quote("Tea & cake?"))
    assert message.media == (
        Media(MediaKind.IMAGE, f"{server.service}v3/attachments/1/views/original"),
        Media(MediaKind.AUDIO, "https://x-my.sharepoint.com/1", "audio/ogg", "note.ogg"),
    )
    assert message.sent_at is not None


async def test_rooms_have_their_threads_and_names(server: TeamsServer, heard: Heard) -> None:
    post = server.says("hi", ROOM, mention=True)
    server.says("hi", GROUP_CHAT)
    await server.settled()

    in_room, in_group = heard.inbound
    assert isinstance(in_room, InboundMessage)
    assert isinstance(in_group, InboundMessage)
    assert in_room.address == Address("msteams", ROOM, chat_type=ChatType.CHANNEL, thread=post["id"], space=TEAM)
    assert (in_room.text, in_room.mentioned) == ("hi", True)
    assert (in_room.group_name, in_room.space_name, in_room.topic_name) == ("Kitchen", "Our home", "hi")
    assert in_group.address == Address("msteams", GROUP_CHAT, chat_type=ChatType.GROUP)
    assert (in_group.mentioned, in_group.group_name) == (False, "Family")


async def test_a_thread_is_called_as_it_began_also_when_its_channel_is_renamed(
    server: TeamsServer, heard: Heard
) -> None:
    post = server.says("Where do we go?", ROOM, mention=True)
    server.room_name = "Holidays"
    server.deliver(server.activity("conversationUpdate", ROOM, channelData={"eventType": "channelRenamed"}))
    server.says("To the sea", f"{ROOM};messageid={post['id']}", mention=True)
    await server.settled()

    answer = heard.inbound[-1]
    assert isinstance(answer, InboundMessage)
    assert (answer.text, answer.topic_name, answer.group_name) == ("To the sea", "Where do we go?", "Holidays")


async def test_edits_deletes_reactions_and_members_are_events(server: TeamsServer, heard: Heard) -> None:
    edited = server.deliver(server.activity("messageUpdate", text="b", channelData={"eventType": "editMessage"}))
    deleted = server.deliver(server.activity("messageDelete", channelData={"eventType": "softDeleteMessage"}))
    reactions = [{"type": "like"}, {"type": "1f44b_wavinghand-tone4"}]
    server.deliver(server.activity("messageReaction", replyToId="5", reactionsAdded=reactions))
    server.deliver(server.activity("messageReaction", replyToId="5", reactionsRemoved=[{"type": "like"}]))
    server.deliver(server.activity("conversationUpdate", membersAdded=[{"id": "29:ben", "aadObjectId": "ben"}]))
    await server.settled()

    edit, delete, like, wave, unlike, joined = heard.inbound
    assert isinstance(edit, MessageEdited)
    assert isinstance(delete, MessageDeleted)
    assert isinstance(joined, MembershipChanged)
    assert (edit.message_id, edit.text) == (edited["id"], "b")
    assert delete.message_id == deleted["id"]
    told = [(each.emoji, each.added, each.message_id) for each in (like, wave, unlike)]  # type: ignore[union-attr]
    assert told == [("👍", True, "5"), ("👋", True, "5"), ("👍", False, "5")]
    assert all(isinstance(each, ReactionChanged) for each in (like, wave, unlike))
    assert (joined.member, joined.joined) == ("msteams:user:ben", True)
    assert len({each.event_id for each in heard.inbound if not isinstance(each, InboundMessage)}) == 6


async def test_the_bot_does_not_hear_itself_or_other_bots(server: TeamsServer, heard: Heard) -> None:
    for id in (f"28:{server.app}", "28:another"):
        server.deliver(server.activity("message", text="hi") | {"from": {"id": id}})
    await server.settled()

    assert heard.inbound == []


@pytest.mark.parametrize(
    ("data", "kind"),
    [({BUTTON: "yes"}, ButtonPressed), ({POLL: True, CHOICE: "0,2"}, PollAnswered), ({"theirs": 1}, InboundMessage)],
)
async def test_an_older_client_sends_what_is_pressed_as_a_message(
    server: TeamsServer, heard: Heard, data: dict[str, Any], kind: type
) -> None:
    (found,) = await delivered(server, heard, kind="message", value=data, replyToId="9")

    assert type(found) is kind
    assert getattr(found, "value", "yes") == "yes"
    assert getattr(found, "numbers", (0, 2)) == (0, 2)


async def test_where_a_conversation_is_written_to_is_known_after_a_restart(
    platform: TeamsRig, server: TeamsServer, channel: TeamsChannel, heard: Heard, tmp_path: Path, clock: HurriedClock
) -> None:
    server.says("hi")
    await server.settled()
    await channel.stop()
    again, account = platform.channel(tmp_path, clock), Heard()
    account._cursors = heard._cursors
    await again.start(account)
    await until(lambda: account.account_id is not None)

    await again.send(OutboundMessage("1", WITH_ADA, "a reminder"))
    await again.stop()

    assert platform.shows() == ["a reminder"]
    assert set(server.regions) == {"emea"}


async def test_nothing_of_a_stranger_is_kept_and_they_are_answered_all_the_same(
    platform: TeamsRig, server: TeamsServer, channel: TeamsChannel, heard: Heard
) -> None:
    heard.strangers.append(platform.identity(EVE))
    server.says("hi", EVES_CHAT, platform.identity(EVE).rpartition(":")[2])
    added = {"membersAdded": [{"id": f"28:{server.app}"}]}
    server.deliver(server.activity("conversationUpdate", EVES_CHAT, platform.identity(EVE).rpartition(":")[2], **added))
    await server.settled()

    await channel.send(OutboundMessage("1", Address("msteams", EVES_CHAT), "a code"))

    assert heard._cursors == {}
    assert (platform.shows(EVE), server.regions) == (["a code"], ["teams"])


async def test_a_place_where_the_bot_is_added_is_known_before_anybody_writes(
    platform: TeamsRig, server: TeamsServer, channel: TeamsChannel
) -> None:
    server.deliver(server.activity("conversationUpdate", ROOM, membersAdded=[{"id": f"28:{server.app}"}]))
    await server.settled()

    found = await channel.look_up("kitchen", 5)

    assert [(each.peer, each.name, each.chat_type) for each in found] == [(ROOM, "Kitchen", ChatType.CHANNEL)]
    assert set(server.regions) == {"emea"}


async def test_the_token_is_shown_to_no_server_that_is_not_one_of_teams(
    platform: TeamsRig, server: TeamsServer, channel: TeamsChannel, heard: Heard
) -> None:
    evil = server.url.replace("127.0.0.1", "localhost") + "/emea/"
    activity = server.activity("message", text="hi") | {"serviceUrl": evil}
    assert await posted(platform, server.token(serviceurl=evil), activity) == 200

    await channel.send(OutboundMessage("1", WITH_ADA, "an answer"))

    assert (len(heard.inbound), server.regions) == (1, ["teams"])
