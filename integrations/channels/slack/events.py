"""Reads Slack's envelopes as the hub's messages and events.

Source: https://docs.slack.dev/reference/events
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.messaging.contract import (
    Address,
    ButtonPressed,
    CommandUsed,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    PollAnswered,
    ReactionChanged,
)
from integrations.channels.acknowledging import kind_of
from integrations.channels.emoji_names import emoji_of
from integrations.channels.slack.polls import VOTE
from integrations.channels.slack.rooms import SlackRoom

MESSAGES = frozenset({None, "file_share", "thread_broadcast", "me_message"})
"""Subtypes that somebody wrote; the others are notices of Slack's."""
OWN_COMMAND = "/homarus"

_REFERENCE = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
_SHOUTED = re.compile(r"!([a-z]+\b)")


class SlackSelf(Struct, frozen=True):
    """The app's bot, as Slack knows it."""

    user: str
    team: str
    name: str
    team_name: str = ""

    @property
    def account_id(self) -> str:
        """Names it among all workspaces."""
        return f"{self.team}/{self.user}"


class SlackScene(Struct, frozen=True):
    """Where something happened, and to whom: what an event does not say itself.

    Attributes:
        joined: Whether the app takes part in a thread of the room.
        first_id: What the hub calls a conversation.
    """

    room: SlackRoom
    me: SlackSelf
    account: str
    joined: Callable[[SlackRoom, str], bool]
    first_id: Callable[[str], str] = str

    def address(self, thread: str | None = None) -> Address:
        """Return the address of the conversation."""
        address = self.room.address(self.account, self.me.team, thread)
        return replace(address, peer=self.first_id(address.peer))


def of_event(event: Mapping[str, Any], event_id: str, scene: SlackScene) -> Iterator[Inbound]:
    """Yield the content of an event of the Events API; nothing when it is the app's own or another bot's doing.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Slack writes them.
    """
    if event.get("bot_id") or event.get("user") == scene.me.user:
        return
    kind, subtype = event["type"], event.get("subtype")
    if kind in ("message", "app_mention") and subtype in MESSAGES:
        yield _message(event, scene)
    elif subtype == "message_changed":
        message = event["message"]
        edited = message.get("edited")  # a link that got its preview has none
        if edited and not message.get("bot_id") and message["user"] != scene.me.user:
            yield MessageEdited(
                scene.address(_thread(message)),
                f"{message['ts']}:{edited['ts']}",
                _typed(message, scene),
                message_id=message["ts"],
                text=_text(message.get("text", ""), scene.me),
            )
    elif subtype == "message_deleted":
        before, ts = event.get("previous_message") or {}, event["deleted_ts"]
        if before.get("bot_id") is None:
            sender = _typed(before, scene) if before.get("user") else ""
            yield MessageDeleted(scene.address(_thread(before)), f"{ts}:deleted", sender, message_id=ts)
    elif kind in ("reaction_added", "reaction_removed"):
        yield ReactionChanged(
            scene.address(),
            event_id,
            _typed(event, scene),
            message_id=event["item"]["ts"],
            emoji=emoji_of(event["reaction"]),
            added=kind == "reaction_added",
        )
    elif kind in ("member_joined_channel", "member_left_channel"):
        member = _typed(event, scene)
        yield MembershipChanged(
            scene.address(), event_id, member, member=member, joined=kind == "member_joined_channel"
        )


def of_interaction(payload: Mapping[str, Any], scene: SlackScene) -> Iterator[Inbound]:
    """Yield the buttons that were pressed, and votes with the one option that was pressed."""
    for action in payload.get("actions", ()):
        if "value" in action:
            message, user = payload["message"], payload["user"]
            pressed = (
                scene.address(_thread(message)),
                f"{action['action_ts']}:{action['action_id']}",
                f"slack:user:{user.get('team_id', scene.me.team)}/{user['id']}",
                user.get("name") or user.get("username"),
            )
            if action["action_id"].startswith(VOTE):
                yield PollAnswered(*pressed, poll_id=message["ts"], numbers=(int(action["value"]),))
            else:
                yield ButtonPressed(*pressed, message_id=message["ts"], value=action["value"])


def of_command(payload: Mapping[str, Any], scene: SlackScene) -> Iterator[Inbound]:
    """Yield a slash command; the app's own takes the hub's command as its first word."""
    name, text = payload["command"], payload.get("text", "")
    if name == OWN_COMMAND:
        name, _, text = (text.strip() or "help").partition(" ")
    sender = f"slack:user:{payload['team_id']}/{payload['user_id']}"
    yield CommandUsed(scene.address(), payload["trigger_id"], sender, name=name.lstrip("/"), arguments=text.strip())


def _message(event: Mapping[str, Any], scene: SlackScene) -> InboundMessage:
    raw, thread = event.get("text") or "", _thread(event)
    joined = event.get("parent_user_id") == scene.me.user or (thread is not None and scene.joined(scene.room, thread))
    profile = event.get("user_profile") or {}
    return InboundMessage(
        scene.address(thread),
        event["ts"],
        _typed(event, scene),
        _text(raw, scene.me),
        sender_name=profile.get("display_name") or profile.get("real_name"),
        mentioned=scene.room.person is not None or f"<@{scene.me.user}" in raw or joined,
        sent_at=float(event["ts"]),
        media=tuple(_media(each) for each in event.get("files", ()) if each.get("mode") != "tombstone"),
        reply_to=thread if thread != event["ts"] else None,
    )


def _thread(message: Mapping[str, Any]) -> str | None:
    """The thread of an answer in it; the message that began one is outside of it."""
    thread: str | None = message.get("thread_ts")
    return thread if thread != message.get("ts") else None


def _media(file: Mapping[str, Any]) -> Media:
    voice = file.get("subtype") == "slack_audio"
    return Media(
        MediaKind.AUDIO if voice else kind_of(file.get("mimetype")),
        file["id"],
        mime_type=file.get("mimetype") or None,
        name=file.get("name"),
        size_bytes=file.get("size"),
        duration_s=file["duration_ms"] / 1000 if "duration_ms" in file else None,
        voice=voice,
    )


def _text(raw: str, me: SlackSelf) -> str:
    """The text with links and mentions in words, without a mention of the bot at its beginning.

    Slack keeps `/` for itself in threads, so that `!status` is a command too.
    """
    text = re.sub(rf"^\s*<@{me.user}(\|[^>]*)?>[\s,:]*", "", raw)
    text = html.unescape(_REFERENCE.sub(_in_words, text))
    return f"/{text[1:]}" if _SHOUTED.match(text) else text


def _in_words(found: re.Match[str]) -> str:
    mark, target, label = found[1], found[2], found[3]
    if mark == "!":
        return f"@{label or target.partition('^')[0]}"
    if mark:
        return f"{mark}{label or target}"
    return target if label in (None, "", target) else f"{label} ({target})"


def _typed(event: Mapping[str, Any], scene: SlackScene) -> str:
    return f"slack:user:{event.get('user_team') or event.get('team') or scene.me.team}/{event['user']}"
