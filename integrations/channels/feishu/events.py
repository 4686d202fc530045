"""Reads Feishu's events as the hub's messages and events. Pure.

Source: https://open.feishu.cn/document/server-docs/im-v1/message/events/receive
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    CommandUsed,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    ReactionChanged,
    SharedLocation,
)
from integrations.channels.feishu.cards import PRESSED
from integrations.channels.feishu.emoji import emoji_of

Json = Mapping[str, Any]

_MEDIA = {
    "image": ("image_key", MediaKind.IMAGE),
    "file": ("file_key", MediaKind.FILE),
    "audio": ("file_key", MediaKind.AUDIO),
    "media": ("file_key", MediaKind.VIDEO),
}
_MIME = {MediaKind.AUDIO: "audio/ogg", MediaKind.VIDEO: "video/mp4"}
_EVERYBODY = "@_all"


class FeishuRoom(Struct, frozen=True):
    """A chat.

    Attributes:
        id: Feishu's, oc_….
        person: The other side of direct messages, by the id that does not differ from app to app.
        name: Of a group.
    """

    id: str
    person: str | None = None
    name: str | None = None

    def address(self, account: str, thread: str | None = None) -> Address:
        """Return the address of the chat; direct messages go by the person."""
        if self.person is not None:
            return Address("feishu", self.person, account, thread=thread)
        return Address("feishu", self.id, account, chat_type=ChatType.GROUP, thread=thread)


class FeishuScene(Struct, frozen=True):
    """Where something happened, and on which account: what an event does not say itself.

    Attributes:
        me: The bot's own id, ou_….
        sent: The latest messages of the bot.
    """

    room: FeishuRoom
    account: str
    me: str
    sent: Container[str | None] = ()


def person_of(ids: Json) -> str:
    """Return the id of somebody that all apps of an organisation know them by, or else the app's own.

    Raises:
        LookupError: There is none.
    """
    found = ids.get("union_id") or ids["open_id"]
    if not isinstance(found, str) or not found:
        raise LookupError("a person without an id")
    return found


def room_of(event: Json) -> FeishuRoom:
    """Return the chat of a message that came."""
    message = event["message"]
    direct = message["chat_type"] == "p2p"
    return FeishuRoom(message["chat_id"], person_of(event["sender"]["sender_id"]) if direct else None)


def message_of(event: Json, scene: FeishuScene) -> InboundMessage | None:
    """Return a message; None if no person wrote it.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Feishu writes them.
    """
    message, sender = event["message"], event["sender"]
    if sender.get("sender_type") not in (None, "user"):
        return None
    id, kind = message["message_id"], message["message_type"]
    content = json.loads(message["content"])
    mentions = message.get("mentions") or ()
    thread = (message.get("root_id") or id) if message.get("thread_id") else None
    parent = message.get("parent_id") or None
    called = any(_is(each, scene.me) for each in mentions)
    return InboundMessage(
        scene.room.address(scene.account, thread),
        id,
        f"feishu:user:{person_of(sender['sender_id'])}",
        text_of(kind, content, mentions, scene.me),
        mentioned=scene.room.person is not None or called or parent in scene.sent or thread in scene.sent,
        sent_at=float(message["create_time"]) / 1000 if message.get("create_time") else None,
        media=media_of(id, kind, content),
        location=_location(content) if kind == "location" else None,
        reply_to=parent if parent != thread else None,
        group_name=scene.room.name,
    )


def text_of(kind: str, content: Json, mentions: Sequence[Json] = (), me: str = "") -> str:
    """Return the text of a message, with mentions by their names, and without one of the bot at its beginning.

    Args:
        content: The decoded content.
        me: The bot's own id.
    """
    match kind:
        case "text":
            text = str(content["text"])
        case "post":
            text = _post_text(content)
        case "image" | "file" | "audio" | "media":
            return ""
        case "location":
            return ""
        case _:
            return f"(a message of the kind {kind!r}, without its content)"
    for each in sorted(mentions, key=lambda each: -len(each["key"])):
        key = str(each["key"])
        if _is(each, me) and text.lstrip().startswith(key):
            text = text.lstrip().removeprefix(key).lstrip()
        text = text.replace(key, f"@{each.get('name') or 'somebody'}")
    return text.replace(_EVERYBODY, "@all").strip()


def _is(mention: Json, me: str) -> bool:
    ids = mention.get("id")
    return isinstance(ids, Mapping) and ids.get("open_id") == me


def _paragraphs(content: Json) -> Sequence[Sequence[Json]]:
    if "content" not in content:  # by language
        content = next((each for each in content.values() if isinstance(each, Mapping)), {})
    found: Sequence[Sequence[Json]] = content.get("content") or ()
    return found


def _post_text(content: Json) -> str:
    lines = ["".join(map(_word, paragraph)) for paragraph in _paragraphs(content)]
    return "\n".join(filter(None, (content.get("title"), *lines)))


def _word(part: Json) -> str:
    match part.get("tag"):
        case "a":
            text, address = str(part.get("text") or ""), str(part.get("href") or "")
            return text if text == address or not address else f"{text} ({address})".lstrip()
        case "at":
            return str(part.get("user_id") or "")
        case "emotion":
            return emoji_of(str(part.get("emoji_type")))
        case "code_block":
            return f"```{str(part.get('language') or '').lower()}\n{part.get('text', '')}\n```"
        case "hr":
            return "———"
    return str(part.get("text") or "")


def media_of(id: str, kind: str, content: Json) -> tuple[Media, ...]:
    """Return the attachments of a message."""
    if kind == "post":
        parts = [part for paragraph in _paragraphs(content) for part in paragraph]
        pictures = [Media(MediaKind.IMAGE, f"{id}/{e['image_key']}/image") for e in parts if e.get("tag") == "img"]
        videos = [Media(MediaKind.VIDEO, f"{id}/{e['file_key']}/file") for e in parts if e.get("tag") == "media"]
        return (*pictures, *videos)
    if kind not in _MEDIA:
        return ()
    key, media_kind = _MEDIA[kind]
    is_voice = media_kind is MediaKind.AUDIO
    return (
        Media(
            media_kind,
            f"{id}/{content[key]}/{'image' if media_kind is MediaKind.IMAGE else 'file'}",
            mime_type=_MIME.get(media_kind),
            name=content.get("file_name") or ("voice.ogg" if is_voice else None),
            duration_s=float(content["duration"]) / 1000 if content.get("duration") else None,
            voice=is_voice,
        ),
    )


def _location(content: Json) -> SharedLocation:
    return SharedLocation(float(content["latitude"]), float(content["longitude"]), content.get("name") or None)


def recalled_of(event: Json, event_id: str, scene: FeishuScene) -> MessageDeleted:
    """Return that a message was taken back; Feishu does not say by whom."""
    return MessageDeleted(scene.room.address(scene.account), event_id, "", message_id=event["message_id"])


def reaction_of(event: Json, event_id: str, scene: FeishuScene, *, added: bool) -> ReactionChanged:
    """Return a reaction that somebody gave or took back."""
    return ReactionChanged(
        scene.room.address(scene.account),
        event_id,
        f"feishu:user:{person_of(event['user_id'])}",
        message_id=event["message_id"],
        emoji=emoji_of(event["reaction_type"]["emoji_type"]),
        added=added,
    )


def pressed_of(event: Json, event_id: str, scene: FeishuScene) -> ButtonPressed:
    """Return a button of a card that somebody pressed."""
    return ButtonPressed(
        scene.room.address(scene.account),
        event_id,
        f"feishu:user:{person_of(event['operator'])}",
        message_id=event["context"]["open_message_id"],
        value=str(event["action"]["value"][PRESSED]),
    )


def command_of(event: Json, event_id: str, account: str) -> CommandUsed:
    """Return an entry of the bot's menu that somebody chose; its key is a command, with or without a slash."""
    person = person_of(event["operator"]["operator_id"])
    name, _, arguments = str(event["event_key"]).lstrip("/").partition(" ")
    address = Address("feishu", person, account)
    return CommandUsed(address, event_id, f"feishu:user:{person}", name=name, arguments=arguments.strip())


def members_of(event: Json, event_id: str, scene: FeishuScene, *, joined: bool) -> list[MembershipChanged]:
    """Return who joined or left a group."""
    return [
        MembershipChanged(
            scene.room.address(scene.account),
            f"{event_id}:{number}",
            member,
            each.get("name"),
            member=member,
            joined=joined,
        )
        for number, each in enumerate(event.get("users") or ())
        for member in [f"feishu:user:{person_of(each['user_id'])}"]
    ]
