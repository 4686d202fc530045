"""WeCom as a channel: one AI bot."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
    Receiver,
    TextUnit,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.button_values import ButtonValues
from integrations.channels.http_api import PlatformError, delivery_of, surely_not_sent
from integrations.channels.reconnecting import retry_until_stored
from integrations.channels.wecom.cards import (
    BUTTONS,
    KEY_BYTES,
    LABEL_CHARS,
    OPTIONS,
    TEXT_CHARS,
    buttons_card,
    vote_card,
)
from integrations.channels.wecom.crypt import decrypted
from integrations.channels.wecom.events import Json, event_of, message_of
from integrations.channels.wecom.socket import PING_S, RATE_LIMITED, UNUSABLE_REQUEST, WeComSocket

STREAM_BYTES = 20_480
PIECE_BYTES = 512 * 1024
FILE_LEAST_BYTES, FILE_BYTES, PICTURE_BYTES, VOICE_BYTES = 5, 20_000_000, 10_000_000, 2_000_000
STREAM_S = 9 * 60.0
"""WeCom ends a stream after ten minutes."""
KEPT = 1_000
"""Messages that can be answered, and conversations, that are remembered."""
ANSWERED_S = 24 * 3600.0
FILE_HOSTS = (".work.weixin.qq.com", "wework.qpic.cn", "ww-aibot-img-1258476243.cos.ap-guangzhou.myqcloud.com")
VOTED = "OK"


class _Stream(Struct):
    """A message that grows: its id, the callback that it answers, and when it began."""

    id: str
    request_id: str
    began_at: float


class WeComChannel(ApiChannel):
    """One bot.

    Args:
        ping_s: Between two pings; a connection that left one unanswered at the next is dead.
    """

    name = "wecom"
    _api: WeComSocket
    limits = ChannelLimits(
        people_begin=True,
        text=20_000,
        unit=TextUnit.BYTES,
        media=frozenset(MediaKind),
        media_bytes=FILE_BYTES,
        buttons=BUTTONS,
        markup="markdown",
        block_chars=1_500,
    )

    def __init__(
        self, account: str, bot_id: str, secret: Secret, ws_url: str, clock: Clock, *, ping_s: float = PING_S
    ) -> None:
        super().__init__(account, clock)
        self._login = bot_id, secret
        self._url = ws_url
        self._ping_s = ping_s
        self._answerable: dict[str, tuple[str, float]] = {}
        """Request ids by the ids of messages, and by the peers who wrote last, and until when they are good."""
        self._streams: dict[str, _Stream] = {}
        self._worded: set[str] = set()
        """Messages whose text is sent, and whose card is not yet."""

    async def start(self, receive: Receiver) -> None:
        """Start the long connection."""
        self._receive = receive
        self._buttons = ButtonValues(receive, KEY_BYTES)
        self._api = WeComSocket(self._url, self._login, self._ping_s, self._take, self._greeted, receive.progress)
        self._keep_connected(self._api.connect, receive)

    async def _greeted(self) -> None:
        self._receive.identified(self._login[0])
        await self._buttons.load()
        self._receive.connected()

    async def _who(self) -> dict[str, Any]:
        await self._api.call("ping", {})
        return {"id": self._login[0], "missing": []}

    # --- in ---

    async def _take(self, command: str, body: Json, request_id: str) -> None:
        """Take a callback; WeCom brings none again, so that it is kept until it is stored."""
        inbound: Inbound | None = None
        with skip_if_malformed(f"wecom: {command}"):
            if command == "aibot_msg_callback":
                inbound = message_of(body, self.account)
            elif command == "aibot_event_callback":
                inbound = event_of(body, self.account)
        if inbound is None:
            return
        if isinstance(inbound, ButtonPressed):
            inbound = replace(inbound, value=self._buttons.value_of(inbound.value))
        said = inbound
        receipt = await retry_until_stored(lambda: offer(self._receive, said), self._receive, self._clock)
        if receipt is None:
            return
        if isinstance(inbound, InboundMessage):
            self._remember(inbound.message_id, request_id)
            self._remember(inbound.address.peer, request_id)
        if receipt.notice:
            self._tasks.spawn(self._tell(inbound.address, receipt.notice), name="answer a button")

    def _remember(self, key: str, request_id: str) -> None:
        self._answerable.pop(key, None)
        self._answerable[key] = request_id, self._clock.monotonic() + ANSWERED_S
        if len(self._answerable) > 2 * KEPT:
            del self._answerable[next(iter(self._answerable))]

    def _request_of(self, key: str | None) -> str | None:
        """Return the callback by which a message, or who wrote last, is answered."""
        request_id, until = self._answerable.get(key or "", ("", 0.0))
        return request_id if self._clock.monotonic() < until else None

    async def _tell(self, address: Address, text: str) -> None:
        """Send something whose loss does not matter."""
        await delivery_of(self._push(address, "markdown", {"content": text}))

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield a file in the clear; its address is good for five minutes."""
        file = json.loads(media.reference)
        pieces = self._api.download(file["url"].strip(), (), cdn=FILE_HOSTS)
        try:
            async for piece in decrypted(pieces, file["key"]) if file["key"] else pieces:
                yield piece
        except ValueError as error:
            raise self._api.error(DeliveryState.PERMANENT, f"a file cannot be decrypted: {error}") from error

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str:
        address = message.address
        if message.media:  # the outbox makes a message of each, without a text
            kind = _kind_of(message.media[0])
            return await self._push(address, kind, {"media_id": await self._uploaded(message.media[0], kind)})
        if message.buttons:
            return await self._send_card(message)
        return await self._send_text(message)

    async def _send_text(self, message: OutboundMessage) -> str:
        """Finish the stream of the answer, answer the message that is meant, or write by itself."""
        content = _content(message.text)
        stream = self._streams.pop(message.run_id or "", None)
        if stream is None and (request_id := self._request_of(message.reply_to)):
            stream = _Stream(new_id(), request_id, self._clock.monotonic())
        if stream is not None and self._clock.monotonic() - stream.began_at < STREAM_S:
            try:
                return await self._stream(stream, content, finish=True)
            except PlatformError as error:
                if error.reason not in UNUSABLE_REQUEST:
                    if error.state is DeliveryState.TRANSIENT and message.run_id:
                        self._streams[message.run_id] = stream
                    raise
        return await self._push(message.address, "markdown", {"content": content})

    async def _send_card(self, message: OutboundMessage) -> str:
        """Send buttons below their text; one that is too long for a card goes before it."""
        buttons = [
            (each.label[:LABEL_CHARS], await self._buttons.payload_of(each.value))
            for row in message.buttons
            for each in row
        ]
        text = render(message.text, Flavour.PLAIN).strip()
        if len(text) > TEXT_CHARS:
            if message.id not in self._worded:
                await self._push(message.address, "markdown", {"content": _content(message.text)})
                self._worded.add(message.id)
            text = "👇"
        id = await self._push(message.address, "template_card", buttons_card(message.id, text, buttons))
        self._worded.discard(message.id)
        return id

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        """Show an answer as it grows, in the message that `send` finishes; see `CanDraft`."""
        now = self._clock.monotonic()
        stream = self._streams.get(draft_id)
        if stream is None:
            request_id = self._request_of(address.peer)
            if request_id is None:
                raise HubError("WeCom: nothing was written here that an answer could grow below")
            self._streams = {id: each for id, each in self._streams.items() if now - each.began_at < STREAM_S}
            stream = self._streams[draft_id] = _Stream(new_id(), request_id, now)
        try:
            await self._stream(stream, _content(text), finish=False)
        except PlatformError as error:
            if error.reason not in RATE_LIMITED:
                raise

    async def _stream(self, stream: _Stream, content: str, *, finish: bool) -> str:
        body = {"msgtype": "stream", "stream": {"id": stream.id, "finish": finish, "content": content}}
        await self._api.call("aibot_respond_msg", body, stream.request_id)
        return stream.id

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a vote; it has no end, and shows nobody the result."""
        if len(poll.options) > OPTIONS:
            return Delivery(DeliveryState.PERMANENT, error=f"WeCom: a vote has at most {OPTIONS} options")
        card = vote_card(poll.id, poll.question, poll.options, multiple=poll.multiple, submit=VOTED)
        return await delivery_of(self._push(poll.address, "template_card", card))

    async def _push(self, address: Address, kind: str, content: Json) -> str:
        """Send a message, and return an id of our own: WeCom tells none."""
        chat = {"chatid": address.peer, "chat_type": 1 if address.chat_type is ChatType.DIRECT else 2}
        await self._api.call("aibot_send_msg", {**chat, "msgtype": kind, kind: content})
        return str(content.get("task_id") or new_id())

    async def _uploaded(self, media: OutboundMedia, kind: str) -> str:
        """Upload a file and return its id; it is shown to nobody yet."""
        path = Path(media.path)
        content = await asyncio.to_thread(path.read_bytes)
        pieces = [content[start : start + PIECE_BYTES] for start in range(0, len(content), PIECE_BYTES)]
        begun = {
            "type": kind,
            "filename": media.name or path.name,
            "total_size": len(content),
            "total_chunks": len(pieces),
            "md5": hashlib.md5(content, usedforsecurity=False).hexdigest(),
        }
        with surely_not_sent():
            upload = (await self._api.call("aibot_upload_media_init", begun))["upload_id"]
            for index, piece in enumerate(pieces):
                part = {"chunk_index": index, "base64_data": base64.b64encode(piece).decode()}
                await self._api.call("aibot_upload_media_chunk", {"upload_id": upload, **part})
            finished = await self._api.call("aibot_upload_media_finish", {"upload_id": upload})
        return str(finished["media_id"])


def _content(text: str) -> str:
    """Return Markdown as WeCom shows it itself; what would call people is spelt apart."""
    return text.replace("<@", "< @").strip()


def _kind_of(media: OutboundMedia) -> str:
    """Return the type under which WeCom shows a file; what it cannot show goes as a file."""
    size = Path(media.path).stat().st_size
    if media.mime_type in ("image/png", "image/jpeg", "image/gif") and size <= PICTURE_BYTES:
        return "image"
    if media.mime_type == "audio/amr" and size <= VOICE_BYTES:
        return "voice"
    if media.mime_type == "video/mp4" and size <= PICTURE_BYTES:
        return "video"
    return "file"
