"""Reads Mattermost's posts and events as the hub's. Pure.

Source: https://developers.mattermost.com/api-documentation, and the structs of its server
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from hub.messaging.contract import (
    Address,
    ChatType,
    Inbound,
    InboundMessage,
    Media,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    ReactionChanged,
)
from integrations.channels.acknowledging import kind_of
from integrations.channels.emoji_names import emoji_of

Json = Mapping[str, Any]

WRITTEN = frozenset({"", "me"})
"""Types of posts that somebody wrote; the others are notices of the server's."""
JOINED = frozenset({"system_join_channel", "system_add_to_channel"})
LEFT = frozenset({"system_leave_channel", "system_remove_from_channel"})
POSTS = frozenset({"posted", "post_edited", "post_deleted"})
REACTIONS = frozenset({"reaction_added", "reaction_removed"})

_SHOUTED = re.compile(r"!([a-z]+\b)")


class MattermostSelf(Struct, frozen=True):
    """The bot, as the server knows it."""

    id: str
    name: str
    is_bot: bool


class MattermostRoom(Struct, frozen=True):
    """A conversation.

    Attributes:
        type: O and P for public and private channels, G for a few people, D for direct messages.
        name: For people.
        person: The other side of direct messages.
    """

    id: str
    type: str
    name: str
    team: str | None
    person: str | None

    def address(self, account: str, thread: str | None = None) -> Address:
        """Return its address; direct messages go by the person."""
        if self.person is not None:
            return Address("mattermost", self.person, account, thread=thread)
        kind = ChatType.GROUP if self.type == "G" else ChatType.CHANNEL
        return Address("mattermost", self.id, account, chat_type=kind, thread=thread, space=self.team)


class MattermostScene(Struct, frozen=True):
    """Where something happened, and to whom."""

    room: MattermostRoom
    me: MattermostSelf
    account: str


class MattermostEvent(Struct, frozen=True):
    """An event of the WebSocket about a post or a reaction.

    Attributes:
        content: The post or the reaction, which comes as text within the event.
        channel: The channel, as far as the event says.
        mentions: Ids of those who are mentioned.
    """

    kind: str
    content: Json
    channel: Json
    sender_name: str | None
    mentions: tuple[str, ...]


def event_of(frame: Json) -> MattermostEvent | None:
    """Return the event of a frame; None for those that are irrelevant.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as the server writes them.
    """
    kind, data = frame["event"], frame.get("data") or {}
    if kind not in POSTS | REACTIONS:
        return None
    content = json.loads(data["post" if kind in POSTS else "reaction"])
    channel = {
        "id": content.get("channel_id") or (frame.get("broadcast") or {})["channel_id"],
        "type": data.get("channel_type"),
        "name": data.get("channel_name"),
        "display_name": data.get("channel_display_name"),
        "team_id": data.get("team_id"),
    }
    mentions = json.loads(data.get("mentions") or "[]")
    return MattermostEvent(kind, content, channel, (data.get("sender_name") or "").lstrip("@") or None, tuple(mentions))


def room_of(channel: Json, me: MattermostSelf) -> MattermostRoom:
    """Return a channel as the server describes it.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as the server writes them.
    """
    person = None
    if channel["type"] == "D":
        one, _, other = channel["name"].partition("__")
        person = other if one == me.id else one
    return MattermostRoom(
        channel["id"],
        channel["type"],
        channel.get("display_name") or channel["name"],
        channel.get("team_id") or None,
        person,
    )


def of_post(post: Json, scene: MattermostScene, sender_name: str | None = None) -> Inbound | None:
    """Return what a new post says; None when it is the bot's own, another program's or a notice.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as the server writes them.
    """
    kind, props, id = post.get("type") or "", post.get("props") or {}, post["id"]
    if kind in JOINED | LEFT:
        person = props.get("addedUserId") or props.get("removedUserId") or post["user_id"]
        by, member = (f"mattermost:user:{each}" for each in (post["user_id"], person))
        return MembershipChanged(_address(post, scene), id, by, member=member, joined=kind in JOINED)
    if kind not in WRITTEN or _is_ours(post, scene.me):
        return None
    raw = post.get("message") or ""
    files = (post.get("metadata") or {}).get("files") or [{"id": each} for each in post.get("file_ids") or ()]
    return InboundMessage(
        _address(post, scene),
        id,
        f"mattermost:user:{post['user_id']}",
        _text(raw, scene.me),
        sender_name=sender_name,
        mentioned=scene.room.person is not None or _mention(scene.me).search(raw) is not None,
        sent_at=post["create_at"] / 1000,
        media=tuple(_media(each) for each in files),
        reply_to=post.get("root_id") or None,
        group_name=None if scene.room.person is not None else scene.room.name,
    )


def of_edit(post: Json, scene: MattermostScene) -> Inbound | None:
    """Return what a post was changed into.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as the server writes them.
    """
    if (post.get("type") or "") not in WRITTEN or _is_ours(post, scene.me) or not post.get("edit_at"):
        return None  # without a time of the edit it only got a preview or a reaction
    return MessageEdited(
        _address(post, scene),
        f"{post['id']}:{post['edit_at']}",
        f"mattermost:user:{post['user_id']}",
        message_id=post["id"],
        text=_text(post.get("message") or "", scene.me),
    )


def of_deletion(post: Json, scene: MattermostScene) -> Inbound | None:
    """Return that a post was deleted.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as the server writes them.
    """
    if (post.get("type") or "") not in WRITTEN or _is_ours(post, scene.me):
        return None
    id, sender = post["id"], f"mattermost:user:{post['user_id']}"
    return MessageDeleted(_address(post, scene), f"{id}:deleted", sender, message_id=id)


def of_past(post: Json, scene: MattermostScene, read_ms: int, after_ms: int) -> Iterator[Inbound | None]:
    """Yield what became of a post, from the channel's history.

    Args:
        read_ms: Until when events were read; what came later and is gone or changed again need not be told.
        after_ms: A little before.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as the server writes them.
    """
    if post.get("original_id"):
        return  # what a post said before it was edited
    was_read, is_deleted = post["create_at"] <= read_ms, bool(post.get("delete_at"))
    if not is_deleted and post["create_at"] > after_ms:
        yield of_post(post, scene)
    if is_deleted and was_read:
        yield of_deletion(post, scene)
    elif was_read and (post.get("edit_at") or 0) > after_ms:
        yield of_edit(post, scene)


def of_reaction(reaction: Json, scene: MattermostScene, *, added: bool) -> Inbound | None:
    """Return a reaction that was added or removed; None for the bot's own.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as the server writes them.
    """
    user, post, name = reaction["user_id"], reaction["post_id"], reaction["emoji_name"]
    if user == scene.me.id:
        return None
    moment = max(reaction.get("create_at") or 0, reaction.get("update_at") or 0)
    return ReactionChanged(
        scene.room.address(scene.account),
        f"{post}:{user}:{name}:{moment}:{'added' if added else 'removed'}",
        f"mattermost:user:{user}",
        message_id=post,
        emoji=emoji_of(name),
        added=added,
    )


def _is_ours(post: Json, me: MattermostSelf) -> bool:
    """Whether the bot wrote it, or another program."""
    props = post.get("props") or {}
    programs = (props.get("from_bot"), props.get("from_webhook"), props.get("from_plugin"))
    return post["user_id"] == me.id or any(str(each).lower() == "true" for each in programs)


def _address(post: Json, scene: MattermostScene) -> Address:
    return scene.room.address(scene.account, post.get("root_id") or None)


def _mention(me: MattermostSelf) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w@])@{re.escape(me.name)}(?![\w-]|\.\w)", re.IGNORECASE)


def _text(raw: str, me: MattermostSelf) -> str:
    """The text without a mention of the bot at its beginning; its `/` is Mattermost's own, so that `!new` is `/new`."""
    found = _mention(me).match(text := raw.strip())
    text = text[found.end() :].lstrip(" \t\n,:") if found else text
    return f"/{text[1:]}" if _SHOUTED.match(text) else text


def _media(file: Json) -> Media:
    mime = file.get("mime_type") or None
    return Media(kind_of(mime), file["id"], mime_type=mime, name=file.get("name"), size_bytes=file.get("size"))
