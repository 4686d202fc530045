"""Messages for WhatsApp, as protobuf. Pure, but for the secret of a poll and the time of a reaction."""

from __future__ import annotations

import os
import re
import time
from typing import Any

from msgspec import Struct

from hub.messaging.contract import MediaKind, OutboundMedia, OutboundPoll
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.whatsapp_web.events import REVOKE

TEXT_LENGTH = 4_096
POLL_OPTIONS = 12
_FIELDS = {
    MediaKind.IMAGE: "imageMessage",
    MediaKind.VIDEO: "videoMessage",
    MediaKind.AUDIO: "audioMessage",
    MediaKind.STICKER: "stickerMessage",
    MediaKind.FILE: "documentMessage",
}
_SHOWN = {
    MediaKind.IMAGE: frozenset({"image/jpeg", "image/png"}),
    MediaKind.VIDEO: frozenset({"video/mp4", "video/3gpp"}),
    MediaKind.AUDIO: frozenset({"audio/aac", "audio/amr", "audio/mp4", "audio/mpeg", "audio/ogg"}),
    MediaKind.STICKER: frozenset({"image/webp"}),
}
_VOICE = "audio/ogg; codecs=opus"


class Quoted(Struct, frozen=True):
    """The message that one answers: its id, the JID of its author, and its text."""

    id: str
    author: str
    text: str


def marked(text: str) -> str:
    """Return Markdown in WhatsApp's markup, or plain when that is too long."""
    written = render(text, Flavour.WHATSAPP)
    return written if 0 < len(written) <= 2 * TEXT_LENGTH else text


def text_message(text: str, quoted: Quoted | None = None) -> Any:
    """Return a message with a text."""
    from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import ExtendedTextMessage, Message

    mentions = [f"{number}@s.whatsapp.net" for number in re.findall(r"(?<!\w)@(\d{7,15})\b", text)]
    if quoted is None and not mentions:
        return Message(conversation=text)
    content = ExtendedTextMessage(text=text)
    content.contextInfo.mentionedJID.extend(mentions)
    if quoted is not None:
        _quote(content.contextInfo, quoted)
    return Message(extendedTextMessage=content)


def kind_for(media: OutboundMedia) -> MediaKind:
    """Return the kind an attachment is sent as: what WhatsApp does not show is a document."""
    mime = media.mime_type.partition(";")[0].strip().lower()
    return media.kind if mime in _SHOWN.get(media.kind, ()) else MediaKind.FILE


def media_message(media: OutboundMedia, kind: MediaKind, uploaded: Any, quoted: Quoted | None) -> Any:
    """Return a message with an attachment.

    Args:
        uploaded: The `UploadResponse` of its file.
    """
    from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import Message

    message = Message()
    content = getattr(message, _FIELDS[kind])
    content.URL, content.directPath, content.mediaKey = uploaded.url, uploaded.DirectPath, uploaded.MediaKey
    content.fileSHA256, content.fileEncSHA256 = uploaded.FileSHA256, uploaded.FileEncSHA256
    content.fileLength, content.mimetype = uploaded.FileLength, media.mime_type
    if kind is MediaKind.FILE:
        content.fileName = content.title = media.name or media.path.rpartition("/")[2]
    if kind is MediaKind.AUDIO and media.voice and media.mime_type.startswith("audio/ogg"):
        content.PTT, content.mimetype = True, _VOICE
    if quoted is not None:
        _quote(content.contextInfo, quoted)
    return message


def _quote(context: Any, quoted: Quoted) -> None:
    context.stanzaID, context.participant = quoted.id, quoted.author
    context.quotedMessage.conversation = quoted.text


def key_of(id: str, chat: str, author: str | None) -> Any:
    """Return the key of a message.

    Args:
        author: The JID of its author, None for the account itself; it is told in groups.
    """
    from neonize.proto.waCommon.WACommon_pb2 import MessageKey

    key = MessageKey(remoteJID=chat, fromMe=author is None, ID=id)
    if author is not None and chat.endswith("@g.us"):
        key.participant = author
    return key


def reaction_message(key: Any, emoji: str | None) -> Any:
    """Return a reaction to a message; None takes it back."""
    from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import Message, ReactionMessage

    now = int(time.time() * 1000)
    return Message(reactionMessage=ReactionMessage(key=key, text=emoji or "", senderTimestampMS=now))


def edit_message(key: Any, text: str) -> Any:
    """Return another text for a message."""
    from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import Message, ProtocolMessage

    protocol = ProtocolMessage(
        key=key,
        type=ProtocolMessage.MESSAGE_EDIT,
        editedMessage=text_message(text),
        timestampMS=int(time.time() * 1000),
    )
    message = Message()
    message.editedMessage.message.protocolMessage.CopyFrom(protocol)
    return message


def revoke_message(key: Any) -> Any:
    """Return the withdrawal of a message, for everybody."""
    from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import Message, ProtocolMessage

    return Message(protocolMessage=ProtocolMessage(key=key, type=REVOKE))


def poll_message(poll: OutboundPoll) -> Any:
    """Return a poll; votes are encrypted with its secret, which the session keeps."""
    from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import Message

    message = Message()
    content = message.pollCreationMessage
    content.name, content.selectableOptionsCount = poll.question, 0 if poll.multiple else 1
    for option in poll.options[:POLL_OPTIONS]:
        content.options.add(optionName=option)
    message.messageContextInfo.messageSecret = os.urandom(32)
    return message
