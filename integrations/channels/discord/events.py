"""Converts Discord's events to the hub's messages and events.

Source: https://discord.com/developers/docs/events/gateway-events and …/resources/message
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

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
    Quote,
    ReactionChanged,
)
from integrations.channels.acknowledging import kind_of
from integrations.channels.discord.rooms import DiscordRoom

MESSAGE_KINDS = frozenset({0, 19})
"""Ordinary messages and replies; the others are notices of Discord's."""
JOINED = 7
VOICE_FLAG = 8192
FORWARD = 1
COMMAND, COMPONENT = 2, 3
STICKERS = "https://cdn.discordapp.com/stickers"

_MENTION = re.compile(r"<@!?(\d+)>")


class DiscordSelf(Struct):
    """The bot, as Discord knows it; its own roles, and the names, by server."""

    id: str
    name: str
    application: str
    roles: dict[str, frozenset[str]]
    servers: dict[str, str] = {}


def inbound_of(
    event: str,
    data: Mapping[str, Any],
    event_id: str,
    room: DiscordRoom,
    me: DiscordSelf,
    account: str,
    parent: DiscordRoom | None = None,
) -> Iterator[Inbound]:
    """Yield the messages and events in an event; none for bots' own actions and irrelevant events.

    Args:
        event: Its type, such as MESSAGE_CREATE.
        event_id: Its id when the platform gives it none.
        room: The room of the event.
        parent: The room that a thread belongs to, when it is known.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Discord writes them.
    """
    address = room.address(account)
    match event:
        case "MESSAGE_CREATE" | "MESSAGE_UPDATE" if "author" in data and not _is_robot(data, me):
            yield from _message(event, data, room, me, address, parent)
        case "MESSAGE_DELETE":
            yield MessageDeleted(address, f"{data['id']}:deleted", "", message_id=data["id"])
        case "MESSAGE_DELETE_BULK":
            for id in data["ids"]:
                yield MessageDeleted(address, f"{id}:deleted", "", message_id=id)
        case "MESSAGE_REACTION_ADD" | "MESSAGE_REACTION_REMOVE" if not _is_ours(data, me):
            emoji, added = data["emoji"], event.endswith("ADD")
            shown = f"<:{emoji['name']}:{emoji['id']}>" if emoji.get("id") else emoji["name"]
            sender = _typed(data["user_id"])
            name = _name((data.get("member") or {}).get("user"))
            yield ReactionChanged(
                address, event_id, sender, name, message_id=data["message_id"], emoji=shown, added=added
            )
        case "MESSAGE_POLL_VOTE_ADD" | "MESSAGE_POLL_VOTE_REMOVE" if not _is_ours(data, me):
            numbers = (int(data["answer_id"]) - 1,) if event.endswith("ADD") else ()
            yield PollAnswered(address, event_id, _typed(data["user_id"]), poll_id=data["message_id"], numbers=numbers)
        case "INTERACTION_CREATE":
            yield from _interaction(data, address)


def user_of(data: Mapping[str, Any]) -> str | None:
    """Return the id of the person who did something."""
    user = data.get("author") or (data.get("member") or {}).get("user") or data.get("user") or {}
    id = data.get("user_id") or user.get("id")
    return str(id) if id else None


def _message(
    event: str,
    data: Mapping[str, Any],
    room: DiscordRoom,
    me: DiscordSelf,
    address: Address,
    parent: DiscordRoom | None,
) -> Iterator[Inbound]:
    author, id = data["author"], data["id"]
    sender = _typed(author["id"])
    if event == "MESSAGE_UPDATE":
        # Also sent when a link gets its preview: only an edit has a time.
        if edited := data.get("edited_timestamp"):
            yield MessageEdited(address, f"{id}:{edited}", sender, message_id=id, text=_text(data, me))
        return
    if data["type"] == JOINED:
        yield MembershipChanged(address, id, sender, member=sender, joined=True)
    if data["type"] not in MESSAGE_KINDS:
        return
    reference = data.get("message_reference") or {}
    replied = data.get("referenced_message") or {}
    forwarded = [each["message"] for each in data.get("message_snapshots") or () if reference.get("type") == FORWARD]
    quoted = None
    if replied:
        quoted = Quote(replied.get("content", ""), _typed(replied["author"]["id"]))
    elif forwarded:
        quoted = Quote("\n".join(each.get("content", "") for each in forwarded))
    text = _text(data, me)
    yield InboundMessage(
        address,
        id,
        sender,
        text or ("(forwarded)" if forwarded else ""),
        sender_name=_name(author),
        mentioned=room.owner == me.id or _addressed(data, replied, me),
        sent_at=datetime.fromisoformat(data["timestamp"]).timestamp(),
        media=tuple(media for each in (data, *forwarded) for media in _media(each)),
        reply_to=None if forwarded else reference.get("message_id"),
        quoted=quoted,
        roles=tuple((data.get("member") or {}).get("roles", ())),
        group_name=parent.name if parent is not None else room.name,
        topic_name=room.name if parent is not None else None,
        space_name=me.servers.get(room.guild or ""),
    )


def _text(data: Mapping[str, Any], me: DiscordSelf) -> str:
    """The text with names in place of ids, without a mention of the bot at its beginning; a poll in words."""
    content: str = data.get("content") or ""
    first = _MENTION.match(content)
    if first and first[1] == me.id:
        content = content[first.end() :].lstrip()
    names = {each["id"]: each.get("global_name") or each["username"] for each in data.get("mentions", ())}
    content = _MENTION.sub(lambda found: f"@{names.get(found[1], found[1])}", content)
    if poll := data.get("poll"):
        answers = " / ".join(each["poll_media"].get("text", "") for each in poll["answers"])
        content = f"{content}\n{poll['question']['text']} ({answers})".strip()
    return content


def _addressed(data: Mapping[str, Any], replied: Mapping[str, Any], me: DiscordSelf) -> bool:
    guild = data.get("guild_id")
    return (
        guild is None
        or any(each["id"] == me.id for each in data.get("mentions", ()))
        or (bool(replied) and replied["author"]["id"] == me.id)
        or not me.roles.get(guild, frozenset()).isdisjoint(data.get("mention_roles", ()))
    )


def _media(data: Mapping[str, Any]) -> Iterator[Media]:
    for each in data.get("attachments", ()):
        mime_type = each.get("content_type")
        yield Media(
            kind_of(mime_type),
            each["url"],
            mime_type=mime_type,
            name=each.get("filename"),
            size_bytes=each.get("size"),
            duration_s=each.get("duration_secs"),
            voice=bool(data.get("flags", 0) & VOICE_FLAG),
        )
    for sticker in data.get("sticker_items", ()):
        yield Media(MediaKind.STICKER, f"{STICKERS}/{int(sticker['id'])}.png", "image/png", sticker["name"])


def _interaction(data: Mapping[str, Any], address: Address) -> Iterator[Inbound]:
    user, given = user_of(data), data.get("data") or {}
    if user is None:
        return
    if data["type"] == COMMAND:
        options = sorted(
            given.get("options", ()), key=lambda each: each.get("name") == "arguments"
        )  # a choice is first
        arguments = " ".join(str(each["value"]) for each in options)
        yield CommandUsed(address, data["id"], _typed(user), name=given["name"], arguments=arguments)
    if data["type"] == COMPONENT:
        value = (given.get("values") or [given["custom_id"]])[0]
        name = _name((data.get("member") or data).get("user"))
        yield ButtonPressed(address, data["id"], _typed(user), name, message_id=data["message"]["id"], value=value)


def _is_robot(data: Mapping[str, Any], me: DiscordSelf) -> bool:
    author = data["author"]
    return bool(author.get("bot")) or "webhook_id" in data or author["id"] == me.id


def _is_ours(data: Mapping[str, Any], me: DiscordSelf) -> bool:
    return bool(data["user_id"] == me.id or ((data.get("member") or {}).get("user") or {}).get("bot"))


def _name(user: Mapping[str, Any] | None) -> str | None:
    return (user.get("global_name") or user.get("username")) if user else None


def _typed(user: str) -> str:
    return f"discord:user:{user}"
